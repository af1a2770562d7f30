//! Callers and operators. A caller believes only what it is told; what it never heard, it does not know.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Launch, Limits, Query, QueryPort, ReadySignal, Recovery, RestartPolicy,
    Spec, StopPolicy,
};
use mainstay_core::{
    AllocationId, BuildConfigurationId, BuildId, FleetId, FleetNumber, RegionId, ReservationId, ServerId,
    StateMachine as _,
};
use mainstay_fleet::{
    AllocationTtl, ClaimedBy, FleetSpec, Growth, Hosting, IdleServers, MachinePolicy, MachineTtl,
    Observation, OnLoss, Provided, Purpose, RegionOpening, RegionSpec, Renewal, Request,
};
use uuid::Uuid;

use super::World;
use super::plane::Ask;
use super::provider::key_of;
use super::words::short;
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::Broken;
use crate::laws::oracle::Belief;
use crate::message::{CallIndex, GameAsk, Happening, Host, Operation, Rank, Said, Want};
use crate::scenario::{AllocationKnobs, Scenario};

/// The one region of a world.
pub(crate) const REGION: RegionId = RegionId(Uuid::from_u128(0x0052_0001));

/// The number of a world's one fleet.
fn fleet_number() -> FleetNumber {
    FleetNumber::new(1).expect("1 is below the limit")
}

/// One request of a caller or an operator.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) want: Want,
    /// Who waits for the answer; nobody where it is an operator's.
    caller: Option<usize>,
    /// What its caller had been told of the allocation when it asked.
    belief: Option<Belief>,
}

/// One caller: at most one session at a time.
#[derive(Debug)]
pub(crate) struct Caller {
    doing: Doing,
}

#[derive(Debug)]
enum Doing {
    /// Thinks, then allocates.
    Nothing,
    /// Waits for the answer to its allocation.
    Asking { id: AllocationId, tries: u32 },
    /// Plays, until it leaves.
    Playing { id: AllocationId, leaves: Micros },
    /// Waits for the answer to its deallocation.
    Leaving { id: AllocationId, tries: u32 },
}

/// How often a caller repeats a request before it gives up: what then is, it does not know.
const TRIES_MAX: u32 = 4;

impl Caller {
    pub(crate) const fn idle() -> Self {
        Self { doing: Doing::Nothing }
    }
}

impl World {
    pub(crate) fn caller_acts(&mut self, caller: usize) -> Result<(), Broken> {
        if let super::Phase::Healing { .. } = self.phase {
            return Ok(());
        }
        match &self.callers[caller].doing {
            Doing::Nothing => {
                self.ids += 1;
                // Callers' ids have no order; the low half counts, for people who read traces.
                let high = u128::from(self.random.next()) << 64;
                let id = AllocationId(Uuid::from_u128(high | u128::from(self.ids)));
                let request = self.draw_request();
                self.callers[caller].doing = Doing::Asking { id, tries: 0 };
                self.calls_for(caller, Want::Allocate { id, request });
            }
            Doing::Playing { id, leaves } => {
                let (id, leaves) = (*id, *leaves);
                if self.now >= leaves {
                    self.callers[caller].doing = Doing::Leaving { id, tries: 0 };
                    self.calls_for(caller, Want::Deallocate { id });
                } else {
                    self.calls_for(caller, Want::Read { id });
                    let next = self.random.between(10_000, 2_000_000).min(leaves - self.now);
                    self.after(next, Happening::CallerActs { caller });
                }
            }
            // The answer, or the end of patience, goes on from here.
            Doing::Asking { .. } | Doing::Leaving { .. } => {}
        }
        Ok(())
    }

    fn draw_request(&mut self) -> Request {
        let configuration = self.random.between(1, u64::from(self.scenario.fleet.configurations));
        Request {
            configuration: configuration_id(u32::try_from(configuration).unwrap_or(1)),
            region: REGION,
            payload: self.random.chance(200_000).then(|| "{\"map\":\"harbour\"}".into()),
            renewal: if self.random.chance(200_000) { Renewal::Restart } else { Renewal::Keep },
            purpose: Purpose::Session,
        }
    }

    /// A request goes out: it may be lost, arrive twice, or arrive late.
    fn calls_for(&mut self, caller: usize, want: Want) {
        let call = self.new_call(Some(caller), want);
        let patience = self.scenario.people.patience;
        self.after(patience, Happening::CallerGivesUp { caller, call });
    }

