//! The guards that safety and liveness hang on, as a type, so that the simulator can build a session that lacks one and show
//! that it is missed.
//!
//! A session is [`Guarded`] unless its type says otherwise, and nothing but a test of the simulator names another type: no
//! program has the other code in it, and what is a constant costs nothing.

use core::fmt::Debug;
use core::hash::Hash;

/// Which guards stand.
pub trait Guards: Copy + Eq + Hash + Debug + 'static {
    /// A message of an older epoch is refused.
    const EPOCH: bool = true;
    /// A host is obeyed only for votes that prove it.
    const CERTIFICATE: bool = true;
    /// A host is given up only when others miss it too.
    const CONFIRMATION: bool = true;
    /// Hosts that were lost in a migration are not asked again in it.
    const EXCLUSION: bool = true;
    /// A state is taken only with its writer's signature.
    const SEAL: bool = true;
    /// A message of another session is refused.
    const SESSION: bool = true;
    /// Under a lobby nobody is let in without its pass.
    const PASS: bool = true;
    /// Whoever is told another past than it knows says so.
    const PAST: bool = true;
}

/// All of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guarded;

impl Guards for Guarded {}
