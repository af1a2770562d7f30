//! How far a machine has come with the builds its servers need: soft, said when it changes and on every new stream.

use mainstay_core::MachineId;
use mainstay_core::slot::ConfigurationRef;

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
        let installs = at_most(installs.installs, INSTALLS_PER_MACHINE_MAX, "Installs", "installs")?;
        Ok(Self { machine, installs: all(installs)? })
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