    fn new_call(&mut self, caller: Option<usize>, want: Want) -> CallIndex {
        let belief = match &want {
            Want::Allocate { id, .. } | Want::Deallocate { id } | Want::Read { id } => {
                self.oracle.belief(*id)
            }
            Want::Operate(_) | Want::Ask { .. } => None,
        };
        if let Want::Deallocate { id } = &want {
            self.oracle.deallocates(*id);
        }
        let call = self.calls.len();
        self.calls.push(Call { want, caller, belief });
        let copies = 1 + u32::from(self.struck(self.scenario.network.call_doubled));
        for _ in 0..copies {
            if !self.struck(self.scenario.network.call_lost) {
                let delay = self.message_delay();
                self.after(delay, Happening::CallArrives { call });
            }
        }
        call
    }

    pub(crate) fn call_arrives(&mut self, call: CallIndex) -> Result<(), Broken> {
        self.plane_asked(Ask::Call(call))
    }

    pub(crate) fn answer_call(&mut self, call: CallIndex, said: Said) {
        if self.struck(self.scenario.network.answer_lost) {
            return;
        }
        let delay = self.message_delay();
        self.after(delay, Happening::AnswerArrives { call, said });
    }

    pub(crate) fn answer_arrives(&mut self, call: CallIndex, said: &Said) -> Result<(), Broken> {
        let Call { want, caller, belief } = &self.calls[call];
        let (caller, want) = (*caller, want.clone());
        let id = match &want {
            Want::Allocate { id, .. } | Want::Deallocate { id } | Want::Read { id } => *id,
            Want::Operate(_) | Want::Ask { .. } => return Ok(()),
        };
        let moves = self.moves();
        self.oracle.hears(id, &want, said, belief.as_ref(), moves)?;
        if let (Want::Allocate { .. }, Said::Stands(view)) = (&want, said)
            && view.rank >= Rank::Placed
        {
            self.counts.allocations += 1;
        }
        self.trace.line(self.now, || crate::trace::words("caller", format!("{} hears: {said}", short(id))));
        if let Some(caller) = caller {
            self.caller_hears(caller, id, &want, said);
        }
        Ok(())
    }

    fn caller_hears(&mut self, caller: usize, id: AllocationId, want: &Want, said: &Said) {
        if let super::Phase::Healing { .. } = self.phase {
            return;
        }
        let over = match said {
            Said::Stands(view) => view.rank == Rank::Ended,
            Said::NoSuch | Said::Refused(_) | Said::DiskFull | Said::Done => true,
        };
        let doing = &self.callers[caller].doing;
        let next = match (doing, want) {
            (Doing::Asking { id: of, .. }, Want::Allocate { .. }) if *of == id => {
                if over {
                    Doing::Nothing
                } else {
                    let leaves = self.now + self.random.between(10, self.scenario.people.session);
                    Doing::Playing { id, leaves }
                }
            }
            (Doing::Playing { id: of, .. }, Want::Read { .. }) if *of == id && over => Doing::Nothing,
            (Doing::Leaving { id: of, .. }, Want::Deallocate { .. }) if *of == id => match said {
                // It must still be given back.
                Said::DiskFull => return,
                Said::Stands(_) | Said::NoSuch | Said::Refused(_) | Said::Done => Doing::Nothing,
            },
            _ => return,
        };
        self.callers[caller].doing = next;
        let think = self.random.between(10, self.scenario.people.think);
        self.after(think, Happening::CallerActs { caller });
    }

    /// The caller has waited long enough: it asks again with the same id, or gives up and does not know.
    pub(crate) fn caller_gives_up(&mut self, caller: usize, call: CallIndex) -> Result<(), Broken> {
        if let super::Phase::Healing { .. } = self.phase {
            return Ok(());
        }
        let want = self.calls[call].want.clone();
        let again = match (&mut self.callers[caller].doing, &want) {
            (Doing::Asking { id, tries }, Want::Allocate { id: of, .. }) if id == of => {
                *tries += 1;
                *tries <= TRIES_MAX
            }
            (Doing::Leaving { id, tries }, Want::Deallocate { id: of }) if id == of => {
                *tries += 1;
                *tries <= TRIES_MAX
            }
            _ => return Ok(()),
        };
        if again {
            self.calls_for(caller, want);
        } else {
            self.callers[caller].doing = Doing::Nothing;
            let think = self.random.between(10, self.scenario.people.think);
            self.after(think, Happening::CallerActs { caller });
        }
        Ok(())
    }

