//! I13: sessions do not influence each other. Seed 000: "each session can migrate independently (and concurrently)".
//!
//! Two or three sessions at once, and some machines are in all of them. Such a machine crashes, stands still, loses its network or has its clock
//! leap for all of its sessions in one moment. What comes to it over a link that two sessions share is now and then handed to the wrong one, as it
//! is; and now and then a machine that lies says again in one session what was signed in another, as if it were of that one.
//!
//! In the first session everything goes wrong that does in any world, and its host's machine is a shared one. In some of the others nothing does
//! but what shared machines live through: nobody else migrates there. And each session is lived once more, alone: with what its machines
//! lived through and what liars told it, and without a word that was only handed to the wrong one. It is the same world, to the last draw.

use mainstay_migration::{Arbiter, Body, Guards, Input, Message, PeerId, SessionId};

use super::clock::Sleeps;
use super::peer::{Alive, Life};
use super::scenario::{Clocks, Scenario};
use super::{Happening, Parcel, Report, SESSION, World, caught};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};
use crate::random::{Random, mix};
use crate::trace::Text;

/// Where the numbers of shared machines begin: more than a world has peers of its own.
const SHARED: u128 = 0xF0;
/// How many there are at most, and how many sessions.
const SHARED_MAX: u64 = 2;
const SESSIONS_MAX: u64 = 3;
/// How long until the next of them is struck, at most.
const PAUSE: Micros = 8_000_000;
/// For how long it is away, at most.
const AWAY_MIN: Micros = 100_000;
const AWAY_MAX: Micros = 20_000_000;
/// In how many of a million such strokes a machine crashes.
const CRASHES: u32 = 80_000;
/// How many of a million messages to one come to its other sessions, too; every second one as it is, and the others as a liar says them.
const WANDERS: u32 = 20_000;
/// How long all go on, at most.
const BUSY_MIN: Micros = 20_000_000;
const BUSY_MAX: Micros = 60_000_000;

/// What comes to a session from without.
#[derive(Debug, Clone)]
enum Outside {
    /// A shared machine of it.
    Lives(PeerId, Stroke),
    /// A word of another session is handed to it.
    IsMisled { to: PeerId, from: PeerId, message: Box<Message> },
    /// A liar says in it what was said in another.
    IsTold { to: PeerId, from: PeerId, message: Box<Message> },
}

/// What a machine lives through.
#[derive(Debug, Clone, Copy)]
enum Stroke {
    Crashes,
    StandsStill {
        span: Micros,
        sleeps: Sleeps,
    },
    LosesItsNetwork {
        span: Micros,
    },
    /// In milliseconds.
    ItsClockLeaps {
        span_ms: u64,
    },
}

/// When something came, and after how many happenings of the session.
#[derive(Debug, Clone)]
struct Came {
    at: Micros,
    after: u64,
    what: Outside,
}

/// Several sessions.
struct Several<G: Guards> {
    chance: Random,
    shared: Vec<PeerId>,
    worlds: Vec<World<G>>,
    /// What came to each.
    came: Vec<Vec<Came>>,
    strikes_at: Micros,
    /// Which one something happens to now.
    judged: usize,
}

/// Lives several sessions at once, and each of them alone: one report each.
#[must_use]
pub fn several<G: Guards>(seed: u64, text: Text) -> Vec<Report> {
    let mut several = Several::<G>::new(seed, text);
    let mut broken = caught(|| several.live()).or_else(|| caught(|| several.live_alone(seed)));
    let judged = std::mem::take(&mut several.judged);
    let worlds = several.worlds.into_iter().enumerate();
    worlds.map(|(index, world)| world.report(seed, broken.take_if(|_| index == judged))).collect()
}

