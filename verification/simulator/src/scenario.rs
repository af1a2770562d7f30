//! What kind of world a seed draws. Swarm testing (Groce et al. 2012): each seed switches a random subset of the faults
//! on, because some bugs hide where everything fails at once.

use crate::agenda::Micros;
use crate::random::Random;

const MS: Micros = 1_000;
const SECOND: Micros = 1_000_000;

/// The knobs of one world. Chances are per million events unless said otherwise; 0 is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// How many machines, and how many slots each has at first.
    pub machines: usize,
    /// Slots of each machine at first.
    pub slots: usize,
    /// How many callers allocate and deallocate.
    pub callers: usize,
    /// How long faults and callers go on.
    pub busy: Micros,
    /// The fleet.
    pub fleet: FleetKnobs,
    /// The network.
    pub network: Network,
    /// The disks.
    pub disk: Disk,
    /// The game's processes.
    pub games: Games,
    /// Crashes and losses.
    pub crashes: Crashes,
    /// Callers and operators.
    pub people: People,
    /// How machines come, go and are lost.
    pub machine: MachineKnobs,
    /// The machine provider's faults.
    pub provider: ProviderFaults,
}

/// How machines come, go and are lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineKnobs {
    /// How long a machine may be silent before it is lost.
    pub lost_after: Micros,
    /// Its allocations are placed anew, or fail.
    pub place_anew: bool,
    /// How long machines idle before they are emptied, and deleted; for ever where nothing.
    pub ttl: Option<(Micros, Micros)>,
    /// The region's provider, where it has one.
    pub provided: Option<ProvidedKnobs>,
    /// How far a machine's clock is from the plane's at most, in either direction.
    pub skew_ms: u64,
}

/// A region's provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvidedKnobs {
    /// Free servers to keep.
    pub min_available: u32,
    /// Slots of each machine.
    pub slots: u32,
    /// The most machines it has at once.
    pub machines_max: u32,
    /// How long a machine may take until it joins.
    pub create_timeout: Micros,
}

/// What goes wrong at a machine provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFaults {
    /// In a million calls, how many fail; half of these did what they were asked all the same.
    pub fails: u32,
    /// In a million calls, how many never answer; half of these are done later.
    pub hangs: u32,
    /// In a million calls, how many are done a second time, later.
    pub doubles: u32,
    /// In a million machines listed, how many are left out.
    pub forgets: u32,
    /// Per million events: a machine that the provider made is gone.
    pub dies: u32,
    /// Per million events: a machine is cut off.
    pub cuts: u32,
}

/// What the fleet is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetKnobs {
    /// Idle servers run (start on provision) or not.
    pub start_on_provision: bool,
    /// How many build configurations there are.
    pub configurations: u32,
    /// Machines may join beyond those that are known.
    pub may_grow: bool,
    /// How many servers may be allocated at once.
    pub max_servers: u32,
    /// How long an allocation waits for a server.
    pub placement_timeout: Micros,
    /// Whether servers are queried.
    pub queried: bool,
    /// How long a server may take to its first answer.
    pub start_grace: Micros,
    /// How long after the stop signal SIGKILL follows.
    pub kill_after: Micros,
    /// Restarts allowed within the window.
    pub restarts: u32,
    /// The window.
    pub restart_window: Micros,
    /// The time between two checks of a process.
    pub check_every: Micros,
    /// How many failures of a check within 30 minutes make a process misbehave.
    pub check_failures: u32,
    /// Whether silence under an allocation ends it (pre-recovery), or is answered by a restart.
    pub pre_recovery: bool,
    /// Games reserve themselves, and nobody allocates.
    pub reservations: bool,
    /// When an allocation has lived long enough.
    pub allocation_ttl: AllocationKnobs,
    /// Whether the query tells how many play.
    pub players_told: bool,
}

/// When an allocation has lived long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationKnobs {
    /// Never.
    Off,
    /// After so long without players.
    Idle(Micros),
    /// After so long, whoever plays.
    Age(Micros),
}

