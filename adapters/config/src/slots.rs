//! A build configuration in the words that the rules and the agents speak: `mainstay_core::slot`.

use std::fmt;

use mainstay_core::density::MachineSize;
use mainstay_core::slot;

use crate::density::millicores;
use crate::limits::{GSH_MEMORY_MIB, GSH_SPEED_MHZ};
use crate::model::{BuildConfiguration, Checks, CpuLimit, CpuQuota, QueryKind, QueryPort, Recovery};

const MIB: u64 = 1 << 20;

impl BuildConfiguration {
    /// How the server is asked; `None` for queryType `none`.
    pub fn slot_query(&self) -> Option<slot::Query> {
        let protocol = match &self.query.kind.value {
            QueryKind::None => return None,
            kind @ (QueryKind::Sqp
            | QueryKind::A2s
            | QueryKind::Quake3
            | QueryKind::Teeworlds
            | QueryKind::Tcp
            | QueryKind::Udp { .. }) => kind.to_string(),
        };
        Some(slot::Query {
            protocol,
            port: match self.query.port.value {
                QueryPort::Game => slot::QueryPort::Game,
                QueryPort::Query => slot::QueryPort::Query,
            },
            timeout: self.query.timeout.value,
            start_grace: self.start_timeout.value,
        })
    }

    /// What the checks compare with on a machine: what the file states, else what `.gsh` takes for a server (750 MHz
    /// and 800 MiB). MHz are counted against the speed of this machine: the control plane's own, whatever machine runs it.
    pub fn slot_limits(&self, machine: &MachineSize) -> slot::Limits {
        let cpu = self.limits.cpu.as_ref().map_or(CpuLimit::Megahertz(GSH_SPEED_MHZ.into()), |cpu| cpu.value);
        let memory = self.limits.memory_bytes.as_ref().map_or(GSH_MEMORY_MIB * MIB, |memory| memory.value);
        slot::Limits {
            cpu_millis: small(millicores(machine, cpu).max(1)),
            memory_mib: small(memory.div_ceil(MIB)),
        }
    }

    /// Hard caps.
    pub fn slot_caps(&self) -> slot::Caps {
        slot::Caps {
            cpu_millis: match self.caps.cpu_quota.value {
                CpuQuota::Off => None,
                CpuQuota::Millicores(millicores) => Some(millicores),
            },
            memory_mib: self.caps.memory_bytes.as_ref().map(|memory| small(memory.value.div_ceil(MIB))),
        }
    }

    /// The stop ladder.
    pub const fn slot_stop(&self) -> slot::StopPolicy {
        slot::StopPolicy { signal: self.stop.signal.value.number(), kill_after: self.stop.kill_timeout.value }
    }

    /// Crash back-off.
    pub const fn slot_restart(&self) -> slot::RestartPolicy {
        slot::RestartPolicy { attempts: self.restart.attempts.value, within: self.restart.within.value }
    }
}

impl BuildConfiguration {
    /// When a process counts as misbehaving.
    pub const fn slot_checks(&self) -> slot::Checks {
        let Checks { every, failures, within, cpu_tolerance_percent, memory_tolerance_bytes, signal } =
            &self.checks;
        slot::Checks {
            every: every.value,
            failures: failures.value,
            within: within.value,
            cpu_tolerance_percent: cpu_tolerance_percent.value,
            memory_tolerance_bytes: memory_tolerance_bytes.value,
            signal: signal.value.number(),
        }
    }

    /// Whether an allocation waits for its game's ready call.
    pub const fn slot_ready_signal(&self) -> slot::ReadySignal {
        if self.readiness.value { slot::ReadySignal::Awaited } else { slot::ReadySignal::NotAwaited }
    }

    /// What follows silence under an allocation.
    pub const fn slot_recovery(&self) -> slot::Recovery {
        match self.recovery.value {
            Recovery::PreRecovery => slot::Recovery::PreRecovery,
            Recovery::Restart => slot::Recovery::Restart,
        }
    }
}

/// The form that `adapters/query` reads.
impl fmt::Display for QueryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        match self {
            Self::None => f.write_str("none"),
            Self::Sqp => f.write_str("sqp"),
            Self::A2s => f.write_str("a2s"),
            Self::Quake3 => f.write_str("quake3"),
            Self::Teeworlds => f.write_str("teeworlds"),
            Self::Tcp => f.write_str("tcp"),
            Self::Udp { request, expect } => {
                f.write_str("udp:")?;
                hex(f, request)?;
                f.write_str(":")?;
                hex(f, expect)
            }
        }
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
