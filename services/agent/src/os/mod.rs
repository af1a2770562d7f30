//! What the agent asks of the operating system: slots' directories and users, `server.json`, launch parameters,
//! control groups, measurements, ports.
//!
//! Nothing here decides anything about servers, and nothing here reads a clock. What the machine does not give (no
//! root, no writable control groups) is found once, by [`Capabilities::find`], and said loudly; everything still runs.

mod capabilities;
pub mod cgroup;
mod error;
mod facts;
pub mod measure;
pub mod ports;
pub mod server_json;
pub mod slot_dirs;
pub mod uids;
mod variables;

pub use capabilities::{Capabilities, Missing, Sight};
pub use error::OsError;
pub use facts::GameFacts;
pub use variables::{STANDARD, arguments, unknown_variables, value_of};
