//! What a folder becomes when machines are given it, and what is refused.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use mainstay_wire::builds::Manifest;

use super::*;

const LATER: Timestamp = Timestamp::from_unix_ms(u64::MAX / 4);

fn scan(
    folder: &Path,
    excluded: &[Arc<str>],
    known: Option<&Shelf>,
    now: Timestamp,
) -> Result<(Shelf, Manifest), Unpublished> {
    super::scan(folder, excluded, known, (now, &Private::default()))
}

/// Issue 3, point 4: test agents "cannot see the control plane's files".
#[test]
fn the_control_planes_own_folder_is_given_to_no_machine_by_whatever_name() {
    let dir = tempfile::tempdir().unwrap();
    let (game, data) = (dir.path().join("game"), dir.path().join(".mainstay"));
    for file in ["tls/ca.key", "credentials.json", "demo/mainstay"] {
        let file = data.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "secret").unwrap();
    }
    std::fs::write(&game, "game").unwrap();
    let private = Private::of(&data);
    let listed = |folder: &Path| {
        let (_, manifest) = super::scan(folder, &[], None, (LATER, &private))?;
        Ok::<_, Unpublished>(manifest.files().iter().map(|file| file.path.clone()).collect::<Vec<_>>())
    };
    assert_eq!(listed(dir.path()).unwrap(), ["game"], "what holds it is given without it");
    let alias = dir.path().join("alias");
    symlink(&data, &alias).unwrap();
    for folder in [data.clone(), data.join("tls"), alias.join("tls"), alias] {
        let refused = listed(&folder).unwrap_err();
        assert!(matches!(refused, Unpublished::Private { .. }), "{refused}");
        assert_eq!(refused.code(), concat!("MS-", "S649"));
    }
    assert_eq!(listed(&data.join("demo")).unwrap(), ["mainstay"], "the demo's game is no secret");
}

fn unfit(result: Result<(Shelf, Manifest), Unpublished>) -> String {
    match result {
        Err(error @ Unpublished::Unfit { .. }) => {
            assert_eq!(error.code(), "MS-S643");
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_is_listed_by_content_and_its_executables_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("bin")).unwrap();
    std::fs::write(dir.path().join("bin/game"), "program").unwrap();
    std::fs::set_permissions(dir.path().join("bin/game"), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(dir.path().join("map"), "map").unwrap();
    symlink("bin/game", dir.path().join("game")).unwrap();
    let (shelf, manifest) = scan(dir.path(), &[], None, LATER).unwrap();
    let listed: Vec<_> =
        manifest.files().iter().map(|file| (file.path.as_str(), file.size, file.executable)).collect();
    assert_eq!(listed, [("bin/game", 7, true), ("map", 3, false)]);
    assert_eq!(manifest.links()[0].target, "bin/game");
    let (again, _) = scan(dir.path(), &[], Some(&shelf), LATER).unwrap();
    assert_eq!(again, shelf);
    std::fs::write(dir.path().join("map"), "new").unwrap();
    let (changed, _) = scan(dir.path(), &[], Some(&shelf), LATER).unwrap();
    assert_ne!(changed.manifest, shelf.manifest);
}

/// Unity's `excludePaths`: "paths to exclude from upload".
#[test]
fn what_is_left_out_is_neither_listed_nor_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["game", "maps/a", "DoNotShip/deep/notes", "game.pdb"] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    // What no machine could be given: a socket.
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("DoNotShip/socket")).unwrap();
    let excluded = ["DoNotShip/*.*".into(), "**/*.pdb".into()];
    let (_, manifest) = scan(dir.path(), &excluded, None, LATER).unwrap();
    let listed: Vec<_> = manifest.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(listed, ["game", "maps/a"]);
    assert!(unfit(scan(dir.path(), &[], None, LATER)).contains("socket"));
}

#[test]
fn what_was_hashed_is_not_read_again_unless_its_times_were_fresh() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("map"), "map").unwrap();
    let (mut shelf, _) = scan(dir.path(), &[], None, LATER).unwrap();
    assert!(shelf.files[0].settled);
    let other = ContentHash::of([9; 32]);
    shelf.files[0].sha256 = other;
    let (again, _) = scan(dir.path(), &[], Some(&shelf), LATER).unwrap();
    assert_eq!(again.files[0].sha256, other, "believed, not read");
    let (fresh, _) = scan(dir.path(), &[], None, Timestamp::from_unix_ms(0)).unwrap();
    assert!(!fresh.files[0].settled);
    let forged = Shelf { files: vec![Stamped { sha256: other, ..fresh.files[0].clone() }], ..fresh };
    let (read, _) = scan(dir.path(), &[], Some(&forged), LATER).unwrap();
    assert_ne!(read.files[0].sha256, other, "read again: a change within the clock's grain would not show");
}

#[test]
fn what_machines_would_refuse_is_refused_here_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    assert!(unfit(scan(dir.path(), &[], None, LATER)).contains("no files"));
    std::fs::write(dir.path().join("map"), "map").unwrap();
    let link = dir.path().join("out");
    symlink("/etc/passwd", &link).unwrap();
    assert!(unfit(scan(dir.path(), &[], None, LATER)).contains("/etc/passwd"));
    std::fs::remove_file(&link).unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert!(unfit(scan(dir.path(), &[], None, LATER)).contains("neither a file"));
    std::fs::remove_file(pipe).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    std::fs::write(dir.path().join(name), "x").unwrap();
    assert!(unfit(scan(dir.path(), &[], None, LATER)).contains("UTF-8"));
    assert!(unfit(scan(&dir.path().join("none"), &[], None, LATER)).contains("none"));
}

#[test]
fn a_file_that_changed_since_it_was_hashed_is_not_sent() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("map"), "map").unwrap();
    let (shelf, _) = scan(dir.path(), &[], None, LATER).unwrap();
    let blob = Blob::of(dir.path(), &shelf.files[0]);
    assert_eq!(blob.clone().open().unwrap().1, 3);
    std::fs::write(dir.path().join("map"), "maps").unwrap();
    assert!(matches!(blob.clone().open(), Err(Unpublished::Changed { .. })));
    std::fs::remove_file(dir.path().join("map")).unwrap();
    assert!(matches!(blob.open(), Err(Unpublished::Changed { .. })));
}
