//! The lobby: which peer-hosted sessions there are, who is in them, and who is the host of which epoch.
//!
//! A session has one host an epoch, and [`Grant`] says who. It changes by compare-and-swap alone: whoever claims the next
//! epoch names the one it knows, and of those who name the same one gets it, once the host's lease has run out, the host has
//! handed over, or more than half of the members miss it. A grant is an event, so the certificate that is signed for it
//! afterwards survives everything the disk does. Renewals, reports and who was heard are soft: they may vanish at any
//! instant, and then every lease counts from that moment on.
//!
//! A session moves only where it was made so, and its lobby service supports it (seed 000: "an individual lobby service can be
//! configured to not support host migration").
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod apply;
mod command;
mod decide;
mod event;
mod id;
pub mod laws;
mod limits;
mod lobby;
mod pulse;
mod rejection;
mod search;
mod session;
mod settings;
mod tally;

pub use command::{
    Answer, Authority, Command, Joiner, Misses, Observation, Pace, Renewal, Target, Update, Why,
};
pub use event::Event;
pub use id::{Epoch, PeerKey, Player, Service};
pub use limits::{
    ADDRESS_BYTES_MAX, ADDRESSES_MAX, ATTRIBUTE_NAME_MAX, ATTRIBUTE_VALUE_MAX, ATTRIBUTES_MAX, CLAIM_LIFE,
    ENDED_KEPT, ENDED_MAX, FORMER_MAX, KICKED_MAX, LEASE, MEMBERS_MAX, NAME_CHARS_MAX, PLAYER_BYTES_MAX,
    RENEW_EVERY, RENEW_QUICKLY_EVERY, REPORT_LIFE, SEATS_KEPT, SESSIONS_MAX, SILENCE, STORED_BYTES_MAX,
};
pub use lobby::{Ended, Lobby};
pub use pulse::Lease;
pub use rejection::Rejection;
pub use search::{Filter, Found};
pub use session::{CanBeHost, Ending, Former, Gone, Grant, Member, Phase, Session};
pub use settings::{
    Joining, Migratable, Searchable, Settings, Support, Takeover, Unfit, WithoutMajority, attribute_fits,
    attributes_fit,
};
pub use tally::{Cause, GAPS_MS, Tally};
