//! Uploads whole and in pieces, versions, and paths that are none.

use std::fs;

use proptest::prelude::*;

use super::*;

const BUILD: BuildId = BuildId::of(FLEET, 7);
const FLEET: mainstay_core::FleetNumber = match mainstay_core::FleetNumber::new(0) {
    Some(number) => number,
    None => unreachable!(),
};

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

fn put(store: &Store, path: &str, bytes: &[u8]) -> Result<Progress, StoreError> {
    store.name(BUILD, path)?;
    let mut upload = store.begin(BUILD, path, Offset { from: 0, total: None })?;
    upload.write(bytes)?;
    upload.end(None, None)
}

#[test]
fn an_upload_goes_on_from_the_bytes_that_have_come() {
    let (_dir, store) = store();
    store.name(BUILD, "bin/server").unwrap();
    let mut first = store.begin(BUILD, "bin/server", Offset { from: 0, total: Some(6) }).unwrap();
    first.write(b"abc").unwrap();
    assert!(matches!(
        store.begin(BUILD, "bin/server", Offset { from: 3, total: Some(6) }),
        Err(StoreError::Busy)
    ));
    drop(first);
    assert_eq!(
        store.come(BUILD, "bin/server").unwrap(),
        3,
        "what had come when the connection broke is kept"
    );
    let elsewhere = store.begin(BUILD, "bin/server", Offset { from: 2, total: Some(6) });
    assert!(matches!(elsewhere, Err(StoreError::Elsewhere { have: 3, sent: 2 })));
    let mut rest = store.begin(BUILD, "bin/server", Offset { from: 3, total: Some(6) }).unwrap();
    rest.write(b"def").unwrap();
    let Progress::Whole(entry) = rest.end(None, Some("e80b5017098950fc58aad83c8c14978e")).unwrap() else {
        panic!("six of six bytes are the whole")
    };
    let content = entry.content.unwrap();
    assert_eq!((content.size, content.md5.as_str()), (6, "e80b5017098950fc58aad83c8c14978e"));
    assert_eq!(fs::read(store.object(&content.sha256)).unwrap(), b"abcdef");
}

#[test]
fn bytes_that_differ_from_what_was_said_are_dropped() {
    let (_dir, store) = store();
    store.name(BUILD, "a").unwrap();
    let mut upload = store.begin(BUILD, "a", Offset { from: 0, total: None }).unwrap();
    upload.write(b"x").unwrap();
    assert!(matches!(upload.end(Some(&hash(b"y")), None), Err(StoreError::Differs { kind: "SHA-256", .. })));
    assert_eq!(store.come(BUILD, "a").unwrap(), 0);
    assert_eq!(store.list(BUILD).unwrap()[0].content, None);
}

#[test]
fn a_version_is_its_manifest_and_the_same_files_are_the_same_version() {
    let (_dir, store) = store();
    assert!(matches!(store.release(BUILD), Err(StoreError::Empty)));
    put(&store, "server", b"#!/bin/sh\n").unwrap();
    store.name(BUILD, "data/map").unwrap();
    assert!(matches!(store.release(BUILD), Err(StoreError::Incomplete { missing: 1, all: 2, .. })));
    put(&store, "data/map", b"harbour").unwrap();
    let first = store.release(BUILD).unwrap();
    assert_eq!((first.files, first.bytes), (2, 17));
    assert_eq!(fs::read(first.folder.join("data/map")).unwrap(), b"harbour");
    assert_eq!(store.release(BUILD).unwrap(), first);
    assert_eq!(store.manifest(&first.manifest).unwrap(), store.list(BUILD).unwrap());
    put(&store, "data/map", b"island").unwrap();
    let second = store.release(BUILD).unwrap();
    assert_ne!(second.manifest, first.manifest);
    assert_eq!(fs::read(first.folder.join("data/map")).unwrap(), b"harbour", "a version never changes");
    store.remove(BUILD, "data/map").unwrap();
    assert!(matches!(store.remove(BUILD, "data/map"), Err(StoreError::Unknown(_))));
    put(&store, "data", b"").unwrap();
    put(&store, "data/x", b"").unwrap();
    assert!(matches!(store.release(BUILD), Err(StoreError::FileAndFolder(_))));
}

