//! What the members' games do, and the game as it goes along: inputs until a state holds them, the chain of states, and who
//! holds how much of it.
//!
//! A member keeps each input until its host says that a new host would have it too; whoever is host next says how far its
//! state goes, and is told the rest again. What a host says it has not, though it has heard this member since, was lost on the way,
//! and is said again at once. A host applies each once, in its order and without a gap ([`super::intake`]).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::message::{Beat, Body, Leads, Side};
use crate::session::intake::{Deed, Intake, UNDER_WAY_MAX};
use crate::session::reign::{Chain, Mandate, Phase, Reign};
use crate::session::words::Output;
use crate::session::{Leadership, STANDBYS, Session};
use crate::state::{Kind, Level, PARTS_MAX, PLAYERS_MAX, Part, Piece, State, StateError, StateId};
use crate::{Guards, PeerId, Stamp};

/// How many inputs a member keeps: at sixty a second those of eight seconds, longer than a session takes to move.
pub const INPUTS_MAX: usize = 512;
/// How many deeds of others a host's game is given at once: a second of the largest session's. The rest waits until it has read those.
const DEEDS_AT_ONCE: usize = crate::MEMBERS_MAX * 20;
/// How many names of states a member remembers: at ten a second those of 25 s.
const NAMES_MAX: usize = 256;
/// How long a standby may hold an older state before it is sent what it lacks: three beats, for what was sent may be on its way.
const LACKING: Duration = Duration::from_millis(300);

/// What a member's game has done, and no state that is safe holds yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Inputs {
    kept: VecDeque<Kept>,
    last: u64,
    /// The host that is told of them: others first say how far their state goes.
    told: Option<(Stamp, PeerId)>,
    /// The last that has come to that one, with all before it.
    taken: u64,
}

#[derive(Debug, Clone)]
struct Kept {
    number: u64,
    bytes: Vec<u8>,
    /// When this host was told of it last.
    said: Option<Timestamp>,
}

impl Inputs {
    /// Of a member that was here before, and did so much. A host that says more than anybody can do takes no numbers from it.
    pub(super) fn after(last: u64) -> Self {
        Self { last: last.min(u64::MAX / 2), ..Self::default() }
    }
}

/// The names of states that a member was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    known: BTreeMap<(Stamp, u64), StateId>,
}

impl Names {
    /// Remembers one. What was said under that number before, where that was another.
    fn hear(&mut self, id: StateId) -> Option<StateId> {
        if id == StateId::NONE {
            return None;
        }
        let known = *self.known.entry((id.stamp, id.number)).or_insert(id);
        if self.known.len() > NAMES_MAX {
            self.known.pop_first();
        }
        (known != id).then_some(known)
    }

    /// Two sides without a majority may give the same number to different states.
    pub(super) fn forget_forks(&mut self) {
        self.known.retain(|(stamp, _), _| stamp.fork == 0);
    }
}

impl<G: Guards> Session<G> {
    /// This peer's game does something. As host it is given it when it reads on, with what the others did.
    pub(super) fn play(&mut self, now: Timestamp, bytes: Vec<u8>) {
        self.inputs.last += 1;
        let number = self.inputs.last;
        self.inputs.kept.push_back(Kept { number, bytes, said: None });
        if self.inputs.kept.len() > INPUTS_MAX
            && let Some(Kept { number, .. }) = self.inputs.kept.pop_front()
        {
            self.outputs.push(Output::InputForgotten { number });
        }
        if self.inputs.told == Some((self.stamp(), self.leader())) {
            self.say_inputs(now, Timestamp::EPOCH);
        }
    }

    /// Says what has not come: what was never said, and what was said before `heard`, which the host has heard since.
    fn say_inputs(&mut self, now: Timestamp, heard: Timestamp) {
        let Inputs { kept, taken, .. } = &mut self.inputs;
        let oldest = kept.front().map_or(0, |kept| kept.number);
        let missing = kept.iter_mut().filter(|kept| kept.number > *taken).take(UNDER_WAY_MAX);
        let unsaid = missing.filter(|kept| kept.said.is_none_or(|said| said < heard));
        let bodies: Vec<Body> = unsaid
            .map(|kept| {
                kept.said = Some(now);
                Body::Play { oldest, number: kept.number, bytes: kept.bytes.clone() }
            })
            .collect();
        let leader = self.leader();
        bodies.into_iter().for_each(|body| self.send(leader, body));
    }

    /// A member's input came.
    pub(super) fn be_played(&mut self, oldest: u64, deed: Deed) {
        if self.roster.members.contains_key(&deed.from) {
            self.as_host(|reign| {
                if reign.phase == Phase::Reigning {
                    reign.intake.take(oldest, deed);
                }
            });
        }
    }

    /// The last input of that peer's that has come to this host, with all before it.
    pub(super) fn taken(&self, peer: PeerId) -> u64 {
        match &self.leadership {
            Leadership::Reigns(reign) => reign.intake.taken(peer),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => 0,
        }
    }

