//! What kind of world a seed draws: how many peers, what their network is like, and which faults strike.

use mainstay_lobby::Takeover;
use mainstay_migration::{Arbiter, Level, MEMBERS_MAX, Order, WithoutMajority};

use crate::agenda::Micros;
use crate::random::Random;

/// One in how many worlds has no fault but hosts that crash: there it is known how soon a session has to go on.
const CRASHES_ONLY_IN: u64 = 4;

/// How long players gather at most: for some worlds longer than they live.
const GATHERING_MAX: Micros = 240_000_000;

/// One in how many worlds of a lobby has no fault but a host that does not reach it.
const UNHEARD_IN: u64 = 12;

/// One in how many worlds whose faults allow it gathers its players first.
const GATHERS_IN: u64 = 2;
/// How much rarer faults are in each second one of those.
const IN_PEACE: Micros = 8;

/// One in how many worlds has bad clocks, one in how many of those where everything goes wrong has storms, too, and as
/// many others have listeners that panic; one in how many of these has nothing but storms.
const BAD_CLOCKS_IN: u64 = 4;
const STORMS_IN: u64 = 5;
const STORMER_IN: u64 = 3;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const ROUGH: u64 = 810341 << 40;

/// In one of how many worlds where everything goes wrong somebody is struck as its session takes a step.
const FATED_IN: u64 = 3;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const FATED: u64 = 3_381 << 40;

/// One in how many of them finds no rest besides.
const RESTLESS_IN: u64 = 4;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const RESTLESS: u64 = 112_777 << 40;

/// How many levels there are that keep what was acknowledged; and one in how many worlds of a lobby nobody takes over before a lease is over.
const LEVELS: u64 = 3;
const STRICT_IN: u64 = 4;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const TERMS: u64 = 2_215 << 40;

/// In one of how many worlds some hosts rewrite the past.
const EDITED_IN: u64 = 6;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const EDITED: u64 = 837 << 40;

/// In one of how many worlds nothing of the game goes along.
const STATELESS_IN: u64 = 8;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const STATELESS: u64 = 2_607 << 40;

/// In one of how many worlds where everything goes wrong somebody plots.
const PLOTTED_IN: u64 = 5;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const PLOTTED: u64 = 547 << 40;

/// In one of how many worlds where hosts die they do not die alone.
const IN_COMPANY_IN: u64 = 3;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const IN_COMPANY: u64 = 105_444 << 40;

/// In one of how many worlds somebody would not go along.
const FLAGGED_IN: u64 = 6;
/// Draws that lot: such that the worlds of old that `tests/migration.rs` names are what they were.
pub(super) const FLAGGED: u64 = 12_627_953 << 40;

/// One in how many worlds has more players than a small game: each costs as much as thirty others.
const CROWD_IN: u64 = 64;
/// The fewest who join the founder of a crowd.
const CROWD_MIN: u64 = 16;

/// A world of peers.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    /// How many join the founder at the beginning.
    pub peers: usize,
    /// Who proves who is host.
    pub arbiter: Arbiter,
    /// By what hosts are chosen.
    pub order: Order,
    /// What sides without a majority do.
    pub without_majority: WithoutMajority,
    /// What hosts keep back until it is held.
    pub level: Level,
    /// When its lobby, where there is one, gives a session to another.
    pub takeover: Takeover,
    /// The shortest way of a message, in microseconds.
    pub delay: u64,
    /// What may be added to it each time.
    pub jitter: u64,
    /// How many messages of a million are lost.
    pub loss: u32,
    /// How many come twice.
    pub doubled: u32,
    /// How many are late by up to two seconds.
    pub spikes: u32,
    /// How listeners answer.
    pub listeners: Listeners,
    /// How long its players gather before they play, in microseconds.
    pub gathers: Micros,
    /// Which faults strike.
    pub faults: Faults,
    /// The longest pause between two of them, in microseconds.
    pub pause: u64,
    /// What its clocks are worth.
    pub clocks: Clocks,
    /// Whether members storm.
    pub storms: Storms,
    /// Who comes after the beginning.
    pub comers: Comers,
    /// Whether anybody is struck as the session takes a step.
    pub fates: Fates,
    /// What hosts make of the past.
    pub pasts: Pasts,
    /// Whether anybody plots against whoever comes next.
    pub plots: Plots,
    /// Who dies with a host.
    pub deaths: Deaths,
    /// Whether anybody would not go along.
    pub flags: Flags,
}