    /// An operator does something to some server.
    pub(crate) fn operator_acts(&mut self) {
        let host = self.random.index(self.machines.len());
        let servers = self.machines[host].servers.len();
        let slot = self.random.index(servers);
        let Some(server) = self.machines[host].servers.get(slot).copied() else { return };
        let machine = self.plane.disk.twin.server(server).map(|known| known.machine);
        let operation = match (self.random.below(16), machine) {
            (5 | 6, Some(machine)) => Operation::Drain(machine),
            (7..=9, Some(machine)) => Operation::Undrain(machine),
            (10, Some(machine)) => Operation::Remove(machine),
            (11, _) => return self.somebody_is_invited(),
            (other, _) => self.of_server(other % 5, server),
        };
        self.say("operator", || format!("{operation:?}"));
        let _call = self.new_call(None, Want::Operate(operation));
    }

    /// A join token is made, withdrawn, or has run out: the plane's hand tells the fleet, now or never.
    fn somebody_is_invited(&mut self) {
        /// The longest life of a token here: some placements time out within it, and some after.
        const OPEN_MAX_MS: u64 = 60_000;
        let (at, open_ms) = (self.at(), self.random.below(OPEN_MAX_MS));
        let until = (open_ms >= OPEN_MAX_MS / 3).then(|| at + std::time::Duration::from_millis(open_ms));
        self.say("operator", || format!("lets machines in until {until:?}"));
        if let Some(life) = &mut self.plane.life {
            life.seat.state.observe(at, Observation::Invited { region: REGION, until });
        }
    }

    /// A machine that nobody knows yet shows its join token before it connects: the plane's hand tells the fleet that it comes.
    pub(crate) fn machine_is_let_in(&mut self, host: Host) {
        let machine = &self.machines[host];
        if !machine.servers.is_empty() {
            return;
        }
        let arriving = Observation::Arriving { region: REGION, machine: key_of(host, machine.made) };
        let (at, told) = (self.at(), !self.has(Bug::ArrivalUntold));
        self.plane.arriving.insert(host, self.now);
        if let Some(life) = self.plane.life.as_mut().filter(|_| told) {
            life.seat.state.observe(at, arriving);
        }
    }

    fn of_server(&mut self, action: u64, server: ServerId) -> Operation {
        match action {
            0 => Operation::Start(server),
            1 => Operation::Stop(server),
            2 => Operation::Restart(server),
            3 => Operation::Release(server),
            _ => {
                let configuration = self.random.between(1, u64::from(self.scenario.fleet.configurations));
                Operation::Assign(server, configuration_id(u32::try_from(configuration).unwrap_or(1)))
            }
        }
    }

    /// A running game asks for something. Its agent says which order it runs under; what it says may be late, or come
    /// twice, and be of a process that is gone by then.
    pub(crate) fn game_asks(&mut self) {
        let host = self.random.index(self.machines.len());
        let machine = &self.machines[host];
        let running = |(slot, server): (usize, &ServerId)| {
            machine.slots.get(slot).is_some_and(|slot| slot.held.is_some()).then_some(*server)
        };
        let running: Vec<ServerId> = machine.servers.iter().enumerate().filter_map(running).collect();
        let Some(server) = running.get(self.random.index(running.len().max(1))).copied() else { return };
        let Some(slot) = self.machines[host].disk.twin.slot(server) else { return };
        let process = slot.order.generation;
        let what = match self.random.below(7) {
            0 | 1 => GameAsk::Hold(Duration::from_micros(self.random.between(1, 20_000_000))),
            2 => GameAsk::ReleaseHold,
            3 => {
                self.ids += 1;
                GameAsk::Reserve(ReservationId(Uuid::from_u128(u128::from(self.ids))))
            }
            4 => GameAsk::Unreserve,
            5 => GameAsk::Ready,
            _ => GameAsk::Unready,
        };
        self.say("game", || format!("{server} under {process:?} asks {what:?}"));
        let _call = self.new_call(None, Want::Ask { server, process, what });
    }

    /// The operator's file changes.
    pub(crate) fn reconfigure(&mut self) {
        let revision = self.plane.file.revision + 1;
        self.plane.file = fleet_spec(&self.scenario, revision);
        self.say("operator", || format!("writes revision {revision}"));
        let _call = self.new_call(None, Want::Operate(Operation::Reconfigure));
    }
}

fn configuration_id(counter: u32) -> BuildConfigurationId {
    BuildConfigurationId::of(fleet_number(), counter)
}

