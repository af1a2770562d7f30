//! Faults, carried out for real: no flag that says "crashed", but a process that does.

use std::io;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::signal::{Signal, raise};

use super::{Server, Termination, Turn};
use crate::fault::Fault;
use crate::query::Responder;

impl Server {
    pub(super) fn misbehave(&mut self, fault: Fault) -> Turn {
        self.note(format_args!("fault {fault:?}"));
        match fault {
            Fault::Crash => self.crash(),
            Fault::Abort => std::process::abort(),
            Fault::Exit(code) => return Turn::Exit(ExitCode::from(code)),
            Fault::Hang => loop {
                std::thread::park();
            },
            Fault::MuteQuery => self.responder = Responder::Mute,
            Fault::EatMemory(bytes) => self.eat_memory(bytes),
            Fault::EatCpu(threads) => self.eat_cpu(threads),
            Fault::IgnoreSigterm => self.termination = Termination::Ignored,
            Fault::ForkGrandchild => match fork_grandchild() {
                Ok(pid) => self.note(format_args!("grandchild pid={pid}")),
                Err(error) => self.note(format_args!("grandchild failed: {error}")),
            },
        }
        Turn::Go
    }

    /// Raised until it kills: the standard library's handler, which looks for stack overflows, takes the first one and
    /// then gives way to the default.
    fn crash(&mut self) -> ! {
        loop {
            if let Err(errno) = raise(Signal::SIGSEGV) {
                self.note(format_args!("cannot raise SIGSEGV: {errno}"));
                std::process::abort();
            }
        }
    }

    fn eat_memory(&mut self, bytes: u64) {
        let mut meal = Vec::new();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match meal.try_reserve_exact(bytes) {
            // Written, not only reserved: memory counts once it is touched.
            Ok(()) => meal.resize(bytes, 0xa5),
            Err(error) => self.note(format_args!("cannot eat memory: {error}")),
        }
        self.eaten.push(meal);
    }

    fn eat_cpu(&mut self, threads: u8) {
        for _ in 0..threads {
            let spawned = std::thread::Builder::new().name("eat-cpu".to_owned()).spawn(|| {
                loop {
                    std::hint::spin_loop();
                }
            });
            if let Err(error) = spawned {
                self.note(format_args!("cannot eat cpu: {error}"));
            }
        }
    }
}

/// Starts a shell that starts a sleeper and ends, and gives the sleeper's process id: its parent is whoever adopts orphans.
fn fork_grandchild() -> io::Result<u32> {
    let shell = Command::new("/bin/sh")
        .args(["-c", "sleep 86400 >/dev/null & echo $!"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&shell.stdout);
    said.trim().parse().map_err(|_| io::Error::other(format!("the shell ended with {}", shell.status)))
}