/// The session of that number, before anything happens in it.
fn session<G: Guards>(seed: u64, number: u64, text: Text) -> World<G> {
    let lot = mix(seed ^ mix(number + 1));
    let mut random = Random::seeded(lot);
    let arbiter = if mix(lot).is_multiple_of(2) { Arbiter::Lobby } else { Arbiter::Majority };
    let is_beside = number > 0 && random.chance(600_000);
    let scenario = if is_beside {
        Scenario::beside(&mut random, arbiter)
    } else {
        Scenario::one_of_several(&mut random, arbiter)
    };
    let clocks = if random.chance(250_000) { Clocks::Bad } else { Clocks::True };
    let scenario =
        Scenario { clocks, ..scenario }.fated(mix(lot ^ 1)).restless(mix(lot ^ 2)).on_terms(mix(lot ^ 3));
    let mut world = World::new(random, scenario, text);
    world.session = SessionId(SESSION.0 + u128::from(number));
    let mut machines = Random::seeded(mix(!seed));
    let count = machines.between(1, SHARED_MAX);
    world.shared = (0..count)
        .map(|it| PeerId(u128::from(mix(machines.next())) << 8 | SHARED | u128::from(it)))
        .collect();
    // Of the first session a shared machine is the founder's.
    world.first_shared = if number == 0 { 1 } else { 2 };
    world.begin();
    world.until = 5_000_000 + Random::seeded(mix(!mix(seed))).between(BUSY_MIN, BUSY_MAX);
    world
}

impl<G: Guards> Several<G> {
    fn new(seed: u64, text: Text) -> Self {
        let mut chance = Random::seeded(mix(mix(!seed)));
        let worlds: Vec<World<G>> =
            (0..chance.between(2, SESSIONS_MAX)).map(|number| session(seed, number, text)).collect();
        Self {
            chance,
            shared: worlds[0].shared.clone(),
            came: vec![Vec::new(); worlds.len()],
            worlds,
            strikes_at: 5_000_000,
            judged: 0,
        }
    }

    /// Whose turn it is, and when.
    fn next(&self) -> Option<(Micros, usize)> {
        let turns =
            self.worlds.iter().enumerate().filter_map(|(index, world)| Some((world.next_at()?, index)));
        turns.min()
    }

    fn live(&mut self) -> Result<(), Broken> {
        while let Some((at, index)) = self.next() {
            if self.strikes_at <= at.min(self.worlds[index].until) {
                self.strikes()?;
                continue;
            }
            self.judged = index;
            let world = &mut self.worlds[index];
            let Some(what) = world.take() else { break };
            let word = if let Happening::Arrives { from, to, parcel: Parcel::Protocol(message) } = &what
                && self.shared.contains(to)
                && self.chance.chance(WANDERS)
            {
                Some((*from, *to, message.clone()))
            } else {
                None
            };
            world.lives_through(what)?;
            if let Some((from, to, message)) = word {
                self.wanders(index, from, to, message)?;
            }
        }
        for (index, world) in self.worlds.iter().enumerate() {
            self.judged = index;
            super::laws::at_rest(world)?;
        }
        Ok(())
    }

    /// A shared machine lives through something.
    fn strikes(&mut self) -> Result<(), Broken> {
        let at = self.strikes_at;
        self.strikes_at += self.chance.between(PAUSE / 20, PAUSE);
        let machine = self.shared[self.chance.index(self.shared.len())];
        let span = self.chance.between(AWAY_MIN, AWAY_MAX);
        let stroke = match self.chance.below(3) {
            _ if self.chance.chance(CRASHES) => Stroke::Crashes,
            0 => Stroke::StandsStill {
                span,
                sleeps: if self.chance.chance(500_000) { Sleeps::Yes } else { Sleeps::No },
            },
            1 => Stroke::LosesItsNetwork { span },
            _ => Stroke::ItsClockLeaps { span_ms: span / 1_000 },
        };
        (0..self.worlds.len()).try_for_each(|index| self.comes(index, at, Outside::Lives(machine, stroke)))
    }

    /// A word that came to one session comes to the others, too.
    fn wanders(
        &mut self,
        index: usize,
        from: PeerId,
        to: PeerId,
        message: Box<Message>,
    ) -> Result<(), Broken> {
        let at = self.worlds[index].now;
        let is_as_it_is = self.chance.chance(500_000);
        for other in (0..self.worlds.len()).filter(|other| *other != index) {
            let world = &self.worlds[other];
            let message = message.clone();
            let what = if is_as_it_is {
                Outside::IsMisled { to, from, message }
            } else if world.may_be_told(to, from, &message) {
                let message = Box::new(Message { session: world.session, ..*message });
                Outside::IsTold { to, from, message }
            } else {
                continue;
            };
            self.comes(other, at, what)?;
        }
        Ok(())
    }

    fn comes(&mut self, index: usize, at: Micros, what: Outside) -> Result<(), Broken> {
        self.judged = index;
        let world = &mut self.worlds[index];
        let came = Came { at, after: world.counts.events, what };
        world.meets_others(&came, Company::Others)?;
        self.came[index].push(came);
        Ok(())
    }