    /// The host's game reads on: what was done and has come so far comes out as [`Output::Apply`]. The hands ask for it once the
    /// game has given a state ([`crate::Input::State`]), so each state holds exactly what came out before it.
    pub fn read_deeds(&mut self) {
        let reigns = |reign: &mut Reign| reign.phase == Phase::Reigning;
        if self.as_host(reigns) != Some(true) {
            return;
        }
        for _ in 0..DEEDS_AT_ONCE {
            let Some(deed) = self.as_host(|reign| reign.intake.next()).flatten() else { break };
            self.apply(deed);
        }
        let (me, applied) = (self.me(), self.applied.get(&self.config.me).copied().unwrap_or_default());
        let own = self.inputs.kept.iter().filter(|kept| kept.number > applied);
        let own: Vec<Deed> =
            own.map(|kept| Deed { from: me, number: kept.number, bytes: kept.bytes.clone() }).collect();
        own.into_iter().for_each(|deed| self.apply(deed));
    }

    fn apply(&mut self, Deed { from, number, bytes }: Deed) {
        self.applied.insert(from, number);
        self.outputs.push(Output::Apply { from, number, bytes });
    }

    /// A host begins with the state that it has: inputs that it holds are not applied again, and later ones are.
    pub(super) fn open(&mut self) {
        self.opened = self.held.id();
        self.applied = self.held.inputs();
        self.safe = self.applied.clone();
        let intake = Intake::after(&self.applied);
        self.as_host(|reign| {
            reign.safe_inputs.clear();
            reign.intake = intake;
        });
    }

    /// The host tells how far its game is, how far this member's inputs have come, and how far they are safe.
    pub(super) fn hear_side(&mut self, now: Timestamp, from: PeerId, side: &Side, beat: &Beat) {
        for told in [side.opened, side.state] {
            if let Some(known) = self.names.hear(told) {
                self.outputs.push(Output::Rewritten { host: from, told, known });
            }
        }
        let stamp = self.stamp();
        let inputs = &mut self.inputs;
        if inputs.told != Some((stamp, from)) {
            inputs.told = Some((stamp, from));
            inputs.taken = 0;
            inputs.kept.iter_mut().for_each(|kept| kept.said = None);
        }
        inputs.taken = inputs.taken.max(beat.taken);
        while inputs.kept.front().is_some_and(|kept| kept.number <= beat.applied) {
            inputs.kept.pop_front();
        }
        self.say_inputs(now, beat.echo);
    }

    /// The host's game is so far: the best two standbys are sent what changed.
    pub(super) fn write_state(&mut self, now: Timestamp, piece: Piece) {
        if self.as_host(|reign| reign.phase == Phase::Reigning) != Some(true) {
            return self.refuse_piece(StateError::NotNow);
        }
        if self.append(piece) && self.config.level != Level::None {
            let newest: Vec<Part> = self.held.parts().last().cloned().into_iter().collect();
            let standbys: Vec<PeerId> = self.successors(now).take(STANDBYS).collect();
            for standby in standbys {
                self.send(standby, Body::State(newest.clone()));
            }
        }
        self.count_durable(now);
    }

    /// What the game gives next does not follow on what is held.
    pub(super) fn miss_piece(&mut self) {
        self.as_host(|reign| reign.chain = Chain::Broken);
    }

    pub(super) fn refuse_piece(&mut self, why: StateError) {
        self.miss_piece();
        self.outputs.push(Output::NotTaken(why));
    }

    /// Puts a piece at the end of the chain. `false` where it does not fit.
    pub(super) fn append(&mut self, piece: Piece) -> bool {
        let is_snapshot = piece.kind == Kind::Snapshot;
        if !is_snapshot && self.as_host(|reign| reign.chain) == Some(Chain::Broken) {
            self.refuse_piece(StateError::Gap);
            return false;
        }
        let stamp = self.stamp();
        if self.applied.len() > PLAYERS_MAX {
            let members = &self.roster.members;
            self.applied.retain(|peer, _| members.contains_key(peer));
            if let Leadership::Reigns(reign) = &mut self.leadership {
                reign.intake.retain(|peer| members.contains_key(&peer));
            }
        }
        let inputs = self.applied.clone();
        match self.held.write(stamp, piece, inputs.clone()) {
            Ok(part) => {
                let id = part.id;
                self.as_host(|reign| {
                    reign.chain = Chain::Whole;
                    reign.safe_inputs.push_back((id, inputs));
                    if reign.safe_inputs.len() > PARTS_MAX {
                        reign.safe_inputs.pop_front();
                    }
                });
                true
            }
            Err(why) => {
                self.refuse_piece(why);
                false
            }
        }
    }

