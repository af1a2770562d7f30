//! A data directory in which no control plane runs: its journal as the next start would find it, and the agent's beside it, also
//! while an agent runs there alone.

use std::path::Path;

use mainstay_control::doctor::{Finding, damage};
use mainstay_journal::OpenError;
use mainstay_journal::sqlite::{SqliteJournal, SqliteReader};

use super::one_line;
use crate::failure::Failure;
use crate::up::doctor::{AGENTS, agents, journal_of};

/// Looks at everything that is stored. `silent` is why no instance answered.
pub fn look(data_dir: &Path, silent: &Failure) -> Vec<Finding> {
    let mut findings = Vec::new();
    let plane = data_dir.join("journal");
    match open(&plane) {
        Opened::None => {}
        Opened::Busy(error) => {
            let fix = "something has the directory and does not answer: look at its log, or end it";
            return vec![Finding::fail("instance", format!("{}: {error}", silent.what), "MS-U002", fix)];
        }
        Opened::Refused(error) => findings.push(damage("journal", &error)),
        Opened::Journal(journal) => findings.extend(journal_of(&journal, &plane)),
    }
    let agent = data_dir.join("agent").join("journal");
    match open(&agent) {
        Opened::None => {}
        Opened::Busy(_) => findings.extend(alone(&agent)),
        Opened::Refused(error) => findings.push(damage("agent's journal", &error)),
        Opened::Journal(journal) => findings.extend(match journal.reader() {
            Ok(reader) => agents(reader),
            Err(error) => vec![damage(AGENTS, &error)],
        }),
    }
    let why = if findings.is_empty() {
        "nothing is stored here yet"
    } else {
        "no control plane runs here; what is stored was looked at"
    };
    findings.insert(0, Finding::ok("instance", why));
    findings
}

enum Opened {
    /// There is no journal.
    None,
    /// Somebody has it.
    Busy(String),
    /// The next start would refuse it.
    Refused(OpenError),
    Journal(SqliteJournal),
}

fn open(dir: &Path) -> Opened {
    // Opening would make one.
    if !dir.join("journal.db").exists() && !dir.join("journal.mark").exists() {
        return Opened::None;
    }
    match SqliteJournal::open(dir) {
        Ok(journal) => Opened::Journal(journal),
        Err(error @ OpenError::InUse { .. }) => Opened::Busy(one_line(&error)),
        Err(error) => Opened::Refused(error),
    }
}

/// A stand-alone agent that runs: its journal is read beside it, and every law is run on what its durable story comes to. What
/// only its process has in memory is named.
fn alone(dir: &Path) -> Vec<Finding> {
    let mut reader = match SqliteReader::beside_its_writer(dir) {
        Ok(reader) => reader,
        Err(error) => return vec![damage(AGENTS, &error)],
    };
    let mut findings = vec![match reader.check_mark(dir) {
        Ok(commits) => Finding::ok(
            "agent's mark",
            format!("commit {} was told last, {} is there", commits.marked, commits.found),
        ),
        Err(error) => damage("agent's mark", &error),
    }];
    findings.extend(agents(reader));
    findings.push(Finding::ok(
        "agent in memory",
        "an agent runs here alone: the laws were run on its durable state with its indices derived anew; the indices and \
         readings that only its process has were not looked at, since nothing asks it for them; the control plane's own laws \
         are run by `mainstay doctor` where that runs",
    ));
    findings
}