/// Whether anybody would not go along where its session moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flags {
    /// Nobody.
    On,
    /// See [`super::flags`].
    Some,
}

/// Whether a member plots against whoever comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plots {
    None,
    /// See [`super::plots`].
    Some,
}

/// Who dies with a host, where only hosts die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deaths {
    /// Nobody.
    Alone,
    /// See [`super::deaths`].
    InCompany,
    /// See [`mod@super::divided`].
    OfTheLarger,
}

/// What hosts make of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pasts {
    Kept,
    /// See [`super::pasts`].
    Edited,
}

/// Whether anybody is struck as a session takes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fates {
    Spared,
    /// See [`super::moments`].
    Struck,
    /// The same at any message, and people and networks change meanwhile: see [`super::unrest`].
    Restless,
}

/// Who comes after the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comers {
    /// Somebody now and then, where faults say so.
    Few,
    /// Somebody new for each that has gone.
    OneForEach,
}

/// What a world's clocks are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clocks {
    /// Each counts what passes.
    True,
    /// See [`super::clock`].
    Bad,
}

/// Whether members storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storms {
    None,
    /// See [`super::storms`].
    Some,
}

/// How a world's listeners answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listeners {
    /// There are none.
    None,
    /// Two on each peer, which are done at once.
    Quick,
    /// Two on each peer, which wait now and then.
    Slow,
    /// The same, and one call in a thousand is a veto.
    Vetoing,
    /// The same at any stage, and one call in a hundred panics: it is never answered, or takes the game along.
    Panicking,
}

/// Which faults strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Faults {
    /// None at all: then nobody migrates, but whom the host hands over to.
    Calm,
    /// Hosts crash, one after another, once the session has come to rest.
    HostCrashes,
    /// One peer does not hear its host, and everybody else does: then nobody migrates either.
    OneDeaf,
    /// All of them.
    Swarm,
    /// Radios that pause: then nobody migrates.
    Wireless,
    /// The host does not reach its lobby, and everybody else reaches both: then nobody migrates either.
    HostUnheard,
    /// One member storms: then nobody migrates either.
    Stormer,
    /// Hosts go as soon as the session has come to rest: they crash, hand over, or just leave.
    HostAfterHost,
    /// None but what its machines live through that are in other sessions, too, and its host's is not one: see [`mod@super::several`].
    Beside,
    /// One of a few stands still for a while, or goes, and then all is well for long enough to hold the game anew.
    Sleepers,
}

impl Scenario {
    /// Eight players, each on a Wi-Fi of its own: 1 % of packets lost, up to 40 ms of jitter; see `faults::pauses_radio`.
    pub(super) fn wireless(random: &mut Random) -> Self {
        Self {
            peers: 7,
            arbiter: Arbiter::Majority,
            order: Order::Documented,
            without_majority: WithoutMajority::Fork,
            level: Level::Asynchronous,
            takeover: Takeover::Fast,
            delay: random.between(5_000, 30_000),
            jitter: 40_000,
            loss: 10_000,
            doubled: 0,
            spikes: 0,
            listeners: Listeners::Quick,
            gathers: 0,
            faults: Faults::Wireless,
            // Somebody's radio pauses once in a second and a half, so each one's every twelve seconds.
            pause: 3_000_000,
            clocks: Clocks::True,
            storms: Storms::None,
            comers: Comers::Few,
            fates: Fates::Spared,
            pasts: Pasts::Kept,
            plots: Plots::None,
            deaths: Deaths::Alone,
            flags: Flags::On,
        }
    }

