//! What the members' games do: inputs until a state holds them.
//!
//! A member keeps each input until its host says that a new host would have it too; whoever is host next says how far its
//! state goes, and is told the rest again. What a host says it has not, though it has heard this member since, was lost on the way,
//! and is said again at once. A host applies each once, in its order and without a gap ([`super::intake`]).

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use crate::message::{Beat, Body, Side};
use crate::session::intake::{Deed, Intake, UNDER_WAY_MAX};
use crate::session::reign::{Phase, Reign};
use crate::session::words::Output;
use crate::session::{Leadership, Session};
use crate::state::StateId;
use crate::{Guard, Guards, PeerId, Stamp};

/// How many inputs a member keeps: at sixty a second those of eight seconds, longer than a session takes to move.
pub const INPUTS_MAX: usize = 512;
/// How many deeds of others a host's game is given at once: a second of the largest session's. The rest waits until it has read those.
const DEEDS_AT_ONCE: usize = crate::MEMBERS_MAX * 20;
/// How many names of states a member remembers: at ten a second those of 25 s.
const NAMES_MAX: usize = 256;

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

    /// How many are kept, and how many bytes they are.
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept.iter().map(|kept| kept.bytes.len()).sum())
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

    /// Whether a host has told that one.
    pub(super) fn knows(&self, id: StateId) -> bool {
        self.known.get(&(id.stamp, id.number)) == Some(&id)
    }

    /// How many are remembered.
    pub(super) fn kept(&self) -> usize {
        self.known.len()
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
        Arc::make_mut(&mut self.applied).insert(from, number);
        self.outputs.push(Output::Apply { from, number, bytes });
    }

    /// A host begins with the state that it has: inputs that it holds are not applied again, and later ones are.
    pub(super) fn open(&mut self) {
        self.opened = self.held.id();
        // Whether anybody else holds its last event the host before took with it.
        self.newest_event = self.opened;
        self.applied = self.held.inputs();
        self.safe = Arc::clone(&self.applied);
        let intake = Box::new(Intake::after(&self.applied));
        self.as_host(|reign| {
            reign.safe_inputs.clear();
            reign.intake = intake;
        });
    }

    /// The host tells how far its game is, how far this member's inputs have come, and how far they are safe.
    pub(super) fn hear_side(&mut self, now: Timestamp, from: PeerId, side: &Side, beat: &Beat) {
        let stamp = self.stamp();
        // Of a later host nobody can have written anything: such names would push the honest ones out, and prove a forgery later.
        for told in [side.opened, side.state].into_iter().filter(|told| told.stamp <= stamp) {
            let known = self.names.hear(told).or_else(|| self.held.instead_of(told));
            if let Some(known) = known.filter(|_| G::stands(Guard::Past))
                && self.rewritten.is_news(now, from, told)
            {
                self.outputs.push(Output::Rewritten { host: from, told, known });
            }
        }
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
}
