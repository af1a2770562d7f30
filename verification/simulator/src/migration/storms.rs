//! Members that storm: one sends a host, or whoever may be host next, hundreds of packets in a second. They are what its own session says
//! said over and over, or nonsense in shapes that can be read: numbers of no meaning, what only hosts say, epochs that nobody came to,
//! a leave that is none. In some worlds that is all that is wrong, and then nobody migrates, everybody hears the game all the time, and
//! the host is not certified anew for every word.
//!
//! A stormer asks for votes that it does not take, and gives none: of two that it gave to two no majority bears the second. It was
//! never host, for a host of old signs what it likes of its own time. And who says that it leads a side is believed by whoever misses the
//! host, as it has to be.
//!
//! Storms draw from a chance of their own, so that a world is the same without them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Ancestor, Announcement, Beat, Body, CanBeHost, Cause, Certificate, ChannelId, Claim, Closed, Descent,
    Epoch, Excerpt, Guards, Handover, Hears, Hint, HintList, HintVersion, Leads, Message, OrderName, PeerId,
    Proof, Receipt, Refusal, Renewal, Roster, Side, Signature, Stamp, Standing, StateHash, StateId, Tick,
    View, ViewId,
};

use super::scenario::{Faults, Storms};
use super::{Happening, World};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// How long one lasts.
const STORM: Micros = 1_000_000;
/// How many packets it is at most.
const PACKETS_MAX: u64 = 600;
/// How long until the next one, at most. Where nothing else is wrong they come one upon the other.
const PAUSE: Micros = 15_000_000;
const PAUSE_ALONE: Micros = 1_500_000;
/// How many of a million go to the host; the others to whoever may be host next, or to anybody.
const AT_HOST: u32 = 600_000;
/// How long a member whose host nothing is wrong with goes without a word of its game: ten of its steps.
const GAME_GAP_MAX: Micros = 1_000_000;
/// Within which span a host is certified anew, for whatever a member says, how often at most.
const CERTIFIED_WITHIN: Micros = 4_900_000;

/// Who has stormed, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Stormers {
    all: BTreeSet<PeerId>,
    /// When each heard the game last.
    heard: BTreeMap<PeerId, Micros>,
    crowned: VecDeque<Micros>,
}

/// What a storm is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What its own session says.
    Sense,
    Nonsense,
}

impl<G: Guards> World<G> {
    /// Whether that one stormed once: what it did in the game is its own matter.
    pub(super) fn has_stormed(&self, peer: PeerId) -> bool {
        self.stormers.all.contains(&peer)
    }

    /// Whoever was host, or is taken for it by whom it would tell.
    fn may_storm(&self, peer: PeerId, at: PeerId) -> bool {
        let obeys = |it: PeerId| self.peers[&it].session().is_some_and(|session| session.leader() == peer);
        !self.oracle.has_ever_led(peer) && !obeys(peer) && !obeys(at)
    }

    /// A member begins to storm.
    pub(super) fn storms(&mut self) {
        if !self.busy || self.scenario.storms == Storms::None {
            return;
        }
        let is_alone = self.scenario.faults == Faults::Stormer;
        let pause = self.odds.between(STORM / 2, if is_alone { PAUSE_ALONE } else { PAUSE });
        self.after(pause, Happening::Storms);
        let running = self.running();
        let Some(host) = self.host() else { return };
        // Where nothing else is wrong it is the same one all the time, and a minority.
        let known = self.stormers.all.first().copied().filter(|_| is_alone);
        let drawn = running.get(self.odds.index(running.len())).copied();
        let Some(from) = known.or(drawn).filter(|from| running.contains(from)) else { return };
        let next = self.peers[&host].session().and_then(mainstay_migration::Session::anticipated);
        let others: Vec<PeerId> = running.into_iter().filter(|peer| *peer != from).collect();
        let anybody = others.get(self.odds.index(others.len())).copied();
        let at = if self.odds.chance(AT_HOST) { Some(host) } else { next.or(anybody) };
        let Some(at) = at.filter(|at| *at != from && self.may_storm(from, *at)) else { return };
        if is_alone && others.len() < 2 {
            return;
        }
        self.stormers.all.insert(from);
        let kind = if self.odds.chance(400_000) { Kind::Sense } else { Kind::Nonsense };
        let count = self.odds.between(PACKETS_MAX / 12, PACKETS_MAX);
        self.counts.storms += 1;
        self.say(from, |_| format!("storms at {at}: {count} of {kind:?}"));
        for _ in 0..count {
            let Some(message) = self.packet(from, kind) else { return };
            let delay = self.scenario.delay + self.odds.below(STORM);
            self.after(delay, Happening::Pelts { from, at, message: Box::new(message) });
        }
    }

