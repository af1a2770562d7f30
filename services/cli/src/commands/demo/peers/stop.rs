//! A demo of peers that is told to stop: its players leave as people do who quit, while it still reads what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use super::running::is_peer;
use crate::failure::{Exit, Failure};

/// Whether somebody has told it to, by SIGINT, SIGTERM, or the end of its terminal.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Takes the signals over, for every thread that is started from now on.
    pub fn listen() -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(Exit::Failed, "MS-U043", "cannot listen for Ctrl-C").why(why)
        };
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        if hears_hangups() {
            signals.add(Signal::SIGHUP);
        }
        signals.thread_block().map_err(|errno| failed(&errno))?;
        let told = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&told);
        let listens = move || {
            while signals.wait().is_ok() {
                tells.store(true, Ordering::SeqCst);
                have_players_leave();
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(listens).map_err(|error| failed(&error))?;
        Ok(Self(told))
    }

    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The same as a failure, for whatever does not end well without being told to go on.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_told() { Err(Self::interrupted()) } else { Ok(()) }
    }

    pub fn interrupted() -> Failure {
        Failure::new(Exit::Failed, "MS-U043", "interrupted; its players have left")
    }
}

/// Whether the end of its terminal ends it: `nohup` has that ignored.
fn hears_hangups() -> bool {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & 1 << (Signal::SIGHUP as i32 - 1) == 0)
}

/// Whoever waits for what they do hears that they go. Those that were stopped, too.
fn have_players_leave() {
    let Ok(all) = procfs::process::all_processes() else { return };
    let own = i32::try_from(std::process::id()).ok();
    let children = all.filter_map(Result::ok).filter(|it| it.stat().is_ok_and(|stat| Some(stat.ppid) == own));
    for player in children.map(|it| it.pid).filter(|pid| is_peer(*pid)).map(Pid::from_raw) {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            // It may have gone meanwhile.
            let _gone = kill(player, signal);
        }
    }
}
