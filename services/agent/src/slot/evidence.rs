//! What is kept of a process that ended as nobody wished: its last words, its core dump, and what is known of it, in the
//! slot's own directory.
//!
//! ```text
//! <data directory>/slots/<server id>/evidence/<run>/
//!     incident.json   which check, the readings, the exit, the allocation, in the words of `/v1/servers/{id}`
//!     readings.json   what the last checks of it read, oldest first, each with its time
//!     exit.json       what the holder knows of the end
//!     stdout.log      the last of each
//!     stderr.log
//!     game.log        the last of the log the game wrote last in `$$log_dir$$`, where it wrote one
//!     core            the core dump, where the kernel wrote one
//! ```
//!
//! Evidence is a help to people, no state: what cannot be kept is said in the log, and nothing waits for it.

use std::ffi::OsStr;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use mainstay_core::ServerId;
use mainstay_core::slot::{Incident, Scene};
use mainstay_holder::output::tail;
use mainstay_holder::protocol::Stream;
use mainstay_holder::record::{ExitRecord, Outcome, write_atomically};
use mainstay_runtime::slot_files;
use mainstay_wire::native::{DatedReadingView, IncidentView};

use crate::os::slot_dirs::SlotDirs;

/// What is kept of each stream and of the game's own log: enough for a long stack trace; the whole logs stay where they are until they are rotated.
const TAIL_BYTES: usize = 64 * 1024;
/// Core dumps kept of one slot: the newest. They are as large as the game.
const CORES_MAX: usize = 1;
/// The name of a kept core.
const CORE: &str = "core";
/// How long before its game's start, by the holder's clock, a file of its may seem to have been written: file systems keep
/// coarse times.
const TIME_SLACK_MS: u64 = 2_000;

/// What was found where a process ended.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// What the rules are told.
    pub(crate) told: Scene,
    record: ExitRecord,
    tails: Tails,
}

/// The last of what a process wrote.
#[derive(Debug, Default)]
struct Tails {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Of the game's own log, where it wrote one.
    log: Option<Vec<u8>>,
}

/// The directories evidence comes from and goes to.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    /// The slot's.
    pub(crate) slot: &'a SlotDirs,
    /// Its game's working directory, where that is known.
    pub(crate) working_dir: Option<&'a Path>,
}

/// Looks at what a process left. Quick for one that ended as it should: nothing is read.
pub(crate) fn look(server: ServerId, places: &Places<'_>, record: ExitRecord) -> Evidence {
    let as_it_should =
        matches!(record.outcome, Outcome::Exited { code: 0 }) && record.last_signal_asked.is_none();
    if as_it_should {
        return Evidence { told: Scene::empty(), record, tails: Tails::default() };
    }
    let tails = tails(places.slot, &record).unwrap_or_else(|error| {
        tracing::warn!(%server, %error, "the last output of a game could not be read");
        Tails::default()
    });
    let core = match keep_core(places, &record) {
        Ok(core) => core.map(|path| path.to_string_lossy().into_owned().into()),
        Err(error) => {
            tracing::warn!(%server, %error, "a core dump could not be kept");
            None
        }
    };
    let told = Scene { last_words: last_words(&tails).into(), core };
    Evidence { told, record, tails }
}

/// What of its output is the run's own, for the logs go on over runs, and the log that the game itself wrote meanwhile.
fn tails(slot: &SlotDirs, record: &ExitRecord) -> io::Result<Tails> {
    let own = |kept: Option<u64>| {
        kept.and_then(|bytes| usize::try_from(bytes).ok()).map_or(TAIL_BYTES, |bytes| bytes.min(TAIL_BYTES))
    };
    let kept = record.output_kept;
    Ok(Tails {
        stdout: tail(&slot.output, Stream::Stdout, own(kept.map(|kept| kept.stdout)))?,
        stderr: tail(&slot.output, Stream::Stderr, own(kept.map(|kept| kept.stderr)))?,
        log: log_tail(slot, record)?,
    })
}

