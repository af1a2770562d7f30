//! What is always true of a queue. Run by tests, by the simulator, and by `mainstay doctor`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;

use mainstay_core::{MatchId, Tenure, TicketId, Timestamp};

use crate::backfill::BackfillStage;
use crate::engine::Kind;
use crate::entity::Entity;
use crate::queue::{Crowd, KEPT_MAX, Queue};
use crate::terms::Lease;
use crate::ticket::{Match, Stage};

/// A law that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law.
    pub law: Law,
    /// Where, and how.
    pub detail: String,
}

/// The laws of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// No open ticket is of both kinds: what ends one of them would be taken for the other.
    Kinds,
    /// A player is in at most one open ticket and in at most one open backfill ticket, and the index says in which.
    Membership,
    /// What gives up, and when, says what a full derivation says: a ticket that is missing would wait for ever.
    GiveUps,
    /// What ended is forgotten in the order in which it ended, and every ended ticket will be.
    Forgetting,
    /// The counts say what a full derivation says.
    Counts,
    /// A matched ticket's players are all in its match, and nobody is in a match twice.
    Matches,
    /// The engine holds the tickets that search, and the names of those that are held, and no others.
    Engine,
    /// Whoever waits for a server is in one group that is held, whole; each is asked for under an id of its own, which is not
    /// to be undone.
    Holds,
    /// Arrivals are told apart, and none is ahead of the counter.
    Arrivals,
    /// Which hosted processes have open tickets, which session was given players last, and whose leases run out, say what a full
    /// derivation says: a game that is missing would keep its players.
    Tenures,
}

