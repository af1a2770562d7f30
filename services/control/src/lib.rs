//! The control plane: shards, the agents' streams, and the HTTP faces.
//!
//! ```text
//!  callers ── HTTP ──▶ http::{multiplay, native}, playfab ──▶ shards (catalog, one a fleet) ──▶ journal
//!  agents ── gRPC ──▶ streams ───────────────────────▶  │ owed, once durable
//!     ▲───────────── frames ◀── streams::Outboxes ◀─────┘
//!  both come in by doors: TLS (tls) from anywhere, in the clear from loopback alone
//! ```
//!
//! Nothing here decides: every question becomes a command or a query of a state machine, and every answer is what it
//! said once that was durable. [`Control::start`] gives a [`Handle`]; `main` waits for its [`Handle::failed`].
#![forbid(unsafe_code)]

mod allowance;
mod chronicle;
mod config;
mod counted;
mod declare;
pub mod doctor;
mod doors;
mod editor;
mod error;
mod far_files;
pub mod history;
mod http;
mod identity;
mod invitations;
mod kept;
mod limiter;
mod lobby;
mod metrics;
mod objects;
mod playfab;
mod providers;
mod publish;
mod queues;
mod relay;
mod samples;
mod service;
mod shards;
mod store;
mod streams;
mod stun;
mod tls;

pub use mainstay_runtime::slot_files;

pub use config::{Config, Listen, LogTail, NoLogs, Offered, OpenFile, SECRET_BYTES_MAX, SlotBytes};
pub use declare::{declaration, fleet_id, programs, region_id};
pub use doors::{Door, listen_on};
pub use error::{ApplyError, StartError};
pub use identity::{IdentityError, Title};
pub use lobby::{KeyError, LobbyConfig, pass_lives, supports};
pub use mainstay_config::MachineSize;
pub use mainstay_stun::Addresses as StunAddresses;
pub use metrics::Metrics;
pub use playfab::{Logins, PlayFab};
pub use providers::{Program, Programs};
pub use queues::Needed;
pub use queues::{BuildTarget, Builds, QueueError};
pub use service::{Control, Handle};
pub use tls::{GivenCertificate, Tls, TlsError};