    /// Each of them without the others is the same.
    fn live_alone(&mut self, seed: u64) -> Result<(), Broken> {
        for ((number, world), came) in (0..).zip(&self.worlds).zip(&self.came) {
            self.judged = usize::try_from(number).unwrap_or_default();
            let mut alone = session::<G>(seed, number, Text::None);
            let mut came = came.iter().peekable();
            loop {
                while let Some(next) = came.next_if(|next| next.after == alone.counts.events) {
                    alone.meets_others(next, Company::Nobody)?;
                }
                let Some(what) = alone.take() else { break };
                alone.lives_through(what)?;
            }
            let told = |world: &World<G>| (world.trace.hash(), world.random.clone().next(), world.counts);
            let (alone, beside) = (told(&alone), told(world));
            ensure(alone == beside, "I13: a session is the same with and without others", || {
                format!("session {number} is {alone:?} alone, and {beside:?}")
            })?;
        }
        Ok(())
    }
}

/// Who else is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    Others,
    Nobody,
}

impl<G: Guards> World<G> {
    /// The machine of a peer that comes as the so-manyeth, if it is one that other sessions have.
    pub(super) fn shared_machine(&self, number: u128) -> Option<PeerId> {
        let index = usize::try_from(number.checked_sub(self.first_shared)?).ok()?;
        self.shared.get(index).copied()
    }

    /// Whether that can be said by a liar: what proves itself, and nothing by whoever signs in this session as its host.
    fn may_be_told(&self, to: PeerId, from: PeerId, message: &Message) -> bool {
        let proves_itself = matches!(
            message.body,
            Body::Announce(_) | Body::View(_) | Body::State(_) | Body::Claim(_) | Body::Vote(_)
        );
        let obeys = self.peers[&to].session().is_some_and(|session| session.leader() == from);
        proves_itself && self.shared.contains(&from) && !obeys && !self.oracle.has_ever_led(from)
    }

    fn meets_others(&mut self, came: &Came, company: Company) -> Result<(), Broken> {
        self.now = came.at;
        match &came.what {
            Outside::Lives(peer, stroke) => self.machine_lives(*peer, *stroke)?,
            Outside::IsMisled { to, from, message } => self.is_misled(*to, *from, message, company)?,
            Outside::IsTold { to, from, message } => {
                self.oracle.trouble_with(*from, self.now);
                self.arrives(*from, *to, Parcel::Protocol(message.clone()))?;
            }
        }
        super::laws::after(self)
    }

    fn machine_lives(&mut self, peer: PeerId, stroke: Stroke) -> Result<(), Broken> {
        if self.peers[&peer].alive != Alive::Running {
            return Ok(());
        }
        let is_bad = self.scenario.clocks == Clocks::Bad;
        match stroke {
            Stroke::Crashes => self.crashes(peer),
            Stroke::StandsStill { span, sleeps } => {
                self.stands_still(peer, span, if is_bad { sleeps } else { Sleeps::No });
                Ok(())
            }
            Stroke::LosesItsNetwork { span } => {
                self.is_cut_off(peer, span);
                Ok(())
            }
            Stroke::ItsClockLeaps { span_ms } if is_bad => self.leaps_by(peer, span_ms),
            Stroke::ItsClockLeaps { .. } => Ok(()),
        }
    }

    /// Alone it only wakes: nothing else is left of a word that is not its own.
    fn is_misled(
        &mut self,
        to: PeerId,
        from: PeerId,
        message: &Message,
        company: Company,
    ) -> Result<(), Broken> {
        if self.peers[&to].alive != Alive::Running {
            return Ok(());
        }
        let now = self.clock(to);
        let joined = match (&mut self.peer(to).life, company) {
            (Life::In(session), Company::Others) => {
                session.handle(now, Input::Message { from, message: message.clone() });
                None
            }
            (Life::In(session), Company::Nobody) => {
                session.handle(now, Input::Wake);
                None
            }
            (Life::Joins(joining), Company::Others) => Some(joining.receive(now, from, message)),
            (Life::Joins(_) | Life::NotYet | Life::Over, _) => None,
        };
        if let Some(joined) = joined {
            self.joined(to, joined)?;
        }
        self.drain(to)
    }
}
