//! Machine providers: what fleets owe them becomes calls of programs, and what those say becomes commands.
//!
//! Nothing is decided here. A fleet owes an errand until its outcome is durable; a call that is lost, doubled or late does no
//! harm, since both verbs are idempotent by the machine's id and every restart asks again. Of one machine at most one call
//! runs: a newer errand ends the older call first. The contract is docs/reference/machine-providers.md.

mod call;
mod office;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::{FleetId, MachineId, RegionId};
use mainstay_fleet::Errand;
use tokio::sync::mpsc;

pub(crate) use office::Office;

/// The program of a region's provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its provider's name in the configuration.
    pub name: String,
    /// The executable.
    pub command: PathBuf,
    /// Its arguments before the verb.
    pub arguments: Vec<OsString>,
    /// Its environment besides what every call gets.
    pub env: Vec<(String, String)>,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// How often its machines are listed.
    pub list_every: Duration,
    /// Where its machines join, where that is said.
    pub join_url: Option<String>,
}

/// The programs by fleet region. They come from the files that the control plane is started with and from nowhere else: who
/// may change a configuration over the network may not choose what this host runs.
pub type Programs = BTreeMap<(FleetId, RegionId), Arc<Program>>;

/// Why the newest errand of a machine came to nothing, while it is owed. For people: nothing is decided by it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastWords(Arc<Mutex<BTreeMap<MachineId, String>>>);

impl LastWords {
    pub(crate) fn of(&self, machine: MachineId) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&machine).cloned()
    }

    /// `None`: its errand is done. Bounded by the machines there are, since each is deleted at last.
    fn note(&self, machine: MachineId, why: Option<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => all.insert(machine, why),
            None => all.remove(&machine),
        };
    }
}

/// What fleets owe their providers, on its way to the [`Office`].
#[derive(Debug, Clone)]
pub(crate) struct Errands(mpsc::UnboundedSender<Errand>);

impl Errands {
    /// Bounded by the fleets: a machine owes one errand at a time, and a region has a most of machines.
    pub(crate) fn channel() -> (Self, mpsc::UnboundedReceiver<Errand>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(crate) fn put(&self, errand: Errand) {
        // The office ends only with the control plane, and the errand is owed still.
        let _ended = self.0.send(errand);
    }
}
