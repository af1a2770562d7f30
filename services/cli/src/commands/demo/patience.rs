//! How a demo waits: for a condition, not for ever, and not past Ctrl-C.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::failure::{Exit, Failure};

/// How long anything may take: some twenty times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often things are looked at, in milliseconds.
const LOOK_AGAIN: u8 = 10;

/// Waits for things, and hears SIGINT and SIGTERM: what was begun is then ended as after any failure.
pub struct Patience(SignalFd);

impl Patience {
    /// Takes the signals over, for every thread that is started from now on.
    pub fn new() -> Result<Self, Failure> {
        let mut wanted = SigSet::empty();
        wanted.add(Signal::SIGINT);
        wanted.add(Signal::SIGTERM);
        let signals = wanted
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&wanted, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC));
        let failed = |errno: Errno| {
            Failure::new(Exit::Failed, "MS-U043", "cannot listen for Ctrl-C".to_owned()).why(errno)
        };
        signals.map(Self).map_err(failed)
    }

    /// Looks until there is what is waited for.
    pub fn until<T>(
        &self,
        what: &str,
        mut look: impl FnMut() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        loop {
            if let Some(seen) = look()? {
                return Ok(seen);
            }
            if began.elapsed() >= PATIENCE {
                let what = format!("{what}: not within {} s", PATIENCE.as_secs());
                return Err(Failure::new(Exit::TimedOut, "MS-U042", what)
                    .fix("mainstay doctor says what is wrong with the instance"));
            }
            let mut signals = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            if let Ok(1..) = poll(&mut signals, PollTimeout::from(LOOK_AGAIN)) {
                let what = "interrupted; its tickets are cancelled and its server is given back".to_owned();
                return Err(Failure::new(Exit::Failed, "MS-U043", what));
            }
        }
    }
}
