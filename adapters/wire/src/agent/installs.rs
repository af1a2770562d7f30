//! How far a machine has come with the builds its servers need: soft, said when it changes and on every new stream.

use mainstay_core::MachineId;
use mainstay_core::slot::ConfigurationRef;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ask::DETAIL_BYTES_MAX;
use super::decode::{all, at_most, id, required, short};
use super::{Malformed, proto};

/// The version of installs that this program takes, said in the welcome.
pub const INSTALLS: u32 = 1;
/// The most configurations that one message says something of: a machine's fleet has at most some hundred.
pub const INSTALLS_PER_MACHINE_MAX: usize = 4_096;
/// The length of a code such as `MS-S430`.
const CODE_BYTES_MAX: usize = 16;

/// How far one machine has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installs {
    /// Which.
    pub machine: MachineId,
    /// With what; each replaces what was said of the same configuration.
    pub installs: Vec<Install>,
    /// What takes room on its disk; none where its agent has not looked yet, or does not say.
    pub disk: Option<DiskUse>,
}

/// What takes room on the disk of an agent's directory, in bytes. Machines of one agent share it: each is told the same. The
/// native face shows it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskUse {
    /// What builds take that were fetched.
    pub builds: u64,
    /// What core dumps take.
    pub cores: u64,
    /// What else is kept of processes that ended as nobody wished.
    pub evidence: u64,
    /// What servers' output and games' own logs take.
    pub logs: u64,
    /// What all of these may take.
    pub budget: u64,
    /// What the disk has free.
    pub free: u64,
    /// What was deleted since the agent's start.
    pub deleted: u64,
    /// Whether anything can be written there.
    pub fill: Fill,
}

/// Whether a disk takes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fill {
    /// It does.
    #[default]
    Room,
    /// It does not: servers go on, and orders that start something wait until there is room.
    Full,
}

impl DiskUse {
    /// What is within the budget, together.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.builds.saturating_add(self.cores).saturating_add(self.evidence).saturating_add(self.logs)
    }
}

impl From<DiskUse> for proto::DiskUse {
    fn from(disk: DiskUse) -> Self {
        let DiskUse { builds, cores, evidence, logs, budget, free, deleted, fill } = disk;
        Self { builds, cores, evidence, logs, budget, free, deleted, full: fill == Fill::Full }
    }
}

impl From<proto::DiskUse> for DiskUse {
    fn from(disk: proto::DiskUse) -> Self {
        let proto::DiskUse { builds, cores, evidence, logs, budget, free, deleted, full } = disk;
        let fill = if full { Fill::Full } else { Fill::Room };
        Self { builds, cores, evidence, logs, budget, free, deleted, fill }
    }
}

/// How far a machine has come with what one revision of a build configuration needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// Of what.
    pub configuration: ConfigurationRef,
    /// Bytes that are there and checked.
    pub bytes_done: u64,
    /// Bytes that it has; `None` while that is not known.
    pub bytes_all: Option<u64>,
    /// Where it stands.
    pub stage: InstallStage,
}

/// Where an install stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStage {
    /// On its way.
    Coming,
    /// Servers may start from it.
    Complete,
    /// It cannot go on; tried again.
    Stuck {
        /// Why, as a code.
        code: String,
        /// Why, with numbers and the way out.
        detail: String,
    },
}

impl Install {
    /// What a server waits for that is to start from it, for people; `None` where it waits no longer.
    #[must_use]
    pub fn waiting(&self) -> Option<String> {
        let come = match self.bytes_all {
            Some(all) => {
                format!("waiting for its build, {} of {all} bytes are on its machine", self.bytes_done)
            }
            None => "waiting for its build, whose size its machine does not know yet".to_owned(),
        };
        match &self.stage {
            InstallStage::Complete => None,
            InstallStage::Coming => Some(come),
            InstallStage::Stuck { code, detail } => {
                Some(format!("{come}; it is tried again: {code}: {detail}"))
            }
        }
    }
}

impl From<Installs> for proto::Installs {
    fn from(installs: Installs) -> Self {
        Self {
            machine: installs.machine.number(),
            installs: installs.installs.into_iter().map(Into::into).collect(),
            disk: installs.disk.map(Into::into),
        }
    }
}

impl From<Install> for proto::Install {
    fn from(install: Install) -> Self {
        use proto::install::Stage;
        let stage = match install.stage {
            InstallStage::Coming => Stage::Coming(proto::Nothing {}),
            InstallStage::Complete => Stage::Complete(proto::Nothing {}),
            InstallStage::Stuck { code, detail } => Stage::Stuck(proto::Stuck { code, detail }),
        };
        Self {
            configuration: Some(install.configuration.into()),
            bytes_done: install.bytes_done,
            bytes_all: install.bytes_all.unwrap_or(0),
            stage: Some(stage),
        }
    }
}

impl TryFrom<proto::Installs> for Installs {
    type Error = Malformed;

    fn try_from(installs: proto::Installs) -> Result<Self, Malformed> {
        let machine = id(MachineId::from_number(installs.machine), "Installs", "machine")?;
        let disk = installs.disk.map(Into::into);
        let installs = at_most(installs.installs, INSTALLS_PER_MACHINE_MAX, "Installs", "installs")?;
        Ok(Self { machine, installs: all(installs)?, disk })
    }
}

impl TryFrom<proto::Install> for Install {
    type Error = Malformed;

    fn try_from(install: proto::Install) -> Result<Self, Malformed> {
        use proto::install::Stage;
        let stage = match required(install.stage, "Install", "stage")? {
            Stage::Coming(proto::Nothing {}) => InstallStage::Coming,
            Stage::Complete(proto::Nothing {}) => InstallStage::Complete,
            Stage::Stuck(stuck) => {
                let (code, detail) = of_stuck(stuck)?;
                InstallStage::Stuck { code, detail }
            }
        };
        Ok(Self {
            configuration: required(install.configuration, "Install", "configuration")?.try_into()?,
            bytes_done: install.bytes_done,
            bytes_all: Some(install.bytes_all).filter(|&bytes| bytes > 0),
            stage,
        })
    }
}

/// A code and its detail.
pub(super) fn of_stuck(stuck: proto::Stuck) -> Result<(String, String), Malformed> {
    let code = short(stuck.code, CODE_BYTES_MAX, "Stuck", "code")?;
    Ok((code, short(stuck.detail, DETAIL_BYTES_MAX, "Stuck", "detail")?))
}
