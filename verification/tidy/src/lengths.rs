//! How long a file may be.

use crate::Violation;
use crate::tree::{File, lines_without_tests};

/// More lines than this, tests not counted, fail: nobody holds them in his head at once.
pub const LINES_MAX: usize = 800;

/// More lines than this are a smell, reported and not failed.
pub const LINES_SMELL: usize = 400;

/// How many lines of a file count: all but those of its test modules.
#[must_use]
pub fn counted(file: &File) -> usize {
    lines_without_tests(&file.text).len()
}

/// A file above [`LINES_MAX`].
#[must_use]
pub fn too_long(file: &File) -> Option<Violation> {
    let lines = counted(file);
    (lines > LINES_MAX).then(|| {
        Violation::new(&file.path, 0, format!("{lines} lines, at most {LINES_MAX}: split it by idea"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_met_and_missed_by_one_line() {
        let of = |lines: usize| File { path: "a.rs".to_owned(), text: "x\n".repeat(lines) };
        assert!(too_long(&of(LINES_MAX)).is_none());
        assert!(too_long(&of(LINES_MAX + 1)).is_some());
    }
}