    /// A small session that lives through many hosts, and somebody new comes for each: every other one with nothing wrong but that, the
    /// rest with every fault, at three times the pace.
    pub(super) fn succession(random: &mut Random, arbiter: Arbiter) -> Self {
        let drawn = Self::draw(random);
        let faults = if random.chance(500_000) { Faults::HostAfterHost } else { Faults::Swarm };
        let is_calm = faults == Faults::HostAfterHost;
        let quiet = |rate: u32| if is_calm { 0 } else { rate };
        Self {
            peers: usize::try_from(random.between(2, 5)).unwrap_or(2),
            arbiter,
            without_majority: if is_calm { WithoutMajority::Fork } else { drawn.without_majority },
            loss: quiet(drawn.loss),
            doubled: quiet(drawn.doubled),
            spikes: quiet(drawn.spikes),
            listeners: match drawn.listeners {
                Listeners::Vetoing | Listeners::Panicking => Listeners::Slow,
                listeners @ (Listeners::None | Listeners::Quick | Listeners::Slow) => listeners,
            },
            faults,
            pause: drawn.pause / 3,
            comers: Comers::OneForEach,
            ..drawn
        }
    }

    /// Two to four players, nearly all of whom every state needs, and each time only one of them is in trouble.
    pub(super) fn few(random: &mut Random, arbiter: Arbiter) -> Self {
        let drawn = Self::draw(random);
        Self {
            peers: usize::try_from(random.between(1, 3)).unwrap_or(1),
            arbiter,
            loss: 0,
            doubled: 0,
            spikes: 0,
            listeners: Listeners::Quick,
            faults: Faults::Sleepers,
            comers: Comers::OneForEach,
            ..drawn
        }
    }

    /// One that falls in two: nothing else is wrong with it. Without a lobby it is small: of more, two have no majority.
    pub(super) fn divided(random: &mut Random, arbiter: Arbiter) -> Self {
        let drawn = Self::draw(random);
        let peers = match arbiter {
            Arbiter::Lobby => random.between(4, 8),
            Arbiter::Majority => 2,
        };
        Self {
            peers: usize::try_from(peers).unwrap_or(4),
            arbiter,
            without_majority: WithoutMajority::Fork,
            loss: 0,
            doubled: 0,
            spikes: 0,
            listeners: Listeners::Quick,
            faults: Faults::Swarm,
            deaths: Deaths::OfTheLarger,
            comers: Comers::OneForEach,
            ..drawn
        }
    }

    /// One where hosts die, and nothing else is wrong.
    pub(super) fn of_crashes(random: &mut Random) -> Self {
        let drawn = Self::draw(random);
        let listeners = match drawn.listeners {
            Listeners::Vetoing | Listeners::Panicking => Listeners::Slow,
            listeners @ (Listeners::None | Listeners::Quick | Listeners::Slow) => listeners,
        };
        Self {
            without_majority: WithoutMajority::Fork,
            loss: 0,
            doubled: 0,
            spikes: 0,
            listeners,
            faults: Faults::HostCrashes,
            ..drawn
        }
    }

    /// One of several sessions at once, where everything goes wrong.
    pub(super) fn one_of_several(random: &mut Random, arbiter: Arbiter) -> Self {
        let drawn = Self::draw(random);
        let peers = usize::try_from(random.between(2, 6)).unwrap_or(2);
        Self { peers, arbiter, faults: Faults::Swarm, ..drawn }
    }

    /// Another, where nothing does but with the machines that are in the others, too. It has twice as many of its own.
    pub(super) fn beside(random: &mut Random, arbiter: Arbiter) -> Self {
        let drawn = Self::draw(random);
        let peers = usize::try_from(random.between(5, 8)).unwrap_or(5);
        Self {
            peers,
            arbiter,
            faults: Faults::Beside,
            loss: 0,
            doubled: drawn.doubled,
            spikes: 0,
            listeners: Listeners::Quick,
            ..drawn
        }
    }

    /// The same world, now and then of as many players as a session may have. The lot is none of those that the world itself
    /// draws from.
    pub(super) fn crowded(self, lot: u64) -> Self {
        if !lot.is_multiple_of(CROWD_IN) {
            return self;
        }
        let span = MEMBERS_MAX as u64 - CROWD_MIN;
        let peers = usize::try_from(CROWD_MIN + (lot / CROWD_IN) % span).unwrap_or(MEMBERS_MAX - 1);
        Self { peers, ..self }
    }

