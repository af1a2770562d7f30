//! Honest hands and real consequences, without an operating system: what the supervisor is owed is done here to a table
//! of processes, and every turn is checked against the laws. Shared by the sentence tests and the property tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Exit, Heard, Intent, Killer, Launch, Limits, Order, Phase, Query,
    QueryPort, Reading, ReadySignal, Recovery, RestartPolicy, Scene, Session, Spec, StopPolicy,
};
use mainstay_core::{
    AllocationId, BuildConfigurationId, BuildId, FleetNumber, Generation, ServerId, StateMachine, Timestamp,
    Turn,
};
use mainstay_supervisor::{
    Act, Answer, Command, Event, Observation, Rejection, RunNumber, Rung, SessionFile, Sight, Supervisor,
    laws,
};

/// How a game of some configuration behaves.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// Whether its process can be started.
    pub starts: bool,
    /// Whether it answers queries.
    pub answers: bool,
    /// Whether it ends on a signal that it may ignore.
    pub obeys: bool,
    /// What it uses.
    pub uses: Uses,
}

/// What a process uses.
#[derive(Debug, Clone, Copy)]
pub enum Uses {
    /// Next to nothing.
    Little,
    /// This much CPU.
    CpuMillis(u32),
    /// This much memory.
    MemoryBytes(u64),
}

/// Starts, answers, obeys.
pub const GOOD: Behaviour = Behaviour { starts: true, answers: true, obeys: true, uses: Uses::Little };

/// What a process was given when it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub run: RunNumber,
    pub configuration: ConfigurationRef,
    pub allocation: Option<AllocationId>,
    pub pid: u32,
}

/// What a slot's directory shows.
#[derive(Debug, Default)]
pub struct Disk {
    pub process: Option<Process>,
    pub exit: Option<(RunNumber, Option<Exit>)>,
    pub file: Option<SessionFile>,
}

/// A supervisor, its hands and the world.
pub struct World {
    pub state: Supervisor,
    pub now: Timestamp,
    pub log: Vec<(Timestamp, Event)>,
    pub history: laws::History,
    pub disk: BTreeMap<ServerId, Disk>,
    pub behaviours: BTreeMap<ConfigurationRef, Behaviour>,
    /// Every process there ever was.
    pub started: Vec<Process>,
    /// Every signal there ever was.
    pub signals: Vec<i32>,
    /// How many checks there have been.
    pub checked: usize,
    /// The newest run that has been checked: CPU is measured from one check to the next.
    measured: RunNumber,
    /// How every game behaves once one has got a signal.
    pub after_signal: Option<Behaviour>,
    generations: BTreeMap<ServerId, u64>,
}

pub fn server(n: u32) -> ServerId {
    ServerId::of(FleetNumber::new(1).expect("1 is a fleet number"), n)
}

pub fn configuration(n: u32) -> ConfigurationRef {
    let fleet = FleetNumber::new(0).expect("0 is a fleet number");
    ConfigurationRef { id: BuildConfigurationId::of(fleet, n), revision: 1 }
}

pub fn allocation(n: u128) -> AllocationId {
    AllocationId(uuid::Uuid::from_u128(n))
}

pub fn spec(configuration: ConfigurationRef) -> Arc<Spec> {
    Arc::new(Spec {
        configuration,
        name: "game".into(),
        build: BuildId::of(FleetNumber::new(0).expect("0 is a fleet number"), 1),
        launch: Launch {
            folder: "/games/game".into(),
            binary: "game".into(),
            command_line: "-port $$port$$".into(),
            variables: vec![],
            environment: vec![],
        },
        query: Some(Query {
            protocol: "sqp".into(),
            port: QueryPort::Query,
            timeout: Duration::from_secs(1),
            start_grace: Duration::from_secs(30),
        }),
        limits: Limits { cpu_millis: 1000, memory_mib: 512 },
        caps: Caps::default(),
        stop: StopPolicy::default(),
        restart: RestartPolicy::default(),
        checks: Checks::default(),
        recovery: Recovery::default(),
        ready_signal: ReadySignal::default(),
    })
}

pub fn order(n: u32, generation: u64, configuration: ConfigurationRef, intent: Intent) -> Order {
    Order {
        server: server(n),
        generation: Generation::from_number(generation),
        configuration,
        allocation: None,
        intent,
    }
}

pub fn for_session(order: Order, allocation: AllocationId) -> Order {
    Order { allocation: Some(Session { allocation, payload: None }), ..order }
}

impl Default for World {
    fn default() -> Self {
        let mut world = Self {
            state: Supervisor::new(),
            now: Timestamp::from_unix_ms(1_800_000_000_000),
            log: vec![],
            history: laws::History::new(),
            disk: BTreeMap::new(),
            behaviours: BTreeMap::new(),
            started: vec![],
            signals: vec![],
            checked: 0,
            measured: RunNumber::NONE,
            after_signal: None,
            generations: BTreeMap::new(),
        };
        for n in 1..=3 {
            world.behaviours.insert(configuration(n), GOOD);
        }
        world.tell(Command::TakeSpecs { specs: (1..=3).map(|n| spec(configuration(n))).collect() });
        world
    }
}