/// A world's fleet. Each revision of it changes one of its build configurations in turn: by an edit, and then by a new
/// version of its build.
pub(super) fn fleet_spec(scenario: &Scenario, revision: u64) -> Arc<FleetSpec> {
    let knobs = &scenario.fleet;
    let count = u64::from(knobs.configurations);
    let configurations = (1..=knobs.configurations).map(|counter| {
        let changes = (revision - 1 + count - u64::from(counter)) / count;
        let reference = ConfigurationRef {
            id: configuration_id(counter),
            revision: 1 + u32::try_from(changes).unwrap_or(u32::MAX - 1),
        };
        spec(scenario, reference)
    });
    let configurations: Vec<Spec> = configurations.collect();
    let current = configurations.iter().map(|spec| spec.configuration).collect();
    Arc::new(FleetSpec {
        number: fleet_number(),
        id: fleet_id(),
        name: "simulated".into(),
        revision,
        idle_servers: if knobs.start_on_provision {
            IdleServers::StartOnProvision
        } else {
            IdleServers::StartOnAllocation
        },
        regions: vec![RegionSpec {
            id: REGION,
            name: "here".into(),
            aliases: vec![],
            min_available: scenario.machine.provided.map_or(0, |provided| provided.min_available),
            max_servers: knobs.max_servers,
            opening: RegionOpening::Online,
            growth: growth(scenario),
            ttl: None,
        }],
        configurations,
        placement_timeout: Duration::from_micros(knobs.placement_timeout),
        retention: Duration::from_secs(60),
        hosting: Hosting {
            claimed_by: if knobs.reservations { ClaimedBy::Reservations } else { ClaimedBy::Allocations },
            hold_max: Duration::from_secs(15),
            allocation_ttl: match knobs.allocation_ttl {
                AllocationKnobs::Off => AllocationTtl::Off,
                AllocationKnobs::Idle(time) => AllocationTtl::Idle(Duration::from_micros(time)),
                AllocationKnobs::Age(time) => AllocationTtl::Age(Duration::from_micros(time)),
            },
            machines: machine_policy(scenario),
            ..Hosting::default()
        },
        // Every fourth change is forced onto servers with players.
        floors: if revision.is_multiple_of(4) { current } else { Vec::new() },
    })
}

fn growth(scenario: &Scenario) -> Growth {
    match scenario.machine.provided {
        Some(provided) => Growth::Provided(Provided {
            slots: provided.slots,
            machines_max: provided.machines_max,
            create_timeout: Duration::from_micros(provided.create_timeout),
            retry: Duration::from_secs(1),
        }),
        None if scenario.fleet.may_grow => Growth::MachinesMayJoin,
        None => Growth::Fixed,
    }
}

fn machine_policy(scenario: &Scenario) -> MachinePolicy {
    let knobs = &scenario.machine;
    let ttl = knobs.ttl.map_or(MachineTtl::Off, |(shutdown, delete)| MachineTtl::Idle {
        shutdown: Duration::from_micros(shutdown),
        delete: Duration::from_micros(delete),
    });
    let on_loss = if knobs.place_anew { OnLoss::PlaceAnew } else { OnLoss::Fail };
    MachinePolicy { ttl, lost_after: Duration::from_micros(knobs.lost_after), on_loss }
}

/// The one fleet of a world.
pub(super) fn fleet_id() -> FleetId {
    FleetId(Uuid::from_u128(0xF1))
}

fn spec(scenario: &Scenario, configuration: ConfigurationRef) -> Spec {
    let knobs = &scenario.fleet;
    let query = Query {
        protocol: "sqp".to_owned(),
        port: QueryPort::Query,
        timeout: Duration::from_secs(1),
        start_grace: Duration::from_micros(knobs.start_grace),
    };
    Spec {
        configuration,
        name: format!("configuration-{}", configuration.id.counter()).into(),
        build: BuildId::of(fleet_number(), 1),
        launch: Launch {
            folder: "/builds/tugboat".to_owned(),
            binary: "tugboat".to_owned(),
            command_line: format!("-port $$port$$ -edit {}", configuration.revision / 2),
            variables: Vec::new(),
            environment: Vec::new(),
        },
        query: knobs.queried.then_some(query),
        limits: Limits { cpu_millis: 500, memory_mib: 256 },
        caps: Caps::default(),
        stop: StopPolicy { signal: 15, kill_after: Duration::from_micros(knobs.kill_after) },
        restart: RestartPolicy {
            attempts: knobs.restarts,
            within: Duration::from_micros(knobs.restart_window),
        },
        checks: Checks {
            every: Duration::from_micros(knobs.check_every),
            failures: knobs.check_failures,
            ..Checks::default()
        },
        recovery: if knobs.pre_recovery { Recovery::PreRecovery } else { Recovery::Restart },
        ready_signal: ReadySignal::NotAwaited,
    }
}
