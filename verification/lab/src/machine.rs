//! One start of the machine: QEMU with a disk, a scenario, and a wire on which it speaks.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{LabError, tail};
use crate::packages::Base;
use crate::words::{SCENARIO, Scenario, Word};

/// How long the machine may be silent: it takes seconds, and one whose host is busy with ten other builds some minutes.
const SILENCE_MAX: Duration = Duration::from_secs(400);
/// How long a machine takes to come to its first program, whose first words are on the console. Emulated with counted instructions a kernel stands still now and then before it
/// has found its disk: of some hundred starts one was seen that had not mounted it after 400 s, and the next start of the same disk went well.
const COMES_UP_WITHIN: Duration = Duration::from_secs(150);
/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is started for that.
const STARTS_MAX: u32 = 3;
/// How much of the talk a failure shows, in characters.
const TALK_SHOWN: usize = 4_000;
/// Its memory: games, and one that is to run into a cap of 210 MiB.
const MEMORY: &str = "1024M";
/// The guest's nanoseconds for each of its instructions, as a power of two: 2 ns are a machine of 500 million a second,
/// which is what emulation reaches on an idle host.
const CLOCK: &str = "shift=1,sleep=on";
/// What a start of the kernel leaves out: half of it is self-tests, guards against other users of the processor, and a
/// test of the timer that fails where the host is late.
const LEAN: &str = "no_timer_check mitigations=off audit=0 apparmor=0 cryptomgr.notests";

/// A machine that runs.
#[derive(Debug)]
pub struct Machine {
    qemu: Child,
    lines: Receiver<String>,
    talk: String,
    console: PathBuf,
}

impl Machine {
    /// Starts one; its kernel's console is written to `console`. One whose kernel stands still is started anew, and that is said: it has read nothing of its disk.
    ///
    /// # Errors
    /// There is no QEMU.
    pub fn boot(base: &Base, disk: &Path, console: &Path, scenario: &Scenario) -> Result<Self, LabError> {
        let mut machine = Self::start(base, disk, console, scenario)?;
        for _ in 1..STARTS_MAX {
            if machine.comes_up() {
                break;
            }
            eprintln!(
                "the machine's kernel said nothing in {} s; it is started anew",
                COMES_UP_WITHIN.as_secs()
            );
            drop(machine);
            machine = Self::start(base, disk, console, scenario)?;
        }
        Ok(machine)
    }

    /// Whether its kernel comes to its first program, or it ends before: then its wire says so.
    fn comes_up(&mut self) -> bool {
        let until = Instant::now() + COMES_UP_WITHIN;
        loop {
            let has_spoken = fs::metadata(&self.console).is_ok_and(|console| console.len() > 0);
            if has_spoken || !matches!(self.qemu.try_wait(), Ok(None)) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn start(base: &Base, disk: &Path, console: &Path, scenario: &Scenario) -> Result<Self, LabError> {
        let failed = |how: String| LabError::Program { program: "qemu-system-x86_64".to_owned(), how };
        // QEMU empties the file once it has begun: until then the words of the start before would be taken for this one's.
        fs::write(console, "")
            .map_err(|error| failed(format!("has no console {}: {error}", console.display())))?;
        // The host page cache keeps what QEMU has written, whether it syncs or not, and outlives QEMU: `unsafe` spares the
        // host's disk and changes nothing of what a guest finds after a cut.
        let drive = format!("if=none,id=disk,format=raw,cache=unsafe,file={}", disk.display());
        let kernel_line = format!(
            "console=ttyS0 quiet panic=-1 root=/dev/nvme0n1 rw init=/lib/systemd/systemd systemd.unit=lab.target \
             systemd.show_status=0 {LEAN} {SCENARIO}{scenario}"
        );
        // One core of a machine that others use as well.
        let mut command = Command::new("nice");
        command
            .args(["-n", "10", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-display", "none", "-machine", "q35", "-cpu", "max", "-smp", "1", "-m", MEMORY])
            .args(["-accel", "tcg", "-icount", CLOCK, "-append", &kernel_line, "-kernel"])
            .arg(&base.kernel)
            .args(["-drive", &drive, "-device", "nvme,drive=disk,serial=lab", "-serial"])
            .arg(format!("file:{}", console.display()))
            .args(["-chardev", "stdio,id=wire,signal=off", "-serial", "chardev:wire"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut qemu = command.spawn().map_err(|error| failed(format!("does not run: {error}")))?;
        let wire = qemu.stdout.take().ok_or_else(|| failed("has no output".to_owned()))?;
        Ok(Self { qemu, lines: lines_of(wire), talk: String::new(), console: console.to_owned() })
    }

    /// The next word.
    ///
    /// # Errors
    /// None comes, or the guest says that it failed: with what it said besides.
    pub fn hear(&mut self) -> Result<Word, LabError> {
        loop {
            let line = match self.lines.recv_timeout(SILENCE_MAX) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return Err(self.failed("says nothing")),
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed("is off")),
            };
            match Word::read(&line) {
                None => self.talk.push_str(&line),
                Some(Ok(Word::Failed { why })) => return Err(self.failed(&format!("failed: {why}"))),
                Some(Ok(word)) => return Ok(word),
                Some(Err(error)) => return Err(self.failed(&format!("says {line:?}: {error}"))),
            }
        }
    }

    /// What is shown to hold, until the scenario is done.
    ///
    /// # Errors
    /// See [`Self::hear`]; or it says something else.
    pub fn finish(mut self) -> Result<Vec<String>, LabError> {
        let mut held = Vec::new();
        loop {
            match self.hear()? {
                Word::Holds { what } => {
                    // For whoever looks for the reason of a failure.
                    self.talk.extend(["holds: ", &what, "\n"]);
                    held.push(what);
                }
                Word::Done => return Ok(held),
                other @ (Word::Asking { .. }
                | Word::Acknowledged { .. }
                | Word::Stands { .. }
                | Word::Failed { .. }) => {
                    return Err(self.failed(&format!("says {other:?} out of turn")));
                }
            }
        }
    }

    /// Cuts the power, and gives the words that were on the wire by then.
    ///
    /// # Errors
    /// QEMU cannot be killed, or a word is none. The last line may be torn: it is no word then.
    pub fn cut(mut self) -> Result<Vec<Word>, LabError> {
        let failed = |error: std::io::Error| LabError::Program {
            program: "qemu-system-x86_64".to_owned(),
            how: format!("is not killed: {error}"),
        };
        self.qemu.kill().map_err(failed)?;
        self.qemu.wait().map_err(failed)?;
        let mut words = Vec::new();
        while let Ok(line) = self.lines.recv() {
            match Word::read(&line) {
                Some(Ok(word)) => words.push(word),
                Some(Err(error)) if line.ends_with('\n') => {
                    return Err(self.failed(&format!("says {line:?}: {error}")));
                }
                Some(Err(_)) | None => self.talk.push_str(&line),
            }
        }
        Ok(words)
    }

    fn failed(&self, how: &str) -> LabError {
        let console = fs::read(&self.console).unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        LabError::Missing(format!(
            "the machine {how}\n--- its wire:\n{}\n--- its console:\n{}",
            tail(&self.talk, TALK_SHOWN),
            tail(&console, TALK_SHOWN)
        ))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Off already is as good.
        let _gone = self.qemu.kill();
        let _reaped = self.qemu.wait();
    }
}

/// The wire's lines, with their ends, read by a thread so that nobody waits for ever.
fn lines_of(wire: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut wire = BufReader::new(wire);
        let mut line = Vec::new();
        while wire.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
    receiver
}
