//! What goes wrong in a slot's place, and whether that passes by itself.

use mainstay_core::UnclosedQuote;
use mainstay_holder::client::ClientError;
use nix::errno::Errno;

use crate::os::OsError;

/// Why something about a slot's place failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroundError {
    /// The holder, or its files.
    #[error(transparent)]
    Holder(#[from] ClientError),
    /// The system.
    #[error(transparent)]
    System(#[from] OsError),
    /// A command line without end.
    #[error("the command line cannot be split (MS-S405)")]
    CommandLine(#[from] UnclosedQuote),
    /// Processes that not even SIGKILL ends.
    #[error("{alive} processes of an earlier run cannot be ended: they are stuck in the kernel (MS-S406)")]
    NotEmpty {
        /// How many.
        alive: u32,
    },
}

impl GroundError {
    /// Whether it is the machine's own trouble, which passes: a full disk, no descriptors, no memory, a holder that could
    /// not do its work. What the configuration asks for in vain (a folder that is not there) does not pass.
    pub(crate) fn is_the_machines(&self) -> bool {
        match self {
            Self::Holder(_) | Self::NotEmpty { .. } => true,
            Self::CommandLine(_) => false,
            Self::System(error) => is_want(error),
        }
    }
}

/// Whether a chain of errors ends in the system's want of something.
fn is_want(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| error.source());
    chain.any(|error| {
        let number = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        number.is_some_and(|number| WANTS.contains(&Errno::from_raw(number)))
    })
}

/// No space, no quota, no descriptors of the process's or the system's, no memory, no process, a disk that fails.
const WANTS: [Errno; 7] =
    [Errno::ENOSPC, Errno::EDQUOT, Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::EAGAIN, Errno::EIO];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_passes_and_what_is_configured_wrong_does_not() {
        let files = |errno: Errno| {
            GroundError::from(OsError::Files { what: "make", path: "/x".into(), source: errno.into() })
        };
        let rows = [
            (files(Errno::ENOSPC), true),
            (files(Errno::EMFILE), true),
            (files(Errno::ENOENT), false),
            (files(Errno::EACCES), false),
            (GroundError::NotEmpty { alive: 1 }, true),
            (ClientError::HolderFailed { slot: "/x".into(), why: "fork".into(), source: None }.into(), true),
        ];
        for (error, expected) in rows {
            assert_eq!(error.is_the_machines(), expected, "{error:?}");
        }
    }
}