fn log_tail(slot: &SlotDirs, record: &ExitRecord) -> io::Result<Option<Vec<u8>>> {
    let since = UNIX_EPOCH + Duration::from_millis(record.started_at_ms.saturating_sub(TIME_SLACK_MS));
    let Some(newest) = slot_files::newest_log(&slot.dir, since)? else { return Ok(None) };
    let Some(mut file) = slot_files::open(&slot.dir, &newest.path)? else { return Ok(None) };
    file.seek(SeekFrom::Start(newest.size.saturating_sub(TAIL_BYTES as u64)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Keeps what is known now; the oldest goes.
pub(crate) fn keep(slot: &SlotDirs, incident: &Incident, readings: &[DatedReadingView], evidence: &Evidence) {
    let dir = slot.evidence.join(incident.run.to_string());
    let tails = &evidence.tails;
    let kept = make(&dir)
        .and_then(|()| write_atomically(&dir, "incident.json", &IncidentView::of(incident)))
        .and_then(|()| write_atomically(&dir, "readings.json", &readings))
        .and_then(|()| write_atomically(&dir, "exit.json", &evidence.record))
        .and_then(|()| std::fs::write(dir.join("stdout.log"), &tails.stdout))
        .and_then(|()| std::fs::write(dir.join("stderr.log"), &tails.stderr))
        .and_then(|()| tails.log.as_ref().map_or(Ok(()), |log| std::fs::write(dir.join("game.log"), log)))
        .and_then(|()| prune(&slot.evidence));
    if let Err(error) = kept {
        tracing::warn!(server = %incident.server, dir = %dir.display(), %error, "evidence could not be kept");
    }
}

/// The end of what was written, standard error last: a panic is there. A game that says nothing there speaks by its log.
fn last_words(tails: &Tails) -> String {
    const MOST: usize = Scene::LAST_WORDS_BYTES_MAX;
    let from_stderr = whole_lines(&tails.stderr, MOST);
    let mut words = whole_lines(&tails.stdout, MOST - from_stderr.len());
    words.push_str(&from_stderr);
    match &tails.log {
        Some(log) if words.is_empty() => whole_lines(log, MOST),
        Some(_) | None => words,
    }
}

/// The last lines that fit, as text; of a line longer than that, its end. What is no UTF-8 is shown as such.
fn whole_lines(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let end = &text[start..];
    match end.split_once('\n') {
        Some((_cut, rest)) if start > 0 && !rest.is_empty() => rest.to_owned(),
        Some(_) | None => end.to_owned(),
    }
}

fn make(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Only the newest evidence is kept, and of their cores the newest.
fn prune(evidence: &Path) -> io::Result<()> {
    let mut runs: Vec<u64> = std::fs::read_dir(evidence)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    runs.sort_unstable_by(|one, other| other.cmp(one));
    for run in runs.iter().skip(Incident::KEPT_MAX) {
        std::fs::remove_dir_all(evidence.join(run.to_string()))?;
    }
    let cores = runs.iter().map(|run| evidence.join(run.to_string()).join(CORE)).filter(|core| core.exists());
    for core in cores.skip(CORES_MAX) {
        std::fs::remove_file(core)?;
    }
    Ok(())
}

/// Takes the core that the kernel wrote into the evidence, if it can be found. A pattern that pipes cores into a program,
/// as systemd does, leaves them with that program.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody waits for evidence, and a power cut is told as one without it"
)]
fn keep_core(places: &Places<'_>, record: &ExitRecord) -> io::Result<Option<PathBuf>> {
    let (Outcome::Killed { core_dumped: true, .. }, Some(pid)) = (&record.outcome, record.game_pid) else {
        return Ok(None);
    };
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern")?;
    let appends_pid = std::fs::read_to_string("/proc/sys/kernel/core_uses_pid")?.trim() != "0";
    let Some(looked_for) = CorePattern::of(pattern.trim_end(), appends_pid, pid) else { return Ok(None) };
    let since_ms = record.started_at_ms.saturating_sub(TIME_SLACK_MS);
    let there = looked_for.newest(places.working_dir, since_ms)?;
    let Some(core) =
        there.map_or_else(|| looked_for.newest(Some(&places.slot.work), since_ms), |core| Ok(Some(core)))?
    else {
        return Ok(None);
    };
    let dir = places.slot.evidence.join(record.run.to_string());
    make(&dir)?;
    let kept = dir.join(CORE);
    if std::fs::rename(&core, &kept).is_err() {
        // Another file system.
        std::fs::copy(&core, &kept)?;
        std::fs::remove_file(&core)?;
    }
    Ok(Some(kept))
}

/// Where a core of a process may lie: `core(5)`'s pattern, with what is not known of it left open.
#[derive(Debug, PartialEq, Eq)]
struct CorePattern {
    /// None: the process's working directory.
    dir: Option<PathBuf>,
    /// What the file's name begins with, holds and ends with.
    pieces: Vec<String>,
}

impl CorePattern {
    fn of(pattern: &str, appends_pid: bool, pid: i32) -> Option<Self> {
        if pattern.is_empty() || pattern.starts_with('|') {
            return None;
        }
        let (dir, name) = match pattern.rsplit_once('/') {
            // A folder whose name is not known beforehand.
            Some((dir, _)) if dir.contains('%') || !pattern.starts_with('/') => return None,
            Some((dir, name)) => (Some(PathBuf::from(if dir.is_empty() { "/" } else { dir })), name),
            None => (None, pattern),
        };
        let mut pieces = vec![String::new()];
        let mut names_pid = false;
        let mut letters = name.chars();
        while let Some(letter) = letters.next() {
            let last = pieces.last_mut()?;
            if letter != '%' {
                last.push(letter);
                continue;
            }
            match letters.next() {
                Some('%') => last.push('%'),
                Some('p') => {
                    names_pid = true;
                    last.push_str(&pid.to_string());
                }
                Some(_) => pieces.push(String::new()),
                None => {}
            }
        }
        if appends_pid && !names_pid {
            let last = pieces.last_mut()?;
            last.push('.');
            last.push_str(&pid.to_string());
        }
        Some(Self { dir, pieces })
    }

    fn fits(&self, name: &OsStr) -> bool {
        let Some(mut rest) = name.to_str() else { return false };
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return false };
        if self.pieces.len() == 1 {
            return rest == first;
        }
        match rest.strip_prefix(first.as_str()) {
            Some(after) => rest = after,
            None => return false,
        }
        for piece in &self.pieces[1..self.pieces.len() - 1] {
            match rest.find(piece.as_str()) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }

    /// The newest file that fits and was written by a process that lived then.
    fn newest(&self, working_dir: Option<&Path>, since_ms: u64) -> io::Result<Option<PathBuf>> {
        let Some(dir) = self.dir.as_deref().or(working_dir) else { return Ok(None) };
        let mut newest: Option<(i64, PathBuf)> = None;
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if !self.fits(&entry.file_name()) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let at_ms = metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000;
            let late_enough = u64::try_from(at_ms).is_ok_and(|at_ms| at_ms >= since_ms);
            if metadata.is_file() && late_enough && newest.as_ref().is_none_or(|(known, _)| *known < at_ms) {
                newest = Some((at_ms, entry.path()));
            }
        }
        Ok(newest.map(|(_, path)| path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_whole_lines_and_standard_error_comes_last() {
        let last_words = |stdout: &[u8], stderr: &[u8]| {
            last_words(&Tails {
                stdout: stdout.to_vec(),
                stderr: stderr.to_vec(),
                log: Some(b"log\n".to_vec()),
            })
        };
        assert_eq!(last_words(b"up\n", b"panicked\n"), "up\npanicked\n");
        assert_eq!(last_words(b"", b""), "log\n");
        let long = format!("{}\nthe end\n", "x".repeat(600));
        assert_eq!(last_words(b"up\n", long.as_bytes()), "up\nthe end\n");
        let words = last_words(&[b'y'; 9000], b"bye\n");
        assert_eq!(words.len(), Scene::LAST_WORDS_BYTES_MAX);
        assert!(words.ends_with("ybye\n"));
        // Cut letters and bytes that are no text are shown, not lost.
        assert!(last_words(&[0xff; 9], b"").starts_with('\u{fffd}'));
        assert!(last_words("ä".repeat(400).as_bytes(), b"").len() <= Scene::LAST_WORDS_BYTES_MAX);
    }

    #[test]
    fn cores_are_looked_for_by_the_kernels_pattern() {
        let of = |pattern, appends| CorePattern::of(pattern, appends, 77);
        let fits = |pattern, appends, name: &str| of(pattern, appends).unwrap().fits(OsStr::new(name));
        assert!(fits("core", false, "core") && !fits("core", false, "core.77"));
        assert!(fits("core", true, "core.77") && !fits("core", true, "core.78"));
        assert!(fits("core.%p", true, "core.77") && !fits("core.%p", false, "core.770"));
        assert!(fits("/var/cores/%e-%p-%t.core", false, "tugboat-77-12345.core"));
        assert!(!fits("/var/cores/%e-%p-%t.core", false, "tugboat-78-12345.core"));
        assert!(fits("100%%%e", false, "100%tugboat"));
        assert_eq!(of("/var/cores/c", false).unwrap().dir, Some(PathBuf::from("/var/cores")));
        assert_eq!(of("core", false).unwrap().dir, None);
        for unknown in ["|/usr/lib/systemd/systemd-coredump %P", "", "/cores/%e/core", "dir/core"] {
            assert_eq!(of(unknown, false), None, "{unknown}");
        }
    }

    #[test]
    fn the_newest_evidence_is_kept_and_one_core() {
        let dir = tempfile::tempdir().unwrap();
        for run in 1..=6 {
            let of_run = dir.path().join(run.to_string());
            std::fs::create_dir(&of_run).unwrap();
            std::fs::write(of_run.join(CORE), "x").unwrap();
        }
        prune(dir.path()).unwrap();
        let left = |run: u32| dir.path().join(run.to_string()).exists();
        assert_eq!([1, 2, 3, 4, 5, 6].map(left), [false, false, true, true, true, true]);
        let core = |run: u32| dir.path().join(run.to_string()).join(CORE).exists();
        assert_eq!([3, 4, 5, 6].map(core), [false, false, false, true]);
    }
}
