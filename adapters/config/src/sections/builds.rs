//! `builds`.

use std::path::{Path, PathBuf};

use crate::model::{Build, BuildPath};
use crate::place::Sourced;
use crate::problem::quote;
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys {
    // buildOptions and buildProfile steer Unity's editor; they are accepted and mean nothing to us.
    known: &["executableName", "buildPath", "excludePaths", "buildOptions", "buildProfile"],
    later: &[("image", "run the build from a container image")],
};

/// `.gsh`'s default for `executableName`.
const EXECUTABLE_NAME: &str = "Server";

pub(crate) fn build(check: &mut Check<'_>, name: Sourced<String>, key: &Node, node: &Node) -> Option<Build> {
    let fields = Fields::open(check, format!("build {}", quote(&name.value)), &key.place, node, KEYS)?;
    let path = fields.text(check, "buildPath").map(|written| {
        let file = written.place().map(|place| place.file.clone());
        written.map(|path| resolve(file.as_deref().unwrap_or(""), &path))
    });
    Some(Build {
        executable_name: fields
            .text(check, "executableName")
            .unwrap_or_else(|| Sourced::default_of(EXECUTABLE_NAME.into())),
        path,
        exclude_paths: fields.texts(check, "excludePaths"),
        name,
    })
}

/// A relative path counts from the folder of the file it is written in.
fn resolve(file: &str, path: &str) -> BuildPath {
    if is_windows(path) {
        return BuildPath::Windows(path.to_owned());
    }
    let base = Path::new(file).parent().unwrap_or(Path::new(""));
    BuildPath::Folder(base.join(path).components().collect::<PathBuf>())
}

fn is_windows(path: &str) -> bool {
    let mut chars = path.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    drive || path.starts_with(r"\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_paths_count_from_their_file() {
        let folder = |path: &str| BuildPath::Folder(PathBuf::from(path));
        assert_eq!(resolve("games/arena/mainstay.yaml", "./dist/linux"), folder("games/arena/dist/linux"));
        assert_eq!(resolve("mainstay.yaml", "dist"), folder("dist"));
        assert_eq!(resolve("games/mainstay.yaml", "/usr/games"), folder("/usr/games"));
        let windows = |path: &str| BuildPath::Windows(path.to_owned());
        assert_eq!(resolve("mainstay.yaml", r"D:\Games\Out"), windows(r"D:\Games\Out"));
        assert_eq!(resolve("mainstay.yaml", "C:/Games/Out"), windows("C:/Games/Out"));
        assert_eq!(resolve("mainstay.yaml", r"\\share\out"), windows(r"\\share\out"));
    }
}
