//! `excludePaths`: what of a build's folder is left out when machines are given it.
//!
//! Unity's template writes `Builds/Server/DoNotShip/*.*`, from the project's folder as `buildPath` is, and says "supports
//! only basic patterns". A pattern here counts from where `buildPath` does, or from the build's folder; `*` and `?` stand for
//! letters of one name, `**` for any folders, `*.*` for any name as it does there; one without a `/` fits a name at any
//! depth; and what fits a folder leaves out all that is in it.

use std::path::{Component, Path, PathBuf};

/// Any folders, or none.
const DEEP: &str = "**";
/// Any name.
const ALL: &str = "*";
/// Any name too, in the words of Windows.
const ALL_OF_WINDOWS: &str = "*.*";

/// A pattern as it is written, in `file`, for a build whose folder is `folder`: as it counts from that folder; `None` where
/// it names something outside.
pub(crate) fn from_folder(pattern: &str, file: &str, folder: &Path) -> Option<String> {
    let written = pattern.replace('\\', "/");
    let base = Path::new(file).parent().unwrap_or(Path::new(""));
    let joined: PathBuf = base.join(&written).components().collect();
    let parts = |path: &Path| {
        let named = path.components().filter(|part| *part != Component::CurDir);
        named.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
    };
    if let Ok(below) = joined.strip_prefix(folder) {
        // The folder itself: all of it, which nobody means.
        return Some(parts(below)).filter(|below| !below.is_empty());
    }
    let is_outside = written.starts_with('/') || written.split('/').any(|part| part == "..");
    let relative = parts(Path::new(&written));
    match (is_outside || relative.is_empty(), relative.contains('/')) {
        (true, _) => None,
        (false, true) => Some(relative),
        (false, false) => Some(format!("{DEEP}/{relative}")),
    }
}

/// Whether patterns, which count from a build's folder, leave out a path within it.
#[must_use]
pub fn leaves_out<P: AsRef<str>>(patterns: &[P], path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    patterns.iter().any(|pattern| fits(&pattern.as_ref().split('/').collect::<Vec<_>>(), &names))
}

/// Whether a pattern fits a path or a folder above it. Each pair of part and name is looked at once, whatever is written.
fn fits(parts: &[&str], names: &[&str]) -> bool {
    // Which beginnings of the path the parts so far fit.
    let mut fitting: Vec<bool> = (0..=names.len()).map(|count| count == 0).collect();
    for part in parts {
        let mut next = vec![false; names.len() + 1];
        if *part == DEEP {
            let mut any = false;
            for (at, fits) in fitting.iter().enumerate() {
                any |= fits;
                next[at] = any;
            }
        } else {
            for (at, name) in names.iter().enumerate() {
                next[at + 1] = fitting[at] && name_fits(part, name);
            }
        }
        fitting = next;
    }
    fitting.into_iter().any(|fits| fits)
}

fn name_fits(part: &str, name: &str) -> bool {
    let part = if part == ALL_OF_WINDOWS { ALL } else { part };
    let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
    let mut fitting: Vec<bool> = (0..=name.len()).map(|count| count == 0).collect();
    for letter in part {
        let mut next = vec![false; name.len() + 1];
        let mut any = false;
        for at in 0..=name.len() {
            any |= fitting[at];
            next[at] = match letter {
                '*' => any,
                '?' => at > 0 && fitting[at - 1],
                _ => at > 0 && fitting[at - 1] && name[at - 1] == letter,
            };
        }
        fitting = next;
    }
    fitting.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_count_from_where_the_builds_path_does_or_from_the_build() {
        let rows = [
            // Unity's template, whose buildPath is Builds/Multiplay.
            ("Builds/Multiplay/DoNotShip/*.*", Some("DoNotShip/*.*")),
            ("./Builds/Multiplay/Server_Data/app.info", Some("Server_Data/app.info")),
            (r"Builds\Multiplay\DoNotShip\*.*", Some("DoNotShip/*.*")),
            ("/project/Builds/Multiplay/logs", Some("logs")),
            ("DoNotShip/", Some("**/DoNotShip")),
            ("DoNotShip/notes", Some("DoNotShip/notes")),
            ("*.pdb", Some("**/*.pdb")),
            ("**/Tests/**", Some("**/Tests/**")),
            ("Builds/Multiplay", None),
            ("/elsewhere/*.*", None),
            ("../other/*.*", None),
            (r"C:\Builds\*.*", Some("C:/Builds/*.*")),
            ("", None),
            (".", None),
        ];
        let folder = Path::new("/project/Builds/Multiplay");
        for (written, found) in rows {
            assert_eq!(from_folder(written, "/project/game.gsh", folder).as_deref(), found, "{written}");
        }
    }

    #[test]
    fn what_fits_a_folder_leaves_out_all_that_is_in_it() {
        let rows = [
            ("DoNotShip/*.*", "DoNotShip/a", true),
            ("DoNotShip/*.*", "DoNotShip/a.txt", true),
            ("DoNotShip/*.*", "DoNotShip/deep/er/a.txt", true),
            ("DoNotShip/*.*", "DoNotShip", false),
            ("DoNotShip/*.*", "x/DoNotShip/a", false),
            ("Server_Data/app.info", "Server_Data/app.info", true),
            ("Server_Data/app.info", "Server_Data/app.info2", false),
            ("**/*.pdb", "a.pdb", true),
            ("**/*.pdb", "bin/deep/a.pdb", true),
            ("**/*.pdb", "bin/a.pdb.txt", false),
            ("**/Tests/**", "a/Tests/b/c", true),
            ("**/Tests/**", "a/Test/b", false),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z/y", true),
            ("ga?e", "game/x", true),
            ("ga?e", "gae", false),
            ("*", "anything", true),
        ];
        for (pattern, path, left_out) in rows {
            assert_eq!(leaves_out(&[pattern], path), left_out, "{pattern} of {path}");
        }
        assert!(!leaves_out::<&str>(&[], "game"));
        // Whoever writes this waits for nothing all the same.
        let greedy = format!("{}{}b", "**/".repeat(40), "*a".repeat(40));
        assert!(!leaves_out(&[greedy], &format!("{}{}", "a/".repeat(200), "a".repeat(255))));
    }
}