impl AllocationKnobs {
    /// The longest time it adds to a world's rest.
    pub(crate) const fn within(self) -> Micros {
        match self {
            Self::Off => 0,
            Self::Idle(time) | Self::Age(time) => time,
        }
    }
}

/// The network between agents, plane and callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The least and the usual greatest delay of a message.
    pub delay: (Micros, Micros),
    /// How often in a million messages one takes up to a hundred times as long.
    pub slow_message: u32,
    /// A stream breaks.
    pub stream_breaks: u32,
    /// In a million breaks, how often one end does not notice for up to 30 s.
    pub half_open: u32,
    /// In a million frames to an agent, how many are obeyed a second time up to 20 s later, whatever has come since.
    pub frame_again: u32,
    /// In a million calls, how many are lost on the way.
    pub call_lost: u32,
    /// In a million calls, how many answers are lost.
    pub answer_lost: u32,
    /// In a million calls, how many arrive twice.
    pub call_doubled: u32,
}

/// Every disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// The least and the usual greatest time of a sync.
    pub sync: (Micros, Micros),
    /// In a million syncs, how many take up to a second.
    pub slow_sync: u32,
    /// In a million syncs, how many fail: the process ends, and what the disk holds is unknown.
    pub failed_sync: u32,
    /// In a million syncs, how many find the disk full.
    pub full: u32,
    /// In a million crashes with a batch before the disk, how often it was written though nobody heard.
    pub written_unheard: u32,
    /// After how many turns a journal is compacted to a snapshot.
    pub compact_after: usize,
}

/// The game's processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Games {
    /// The least and the greatest time from start to answering.
    pub start: (Micros, Micros),
    /// In a million starts, how many holders take up to a hundred times as long before they lock their slot.
    pub slow_holder: u32,
    /// In a million starts, how many never answer a query.
    pub hangs: u32,
    /// In a million starts, how many ignore SIGTERM.
    pub ignores_term: u32,
    /// In a million starts, how many fail before any game code runs.
    pub not_started: u32,
    /// In a million starts, how many crash by themselves within `life`.
    pub crashes: u32,
    /// In a million starts, how many exit with code 0 by themselves within `life`.
    pub completes: u32,
    /// In a million starts, how many answer no query any more from some moment within `life` on.
    pub mutes: u32,
    /// In a million starts, how many use too much CPU from some moment within `life` on.
    pub hogs: u32,
    /// In a million starts, how many are played on now and then; nobody ever comes to the others.
    pub played: u32,
    /// The greatest time to such an end.
    pub life: Micros,
}

/// Crashes and losses, at any event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crashes {
    /// The plane's process ends.
    pub plane: u32,
    /// An agent's process ends; its servers play on.
    pub agent: u32,
    /// A machine reboots.
    pub reboot: u32,
    /// The wall clock of the plane's host or a machine is set, by up to 400 days in either direction.
    pub wall_jumps: u32,
    /// In a million starts of the plane or an agent, how many find a wall clock that is wrong.
    pub wrong_start: u32,
    /// In a million crashes of the plane, how many are a reboot of its host.
    pub plane_reboots: u32,
    /// A holder is killed, and its game with it.
    pub holder: u32,
    /// The plane forgets all its soft state.
    pub plane_forgets: u32,
    /// An agent forgets all its soft state.
    pub agent_forgets: u32,
    /// The greatest time a process or machine stays away.
    pub down: Micros,
}

/// Callers and operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct People {
    /// The greatest time a caller thinks.
    pub think: Micros,
    /// The greatest time a session lasts.
    pub session: Micros,
    /// How long a caller waits for an answer.
    pub patience: Micros,
    /// An operator does something to some server.
    pub operator: u32,
    /// A game asks to be held or reserved, ends that, or says whether it takes players.
    pub game_asks: u32,
    /// The fleet is configured anew.
    pub reconfigure: u32,
    /// A machine's agent is asked to stop its servers and ends; it starts them again when it comes back.
    pub park: u32,
    /// A machine's agent is restarted with one slot more.
    pub grow: u32,
}