/// Checks everything.
///
/// # Errors
/// The first law found broken.
pub fn all(queue: &Queue) -> Result<(), Broken> {
    let (mut in_tickets, mut in_games) = (BTreeMap::new(), BTreeMap::new());
    let mut give_ups = BTreeSet::new();
    let mut ended: BTreeSet<(Timestamp, TicketId)> = BTreeSet::new();
    let mut arrivals = BTreeSet::new();
    let mut matching = Crowd::default();
    let mut held: BTreeMap<MatchId, BTreeSet<TicketId>> = BTreeMap::new();
    let mut hosted: BTreeMap<Tenure, BTreeSet<TicketId>> = BTreeMap::new();
    let mut leased = BTreeSet::new();
    let is_open_game = |id: &&TicketId| queue.backfills.get(*id).is_some_and(|it| it.stage.ended().is_none());
    let open = queue.tickets.iter().filter(|(_, ticket)| ticket.stage.ended().is_none());
    let both = open.map(|(id, _)| id).find(is_open_game);
    ensure(both.is_none(), Law::Kinds, || format!("{both:?} is of both kinds"))?;
    for ticket in queue.tickets.values() {
        if let Stage::Searching(searching) = ticket.stage {
            matching.tickets += 1;
            matching.players += ticket.members.len();
            ensure(arrivals.insert(searching.arrival), Law::Arrivals, || {
                format!("{} came twice", ticket.id)
            })?;
        }
        if let Stage::Held { hold, searching } = ticket.stage {
            held.entry(hold).or_default().insert(ticket.id);
            ensure(arrivals.insert(searching.arrival), Law::Arrivals, || {
                format!("{} came twice", ticket.id)
            })?;
        }
        if let Stage::Matched { id, .. } = ticket.stage
            && let Some(formed) = queue.matches.get(&id)
        {
            let all_in = ticket.members.iter().all(|member| formed.has(&member.entity));
            ensure(all_in, Law::Matches, || format!("{} is not whole in {id}", ticket.id))?;
        }
        if let Some(at) = ticket.stage.ended() {
            ended.insert((at, ticket.id));
            continue;
        }
        give_ups.insert((ticket.gives_up(), ticket.id));
        for member in ticket.members.iter() {
            let before = in_tickets.insert(member.entity.clone(), ticket.id);
            ensure(before.is_none(), Law::Membership, || format!("{} is in two tickets", member.entity))?;
        }
    }
    for ticket in queue.backfills.values() {
        let BackfillStage::Searching(searching) = ticket.stage else {
            ended.extend(ticket.stage.ended().map(|at| (at, ticket.id)));
            continue;
        };
        ensure(arrivals.insert(searching.arrival), Law::Arrivals, || format!("{} came twice", ticket.id))?;
        give_ups.insert((ticket.gives_up(), ticket.id));
        match ticket.terms.lease {
            Lease::Free => {}
            Lease::Renewed { .. } => {
                leased.insert(ticket.id);
            }
            Lease::Hosted(tenure) => {
                hosted.entry(tenure).or_default().insert(ticket.id);
            }
        }
        for seated in ticket.members.iter() {
            let before = in_games.insert(seated.member.entity.clone(), ticket.id);
            ensure(before.is_none(), Law::Membership, || {
                format!("{} plays two games", seated.member.entity)
            })?;
        }
    }
    for (kind, open) in [(Kind::Ordinary, in_tickets), (Kind::Backfill, in_games)] {
        let known = open.iter().all(|(player, ticket)| queue.playing.of(player, kind) == Some(*ticket));
        ensure(known && open.len() == queue.playing.players(kind), Law::Membership, || {
            "the index differs".into()
        })?;
    }
    ensure(give_ups == queue.give_ups, Law::GiveUps, || "the index differs".into())?;
    ensure(give_ups.len() == queue.open, Law::Counts, || {
        format!("{} are open, not {}", give_ups.len(), queue.open)
    })?;
    ensure(matching == queue.matching, Law::Counts, || {
        format!("{matching:?} search, not {:?}", queue.matching)
    })?;
    let last = arrivals.last().copied().unwrap_or(0);
    ensure(last <= queue.arrivals, Law::Arrivals, || format!("{last} came after {}", queue.arrivals))?;
    let listed: BTreeSet<_> = queue.ended.iter().copied().collect();
    let ordered = queue.ended.iter().zip(queue.ended.iter().skip(1)).all(|(one, next)| one.0 <= next.0);
    ensure(listed == ended && ordered && listed.len() <= KEPT_MAX, Law::Forgetting, || {
        let only = |one: &BTreeSet<_>, other: &BTreeSet<_>| one.difference(other).next().copied();
        let (listed_alone, ended_alone) = (only(&listed, &ended), only(&ended, &listed));
        format!("the list has {listed_alone:?} alone, the tickets {ended_alone:?}; in order: {ordered}")
    })?;
    for formed in queue.matches.values() {
        one_of_each(formed)?;
    }
    let whole = queue.holds.values().map(|hold| (hold.id, hold.tickets.iter().map(|it| it.0).collect()));
    ensure(held == whole.collect(), Law::Holds, || "tickets and groups differ".into())?;
    let asked = queue.holds.values().map(|hold| (hold.asked(), hold.id));
    ensure(queue.asked == asked.collect(), Law::Holds, || "the index differs".into())?;
    let resting = queue.holds.values().filter(|hold| hold.rests()).map(|hold| (hold.held, hold.id));
    ensure(queue.resting == resting.collect(), Law::Holds, || "the index of the refused differs".into())?;
    let wanted = queue.asked.keys().find(|id| queue.undos.contains_key(id));
    ensure(wanted.is_none(), Law::Holds, || format!("{wanted:?} is asked for and undone"))?;
    ensure(hosted == queue.hosted, Law::Tenures, || "the index of processes differs".into())?;
    let counted = queue.leases.as_ref().is_none_or(|leases| leases.known() == Some(leased));
    ensure(counted, Law::Tenures, || "the leases differ".into())?;
    let filled =
        queue.backfills.values().filter_map(|ticket| match (ticket.stage, ticket.terms.lease.tenure()) {
            (BackfillStage::Matched { at, .. }, Some(tenure)) => Some((tenure.session, (at, ticket.id))),
            (
                BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } | BackfillStage::Searching(_),
                _,
            ) => None,
        });
    let known = queue.filled.iter().flat_map(|(session, filled)| filled.iter().map(|it| (*session, *it)));
    let (filled, known) = (filled.collect::<BTreeSet<_>>(), known.collect());
    ensure(filled == known, Law::Tenures, || "the index of games that were filled differs".into())?;
    let waiting: usize = held.values().map(BTreeSet::len).sum();
    queue.engine.as_ref().map_or(Ok(()), |live| {
        let searching = arrivals.len() - waiting;
        ensure(live.len() == searching, Law::Engine, || {
            format!("{searching} tickets search, and the engine has {}", live.len())
        })?;
        ensure(live.held() == waiting, Law::Engine, || {
            format!("{waiting} tickets are held, and the names of {} are kept", live.held())
        })
    })
}

fn one_of_each(formed: &Match) -> Result<(), Broken> {
    let players: BTreeSet<&Entity> = formed.members.iter().map(|seated| &seated.member.entity).collect();
    ensure(players.len() == formed.members.len(), Law::Matches, || {
        format!("a player is twice in {}", formed.id)
    })
}

fn ensure(holds: bool, law: Law, detail: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { law, detail: detail() }) }
}
