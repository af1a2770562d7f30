//! Every message another program sees: the agent stream, builds on their way to machines, HTTP v1, the Multiplay allocation face,
//! PlayFab's calls, the local daemon, what a lobby signs, the packets of peers, and error codes.
//!
//! Two sorts of types stand here and meet nowhere else: what travels (generated from `proto`, or derived with
//! serde), and the domain's own. Each conversion from the outside can fail with a reason; none panics. Nothing here
//! decides anything.
#![forbid(unsafe_code)]

pub mod admin;
pub mod agent;
pub mod builds;
pub mod daemon;
pub mod join;
pub mod lobby;
pub mod multiplay;
pub mod native;
pub mod nearest;
pub mod object;
pub mod peer;
pub mod playfab;
pub mod problem;
pub mod relay;