impl Scenario {
    /// The standard world: 8 machines, 40 slots; the rest from the seed.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let mut swarm = Swarm { random };
        let mut drawn = Self {
            machines: 8,
            slots: 5,
            callers: 16,
            busy: swarm.between(2 * SECOND, 120 * SECOND),
            fleet: swarm.fleet(),
            network: swarm.network(),
            disk: swarm.disk(),
            games: swarm.games(),
            crashes: swarm.crashes(),
            people: swarm.people(),
            machine: swarm.machine(),
            provider: swarm.provider(),
        };
        if drawn.fleet.reservations {
            // Nobody allocates there: without games that ask nothing would happen.
            drawn.people.game_asks = drawn.people.game_asks.max(20_000);
        }
        drawn
    }

    /// The standard world without faults: processes start and end, callers come and go, and nothing else happens.
    #[must_use]
    pub fn calm(random: &mut Random) -> Self {
        let mut calm = Self::draw(random);
        calm.network = Network {
            slow_message: 0,
            stream_breaks: 0,
            half_open: 0,
            frame_again: 0,
            call_lost: 0,
            answer_lost: 0,
            call_doubled: 0,
            ..calm.network
        };
        calm.disk = Disk { slow_sync: 0, failed_sync: 0, full: 0, ..calm.disk };
        calm.crashes = Crashes {
            plane: 0,
            agent: 0,
            reboot: 0,
            wall_jumps: 0,
            wrong_start: 0,
            plane_reboots: 0,
            holder: 0,
            plane_forgets: 0,
            agent_forgets: 0,
            ..calm.crashes
        };
        calm.provider = ProviderFaults { fails: 0, hangs: 0, doubles: 0, forgets: 0, dies: 0, cuts: 0 };
        calm
    }
}

struct Swarm<'a> {
    random: &'a mut Random,
}