/// An upload of six bytes whose build cannot be told that it has the file, as where the power goes just then.
fn cut(store: &Store, bytes: &[u8]) {
    let (drafts, aside) = (store.drafts(BUILD), store.root.join("aside"));
    let mut upload = store.begin(BUILD, "a", Offset { from: 0, total: Some(6) }).unwrap();
    upload.write(bytes).unwrap();
    std::os::unix::fs::symlink("nowhere", &aside).unwrap();
    #[expect(clippy::disallowed_methods, reason = "nothing is promised of it")]
    {
        fs::rename(&drafts, store.root.join("away")).unwrap();
        fs::rename(&aside, &drafts).unwrap();
        assert!(matches!(upload.end(None, None), Err(StoreError::Disk(_))));
        fs::remove_file(&drafts).unwrap();
        fs::rename(store.root.join("away"), &drafts).unwrap();
    }
}

#[test]
fn what_has_come_is_an_upload_until_the_build_has_the_file() {
    let (dir, store) = store();
    store.name(BUILD, "a").unwrap();
    cut(&store, b"abcdef");
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.come(BUILD, "a").unwrap(), 6, "nothing that was acknowledged has to come again");
    let rest = store.begin(BUILD, "a", Offset { from: 6, total: Some(6) }).unwrap();
    let Progress::Whole(entry) = rest.end(None, None).unwrap() else { panic!("a piece of none ends it") };
    assert_eq!(entry.content.unwrap().sha256, hash(b"abcdef"));
    assert_eq!(fs::read_dir(dir.path().join("uploads")).unwrap().count(), 0);
}

#[test]
fn an_object_keeps_its_bytes_whatever_its_upload_does_after_a_cut() {
    let (_dir, store) = store();
    store.name(BUILD, "a").unwrap();
    cut(&store, b"abcdef");
    let mut longer = store.begin(BUILD, "a", Offset { from: 6, total: Some(9) }).unwrap();
    longer.write(b"ghi").unwrap();
    assert!(matches!(longer.end(None, None).unwrap(), Progress::Whole(_)));
    assert_eq!(fs::read(store.object(&hash(b"abcdef"))).unwrap(), b"abcdef");
    assert_eq!(fs::read(store.object(&hash(b"abcdefghi"))).unwrap(), b"abcdefghi");
    cut(&store, b"uvwxyz");
    drop(store.begin(BUILD, "a", Offset { from: 0, total: Some(6) }).unwrap());
    assert_eq!(fs::read(store.object(&hash(b"uvwxyz"))).unwrap(), b"uvwxyz");
}

#[test]
fn everything_outlives_the_process() {
    let (dir, store) = store();
    put(&store, "server", b"1").unwrap();
    let version = store.release(BUILD).unwrap();
    let again = Store::open(dir.path()).unwrap();
    assert_eq!(again.list(BUILD).unwrap(), store.list(BUILD).unwrap());
    assert_eq!(again.release(BUILD).unwrap(), version);
}

/// A day later, and a moment before that.
fn later(store: &Store) -> [std::time::SystemTime; 2] {
    let now = fs::metadata(store.root.join("objects")).unwrap().modified().unwrap();
    let minute = std::time::Duration::from_secs(60);
    [now + sweep::UNUSED_KEPT + minute, now + sweep::UNUSED_KEPT - minute]
}

fn in_use(versions: &[&release::Version]) -> InUse {
    let (versions, folders) = (versions.iter().map(|version| version.manifest).collect(), Default::default());
    InUse { builds: [BUILD].into(), versions, folders }
}