    /// One packet comes.
    pub(super) fn pelts(&mut self, from: PeerId, at: PeerId, message: Message) -> Result<(), Broken> {
        let is_cut = self.cuts.values().any(|cut| cut.contains(&(from, at)));
        let is_there = self.running().contains(&at);
        if is_cut || !is_there || !self.may_storm(from, at) {
            return Ok(());
        }
        self.counts.pelted += 1;
        self.arrives(from, at, super::Parcel::Protocol(Box::new(message)))
    }

    fn packet(&mut self, from: PeerId, kind: Kind) -> Option<Message> {
        let session = self.peers[&from].session()?;
        let (own, view, held) =
            (session.stamp(), session.view().clone(), session.held().after(StateId::NONE));
        let holds = session.held().descent();
        let (host, roster) = (session.leader(), session.roster().clone());
        let all: Vec<PeerId> = roster.members.keys().copied().chain([from]).collect();
        let beat = Beat {
            sent: self.clock(from),
            echo: Timestamp::EPOCH,
            leads: Leads::Obeys(host),
            view: view.id,
            hints: HintVersion { epoch: own.epoch, number: 0 },
            hint: Hint { can_be_host: CanBeHost::Yes, ..Hint::UNSUITABLE },
            promised: own.epoch,
            roster: roster.version,
            holds,
            applied: 0,
            taken: 0,
        };
        let (stamp, body) = match kind {
            Kind::Sense => (own, self.sense(from, &view, beat)),
            Kind::Nonsense => {
                let words = Words { own, view, held, beat, host, roster, all };
                (self.any_stamp(own), self.nonsense(from, words))
            }
        };
        Some(Message { session: self.session, stamp, body })
    }

    fn sense(&mut self, from: PeerId, view: &View, beat: Beat) -> Body {
        match self.odds.below(9) {
            0 => Body::Ask,
            1 => Body::Join { hint: Hint::UNSUITABLE, order: OrderName::Documented },
            2 => Body::Pull(StateId::NONE),
            3 => Body::Taken(view.id),
            4 => Body::Holds(beat.holds.id()),
            5 => Body::Answer(Hears::Yes),
            6 => Body::Claim(Claim { epoch: view.id.epoch.next(), candidate: from, view: view.clone() }),
            _ => Body::Beat(beat),
        }
    }

    /// Of as many shapes as there are, but for votes.
    fn nonsense(&mut self, from: PeerId, words: Words) -> Body {
        let Words { own, view, held, beat, host, roster, all } = words;
        let somebody = all[self.odds.index(all.len())];
        let (epoch, state) = (self.any_epoch(own.epoch), self.any_state(own, beat.holds.id()));
        let unsigned = |words: &[u8]| Signature(words.to_vec());
        let claim = Claim { epoch, candidate: from, view: view.clone() };
        let liar = View { id: ViewId { epoch, version: 9 }, host: from, signature: unsigned(b"me"), ..view };
        let certificate = Certificate { epoch, host: from, proof: Proof::Lobby(unsigned(b"lobby")) };
        match self.odds.below(19) {
            0 => Body::Answer(if self.odds.chance(500_000) { Hears::No } else { Hears::Yes }),
            1 => Body::Refusal { epoch, why: Refusal::Promised(self.any_epoch(own.epoch)) },
            2 => Body::Refusal { epoch, why: Refusal::NewerView(liar) },
            3 => Body::Announce(Announcement {
                certificates: vec![certificate],
                view: liar,
                cause: Cause::Lobby,
            }),
            4 => Body::View(liar),
            5 => Body::Taken(liar.id),
            6 => Body::Roster(Roster { stamp: own, version: u32::MAX, ..roster }),
            7 => {
                Body::Hints(HintList { version: HintVersion { epoch, number: 9 }, ..HintList::empty(epoch) })
            }
            8 => Body::State(self.corrupt(held)),
            9 => Body::Holds(state),
            10 => Body::Play { oldest: self.odds.next(), number: self.odds.next(), bytes: vec![7; 64] },
            11 => Body::Redirect(if self.odds.chance(500_000) { somebody } else { PeerId(u128::MAX) }),
            12 if self.odds.chance(20_000) => Body::Leave,
            12 => Body::Refused(Closed::Kicked),
            13 => Body::Bring {
                renewal: Renewal { as_of: Timestamp::from_unix_ms(u64::MAX), signature: unsigned(b"host") },
                hears: all,
            },
            14 => Body::Counted(Receipt {
                renewed: Timestamp::from_unix_ms(u64::MAX),
                as_of: Timestamp::from_unix_ms(u64::MAX),
                signature: unsigned(b"lobby"),
            }),
            15 => Body::Pull(state),
            16 => Body::Claim(claim),
            17 => Body::Beat(Beat {
                leads: Leads::HandsOver {
                    to: host,
                    why: [Handover::Merge, Handover::Leaves, Handover::Lobby][self.odds.index(3)],
                    state,
                    epoch,
                },
                ..beat
            }),
            _ => Body::Beat(Beat {
                sent: Timestamp::from_unix_ms(self.odds.next()),
                promised: epoch,
                view: liar.id,
                roster: 9,
                holds: Descent::of(state, Ancestor::itself(state)),
                applied: u64::MAX,
                taken: u64::MAX,
                leads: if self.odds.chance(200_000) { boasts(own, state) } else { beat.leads },
                ..beat
            }),
        }
    }

