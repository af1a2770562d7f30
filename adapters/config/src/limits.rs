//! Every bound of the loader, with its reason, in one place.

use std::time::Duration;

/// Longest file. A fleet with everything written out takes about 1 kB, so this is a thousand of them; more is a
/// wrong file, and parsing it would only delay saying so.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Most files in one load: more than one each for a large studio's games, few enough to name them all.
pub const FILES_MAX: usize = 64;

/// Most YAML nodes in one file after aliases are expanded. A full file of 1 MiB has about 100,000; the bound is for
/// the few lines of nested aliases that would expand to billions.
pub const NODES_MAX: usize = 200_000;

/// Deepest nesting. The deepest key of the schema lies at depth 7; `x-` keys get the rest.
pub const DEPTH_MAX: usize = 32;

/// Most problems kept. Past this nobody reads on, and a wrong file of 1 MiB could make a hundred thousand.
pub const PROBLEMS_MAX: usize = 100;

/// Longest name of a build, build configuration, fleet or region, in characters: names become labels, file names and
/// URL slugs.
pub const NAME_CHARS_MAX: usize = 128;

/// Longest command line: the kernel takes 128 KiB for one argument; this leaves room for what variables expand to.
pub const COMMAND_LINE_BYTES_MAX: usize = 32 * 1024;

/// Most custom variables, or environment variables, of one build configuration: they all go into `server.json`, which
/// a game reads in one go, or onto the new process's stack.
pub const VARIABLES_MAX: usize = 512;

/// Longest single variable value; the kernel's own limit for one environment string is 128 KiB.
pub const VARIABLE_BYTES_MAX: usize = 32 * 1024;

/// Most servers a region may be given: what one control plane is built for, ten times over.
pub const SERVERS_MAX: u64 = 1_000_000;

/// Most servers on one machine: two ports each still fit the port space.
pub const SERVERS_PER_MACHINE_MAX: u64 = 20_000;

/// Most machines of one provider: what one control plane takes agents of.
pub const PROVIDER_MACHINES_MAX: u64 = 4_096;

/// Longest probe request or expected answer: longer than any known greeting, and what `adapters/query` takes.
pub const PROBE_BYTES_MAX: usize = 256;

/// The largest tolerance of the CPU check: ten times the limit. Above that nothing is checked any more.
pub const CPU_TOLERANCE_PERCENT_MAX: u32 = 1_000;

/// What `.gsh` takes for a server where a file states nothing: 750 MHz of one core.
pub const GSH_SPEED_MHZ: u32 = 750;

/// What `.gsh` takes for a server's memory where a file states nothing: 800 MiB.
pub const GSH_MEMORY_MIB: u64 = 800;

/// A range of durations a key may take, with the reason for its ends.
#[derive(Clone, Copy, Debug)]
pub struct DurationRange {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
    /// Why.
    pub reason: &'static str,
}

impl DurationRange {
    /// Whether a time lies within it.
    #[must_use]
    pub fn holds(&self, time: Duration) -> bool {
        self.min <= time && time <= self.max
    }
}

const fn range(min_ms: u64, max_s: u64, reason: &'static str) -> DurationRange {
    DurationRange { min: Duration::from_millis(min_ms), max: Duration::from_secs(max_s), reason }
}

pub(crate) const KILL_TIMEOUT: DurationRange =
    range(0, 3_600, "a stop that takes longer than an hour holds the slot and the machine's shutdown");
pub(crate) const RESTART_WITHIN: DurationRange =
    range(1_000, 7 * 86_400, "restarts are counted over seconds to a week");
pub(crate) const CHECKS_EVERY: DurationRange = range(
    100,
    3_600,
    "a check more often than ten times a second costs more than it tells, and after an hour nobody plays",
);
pub(crate) const CHECKS_WITHIN: DurationRange =
    range(1_000, 7 * 86_400, "failures are counted over seconds to a week");
pub(crate) const START_TIMEOUT: DurationRange =
    range(100, 3_600, "a server that needs more than an hour to start is not starting");
pub(crate) const QUERY_TIMEOUT: DurationRange =
    range(10, 60, "an answer within 10 ms is not certain even on loopback, and after 60 s nobody waits");
pub(crate) const PLACEMENT_TIMEOUT: DurationRange =
    range(0, 3_600, "players do not wait longer than an hour for a server");
/// How long an allocation may be given to live.
pub const ALLOCATION_TTL: DurationRange = range(
    1_000,
    30 * 86_400,
    "a session that is over in under a second is no session, and none lasts a month",
);
pub(crate) const HOLD_MAX: DurationRange =
    range(1_000, 30 * 86_400, "holds are given in seconds, and one of a month keeps a machine for nobody");
/// How long machines may idle.
pub const MACHINE_TTL: DurationRange = range(
    1_000,
    30 * 86_400,
    "a machine that goes within a second of its last player never serves the next, and none idles for a month",
);
pub(crate) const PASS_LIFE: DurationRange = range(
    10_000,
    30 * 86_400,
    "it is renewed half-way, and a lobby may be away for seconds; and who was thrown out holds it for as long",
);
pub(crate) const LOST_AFTER: DurationRange = range(
    2_000,
    86_400,
    "a stream that broke is noticed within seconds, and after a day nobody waits for a machine",
);
pub(crate) const PROVIDER_CREATE: DurationRange =
    range(1_000, 6 * 3_600, "a machine that has not joined after six hours never will");
pub(crate) const PROVIDER_RETRY: DurationRange =
    range(10, 300, "further tries wait longer by themselves, up to five minutes");
pub(crate) const PROVIDER_CALL: DurationRange =
    range(100, 3_600, "a program that has not answered after an hour never will");
pub(crate) const PROVIDER_LIST: DurationRange = range(
    100,
    86_400,
    "listing more often than ten times a second costs more than an orphan, which costs by the hour",
);
pub(crate) const ALLOCATION_RETENTION: DurationRange = range(
    60_000,
    30 * 86_400,
    "a caller must be able to repeat a call whose answer was lost, and ended allocations take memory",
);
