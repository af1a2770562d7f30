//! Who may read a clock: one module. Everyone else is told what time it is, or the simulator could not tell him.

use crate::Violation;
use crate::tree::{File, is_comment, is_test_file, lines_without_tests};

/// Calls that read a clock, put together from halves, or this file would be its own first finding.
const READS: &[&str] = &[
    concat!("Instant::", "now"),
    concat!("SystemTime::", "now"),
    concat!("Timestamp::", "now"),
    concat!("Zoned::", "now"),
    concat!("Utc::", "now"),
    concat!("clock_", "gettime"),
];

/// Where a clock may be read outside tests: path prefix, and why.
pub const READERS: &[(&str, &str)] = &[
    ("services/runtime/src/clock/", "the one clock"),
    ("services/runtime/src/shard/turns.rs", "sets timers; what it means by now is the one clock's"),
    ("services/agent/src/daemon/rate.rs", "how often a game may call: no rule reads it, nothing is kept"),
    (
        "services/control/src/http/crowd.rs",
        "how long a connection asks for nothing: no rule reads it, nothing is kept",
    ),
    ("services/cli/", "a command times its own waits; the rules it starts have the one clock"),
    (
        "services/holder/",
        "uses nothing of ours; it measures its own waits and stamps exit records for people",
    ),
    ("game/", "a game is a program of its own: Mainstay's rules do not run in it"),
    ("verification/simulator/src/command_line.rs", "asked for so many seconds of seeds, it counts them"),
    ("adapters/journal/examples/", "a measurement, run by hand"),
    ("verification/bench/", "a benchmark measures"),
    ("verification/lab/", "waits for a real machine, as a test does"),
    ("verification/wan/", "a line takes its time"),
];

/// Reads of a clock outside [`READERS`] and tests.
#[must_use]
pub fn violations(file: &File, readers: &[(&str, &str)]) -> Vec<Violation> {
    if is_test_file(&file.path) || readers.iter().any(|(prefix, _)| file.path.starts_with(prefix)) {
        return Vec::new();
    }
    lines_without_tests(&file.text)
        .into_iter()
        .filter(|(_, line)| !is_comment(line))
        .filter_map(|(number, line)| {
            let read = READS.iter().find(|read| line.contains(*read))?;
            Some(Violation::new(
                &file.path,
                number,
                format!("`{read}`: take the time as a parameter, or ask the runtime's clock"),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_found_outside_tests_and_comments() {
        let text =
            "// Instant::now\nlet a = Instant::now();\n#[cfg(test)]\nmod tests {\n    Instant::now();\n}\n";
        let file = |path: &str| File { path: path.to_owned(), text: text.to_owned() };
        let found = violations(&file("services/control/src/a.rs"), READERS);
        assert_eq!(found.iter().map(|it| it.line).collect::<Vec<_>>(), [2]);
        assert_eq!(violations(&file("services/runtime/src/clock/system.rs"), READERS), []);
        assert_eq!(violations(&file("services/control/tests/a.rs"), READERS), []);
    }
}
