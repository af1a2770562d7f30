//! What `doctor` looks at in the process of `up` beside the shards: the journal's files, the agent's rules, what the
//! machine gives to it, and how far the one clock is from the wall.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mainstay_agent::doctor::{Given, Replayed, Rules};
use mainstay_agent::os::Sight;
use mainstay_agent::os::cgroup::Version;
use mainstay_control::doctor::{Finding, HostChecks, damage, stored};
use mainstay_journal::sqlite::{SqliteJournal, SqliteReader};
use mainstay_journal::{Reader as _, StoredFold, replay, walk};
use mainstay_runtime::Clock;
use mainstay_supervisor::Supervisor;
use tokio::runtime::Handle;

/// Further apart than this the one clock and the wall clock have something to mend: leases and holds count in seconds.
const CLOCK_APART_MAX: Duration = Duration::from_secs(2);

/// The checks of a running instance.
pub struct Host {
    data_dir: PathBuf,
    journal: OnceLock<SqliteJournal>,
    agent: OnceLock<mainstay_agent::doctor::Doctor>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
}

impl Host {
    /// Of a data directory, whose journal and agent come later.
    pub fn new(data_dir: &Path, clock: Arc<dyn Clock>) -> Self {
        let (journal, agent) = (OnceLock::new(), OnceLock::new());
        Self { data_dir: data_dir.to_owned(), journal, agent, clock, runtime: Handle::current() }
    }

    /// The journal, from now on. The first word counts.
    pub fn reads(&self, journal: SqliteJournal) {
        let _first = self.journal.set(journal);
    }

    /// The agent, from now on. The first word counts.
    pub fn asks(&self, agent: mainstay_agent::doctor::Doctor) {
        let _first = self.agent.set(agent);
    }
}

impl HostChecks for Host {
    fn look(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(journal) = self.journal.get() {
            findings.extend(journal_of(journal, &self.data_dir.join("journal")));
        }
        if let Some(agent) = self.agent.get() {
            findings.push(rules("laws of the agent", self.runtime.block_on(agent.rules())));
            findings.extend(
                match SqliteReader::beside_its_writer(&self.data_dir.join("agent").join("journal")) {
                    Ok(reader) => agents(reader),
                    Err(error) => vec![damage(AGENTS, &error)],
                },
            );
            findings.extend(given(&agent.given()));
        }
        findings.push(clock(&*self.clock));
        findings
    }
}

/// Everything that is stored, read on a connection of its own.
pub fn journal_of(journal: &SqliteJournal, dir: &Path) -> Vec<Finding> {
    let mut reader = match journal.reader() {
        Ok(reader) => reader,
        Err(error) => return vec![damage("journal chain", &error)],
    };
    let mark = match reader.check_mark(dir) {
        Ok(commits) => Finding::ok(
            "journal mark",
            format!("commit {} was told last, {} is there", commits.marked, commits.found),
        ),
        Err(error) => damage("journal mark", &error),
    };
    let mut findings = vec![mark];
    findings.extend(stored(&mut reader));
    findings
}

/// The check of an agent's journal.
pub const AGENTS: &str = "agent's journal";

/// The agent's journal: its chain, and the laws of its rules.
pub fn agents(mut reader: SqliteReader) -> Vec<Finding> {
    let heads = match reader.heads() {
        Ok(heads) => heads,
        Err(error) => return vec![damage(AGENTS, &error)],
    };
    let check = "laws of the agent's journal";
    let mut findings = Vec::new();
    for head in &heads {
        match walk(&mut reader, head) {
            Ok(walked) => findings.push(Finding::ok(
                AGENTS,
                format!("{} turns with {} events, each as it was written", walked.turns, walked.events),
            )),
            Err(error) => {
                findings.push(damage(AGENTS, &error));
                continue;
            }
        }
        let mut fold = StoredFold::watched(Supervisor::new(), Replayed::default());
        findings.push(match replay(&mut reader, head, &mut fold) {
            Err(error) => damage(check, &error),
            Ok(_last) => {
                let (state, replayed) = fold.into_parts();
                rules(check, replayed.rules(&state))
            }
        });
    }
    findings
}

/// How an agent's rules stand.
fn rules(check: &str, rules: Rules) -> Finding {
    match rules {
        Rules::Hold { slots, live } => {
            Finding::ok(check, format!("{slots} slots, {live} with a process, all laws"))
        }
        Rules::Broken(broken) => Finding::fail(
            check,
            broken.to_string(),
            "MS-U030",
            "a bug of ours: report it with this output; a restart of the agent derives its indices anew, and games play on",
        ),
        Rules::Ended => {
            Finding::fail(check, "the agent is ending", "MS-U021", "start it again: games play on meanwhile")
        }
    }
}

/// What the machine gives.
fn given(given: &Given) -> Vec<Finding> {
    let groups = match given.groups {
        Some(Version::One) => "control groups of version 1",
        Some(Version::Two) => "control groups of version 2",
        None => "no control groups: usage is read from /proc",
    };
    let sight = match given.sight {
        Sight::Private(_) => "a view of its own for each game",
        Sight::Shared => "one view for all games",
    };
    let users = if given.users { "a user for each slot" } else { "one user for all slots" };
    let check = "capabilities";
    if given.missing.is_empty() {
        return vec![Finding::ok(check, format!("{groups}, {users}, {sight}"))];
    }
    let missing = |missing: &mainstay_agent::os::Missing| {
        let fix = "run the agent as root on a machine with writable control groups; servers run without all the same";
        Finding::warn(check, missing.to_string(), "MS-U031", fix)
    };
    given.missing.iter().map(missing).collect()
}

/// How far the clock of all turns is from the wall clock it is steered towards.
fn clock(clock: &dyn Clock) -> Finding {
    let check = "clock";
    let now = clock.now();
    // A wall clock before 1970 is one that is wrong by decades, and shows as that.
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    let apart = Duration::from_millis(wall.abs_diff(now.unix_ms()));
    let why = format!("{} ms between the clock of all turns and this host's wall clock", apart.as_millis());
    if apart <= CLOCK_APART_MAX {
        Finding::ok(check, why)
    } else {
        let fix = "the wall clock was set, or was not believed at a start: time is steered towards it by a tenth, never stepped; keep it in step by NTP";
        Finding::warn(check, why, "MS-U032", fix)
    }
}
