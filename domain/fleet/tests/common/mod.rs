//! A fleet under test: every command goes through the same door, and after each turn the laws and the replay are checked.

#![expect(
    dead_code,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "each test file uses its own part; a test may panic"
)]

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Heard, Launch, Limits, Order, Phase, Reading, ReadySignal, Recovery,
    RestartPolicy, Spec, Status, StopPolicy, Stopped,
};
use mainstay_core::{
    AllocationId, BootId, BuildConfigurationId, BuildId, FleetId, FleetNumber, Generation, MachineId,
    MachineKey, RegionId, ReservationId, ServerId, StateMachine, Timestamp, Turn,
};
use mainstay_fleet::{
    Addresses, Answer, Command, End, Event, Fleet, FleetSpec, Growth, IdleServers, JoinedSlot, Life,
    Observation, Outcome, Ports, Purpose, RegionOpening, RegionSpec, Rejection, Renewal, Request, StreamId,
    Verb, laws,
};

pub const EUROPE: RegionId = RegionId(uuid::Uuid::from_u128(1));
pub const MINUTE: Duration = Duration::from_secs(60);

pub fn ranked() -> BuildConfigurationId {
    BuildConfigurationId::from_number(1).unwrap()
}

pub fn casual() -> BuildConfigurationId {
    BuildConfigurationId::from_number(2).unwrap()
}

pub fn allocation(n: u128) -> AllocationId {
    AllocationId(uuid::Uuid::from_u128(n))
}

pub fn reservation(n: u128) -> ReservationId {
    ReservationId(uuid::Uuid::from_u128(n))
}

pub fn reference(id: BuildConfigurationId) -> ConfigurationRef {
    ConfigurationRef { id, revision: 1 }
}

pub fn spec(configuration: ConfigurationRef) -> Spec {
    Spec {
        configuration,
        name: format!("configuration {}", configuration.id.number()).into(),
        build: BuildId::from_number(1).unwrap(),
        launch: Launch {
            folder: "/builds/arena".into(),
            binary: "arena".into(),
            command_line: String::new(),
            variables: vec![],
            environment: vec![],
        },
        query: None,
        limits: Limits { cpu_millis: 1000, memory_mib: 800 },
        caps: Caps::default(),
        stop: StopPolicy::default(),
        restart: RestartPolicy::default(),
        checks: Checks::default(),
        recovery: Recovery::default(),
        ready_signal: ReadySignal::default(),
    }
}

pub fn fleet_spec(idle_servers: IdleServers, growth: Growth) -> FleetSpec {
    FleetSpec {
        number: FleetNumber::new(1).unwrap(),
        id: FleetId::LOWEST,
        name: "arena".into(),
        revision: 1,
        idle_servers,
        regions: vec![RegionSpec {
            id: EUROPE,
            name: "Europe".into(),
            aliases: vec![],
            min_available: 0,
            max_servers: 100,
            opening: RegionOpening::Online,
            growth,
            ttl: None,
        }],
        configurations: vec![spec(reference(ranked())), spec(reference(casual()))],
        placement_timeout: MINUTE,
        retention: 60 * MINUTE,
        hosting: mainstay_fleet::Hosting::default(),
        floors: Vec::new(),
    }
}

/// A reading whose query said this of players; silence where nothing.
pub fn heard(players: Option<u32>) -> Reading {
    let heard = players
        .map_or(Heard::Silence, |players| Heard::Answer { players: Some(players), players_max: Some(8) });
    Reading { cpu_millis: Some(5), memory_bytes: None, heard }
}

/// A machine as its agent sees it: it obeys at once.
#[derive(Clone)]
pub struct Agent {
    pub machine: MachineId,
    pub stream: StreamId,
    pub slots: Vec<JoinedSlot>,
}

pub struct World {
    pub fleet: Fleet,
    pub now: Timestamp,
    pub journal: Vec<(Timestamp, Event)>,
    streams: u64,
}

