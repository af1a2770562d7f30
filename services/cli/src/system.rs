//! What a long-running command asks of the system it runs on: signals, and enough file descriptors.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, failed};

/// Fewer descriptors than this are too few: the API takes 4,096 connections, and each slot needs a handful.
pub const DESCRIPTORS_WANTED: u64 = 16_384;

/// Takes as many file descriptors as the system gives: the soft limit of 1,024 is for programs that use `select`, and a
/// stranger's idle connections would use it up. Game servers get a limit of their own.
pub fn take_descriptors() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < hard
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    {
        tracing::warn!(soft, hard, %error, "the limit of open files cannot be raised");
    }
    if hard < DESCRIPTORS_WANTED {
        tracing::warn!(
            hard,
            wanted = DESCRIPTORS_WANTED,
            "the system gives few file descriptors; raise the hard limit (ulimit -Hn, LimitNOFILE=) before many servers run"
        );
    }
}

/// Has the allocator give back what nobody uses, on threads of its own. Without it each thread gives back what it freed as it allocates on,
/// and whoever compacts a journal hardly does: it would keep its second state until it is needed again.
pub fn give_memory_back() {
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::warn!(%error, "the allocator has no threads of its own: memory that is freed is given back late");
    }
}

/// What asks a long-running command to end.
pub struct Endings {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Endings {
    /// Listens for SIGTERM, Ctrl-C, and the closing of the terminal, unless that is ignored on purpose (`nohup`).
    pub fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| failed("signals cannot be heard", &error));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: if hangup_is_ignored() { None } else { Some(listen(SignalKind::hangup())?) },
        })
    }

    /// Waits for one of them.
    pub async fn asked(&mut self) {
        let Self { terminate, interrupt, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// A system that does not tell is taken at its default.
fn hangup_is_ignored() -> bool {
    const HANGUP: u64 = 1 << (nix::libc::SIGHUP - 1);
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.is_ok_and(|status| status.sigign & HANGUP != 0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_allocator_gives_memory_back_on_threads_of_its_own() {
        assert_eq!(tikv_jemalloc_ctl::background_thread::read(), Ok(false), "holders have one thread");
        super::give_memory_back();
        assert_eq!(tikv_jemalloc_ctl::background_thread::read(), Ok(true));
    }
}
