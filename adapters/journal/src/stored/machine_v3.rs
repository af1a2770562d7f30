//! Format 3 of what a fleet stores about the lives of its machines, and of how an operator wants machines treated.

use std::time::Duration;

use mainstay_core::{AllocationId, BootId, MachineId, MachineKey, RegionId, Timestamp};
use mainstay_fleet::{
    Absence as DomainAbsence, Event as DomainEvent, MachinePolicy, MachineTtl, OnLoss as DomainOnLoss,
    Parting as DomainParting, Provided as DomainProvided, Wish as DomainWish,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) enum Machine {
    Requested {
        machine: MachineId,
        key: MachineKey,
        region: RegionId,
        slots: u32,
        until_ms: u64,
    },
    Came(MachineId),
    Booted {
        machine: MachineId,
        boot: BootId,
    },
    Draining(MachineId),
    Emptied(MachineId),
    Woken(MachineId),
    Lost(MachineId),
    Returned {
        machine: MachineId,
        absence: Absence,
    },
    Parting {
        machine: MachineId,
        why: Parting,
    },
    Removed(MachineId),
    CountersKept {
        machines: u32,
        servers: u32,
    },
    /// Of an allocation whose machine was lost.
    Displaced {
        id: AllocationId,
        until_ms: u64,
    },
    /// Of an allocation whose server is gone.
    Readied(AllocationId),
    Duty {
        machine: MachineId,
        wish: Wish,
    },
}

/// What an operator wants of a machine.
#[derive(Serialize, Deserialize)]
pub(super) enum Wish {
    Serve,
    Drain,
    Leave,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Absence {
    Unknown,
    CutOff,
    Rebooted,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Parting {
    Idle,
    NeverCame,
    Lost,
    Died,
    ByHand,
}

/// How machines are treated.
#[derive(Serialize, Deserialize)]
pub(super) struct Policy {
    ttl: Ttl,
    lost_after: Duration,
    on_loss: OnLoss,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Ttl {
    Off,
    Idle { shutdown: Duration, delete: Duration },
}

#[derive(Serialize, Deserialize)]
enum OnLoss {
    Fail,
    PlaceAnew,
}

/// A region's provider.
#[derive(Serialize, Deserialize)]
pub(super) struct Provided {
    slots: u32,
    machines_max: u32,
    create_timeout: Duration,
    retry: Duration,
}

impl From<Machine> for DomainEvent {
    fn from(event: Machine) -> Self {
        match event {
            Machine::Requested { machine, key, region, slots, until_ms } => {
                let until = Timestamp::from_unix_ms(until_ms);
                Self::MachineRequested { machine, key, region, slots, until }
            }
            Machine::Came(machine) => Self::MachineCame { machine },
            Machine::Booted { machine, boot } => Self::MachineBooted { machine, boot },
            Machine::Draining(machine) => Self::MachineDraining { machine },
            Machine::Emptied(machine) => Self::MachineEmptied { machine },
            Machine::Woken(machine) => Self::MachineWoken { machine },
            Machine::Lost(machine) => Self::MachineLost { machine },
            Machine::Returned { machine, absence } => {
                Self::MachineReturned { machine, absence: absence.into() }
            }
            Machine::Parting { machine, why } => Self::MachineParting { machine, why: why.into() },
            Machine::Removed(machine) => Self::MachineRemoved { machine },
            Machine::Duty { machine, wish } => Self::MachineDutySet { machine, wish: wish.into() },
            Machine::Readied(id) => Self::AllocationReadied { id },
            Machine::CountersKept { machines, servers } => Self::CountersKept { machines, servers },
            Machine::Displaced { id, until_ms } => {
                Self::AllocationDisplaced { id, until: Timestamp::from_unix_ms(until_ms) }
            }
        }
    }
}

impl From<DomainAbsence> for Absence {
    fn from(absence: DomainAbsence) -> Self {
        match absence {
            DomainAbsence::Unknown => Self::Unknown,
            DomainAbsence::CutOff => Self::CutOff,
            DomainAbsence::Rebooted => Self::Rebooted,
        }
    }
}

impl From<Absence> for DomainAbsence {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Unknown => Self::Unknown,
            Absence::CutOff => Self::CutOff,
            Absence::Rebooted => Self::Rebooted,
        }
    }
}

impl From<DomainParting> for Parting {
    fn from(why: DomainParting) -> Self {
        match why {
            DomainParting::Idle => Self::Idle,
            DomainParting::NeverCame => Self::NeverCame,
            DomainParting::Lost => Self::Lost,
            DomainParting::Died => Self::Died,
            DomainParting::ByHand => Self::ByHand,
        }
    }
}

impl From<Parting> for DomainParting {
    fn from(why: Parting) -> Self {
        match why {
            Parting::Idle => Self::Idle,
            Parting::NeverCame => Self::NeverCame,
            Parting::Lost => Self::Lost,
            Parting::Died => Self::Died,
            Parting::ByHand => Self::ByHand,
        }
    }
}

impl From<DomainWish> for Wish {
    fn from(wish: DomainWish) -> Self {
        match wish {
            DomainWish::Serve => Self::Serve,
            DomainWish::Drain => Self::Drain,
            DomainWish::Leave => Self::Leave,
        }
    }
}

impl From<Wish> for DomainWish {
    fn from(wish: Wish) -> Self {
        match wish {
            Wish::Serve => Self::Serve,
            Wish::Drain => Self::Drain,
            Wish::Leave => Self::Leave,
        }
    }
}

impl From<MachinePolicy> for Policy {
    fn from(MachinePolicy { ttl, lost_after, on_loss }: MachinePolicy) -> Self {
        let on_loss = match on_loss {
            DomainOnLoss::Fail => OnLoss::Fail,
            DomainOnLoss::PlaceAnew => OnLoss::PlaceAnew,
        };
        Self { ttl: ttl.into(), lost_after, on_loss }
    }
}

impl From<Policy> for MachinePolicy {
    fn from(Policy { ttl, lost_after, on_loss }: Policy) -> Self {
        let on_loss = match on_loss {
            OnLoss::Fail => DomainOnLoss::Fail,
            OnLoss::PlaceAnew => DomainOnLoss::PlaceAnew,
        };
        Self { ttl: ttl.into(), lost_after, on_loss }
    }
}

impl From<MachineTtl> for Ttl {
    fn from(ttl: MachineTtl) -> Self {
        match ttl {
            MachineTtl::Off => Self::Off,
            MachineTtl::Idle { shutdown, delete } => Self::Idle { shutdown, delete },
        }
    }
}

impl From<Ttl> for MachineTtl {
    fn from(ttl: Ttl) -> Self {
        match ttl {
            Ttl::Off => Self::Off,
            Ttl::Idle { shutdown, delete } => Self::Idle { shutdown, delete },
        }
    }
}

impl From<DomainProvided> for Provided {
    fn from(DomainProvided { slots, machines_max, create_timeout, retry }: DomainProvided) -> Self {
        Self { slots, machines_max, create_timeout, retry }
    }
}

impl From<Provided> for DomainProvided {
    fn from(Provided { slots, machines_max, create_timeout, retry }: Provided) -> Self {
        Self { slots, machines_max, create_timeout, retry }
    }
}