impl World {
    pub fn new(spec: FleetSpec) -> Self {
        let now = Timestamp::from_unix_ms(1_800_000_000_000);
        let mut world = Self { fleet: Fleet::new(7), now, journal: vec![], streams: 0 };
        world.must(&Command::Configure(Arc::new(spec)));
        world
    }

    pub fn run(&mut self, command: &Command) -> Result<Answer, Rejection> {
        let outcome = Turn::run(self.now, &mut self.fleet, command);
        for event in outcome.events {
            assert_eq!(laws::after(&self.fleet, &event), Ok(()), "after {event:?} of {command:?}");
            self.journal.push((self.now, event));
        }
        assert_eq!(laws::all(&self.fleet), vec![], "after {command:?}");
        outcome.answer
    }

    pub fn must(&mut self, command: &Command) -> Answer {
        match self.run(command) {
            Ok(answer) => answer,
            Err(rejection) => panic!("{command:?}: {rejection}"),
        }
    }

    pub fn join(&mut self, key: u128, slots: u16) -> Agent {
        self.join_as(MachineKey(uuid::Uuid::from_u128(key)), slots, None)
    }

    /// A machine that a provider made joins.
    pub fn come(&mut self, machine: MachineId, slots: u16) -> Agent {
        let key = MachineKey::made(FleetId::LOWEST, machine);
        let agent = self.join_as(key, slots, None);
        assert_eq!(agent.machine, machine);
        self.connect(&agent);
        self.obey(&agent);
        agent
    }

