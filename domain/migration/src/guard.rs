//! The guards that safety and liveness hang on, as a type, so that the simulator can build a session that lacks one and show
//! that it is missed.
//!
//! A session is [`Guarded`] unless its type says otherwise, and nothing but a test of the simulator names another type: no
//! program has the other code in it, and what is always true costs nothing.

use core::fmt::Debug;
use core::hash::Hash;

/// One place that refuses something each: what two of them refuse is two guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Guard {
    /// A message of an older epoch is refused.
    Epoch,
    /// A host is obeyed only for votes that prove it.
    Certificate,
    /// And only where each of them is signed by whom it names.
    CertificateSignatures,
    /// So is every vote and every view that comes by itself.
    Signatures,
    /// And every vote that came before this peer asked for any.
    EarlySignatures,
    /// The lobby's answer makes a host only with the lobby's signature.
    GrantSignature,
    /// Whoever was never met is read only where what it says proves itself.
    Strangers,
    /// Of sides only the certified host's is confirmed, whatever the others say of theirs. A side would give its game to a smaller one for such a word; a confirmed host
    /// takes back in the same moment what it would give up, as with any side that it outgrew while it gave way (`hand_over`). No world has such a liar: a test of
    /// the rules does.
    Mandate,
    /// A host is given up only when others miss it too.
    Confirmation,
    /// Hosts that were lost in a migration are not waited for again in it.
    Exclusion,
    /// Nor does anybody vote for them.
    ExclusionOfClaims,
    /// Whoever had its turn is not waited for before the rest had theirs.
    Turns,
    /// Nor does anybody vote for it.
    TurnsOfClaims,
    /// Whoever is silent is not waited for.
    Silence,
    /// Nobody is waited for, and asks, whose game has not said that it can be host.
    Suitability,
    /// Nor does anybody vote for it.
    SuitabilityOfClaims,
    /// A host that is lost as it gives its session away is missed as any other.
    Givers,
    /// Whoever does not go along stays with the new host until that has what it holds.
    Stay,
    /// A state is taken only with its writer's signature.
    Seal,
    /// A message of another session is refused.
    Session,
    /// Under a lobby nobody is let in without its pass.
    Pass,
    /// Whoever is told another past than it knows says so.
    Past,
}

/// Which guards stand.
pub trait Guards: Copy + Eq + Hash + Debug + 'static {
    /// Whether that one does.
    #[must_use]
    fn stands(_guard: Guard) -> bool {
        true
    }
}

/// All of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guarded;

impl Guards for Guarded {}