    /// The same world, often with players that gather first: then its host gives it to whoever suits better. Where only hosts crash it is
    /// known how soon it goes on, and where the host is not heard by its lobby nobody moves. In each second one faults are rare: somebody
    /// has to suit better for ten seconds in which nobody comes or goes. The lot is none of those that the world itself draws from.
    pub(super) fn gathering(self, lot: u64) -> Self {
        let may = match self.faults {
            Faults::Calm | Faults::OneDeaf | Faults::Swarm => true,
            Faults::HostCrashes
            | Faults::HostAfterHost
            | Faults::Wireless
            | Faults::HostUnheard
            | Faults::Stormer
            | Faults::Beside
            | Faults::Sleepers => false,
        };
        if !may || !lot.is_multiple_of(GATHERS_IN) {
            return Self { gathers: 0, ..self };
        }
        let (gathers, rest) = ((lot / GATHERS_IN) % GATHERING_MAX, lot / GATHERS_IN / GATHERING_MAX);
        let pause = if rest.is_multiple_of(2) { self.pause * IN_PEACE } else { self.pause };
        Self { gathers, pause, ..self }
    }

    /// The same world under a lobby, now and then with no fault but that its host does not reach that. The lot is none of those that
    /// the world itself draws from.
    pub(super) fn unheard(self, lot: u64) -> Self {
        if self.arbiter == Arbiter::Majority || !lot.is_multiple_of(UNHEARD_IN) {
            return self;
        }
        Self { faults: Faults::HostUnheard, loss: 0, doubled: 0, spikes: 0, ..self }
    }

    /// The same world with bad clocks or storms, or with nothing wrong but a member that storms. The lot is none of those that the world
    /// itself draws from.
    pub(super) fn rough(self, lot: u64) -> Self {
        let clocks = if lot.is_multiple_of(BAD_CLOCKS_IN) { Clocks::Bad } else { Clocks::True };
        let is_swarm = self.faults == Faults::Swarm;
        let (lot, rest) = (lot / BAD_CLOCKS_IN, lot / BAD_CLOCKS_IN / STORMS_IN);
        let may_storm = is_swarm && lot.is_multiple_of(STORMS_IN);
        let panics = is_swarm && lot % STORMS_IN == 1;
        let listeners = if panics { Listeners::Panicking } else { self.listeners };
        let storms = if may_storm { Storms::Some } else { Storms::None };
        let world = Self { clocks, storms, listeners, ..self };
        if may_storm && rest.is_multiple_of(STORMER_IN) {
            let (faults, listeners, peers) = (Faults::Stormer, Listeners::Quick, world.peers.max(2));
            return Self { faults, listeners, peers, gathers: 0, loss: 0, doubled: 0, spikes: 0, ..world };
        }
        world
    }

    /// The same world, where everything goes wrong now and then with somebody struck as its session takes a step. The lot is none of those
    /// that the world itself draws from.
    pub(super) fn fated(self, lot: u64) -> Self {
        let is_struck = self.faults == Faults::Swarm && lot.is_multiple_of(FATED_IN);
        Self { fates: if is_struck { Fates::Struck } else { Fates::Spared }, ..self }
    }

    /// The same world, where everything goes wrong now and then without any rest. The lot is none of those that the world itself draws from.
    pub(super) fn restless(self, lot: u64) -> Self {
        let finds_none = self.faults == Faults::Swarm && lot.is_multiple_of(RESTLESS_IN);
        if finds_none { Self { fates: Fates::Restless, ..self } } else { self }
    }

    /// The same world at one of the levels, and now and then under a lobby that waits for leases. The lot is none of those that the world
    /// itself draws from.
    pub(super) fn on_terms(self, lot: u64) -> Self {
        let level = match lot % LEVELS {
            0 => Level::Asynchronous,
            1 => Level::DurableEvents,
            _ => Level::Synchronous,
        };
        let is_strict = self.arbiter == Arbiter::Lobby && (lot / LEVELS).is_multiple_of(STRICT_IN);
        Self { level, takeover: if is_strict { Takeover::Strict } else { Takeover::Fast }, ..self }
    }