    pub fn join_as(&mut self, key: MachineKey, slots: u16, boot: Option<BootId>) -> Agent {
        let command = Self::joining(key, slots, boot);
        match self.must(&command) {
            Answer::Joined { machine, slots } => {
                self.streams += 1;
                Agent { machine, stream: StreamId(self.streams), slots }
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn joining(key: MachineKey, slots: u16, boot: Option<BootId>) -> Command {
        let ports = (0..slots).map(|slot| Ports { game: 9000 + 2 * slot, query: 9001 + 2 * slot });
        Command::Join {
            key,
            region: EUROPE,
            name: format!("machine {key}").into(),
            addresses: Addresses::default(),
            slots: ports.collect(),
            boot,
            host: None,
        }
    }

    /// How a machine stands.
    pub fn life(&self, machine: MachineId) -> Option<Life> {
        Some(self.fleet.machine(machine)?.life)
    }

    /// Machines that a provider is to be asked about, with the verb; each is taken up.
    pub fn errands(&mut self) -> Vec<(MachineId, Verb)> {
        let machines: Vec<MachineId> = self.fleet.machines().map(|(id, _)| id).collect();
        let owed = machines
            .into_iter()
            .filter_map(|machine| Some((machine, self.fleet.owed(&machine).errand?.verb)));
        let owed: Vec<_> = owed.collect();
        for (machine, _) in &owed {
            self.fleet.observe(self.now, Observation::ErrandTaken(*machine));
        }
        owed
    }

    pub fn outcome(&mut self, machine: MachineId, verb: Verb, outcome: Outcome) {
        self.must(&Command::TakeOutcome { machine, verb, outcome });
    }

    pub fn end(&self, n: u128) -> Option<End> {
        self.fleet.allocation(allocation(n), self.now)?.end().map(|(_, end)| end.clone())
    }

    /// Joins, connects with every slot as it has never run, and obeys what is owed.
    pub fn machine(&mut self, key: u128, slots: u16) -> Agent {
        let agent = self.join(key, slots);
        self.connect(&agent);
        self.obey(&agent);
        agent
    }

    pub fn connect(&mut self, agent: &Agent) {
        let statuses = agent.slots.iter().map(|slot| Status {
            server: slot.server,
            generation: Generation::NONE,
            configuration: None,
            run: 0,
            phase: Phase::Stopped(Stopped::Idle),
        });
        let statuses = statuses.collect();
        self.must(&Command::Connect { machine: agent.machine, stream: agent.stream, statuses });
    }

    /// Does what is owed to a machine, as an agent whose processes start at once.
    pub fn obey(&mut self, agent: &Agent) -> Vec<Order> {
        let owed = self.fleet.owed(&agent.machine);
        for order in &owed.orders {
            let phase = match order.intent {
                mainstay_core::slot::Intent::Stop => Phase::Stopped(Stopped::Ordered),
                mainstay_core::slot::Intent::Run | mainstay_core::slot::Intent::Renew => {
                    Phase::Online { pid: 4711 }
                }
                mainstay_core::slot::Intent::Leave => match self.fleet.server(order.server).unwrap().seen() {
                    Some(seen) => seen.phase.clone(),
                    None => Phase::Stopped(Stopped::Idle),
                },
            };
            self.report(agent, order.server, order.generation, Some(order.configuration), phase);
        }
        owed.orders
    }

    pub fn report(
        &mut self,
        agent: &Agent,
        server: ServerId,
        generation: Generation,
        configuration: Option<ConfigurationRef>,
        phase: Phase,
    ) {
        let statuses = vec![Status { server, generation, configuration, run: 0, phase }];
        self.must(&Command::Report { machine: agent.machine, stream: agent.stream, statuses });
    }

    /// Reports a phase for the newest order of a server.
    pub fn says(&mut self, agent: &Agent, server: ServerId, phase: Phase) {
        let known = self.fleet.server(server).unwrap();
        let (generation, configuration) = (known.generation, known.configuration);
        self.report(agent, server, generation, Some(configuration), phase);
    }

    pub fn request(configuration: BuildConfigurationId) -> Request {
        Request {
            configuration,
            region: EUROPE,
            payload: None,
            renewal: Renewal::Keep,
            purpose: Purpose::Session,
        }
    }

    pub fn allocate(&mut self, n: u128, configuration: BuildConfigurationId) -> Result<Answer, Rejection> {
        self.run(&Command::Allocate { id: allocation(n), request: Self::request(configuration) })
    }

    /// Allocates and says on which server.
    pub fn place(&mut self, n: u128, configuration: BuildConfigurationId) -> ServerId {
        match self.allocate(n, configuration) {
            Ok(Answer::Placed { server }) => server,
            other => panic!("{other:?}"),
        }
    }

    /// The order that a server's process runs under, as its agent would say.
    pub fn process(&self, server: ServerId) -> Generation {
        self.fleet.server(server).unwrap().generation
    }

    /// A game asks to be held from now.
    pub fn hold(&mut self, server: ServerId, time: Duration) -> Result<Answer, Rejection> {
        let process = self.process(server);
        self.run(&Command::Hold { server, process, time })
    }

    /// A game reserves itself.
    pub fn reserve(&mut self, server: ServerId, n: u128) -> Result<Answer, Rejection> {
        let process = self.process(server);
        self.run(&Command::Reserve { server, process, reservation: reservation(n) })
    }

    pub fn status(&self, server: ServerId) -> &'static str {
        self.fleet.server(server).unwrap().status().word()
    }

    pub fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        let mut turns = 0;
        while let Some((due, why)) = self.fleet.next_deadline().filter(|(due, _)| *due <= self.now) {
            self.must(&Command::Due);
            turns += 1;
            assert!(turns < 1_000, "{why:?} is due at {due:?} for ever");
        }
    }

    pub fn lose(&mut self, agent: &Agent) {
        self.fleet
            .observe(self.now, Observation::Disconnected { machine: agent.machine, stream: agent.stream });
    }

    /// The same fleet from its journal alone.
    pub fn replayed(&self) -> Fleet {
        let mut fleet = Fleet::new(8);
        for (at, event) in &self.journal {
            fleet.apply(*at, event);
        }
        fleet
    }
}