#[test]
fn a_sweep_takes_what_nothing_refers_to_after_a_day() {
    let (_dir, store) = store();
    put(&store, "server", b"1").unwrap();
    put(&store, "map", b"harbour").unwrap();
    let old = store.release(BUILD).unwrap();
    put(&store, "map", b"island").unwrap();
    let new = store.release(BUILD).unwrap();
    put(&store, "draft", b"next").unwrap();
    let image = store.keep_manifest(br#"{"layers":[]}"#).unwrap();
    let for_machines =
        store.keep_manifest(&for_machines(store.manifest(&new.manifest).unwrap()).unwrap().write()).unwrap();
    let [late, early] = later(&store);
    assert_eq!(store.sweep(&in_use(&[&new]), early).unwrap(), Swept::default(), "it may still be asked for");
    let kept = |text: &[u8]| store.object(&hash(text)).exists();

    // A server still plays on the old version.
    let mut with_server = in_use(&[&new]);
    with_server.folders.insert(old.folder.clone());
    let swept = store.sweep(&with_server, late).unwrap();
    assert_eq!((swept.versions, swept.files), (0, 1), "the image's list alone");
    assert!(store.open_object(image).unwrap().is_none());
    assert!(old.folder.join("map").is_file() && kept(b"harbour"));

    let swept = store.sweep(&in_use(&[&new]), late).unwrap();
    assert_eq!((swept.versions, swept.files), (1, 2), "its folder, its list and the map that it alone had");
    assert!(!old.folder.exists() && !kept(b"harbour"));
    assert!(kept(b"1") && kept(b"island") && kept(b"next"));
    assert_eq!(fs::read(new.folder.join("map")).unwrap(), b"island");
    assert!(store.open_object(for_machines).unwrap().is_some(), "what machines are given of the newest");
    assert_eq!(store.sweep(&in_use(&[&new]), early).unwrap(), Swept::default());

    // The build is deleted.
    store.forget(BUILD).unwrap();
    store.sweep(&InUse::default(), late + sweep::UNUSED_KEPT).unwrap();
    assert_eq!(below_of(&store, "objects"), 0);
    assert_eq!(below_of(&store, "releases"), 0);
}

fn below_of(store: &Store, part: &str) -> usize {
    let folders = fs::read_dir(store.root.join(part)).unwrap();
    folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn a_sweep_leaves_what_is_being_uploaded_and_what_was_just_asked_for() {
    let (_dir, store) = store();
    let unused = store.keep_manifest(b"unused").unwrap();
    store.name(BUILD, "a").unwrap();
    let mut upload = store.begin(BUILD, "a", Offset { from: 0, total: Some(4) }).unwrap();
    upload.write(b"ab").unwrap();
    let [late, _] = later(&store);
    // Long after its last byte: whoever sends it is slow, and there.
    assert_eq!(
        store.sweep(&in_use(&[]), late + sweep::UNUSED_KEPT).unwrap().files,
        1,
        "the unused list alone"
    );
    assert!(store.open_object(unused).unwrap().is_none());
    upload.write(b"cd").unwrap();
    assert!(matches!(upload.end(None, None).unwrap(), Progress::Whole(_)));
    drop(store.begin(BUILD, "a", Offset { from: 0, total: Some(4) }).unwrap());
    assert_eq!(
        store.sweep(&in_use(&[]), late + sweep::UNUSED_KEPT).unwrap().files,
        1,
        "an upload that broke off"
    );

    let asked = store.keep_manifest(b"asked").unwrap();
    let past = std::time::SystemTime::UNIX_EPOCH;
    File::open(store.object(&asked.to_string())).unwrap().set_modified(past).unwrap();
    assert!(store.open_object(asked).unwrap().is_some());
    let [_, early] = later(&store);
    store.sweep(&in_use(&[]), early).unwrap();
    assert!(store.open_object(asked).unwrap().is_some(), "a machine has just begun to fetch it");
}

#[test]
fn a_sweep_that_cannot_read_something_deletes_no_object() {
    let (_dir, store) = store();
    let unused = store.keep_manifest(b"unused").unwrap();
    put(&store, "a", b"1").unwrap();
    fs::write(store.draft(BUILD, "a"), "{").unwrap();
    let [late, _] = later(&store);
    assert!(store.sweep(&in_use(&[]), late).is_err());
    assert!(store.open_object(unused).unwrap().is_some());
}

fn rots(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    let mut bytes = fs::read(file).unwrap();
    bytes[0] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_file_is_named_and_the_same_content_mends_it_in_every_version() {
    let (dir, store) = store();
    put(&store, "maps/harbour", b"harbour").unwrap();
    put(&store, "server", b"1").unwrap();
    let old = store.release(BUILD).unwrap();
    put(&store, "server", b"2").unwrap();
    let new = store.release(BUILD).unwrap();
    let name = hash(b"harbour");
    rots(&store.object(&name));
    assert_eq!(fs::read(old.folder.join("maps/harbour")).unwrap(), b"iarbour");
    store.set_aside(&name).unwrap();
    store.set_aside(&name).unwrap();

    let store = Store::open(dir.path()).unwrap();
    assert!(store.open_object(name.parse().unwrap()).unwrap().is_none() && store.is_damaged(&name));
    assert_eq!(store.damage().unwrap()[&name], [format!("{}: maps/harbour", BUILD.number())]);
    assert_eq!(store.list(BUILD).unwrap()[0].content, None, "as if it had never been uploaded");
    assert!(matches!(store.release(BUILD), Err(StoreError::Incomplete { missing: 1, all: 2, .. })));

    put(&store, "maps/harbour", b"harbour").unwrap();
    assert!(store.damage().unwrap().is_empty());
    assert_eq!(store.release(BUILD).unwrap(), new);
    for version in [old, new] {
        assert_eq!(fs::read(version.folder.join("maps/harbour")).unwrap(), b"harbour");
    }
    assert_eq!(fs::read_dir(dir.path().join("uploads")).unwrap().count(), 0);
}

#[test]
fn a_damaged_list_is_found_when_it_is_read_and_a_version_made_again_mends_it() {
    let (_dir, store) = store();
    put(&store, "server", b"1").unwrap();
    let version = store.release(BUILD).unwrap();
    let name = hex(&version.manifest);
    rots(&store.object(&name));
    assert!(matches!(store.manifest(&version.manifest), Err(StoreError::Differs { .. })));
    assert_eq!(store.damage().unwrap().keys().collect::<Vec<_>>(), [&name]);
    assert_eq!(store.release(BUILD).unwrap(), version);
    assert_eq!(store.manifest(&version.manifest).unwrap(), store.list(BUILD).unwrap());
    assert!(store.damage().unwrap().is_empty());
}

#[test]
fn what_is_published_anew_mends_what_was_damaged_of_it() {
    let (_dir, store) = store();
    let (list, layer) = (store.keep_manifest(b"list").unwrap(), hash(b"layer").parse().unwrap());
    assert!(store.keep_blob(layer, &mut &b"layer"[..]).unwrap());
    for kept in [list, layer] {
        rots(&store.object(&kept.to_string()));
        store.set_aside(&kept.to_string()).unwrap();
    }
    assert_eq!(store.keep_manifest(b"list").unwrap(), list);
    assert!(store.keep_blob(layer, &mut &b"layer"[..]).unwrap());
    assert!(store.damage().unwrap().is_empty());
    assert_eq!(fs::read(store.object(&layer.to_string())).unwrap(), b"layer");
}

#[test]
fn a_sweep_takes_what_is_damaged_once_nothing_refers_to_it() {
    let (_dir, store) = store();
    put(&store, "a", b"1").unwrap();
    let name = hash(b"1");
    store.set_aside(&name).unwrap();
    let [late, _] = later(&store);
    store.sweep(&in_use(&[]), late).unwrap();
    assert!(store.is_damaged(&name), "the next version has it");
    store.remove(BUILD, "a").unwrap();
    store.sweep(&in_use(&[]), late).unwrap();
    assert!(!store.is_damaged(&name));
}

#[test]
fn a_path_that_leaves_the_build_is_none() {
    for path in ["", "/", "/etc/passwd", "..", "a/../../b", "a//b", "a/", "./a", "a\0b", "a\\..\\b", "a\nb"] {
        assert!(checked(path).is_err(), "{path:?}");
    }
    assert!(checked(&"a/".repeat(600)).is_err() && checked(&"a".repeat(256)).is_err());
    assert_eq!(checked("bin/server x86_64").unwrap(), "bin/server x86_64");
}

proptest! {
    /// Whatever a caller calls a file, nothing is written outside the store.
    #[test]
    fn no_path_leaves_the_store(path in ".{0,40}") {
        let (dir, store) = store();
        let beside = dir.path().parent().unwrap().join("beside");
        if put(&store, &path, b"x").is_ok() {
            let version = store.release(BUILD).unwrap();
            let place = version.folder.join(&path).canonicalize().unwrap();
            prop_assert!(place.starts_with(version.folder.canonicalize().unwrap()));
        }
        prop_assert!(!beside.exists());
    }
}