    /// The same world, where now and then a host rewrites the past. The lot is none of those that the world itself draws from.
    pub(super) fn edited(self, lot: u64) -> Self {
        let pasts = if lot.is_multiple_of(EDITED_IN) { Pasts::Edited } else { Pasts::Kept };
        Self { pasts, ..self }
    }

    /// The same world, now and then of a game of which nothing goes along. The lot is none of those that the world itself draws from.
    pub(super) fn stateless(self, lot: u64) -> Self {
        if lot.is_multiple_of(STATELESS_IN) { Self { level: Level::None, ..self } } else { self }
    }

    /// The same world, where now and then somebody plots against whoever comes next. The lot is none of those that the world itself draws from.
    pub(super) fn plotted(self, lot: u64) -> Self {
        let is_plotted = self.faults == Faults::Swarm && lot.is_multiple_of(PLOTTED_IN);
        Self { plots: if is_plotted { Plots::Some } else { Plots::None }, ..self }
    }

    /// The same world, where now and then hosts do not die alone. The lot is none of those that the world itself draws from.
    pub(super) fn in_company(self, lot: u64) -> Self {
        let is_so = self.faults == Faults::HostCrashes && lot.is_multiple_of(IN_COMPANY_IN);
        Self { deaths: if is_so { Deaths::InCompany } else { Deaths::Alone }, ..self }
    }

    /// The same world, where now and then somebody would not go along. The lot is none of those that the world itself draws from.
    pub(super) fn flagged(self, lot: u64) -> Self {
        let may = match self.faults {
            Faults::Calm
            | Faults::OneDeaf
            | Faults::HostCrashes
            | Faults::HostAfterHost
            | Faults::Swarm
            | Faults::Sleepers => true,
            Faults::Wireless | Faults::HostUnheard | Faults::Stormer | Faults::Beside => false,
        };
        let flags = if may && lot.is_multiple_of(FLAGGED_IN) { Flags::Some } else { Flags::On };
        Self { flags, ..self }
    }

    pub(super) fn draw(random: &mut Random) -> Self {
        let faults = match random.below(4 * CRASHES_ONLY_IN) {
            0..=3 => Faults::HostCrashes,
            4 => Faults::Calm,
            5 => Faults::OneDeaf,
            _ => Faults::Swarm,
        };
        let swarm = faults == Faults::Swarm;
        let mut drawn = |per_million: u64| -> u32 {
            if swarm && random.chance(500_000) {
                u32::try_from(random.below(per_million)).unwrap_or(0)
            } else {
                0
            }
        };
        let (loss, doubled, spikes) = (drawn(150_000), drawn(100_000), drawn(20_000));
        Self {
            peers: usize::try_from(random.between(1, 15)).unwrap_or(1),
            arbiter: Arbiter::Majority,
            order: if random.chance(800_000) { Order::Documented } else { Order::CryEngine51 },
            without_majority: match random.below(6) {
                // Where hosts crash until one peer is left, two that would wait or end are known to.
                _ if faults == Faults::HostCrashes => WithoutMajority::Fork,
                0 => WithoutMajority::End,
                1 => WithoutMajority::Hold,
                _ => WithoutMajority::Fork,
            },
            level: Level::Asynchronous,
            takeover: Takeover::Fast,
            delay: random.between(500, 60_000),
            jitter: random.between(0, 30_000),
            loss,
            doubled,
            spikes,
            listeners: match random.below(8) {
                0 => Listeners::None,
                1..=3 => Listeners::Quick,
                7 if swarm => Listeners::Vetoing,
                _ => Listeners::Slow,
            },
            gathers: 0,
            faults,
            pause: random.between(1_000_000, 12_000_000),
            clocks: Clocks::True,
            storms: Storms::None,
            comers: Comers::Few,
            fates: Fates::Spared,
            pasts: Pasts::Kept,
            plots: Plots::None,
            deaths: Deaths::Alone,
            flags: Flags::On,
        }
    }
}
