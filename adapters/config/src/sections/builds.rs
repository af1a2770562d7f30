//! `builds`.

use std::path::{Path, PathBuf};

use crate::codes::Code;
use crate::exclude;
use crate::model::{Build, BuildPath, Image};
use crate::place::Sourced;
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys {
    // buildOptions and buildProfile steer Unity's editor; they are accepted and mean nothing to us.
    known: &["executableName", "buildPath", "image", "excludePaths", "buildOptions", "buildProfile"],
    later: &[],
};

/// `.gsh`'s default for `executableName`.
const EXECUTABLE_NAME: &str = "Server";

pub(crate) fn build(check: &mut Check<'_>, name: Sourced<String>, key: &Node, node: &Node) -> Option<Build> {
    let fields = Fields::open(check, format!("build {}", quote(&name.value)), &key.place, node, KEYS)?;
    let path = fields.text(check, "buildPath").map(|written| {
        let file = written.place().map(|place| place.file.clone());
        written.map(|path| resolve(file.as_deref().unwrap_or(""), &path))
    });
    let image = fields.text(check, "image").and_then(|written| image(check, written));
    if let (Some(path), Some(_)) = (&path, &image) {
        let place = path.place().unwrap_or(&key.place);
        check.report(|sources| {
            let what = format!("build {} is a folder and an image at once", quote(&name.value));
            Problem::new(Code::ImageUnusable, what)
                .at(sources, place, "stands beside an image")
                .why("its files come from one place")
                .fix("keep buildPath or image")
        });
    }
    let path = path.or(image);
    let exclude_paths = fields.texts(check, "excludePaths");
    let exclude_paths =
        exclude_paths.into_iter().filter_map(|it| left_out(check, path.as_ref(), it)).collect();
    Some(Build {
        executable_name: fields
            .text(check, "executableName")
            .unwrap_or_else(|| Sourced::default_of(EXECUTABLE_NAME.into())),
        path,
        exclude_paths,
        name,
    })
}

/// A pattern as it counts from the build's folder.
fn left_out(
    check: &mut Check<'_>,
    path: Option<&Sourced<BuildPath>>,
    written: Sourced<String>,
) -> Option<Sourced<String>> {
    let place = written.place().cloned();
    let file = place.as_ref().map(|place| place.file.clone()).unwrap_or_default();
    let found = match path.map(|path| &path.value) {
        Some(BuildPath::Folder(folder)) => exclude::from_folder(&written.value, &file, folder),
        Some(BuildPath::Image(_)) => None,
        // There is nothing to leave it out of, which is told where the build has to be there.
        Some(BuildPath::Windows(_)) | None => return Some(written),
    };
    if let (None, Some(place)) = (&found, &place) {
        check.report(|sources| {
            let what = format!("{} leaves nothing out", quote(&written.value));
            Problem::new(Code::HasNoEffect, what)
                .at(sources, place, "names nothing in the build's folder")
                .why("a pattern counts from where buildPath does, or from the build's folder; an image is given whole")
                .fix("write what is to be left out, or take the line away")
        });
    }
    found.map(|pattern| written.map(|_text| pattern))
}

/// `oci:FOLDER[:NAME]`, `oci-archive:FILE[:NAME]` or `docker://REFERENCE`.
fn image(check: &mut Check<'_>, written: Sourced<String>) -> Option<Sourced<BuildPath>> {
    let file = written.place().map(|place| place.file.clone());
    let found = read_image(file.as_deref().unwrap_or(""), &written.value);
    match (&found, written.place()) {
        (Some(_), _) | (None, None) => {}
        (None, Some(place)) => check.report(|sources| {
            let what = format!("{} names no image", quote(&written.value));
            Problem::new(Code::ImageUnusable, what)
                .at(sources, place, "has no transport that is known here")
                .why("an image lies in a folder of the OCI layout, in such a folder packed by tar, or in a registry")
                .fix("write oci:FOLDER, oci-archive:FILE.tar or docker://REGISTRY/NAME:TAG")
        }),
    }
    found.map(|image| written.map(|_text| BuildPath::Image(image)))
}

fn read_image(file: &str, text: &str) -> Option<Image> {
    let local = |rest: &str| {
        let (path, name) = match rest.rsplit_once(':') {
            Some((path, name)) if !name.contains('/') => (path, Some(name.to_owned())),
            Some(_) | None => (rest, None),
        };
        let base = Path::new(file).parent().unwrap_or(Path::new(""));
        let usable = !path.is_empty() && name.as_deref() != Some("");
        usable.then(|| (base.join(path).components().collect::<PathBuf>(), name))
    };
    if let Some(rest) = text.strip_prefix("oci:") {
        return local(rest).map(|(path, name)| Image::Layout(path, name));
    }
    if let Some(rest) = text.strip_prefix("oci-archive:") {
        return local(rest).map(|(path, name)| Image::Archive(path, name));
    }
    let reference = text.strip_prefix("docker://")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./:-_@".contains(c);
    let usable = !reference.is_empty() && !reference.starts_with('-') && reference.chars().all(is_plain);
    usable.then(|| Image::Registry(reference.to_owned()))
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
    fn images_are_named_by_their_transports_and_count_from_their_file() {
        let read = |text| read_image("games/mainstay.yaml", text);
        let path = |path: &str| PathBuf::from(path);
        assert_eq!(read("oci:dist/image"), Some(Image::Layout(path("games/dist/image"), None)));
        assert_eq!(read("oci:/dist:v1"), Some(Image::Layout(path("/dist"), Some("v1".to_owned()))));
        assert_eq!(read("oci-archive:game.tar"), Some(Image::Archive(path("games/game.tar"), None)));
        let registry = Image::Registry("registry.example:5000/studio/game:1.2".to_owned());
        assert_eq!(read("docker://registry.example:5000/studio/game:1.2"), Some(registry));
        for wrong in [
            "",
            "game:1",
            "oci:",
            "oci::x",
            "oci:a:",
            "docker://",
            "docker://-f",
            "docker://a b",
            "docker://a;b",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        for text in ["oci:/dist:v1", "oci-archive:/game.tar", "docker://a/b:c"] {
            let image = read_image("", text).unwrap();
            assert_eq!(image.text(|path| path.display().to_string()), text);
        }
    }

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