impl World {
    /// One turn, with the laws after it.
    pub fn ask(&mut self, command: &Command) -> Result<Answer, Rejection> {
        let outcome = Turn::run(self.now, &mut self.state, command);
        for event in &outcome.events {
            self.history.watch(self.now, event).unwrap_or_else(|broken| panic!("{broken}\n{command:?}"));
            laws::after(&self.state, event).unwrap_or_else(|broken| panic!("{broken}\n{command:?}"));
        }
        laws::all(&self.state).unwrap_or_else(|broken| panic!("{broken}\n{command:?}"));
        let state = &self.state;
        // A slot that is no longer this machine's leaves nothing behind.
        self.disk.retain(|server, disk| state.slot(*server).is_some() || disk.process.is_some());
        self.log.extend(outcome.events.into_iter().map(|event| (self.now, event)));
        outcome.answer
    }

    /// One turn that is not refused.
    pub fn tell(&mut self, command: Command) -> Answer {
        self.ask(&command).unwrap_or_else(|rejection| panic!("{command:?}: {rejection}"))
    }

    pub fn observe(&mut self, observation: Observation) {
        self.state.observe(self.now, observation);
        laws::all(&self.state).unwrap_or_else(|broken| panic!("{broken}\n{observation:?}"));
    }

    /// The next order of a slot.
    pub fn order(
        &mut self,
        n: u32,
        intent: Intent,
        configuration: ConfigurationRef,
        session: Option<u128>,
    ) -> Answer {
        let generation = self.generations.entry(server(n)).or_default();
        *generation += 1;
        let mut order = order(n, *generation, configuration, intent);
        if let Some(session) = session {
            order = for_session(order, allocation(session));
        }
        if !self.state.specs().any(|spec| spec.configuration == configuration) {
            self.tell(Command::TakeSpecs { specs: vec![spec(configuration)] });
        }
        self.tell(Command::TakeOrders { orders: vec![order] })
    }

    /// Does one thing that a slot is owed; whether there was one.
    pub fn work(&mut self, n: u32) -> bool {
        let server = server(n);
        let effects = self.state.owed(&server);
        if let Some(file) = effects.write {
            self.disk.entry(server).or_default().file = Some(file);
            self.observe(Observation::Wrote { server, file });
            return true;
        }
        match effects.act {
            Act::Nothing => self.bring_exit(server),
            Act::Look { run } => {
                self.look(server, run);
                true
            }
            Act::Start { run, configuration, allocation } => {
                let named =
                    self.disk.get(&server).and_then(|disk| disk.file).and_then(|file| file.allocation);
                assert_eq!(named, allocation, "a start is owed for the session that server.json names");
                self.start(server, run, configuration);
                true
            }
            Act::Probe { run, configuration } => {
                let alive = self.process(server).is_some_and(|process| process.run == run);
                if alive && self.behaviours[&configuration].answers {
                    self.tell(Command::Answered { server, run });
                    return true;
                }
                self.bring_exit(server)
            }
            Act::Check { run, configuration, .. } => {
                if self.process(server).is_some_and(|process| process.run == run) {
                    self.check(server, run, configuration);
                    return true;
                }
                self.bring_exit(server)
            }
            Act::Signal { run, signal } => {
                self.signal(server, run, Rung::Signal, signal);
                true
            }
            Act::Kill { run } => {
                self.signal(server, run, Rung::Kill, 9);
                true
            }
        }
    }

    /// Works until nothing more is owed, without letting time pass.
    pub fn settle(&mut self) {
        let servers: Vec<u32> = self.state.slots().map(|(server, _)| server.counter()).collect();
        for _ in 0..1000 {
            let worked = servers.iter().filter(|&&n| self.work(n)).count();
            if worked == 0 {
                return;
            }
        }
        panic!("the hands spin");
    }