    /// A state with a byte of its newest part changed, or without its first.
    fn corrupt(&mut self, mut held: Excerpt) -> Excerpt {
        if self.odds.chance(500_000) && held.parts.len() > 1 {
            held.parts.remove(0);
        } else if let Some(newest) = held.parts.last_mut() {
            Arc::make_mut(newest).bytes = super::lies::FORGED.to_vec();
        }
        held
    }

    fn any_stamp(&mut self, own: Stamp) -> Stamp {
        match self.odds.below(8) {
            0 => Stamp { epoch: self.any_epoch(own.epoch), fork: 0 },
            1 => Stamp::NOBODY,
            2 => Stamp { fork: own.fork.saturating_sub(1), ..own },
            _ => own,
        }
    }

    fn any_epoch(&mut self, own: Epoch) -> Epoch {
        match self.odds.below(4) {
            0 => Epoch(u32::MAX),
            1 => Epoch(own.0.saturating_sub(1)),
            _ => Epoch(own.0.saturating_add(1)),
        }
    }

    fn any_state(&mut self, own: Stamp, held: StateId) -> StateId {
        match self.odds.below(3) {
            0 => StateId { stamp: own, number: u64::MAX, tick: Tick(u64::MAX), hash: StateHash(7) },
            1 => StateId::NONE,
            _ => held,
        }
    }
}

/// What a stormer knows.
struct Words {
    own: Stamp,
    view: View,
    held: Excerpt,
    beat: Beat,
    host: PeerId,
    roster: Roster,
    all: Vec<PeerId>,
}

/// The best side there can be; of the very stamp that everybody has, so that nobody who misses the host follows it.
fn boasts(own: Stamp, state: StateId) -> Leads {
    let channel = ChannelId { stamp: Stamp::certified(Epoch::FIRST), number: 0 };
    let (mandate, opened) = (Standing::Confirmed, StateId { stamp: own, ..state });
    Leads::Yes(Side { mandate, size: u8::MAX, state, opened, channel })
}

/// Somebody was told of the game.
pub(super) fn hears<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    if world.scenario.faults != Faults::Stormer {
        return Ok(());
    }
    let now = world.now;
    let before = world.stormers.heard.insert(id, now).unwrap_or(now);
    is_heard_all_the_time(world, id, now - before)
}

/// Whoever plays on hears the game to the end.
pub(super) fn at_rest<G: Guards>(world: &World<G>) -> Result<(), Broken> {
    if world.scenario.faults != Faults::Stormer {
        return Ok(());
    }
    let last = |id: &PeerId| world.stormers.heard.get(id).copied();
    let mut heard = world.running().into_iter().filter_map(|id| Some((id, last(&id)?)));
    heard.try_for_each(|(id, last)| is_heard_all_the_time(world, id, world.now - last))
}

fn is_heard_all_the_time<G: Guards>(world: &World<G>, id: PeerId, gap: Micros) -> Result<(), Broken> {
    let is_excused = world.has_stormed(id);
    ensure(is_excused || gap <= GAME_GAP_MAX, "a storm keeps nobody from the game", || {
        format!("{id} heard nothing for {gap} µs")
    })
}

/// A host is certified.
pub(super) fn is_crowned<G: Guards>(world: &mut World<G>) -> Result<(), Broken> {
    if world.scenario.faults != Faults::Stormer {
        return Ok(());
    }
    let now = world.now;
    world.stormers.crowned.push_back(now);
    let before = world.stormers.crowned.iter().rev().nth(2).copied();
    ensure(
        before.is_none_or(|before| now - before >= CERTIFIED_WITHIN),
        "no member's word has its host certified again and again",
        || format!("at {before:?} µs, once more, and now"),
    )
}
