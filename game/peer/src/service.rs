//! The two lobby services of seed 000, and whether their sessions move: "a controllable feature of the lobby service; an individual lobby
//! service can be configured to not support host migration (the default is to support it, via the eCLSF_SupportHostMigration flag)".

use std::sync::atomic::{AtomicBool, Ordering};

use mainstay_migration::Support;

/// A lobby service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// `eCLS_LAN`: sessions that are announced on a LAN.
    Lan,
    /// `eCLS_Online`: sessions of a lobby, which has such a flag of its own ([`crate::Online::support`]).
    Online,
}

/// The flags of one process: whatever is founded, joined or played there goes by them.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    lan_is_off: AtomicBool,
    online_is_off: AtomicBool,
}

impl Flags {
    const fn of(&self, service: Service) -> &AtomicBool {
        match service {
            Service::Lan => &self.lan_is_off,
            Service::Online => &self.online_is_off,
        }
    }

    pub(crate) fn get(&self, service: Service) -> Support {
        if self.of(service).load(Ordering::Relaxed) { Support::Unsupported } else { Support::Supported }
    }

    pub(crate) fn set(&self, service: Service, support: Support) {
        self.of(service).store(support == Support::Unsupported, Ordering::Relaxed);
    }
}
