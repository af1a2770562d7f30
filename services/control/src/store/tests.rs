//! Uploads whole and in pieces, versions, and paths that are none.

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

#[test]
fn everything_outlives_the_process() {
    let (dir, store) = store();
    put(&store, "server", b"1").unwrap();
    let version = store.release(BUILD).unwrap();
    let again = Store::open(dir.path()).unwrap();
    assert_eq!(again.list(BUILD).unwrap(), store.list(BUILD).unwrap());
    assert_eq!(again.release(BUILD).unwrap(), version);
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