    /// Lets time pass: every deadline on the way is kept.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some((at, _)) = self.state.next_deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.tell(Command::Due);
            self.settle();
        }
        self.now = end;
    }

    /// The game ends by itself and the hands hear of it.
    pub fn exits(&mut self, n: u32, exit: Exit) {
        self.dies(n, Some(exit));
        assert!(self.bring_exit(server(n)), "a live run was expected");
        self.settle();
    }

    /// The process ends; nobody has heard of it yet. Without an exit the machine lost it.
    pub fn dies(&mut self, n: u32, exit: Option<Exit>) -> bool {
        let disk = self.disk.entry(server(n)).or_default();
        match disk.process.take() {
            Some(process) => {
                disk.exit = Some((process.run, exit));
                true
            }
            None => false,
        }
    }

    pub fn process(&self, server: ServerId) -> Option<&Process> {
        self.disk.get(&server)?.process.as_ref()
    }

    pub fn running(&self, n: u32) -> Option<(ConfigurationRef, Option<AllocationId>)> {
        self.process(server(n)).map(|process| (process.configuration, process.allocation))
    }

    /// The pid of the process that runs.
    pub fn pid(&self, n: u32) -> Option<u32> {
        self.process(server(n)).map(|process| process.pid)
    }

    /// The allocation id that `server.json` holds.
    pub fn told(&self, n: u32) -> Option<AllocationId> {
        self.disk.get(&server(n))?.file?.allocation
    }

    pub fn phase(&self, n: u32) -> Phase {
        self.state.status(server(n)).expect("the slot has been looked at").phase
    }

    fn bring_exit(&mut self, server: ServerId) -> bool {
        let Some((run, exit)) = self.disk.get(&server).and_then(|disk| disk.exit.clone()) else {
            return false;
        };
        let live =
            self.state.slot(server).and_then(|slot| slot.live_run()).is_some_and(|live| live.number == run);
        if live {
            self.tell(match exit {
                Some(exit) => Command::Exited { server, run, exit, scene: Scene::empty() },
                None => Command::Lost { server, run },
            });
        }
        live
    }

    fn check(&mut self, server: ServerId, run: RunNumber, configuration: ConfigurationRef) {
        self.checked += 1;
        let behaviour = self.behaviours[&configuration];
        let queried = self.state.spec(configuration).is_some_and(|spec| spec.query.is_some());
        let (cpu_millis, memory_bytes) = match behaviour.uses {
            Uses::Little => (1, 1),
            Uses::CpuMillis(millis) => (millis, 1),
            Uses::MemoryBytes(bytes) => (1, bytes),
        };
        let heard = match (queried, behaviour.answers) {
            (false, _) => Heard::Unasked,
            (true, false) => Heard::Silence,
            (true, true) => Heard::Answer { players: Some(0), players_max: Some(8) },
        };
        let is_first = std::mem::replace(&mut self.measured, run) != run;
        let cpu_millis = (!is_first).then_some(cpu_millis);
        let reading = Reading { cpu_millis, memory_bytes: Some(memory_bytes), heard };
        self.tell(Command::Checked { server, run, reading });
    }

    fn look(&mut self, server: ServerId, run: RunNumber) {
        let disk = self.disk.entry(server).or_default();
        let sight = match (&disk.process, &disk.exit) {
            (Some(process), _) if process.run == run => Sight::Running { pid: process.pid },
            (_, Some((ended, _))) if *ended == run => {
                self.bring_exit(server);
                return;
            }
            _ => Sight::Absent,
        };
        self.observe(Observation::Saw { server, run, sight });
    }

    fn start(&mut self, server: ServerId, run: RunNumber, configuration: ConfigurationRef) {
        let number = u32::try_from(self.started.len()).expect("few processes");
        let disk = self.disk.entry(server).or_default();
        if disk.process.as_ref().is_some_and(|process| process.run == run)
            || disk.exit.as_ref().is_some_and(|(ended, _)| *ended == run)
        {
            // The holder of the run has been there already: its lock and its record say so.
            self.look(server, run);
            return;
        }
        assert_eq!(disk.process, None, "at most one process a slot");
        if !self.behaviours[&configuration].starts {
            disk.exit = Some((run, Some(Exit::NotStarted("no such file".into()))));
            self.bring_exit(server);
            return;
        }
        let pid = 100 + number;
        let allocation = disk.file.and_then(|file| file.allocation);
        let process = Process { run, configuration, allocation, pid };
        let ordered = self.state.slot(server).and_then(|slot| slot.order.allocation.as_ref());
        assert_eq!(allocation, ordered.map(|session| session.allocation), "a stale allocation id");
        disk.process = Some(process.clone());
        self.started.push(process);
        self.observe(Observation::Saw { server, run, sight: Sight::Running { pid } });
    }

    fn signal(&mut self, server: ServerId, run: RunNumber, rung: Rung, number: i32) {
        let disk = self.disk.entry(server).or_default();
        match &disk.process {
            Some(process) if process.run == run => {
                let obeys = match rung {
                    Rung::Signal => self.behaviours[&process.configuration].obeys,
                    Rung::Kill => true,
                };
                self.signals.push(number);
                if let Some(after) = self.after_signal.take() {
                    self.behaviours.values_mut().for_each(|behaviour| *behaviour = after);
                }
                if obeys {
                    let exit = Exit::Signal { signal: number, killed_by: Killer::Unknown };
                    disk.exit = Some((run, Some(exit)));
                    disk.process = None;
                }
                self.observe(Observation::Delivered { server, run, rung });
            }
            _ if disk.exit.as_ref().is_some_and(|(ended, _)| *ended == run) => {
                self.bring_exit(server);
            }
            _ => {
                self.tell(Command::NeverRan { server, run });
            }
        }
    }
}
