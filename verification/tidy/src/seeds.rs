//! Whether a table of requirements says all that its seed says.
//!
//! A sentence that nobody put into the table is asked for by nobody. So the seed's text stands beside the table, and the table
//! is the seed cut into lines: the same words in the same order. What is no requirement is a line too, and says so.

use crate::Violation;
use crate::conformance::{Line, lines};
use crate::tree::{File, Tree};

/// Where the tables stand, and their seeds with another ending.
const FOLDER: &str = "verification/tidy/conformance/";
/// How many words of each are shown where they part.
const SHOWN_WORDS: usize = 8;

/// Every table that has its seed beside it, with that seed.
pub fn pairs(tree: &Tree) -> impl Iterator<Item = (&File, &File)> {
    let seeds = tree.files.iter().filter(|file| file.path.starts_with(FOLDER));
    seeds.filter_map(|seed| Some((tree.file(&format!("{}.txt", seed.path.strip_suffix(".seed")?))?, seed)))
}

/// Where the table first says something else than its seed.
#[must_use]
pub fn departure(table: &File, seed: &File) -> Option<Violation> {
    let said: Vec<String> = lines(&table.text).iter().flat_map(|line| words(text(line))).collect();
    let asked: Vec<String> = seed.text.lines().flat_map(words).collect();
    let same = said.iter().zip(&asked).take_while(|(one, other)| one == other).count();
    let shown =
        |words: &[String]| words.iter().skip(same).take(SHOWN_WORDS).cloned().collect::<Vec<_>>().join(" ");
    (said != asked).then(|| {
        let (asked, said) = (shown(&asked), shown(&said));
        let what = format!(
            "after {same} words the seed has `{asked}`, the table `{said}`: put in every sentence, in order"
        );
        Violation::new(&table.path, 0, what)
    })
}

fn text(line: &Line) -> &str {
    match line {
        Line::Heading(text) | Line::Remark(text) | Line::Requirement { text, .. } => text,
    }
}

/// The words of a line, without the number or the dot of a list.
fn words(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_marker =
        |word: &str| word == "•" || word.strip_suffix('.').is_some_and(|number| number.parse::<u8>().is_ok());
    let after = usize::from(words.first().is_some_and(|word| is_marker(word)));
    words[after..].iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = "Stop\n\nSee below. It stops.\n\n  1. At once.\n  • Or { \"later\":\n 2 }.\n";

    fn parts(table: &str) -> Option<String> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        departure(&file("x.txt", table), &file("x.seed", SEED)).map(|found| found.what)
    }

    #[test]
    fn a_seed_cut_into_lines_is_the_seed() {
        let table =
            "# Stop\n~ See below.\nIt stops.\n! nobody does\n1. At once.\n{later} Or { \"later\": 2 }.\n";
        assert_eq!(parts(table), None);
    }

    #[test]
    fn what_is_left_out_added_moved_or_cut_short_is_seen() {
        for (table, place) in [
            ("# Stop\n~ See below.\nAt once.\n{later} Or { \"later\": 2 }.\n", "has `It stops. At"),
            ("# Stop\n~ See below.\nIt stops.\nOr so.\n", "has `At once."),
            ("# Stop\nIt stops.\n~ See below.\nAt once.\n{later} Or { \"later\": 2 }.\n", "has `See below."),
            ("# Stop\n~ See below.\nIt stops.\nAt once.\n{later} Or\n", "has `{ \"later\":"),
            ("# Stop\n~ See below.\nIt stops.\nAt once.\nOr { \"later\": 2 }. More.\n", "table `More.`"),
        ] {
            let found = parts(table).unwrap_or_else(|| panic!("{table} is taken for the seed"));
            assert!(found.contains(place), "{found}");
        }
    }
}
