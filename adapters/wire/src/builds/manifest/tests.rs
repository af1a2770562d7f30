//! Hostile lists of files, and the one form of good ones.

use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn file(path: &str) -> ManifestFile {
    ManifestFile { path: path.to_owned(), size: 3, sha256: ContentHash::of([7; 32]), executable: false }
}

fn link(path: &str, target: &str) -> LinkEntry {
    LinkEntry { path: path.to_owned(), target: target.to_owned() }
}

#[test]
fn the_same_files_are_the_same_manifest_in_whatever_order_they_were_found() {
    let (a, b) = (file("a/b"), file("c"));
    let one = Manifest::of(vec![a.clone(), b.clone()], vec![link("z", "c"), link("l", "a/b")]).unwrap();
    let other = Manifest::of(vec![b, a], vec![link("l", "a/b"), link("z", "c")]).unwrap();
    assert_eq!(one.write(), other.write());
    assert_eq!(Manifest::read(&one.write()).unwrap(), one);
    let expected = concat!(
        r#"{"format":"mainstay-build-1","files":["#,
        r#"{"path":"a/b","size":3,"sha256":"0707070707070707070707070707070707070707070707070707070707070707","executable":false},"#,
        r#"{"path":"c","size":3,"sha256":"0707070707070707070707070707070707070707070707070707070707070707","executable":false}],"#,
        r#""links":[{"path":"l","target":"a/b"},{"path":"z","target":"c"}]}"#
    );
    assert_eq!(String::from_utf8(one.write()).unwrap(), expected, "golden: machines keep it");
    assert_eq!(one.bytes(), 3, "the same bytes are fetched once");
}

#[test]
fn paths_that_leave_a_build_or_stand_twice_are_refused() {
    let refused = |paths: &[&str]| Manifest::of(paths.iter().map(|path| file(path)).collect(), vec![]);
    for path in [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "..",
        "a\0b",
        "a\nb",
        "a\\b",
        &"x".repeat(256),
        &"x/".repeat(600),
    ] {
        assert!(matches!(refused(&[path]), Err(ManifestError::Path(_))), "{path:?}");
    }
    assert!(matches!(refused(&["a", "a"]), Err(ManifestError::Twice(_))));
    assert!(matches!(refused(&["a", "a/b"]), Err(ManifestError::FileAndFolder(_))));
    assert!(matches!(refused(&[]), Err(ManifestError::Empty)));
    let unsorted = br#"{"format":"mainstay-build-1","files":[{"path":"b","size":1,"sha256":"0707070707070707070707070707070707070707070707070707070707070707","executable":true},{"path":"a","size":1,"sha256":"0707070707070707070707070707070707070707070707070707070707070707","executable":true}],"links":[]}"#;
    assert!(matches!(Manifest::read(unsorted), Err(ManifestError::Twice(_))));
}

#[test]
fn sizes_that_no_disk_has_are_refused() {
    let sized = |sizes: &[u64]| {
        let one = |(n, &size): (usize, &u64)| ManifestFile {
            sha256: ContentHash::of([u8::try_from(n).unwrap(); 32]),
            size,
            ..file(&format!("f{n:03}"))
        };
        Manifest::of(sizes.iter().enumerate().map(one).collect(), vec![])
    };
    assert!(matches!(sized(&[u64::MAX]), Err(ManifestError::FileTooLarge { .. })));
    assert!(matches!(sized(&[FILE_BYTES_MAX + 1]), Err(ManifestError::FileTooLarge { .. })));
    assert!(matches!(sized(&[FILE_BYTES_MAX; 33]), Err(ManifestError::TooLarge)));
    let two_sizes = vec![file("a"), ManifestFile { size: 4, ..file("b") }];
    assert!(matches!(Manifest::of(two_sizes, vec![]), Err(ManifestError::Sizes(_))));
    let many = (0..=FILES_MAX).map(|n| file(&format!("{n:06}"))).collect();
    assert!(matches!(Manifest::of(many, vec![]), Err(ManifestError::TooMany(_))));
}

#[test]
fn links_that_lead_out_or_through_links_or_nowhere_are_refused() {
    let files = || vec![file("bin/game"), file("d/e/f")];
    for (path, target) in [
        ("l", "/etc/passwd"),
        ("l", "../x"),
        ("bin/l", "../../x"),
        ("l", ""),
        ("l", "."),
        ("l", "bin/../../x"),
        ("l", "bin/../bin/game"),
        ("l", "nowhere"),
        ("l", "bin/game/x"),
        ("bin/game", "../d/e/f"),
    ] {
        assert!(Manifest::of(files(), vec![link(path, target)]).is_err(), "{path} -> {target}");
    }
    let through = vec![link("d/e/up", "../.."), link("d/e/out", "up/../x")];
    assert!(Manifest::of(files(), through).is_err(), "a folder that is a link is not passed through");
    let kept =
        vec![link("game", "bin/game"), link("game.1", "game"), link("d/e/up", "../.."), link("d/g", "e/f")];
    assert_eq!(Manifest::of(files(), kept).unwrap().links().len(), 4);
}

/// Where a link leads when the kernel follows it, or `None` where it leads out of the build.
fn followed(manifest: &Manifest, start: &str) -> Option<PathBuf> {
    let mut hops = 0;
    let mut todo: Vec<String> = start.split('/').rev().map(str::to_owned).collect();
    let mut at = PathBuf::new();
    while let Some(name) = todo.pop() {
        match Path::new(&name).components().next() {
            Some(Component::ParentDir) => {
                if !at.pop() {
                    return None;
                }
            }
            Some(Component::RootDir) => return None,
            Some(Component::Normal(name)) => {
                let there = at.join(name);
                let link = manifest.links().iter().find(|link| Path::new(&link.path) == there);
                match link {
                    Some(_) if hops > 40 => return Some(at),
                    Some(link) => {
                        hops += 1;
                        if link.target.starts_with('/') {
                            return None;
                        }
                        todo.extend(link.target.split('/').rev().map(str::to_owned));
                    }
                    None => at = there,
                }
            }
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    Some(at)
}

proptest! {
    #[test]
    fn no_accepted_link_leads_out(
        paths in prop::collection::btree_set("[ab](/[ab]){0,3}", 1..5),
        links in prop::collection::btree_map("[abl](/[abl]){0,3}", "(\\.\\./){0,3}[abl.]{0,2}(/[abl.]{1,2}){0,3}", 1..5),
    ) {
        let files = paths.iter().map(|path| file(path)).collect();
        let links = links.iter().map(|(path, target)| link(path, target)).collect();
        if let Ok(manifest) = Manifest::of(files, links) {
            for link in manifest.links() {
                prop_assert!(followed(&manifest, &link.path).is_some(), "{:?}", manifest.links());
            }
        }
    }

    #[test]
    fn whatever_the_bytes_the_end_is_a_manifest_or_a_reason(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _read = Manifest::read(&bytes);
    }

    #[test]
    fn a_manifest_with_a_byte_changed_is_still_safe_or_refused(at in 0_usize..400, to in any::<u8>()) {
        let whole = Manifest::of(vec![file("a/b"), file("c")], vec![link("l", "a/b")]).unwrap();
        let mut bytes = whole.write();
        let at = at % bytes.len();
        bytes[at] = to;
        if let Ok(read) = Manifest::read(&bytes) {
            for path in read.files().iter().map(|file| &file.path).chain(read.links().iter().map(|link| &link.path)) {
                prop_assert!(checked_path(path).is_ok());
            }
        }
    }
}