impl Swarm<'_> {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.random.between(low, high)
    }

    /// Off in half of the worlds; else up to `most`, small values as likely as large ones.
    fn sometimes(&mut self, most: u32) -> u32 {
        if self.random.chance(500_000) {
            return 0;
        }
        let halvings = self.random.below(6);
        (most >> halvings).max(1)
    }

    fn either(&mut self) -> bool {
        self.random.chance(500_000)
    }

    fn fleet(&mut self) -> FleetKnobs {
        FleetKnobs {
            start_on_provision: self.either(),
            configurations: u32::try_from(self.between(1, 3)).unwrap_or(1),
            may_grow: self.either(),
            max_servers: if self.either() { 1_000 } else { 30 },
            placement_timeout: self.between(5 * SECOND, 60 * SECOND),
            queried: self.random.chance(800_000),
            start_grace: self.between(5 * SECOND, 30 * SECOND),
            kill_after: self.between(2 * SECOND, 20 * SECOND),
            restarts: u32::try_from(self.between(0, 3)).unwrap_or(1),
            restart_window: if self.either() { 1_800 * SECOND } else { 15 * SECOND },
            check_every: self.between(500 * MS, 10 * SECOND),
            check_failures: u32::try_from(self.between(1, 3)).unwrap_or(1),
            pre_recovery: self.random.chance(700_000),
            reservations: self.random.chance(150_000),
            allocation_ttl: match self.random.below(10) {
                0..=1 => AllocationKnobs::Age(self.between(2_000, 40_000) * MS),
                2..=4 => AllocationKnobs::Idle(self.between(500, 20_000) * MS),
                _ => AllocationKnobs::Off,
            },
            players_told: self.random.chance(900_000),
        }
    }

    fn network(&mut self) -> Network {
        Network {
            delay: if self.either() { (10, self.between(20, 500)) } else { (50, self.between(200, 20 * MS)) },
            slow_message: self.sometimes(50_000),
            stream_breaks: self.sometimes(5_000),
            half_open: self.sometimes(500_000),
            frame_again: self.sometimes(50_000),
            call_lost: self.sometimes(100_000),
            answer_lost: self.sometimes(100_000),
            call_doubled: self.sometimes(100_000),
        }
    }

    fn disk(&mut self) -> Disk {
        Disk {
            sync: if self.either() {
                (50, self.between(100, 500))
            } else {
                (200, self.between(500, 10 * MS))
            },
            slow_sync: self.sometimes(20_000),
            failed_sync: self.sometimes(2_000),
            full: self.sometimes(2_000),
            written_unheard: 500_000,
            compact_after: usize::try_from(self.between(20, 2_000)).unwrap_or(500),
        }
    }

    fn games(&mut self) -> Games {
        Games {
            start: (20 * MS, self.between(50 * MS, 4 * SECOND)),
            slow_holder: self.sometimes(300_000),
            hangs: self.sometimes(100_000),
            ignores_term: self.sometimes(200_000),
            not_started: self.sometimes(100_000),
            crashes: self.sometimes(600_000),
            completes: self.sometimes(600_000),
            mutes: self.sometimes(300_000),
            hogs: self.sometimes(300_000),
            played: self.sometimes(900_000),
            life: self.between(2 * SECOND, 60 * SECOND),
        }
    }

    fn crashes(&mut self) -> Crashes {
        Crashes {
            plane: self.sometimes(2_000),
            agent: self.sometimes(4_000),
            reboot: self.sometimes(500),
            wall_jumps: self.sometimes(1_000),
            wrong_start: self.sometimes(900_000),
            plane_reboots: self.sometimes(600_000),
            holder: self.sometimes(1_000),
            plane_forgets: self.sometimes(1_000),
            agent_forgets: self.sometimes(4_000),
            down: if self.either() { self.between(5 * MS, 200 * MS) } else { self.between(MS, 15 * SECOND) },
        }
    }

    fn machine(&mut self) -> MachineKnobs {
        let ttl = self.either().then(|| {
            let shutdown = self.between(2 * SECOND, 30 * SECOND);
            (shutdown, shutdown + self.between(0, 20 * SECOND))
        });
        let provided = self.either().then(|| ProvidedKnobs {
            min_available: u32::try_from(self.between(0, 60)).unwrap_or(0),
            slots: u32::try_from(self.between(1, 5)).unwrap_or(1),
            machines_max: u32::try_from(self.between(1, 8)).unwrap_or(1),
            create_timeout: self.between(10 * SECOND, 60 * SECOND),
        });
        MachineKnobs {
            lost_after: if self.either() { 60 * SECOND } else { self.between(2 * SECOND, 20 * SECOND) },
            place_anew: self.either(),
            ttl,
            provided,
            skew_ms: if self.either() { 0 } else { self.between(0, 400 * 86_400 * 1_000) },
        }
    }

    fn provider(&mut self) -> ProviderFaults {
        ProviderFaults {
            fails: self.sometimes(500_000),
            hangs: self.sometimes(300_000),
            doubles: self.sometimes(200_000),
            forgets: self.sometimes(100_000),
            dies: self.sometimes(2_000),
            cuts: self.sometimes(2_000),
        }
    }

    fn people(&mut self) -> People {
        People {
            think: if self.either() { self.between(20, 5 * MS) } else { self.between(5 * MS, SECOND) },
            session: if self.either() {
                self.between(20, 50 * MS)
            } else {
                self.between(50 * MS, 20 * SECOND)
            },
            patience: self.between(100 * MS, 5 * SECOND),
            operator: self.sometimes(5_000),
            game_asks: self.sometimes(20_000),
            reconfigure: self.sometimes(4_000),
            park: self.sometimes(300),
            grow: self.sometimes(100),
        }
    }
}