    /// A standby that lacks something for a while is sent it.
    pub(super) fn send_lacking(&mut self, now: Timestamp, to: PeerId, beat: &Beat) {
        let is_standby = self.config.level != Level::None
            && self.successors(now).take(STANDBYS).any(|standby| standby == to);
        let newest = self.held.id();
        let Some(contact) = self.contacts.get_mut(&to) else { return };
        if !is_standby || beat.holds == newest {
            contact.lacks = None;
            return;
        }
        let (held, since) = *contact.lacks.get_or_insert((beat.holds, now));
        if held != beat.holds {
            contact.lacks = Some((beat.holds, now));
        } else if now >= since + LACKING {
            contact.lacks = Some((beat.holds, now));
            let parts = self.held.after(beat.holds).to_vec();
            self.send(to, Body::State(parts));
        }
    }

    /// A standby takes what its host sends; a new host what it asked for.
    pub(super) fn take_state(&mut self, now: Timestamp, from: PeerId, stamp: Stamp, parts: &[Part]) {
        let from_host = from == self.leader() && stamp == self.stamp();
        let asked = self.as_host(|reign| reign.phase == Phase::Accession) == Some(true);
        // A new host goes on from what another held, and that is of an earlier host: nobody has written anything of its own time yet.
        let is_possible = parts.iter().all(|part| part.id.stamp < self.stamp()) && self.is_member(from);
        let is_wanted = asked && is_possible;
        if !from_host && !is_wanted {
            return;
        }
        let newer = self.held.take(parts);
        if newer && from_host {
            self.send(from, Body::Holds(self.held.id()));
        }
        // The last state of a host that hands over may come after its word that it does.
        let beat = self.contacts.get(&from).and_then(|contact| contact.beat).filter(|_| newer && from_host);
        if let Some(Beat { leads: leads @ Leads::HandsOver { state, .. }, .. }) = beat
            && state == self.held.id()
        {
            self.be_handed_over(now, &leads);
        }
        if asked {
            self.accede(now);
        }
    }

    /// Whoever plays or votes: a host of another side is met, and is neither.
    pub(super) fn is_member(&self, peer: PeerId) -> bool {
        self.is_voter(peer) || self.roster.members.contains_key(&peer)
    }

    /// A new host asks for it; whoever was never let in is given nothing.
    pub(super) fn give_state(&mut self, to: PeerId, from: StateId) {
        if !self.is_member(to) {
            return;
        }
        let parts = self.held.after(from).to_vec();
        if !parts.is_empty() {
            self.send(to, Body::State(parts));
        }
    }

    /// A member holds so much of this host's state.
    pub(super) fn note_held(&mut self, now: Timestamp, from: PeerId, id: StateId) {
        if let Some(contact) = self.contacts.get_mut(&from) {
            contact.holds = contact.holds.max(id);
        }
        self.count_durable(now);
    }

    /// *Acknowledged* is what the host holds and min(2, standbys) others.
    fn count_durable(&mut self, now: Timestamp) {
        // What comes late to a host that stood still is no acknowledgement (I5): whether it still is one is looked at first.
        self.keep_mandate(now);
        let stamp = self.stamp();
        let newest = self.held.id();
        let mut held: Vec<StateId> =
            self.contacts.values().map(|it| it.holds).filter(|id| id.stamp == stamp).collect();
        held.sort_unstable();
        let copies =
            if self.config.level == Level::None { 0 } else { self.successors(now).take(STANDBYS).count() };
        let held_by_enough = match (copies, held.len().checked_sub(copies)) {
            (0, _) => newest,
            (_, Some(at)) => held[at].min(newest),
            (_, None) => StateId::NONE,
        };
        let safe = self.as_host(|reign| {
            let rose = held_by_enough > reign.durable && held_by_enough.stamp == stamp;
            if rose {
                reign.durable = held_by_enough;
            }
            let mut safe = None;
            while reign.safe_inputs.front().is_some_and(|(id, _)| *id <= reign.durable) {
                safe = reign.safe_inputs.pop_front().map(|(_, inputs)| inputs);
            }
            (rose && reign.mandate == Mandate::Confirmed, safe)
        });
        let Some((rose, safe)) = safe else { return };
        if let Some(safe) = safe {
            self.safe = safe;
        }
        if rose {
            self.outputs.push(Output::Durable(held_by_enough));
        }
    }

    /// Whether the host may tell its members of what it wrote as that part, by the session's [`Level`].
    #[must_use]
    pub fn may_tell(&self, id: StateId, kind: Kind) -> bool {
        let is_safe = match &self.leadership {
            Leadership::Reigns(reign) => id <= reign.durable,
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => false,
        };
        match (self.config.level, kind) {
            (Level::None | Level::Asynchronous, _) => true,
            (Level::DurableEvents, Kind::Snapshot | Kind::Delta) => true,
            (Level::DurableEvents, Kind::Event) | (Level::Synchronous, _) => is_safe,
        }
    }

    /// The state that it holds: as host its own, as a standby its host's.
    #[must_use]
    pub const fn held(&self) -> &State {
        &self.held
    }
}
