//! The laws against a copy that is replayed behind the durable mark.

use mainstay_core::Timestamp;
use mainstay_fleet::catalog::Catalog;
use mainstay_fleet::{Event, Fleet, catalog, laws as fleet_laws};
use mainstay_journal::stored::Stored;
use mainstay_journal::{CompactError, Head, Reader, StoredFold, Unwatched, Walked, Watch, replay, walk};

use mainstay_lobby::{Lobby, laws as lobby_laws};
use mainstay_matchmaking::{Queue, laws as queue_laws};
use mainstay_players::{Players, laws as players_laws};

use super::{Finding, TOLD_MAX, laws};
use crate::lobby::LOBBY;
use crate::queues::QUEUE_PREFIX;
use crate::shards::{CATALOG, FLEET_PREFIX, PLAYERS};

/// Checks the chain of every shard; every law of a fleet's turns after each that is kept, and every law of the state they lead
/// to. Reads all that is kept.
pub fn stored(reader: &mut impl Reader) -> Vec<Finding> {
    let heads = match reader.heads() {
        Ok(heads) => heads,
        Err(error) => return vec![damage("journal chain", &error)],
    };
    let mut findings = vec![chain(reader, &heads)];
    for head in &heads {
        let name = head.shard.as_str();
        let found = if name == CATALOG {
            laws_of(reader, head, Catalog::default(), Unwatched, |state, Unwatched| {
                let held = format!(
                    "replayed: {} builds, {} build configurations, {} fleets",
                    state.builds().count(),
                    state.configurations().count(),
                    state.fleets().count()
                );
                let broken = catalog::laws::all(state);
                (held, broken.iter().map(|it| format!("{:?}: {}", it.law, it.detail)).collect())
            })
        } else if name.starts_with(FLEET_PREFIX) {
            laws_of(reader, head, Fleet::new(0), Turns::default(), |state, turns| {
                let held = format!(
                    "replayed: {} machines, {} servers, {} allocations that go on",
                    state.machines().count(),
                    state.counts().total(),
                    state.live()
                );
                let mut broken = told(&turns.broken);
                broken.extend(told(&fleet_laws::all(state)));
                (held, broken)
            })
        } else if name.starts_with(QUEUE_PREFIX) {
            laws_of(reader, head, Queue::new(0), Unwatched, |state, Unwatched| {
                let queue = state.spec().map_or("removed", |spec| &spec.name);
                let held = format!("replayed: queue {queue}, {} open tickets", state.open());
                let broken = queue_laws::all(state).err();
                (held, broken.iter().map(|it| format!("{:?}: {}", it.law, it.detail)).collect())
            })
        } else if name == PLAYERS {
            laws_of(reader, head, Players::default(), Unwatched, |state, Unwatched| {
                (format!("replayed: {} bytes of objects", state.bytes()), players_laws::all(state))
            })
        } else if name == LOBBY {
            laws_of(reader, head, Lobby::default(), Unwatched, |state, Unwatched| {
                (format!("replayed: {} sessions", state.len()), lobby_laws::all(state))
            })
        } else {
            continue;
        };
        findings.push(found);
    }
    findings
}

/// The turns of a fleet, each judged by how the fleet stood before it.
#[derive(Default)]
struct Turns {
    before: fleet_laws::Before,
    /// At most [`TOLD_MAX`]: a mistake that breaks one turn breaks many.
    broken: Vec<fleet_laws::Broken>,
}

impl Watch<Fleet> for Turns {
    fn snapshot(&mut self, state: &Fleet) {
        self.before = fleet_laws::Before::of(state);
    }

    fn turn(&mut self, state: &Fleet, _: Timestamp, events: &[Event]) {
        let before = std::mem::replace(&mut self.before, fleet_laws::Before::of(state));
        if self.broken.len() < TOLD_MAX {
            self.broken.extend(before.judge(state, events).err());
        }
    }
}

/// Broken laws of a fleet, in words.
pub(super) fn told(broken: &[fleet_laws::Broken]) -> Vec<String> {
    broken.iter().map(|it| format!("{:?}: {}", it.law, it.detail)).collect()
}

fn chain(reader: &mut impl Reader, heads: &[Head]) -> Finding {
    let mut all = Walked::default();
    for head in heads {
        match walk(reader, head) {
            Ok(walked) => all += walked,
            Err(error) => return damage("journal chain", &error),
        }
    }
    let Walked { turns, events, chunks } = all;
    Finding::ok(
        "journal chain",
        format!(
            "{} shards, {turns} turns with {events} events and {chunks} chunks of snapshots, each as it was written",
            heads.len()
        ),
    )
}

fn laws_of<M: Stored, W: Watch<M>>(
    reader: &mut impl Reader,
    head: &Head,
    empty: M,
    watch: W,
    judge: impl FnOnce(&M, W) -> (String, Vec<String>),
) -> Finding {
    let check = format!("laws of {}", head.shard);
    let mut fold = StoredFold::watched(empty, watch);
    match replay(reader, head, &mut fold) {
        Ok(_last) => {
            let (state, watch) = fold.into_parts();
            let (held, broken) = judge(&state, watch);
            laws(check, held, &broken)
        }
        // Turns that were compacted away between the look at the head and the reading: the next look finds the snapshot.
        Err(CompactError::Read { cause: mainstay_journal::ReadError::Compacted { .. }, .. }) => {
            Finding::ok(check, "the journal was being compacted meanwhile; ask again")
        }
        Err(error) => damage(check, &error),
    }
}

/// What cannot be read, with the code of the innermost cause that has one.
pub fn damage(check: impl Into<String>, error: &dyn std::error::Error) -> Finding {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        why = format!("{why}: {below}");
        cause = below.source();
    }
    let code =
        why.rsplit_once("(MS-").and_then(|(_, rest)| rest.split_once(')')).map(|(code, _)| code.to_owned());
    let code = code.map_or_else(|| "MS-J003".to_owned(), |code| format!("MS-{code}"));
    Finding::fail(check, why, &code, "restore the data directory from a copy, and look after its disk")
}
