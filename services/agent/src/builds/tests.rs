//! Builds on the disk: whole or not there, checked, swept.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use mainstay_core::BuildConfigurationId;
use mainstay_wire::builds::{LinkEntry, Manifest, ManifestFile};
use sha2::{Digest as _, Sha256};

use super::cache::{Form, Object, Reference};
use super::*;
use crate::config::DiskLimits;
use crate::pass::{HostSecret, Pass};

fn hash(bytes: &[u8]) -> ContentHash {
    ContentHash::of(Sha256::digest(bytes).into())
}

fn file(path: &str, bytes: &[u8]) -> ManifestFile {
    let size = u64::try_from(bytes.len()).unwrap();
    ManifestFile { path: path.to_owned(), size, sha256: hash(bytes), executable: path.starts_with("bin/") }
}

fn put(cache: &Cache, file: &ManifestFile, bytes: &[u8]) {
    let object = Object::of(file);
    std::io::Write::write_all(&mut cache.append(object).unwrap(), bytes).unwrap();
    cache.keep(object).unwrap();
}

/// A cache with an install of two files and a link.
fn installed(dir: &Path) -> (Cache, ContentHash, Manifest) {
    let cache = Cache::of(dir);
    cache.open().unwrap();
    let (game, map) = (file("bin/game", b"program"), file("map", b"map"));
    let link = LinkEntry { path: "game".to_owned(), target: "bin/game".to_owned() };
    let manifest = Manifest::of(vec![game.clone(), map.clone()], vec![link]).unwrap();
    let text = manifest.write();
    let list = hash(&text);
    std::io::Write::write_all(&mut cache.append(Object::list(list)).unwrap(), &text).unwrap();
    cache.keep(Object::list(list)).unwrap();
    assert_eq!(cache.missing(&manifest).len(), 2);
    put(&cache, &game, b"program");
    put(&cache, &map, b"map");
    assert_eq!(cache.missing(&manifest), []);
    cache.lay_out(list, &manifest).unwrap();
    (cache, list, manifest)
}

#[test]
fn an_install_is_its_files_read_only_at_their_paths() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, manifest) = installed(dir.path());
    let install = cache.install(hash);
    assert_eq!(std::fs::read(install.join("game")).unwrap(), b"program");
    let mode = |path: &str| std::fs::metadata(install.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("bin/game"), mode("map"), mode("bin")), (0o555, 0o444, 0o755));
    assert!(cache.check(hash, &manifest).unwrap());
    assert_eq!(cache.manifest(hash).unwrap().unwrap(), manifest.write());
}

#[test]
fn what_changed_on_the_disk_is_found_and_nothing_starts_from_it() {
    type Harm = fn(&Cache, ContentHash);
    let harms: [(&str, Harm); 4] = [
        ("a byte", |cache, hash| std::fs::write(cache.install(hash).join("map"), "mop").unwrap()),
        ("a file is gone", |cache, hash| std::fs::remove_file(cache.install(hash).join("map")).unwrap()),
        ("another file", |cache, hash| {
            std::fs::remove_file(cache.install(hash).join("map")).unwrap();
            std::fs::write(cache.install(hash).join("map"), "map").unwrap();
        }),
        ("a link", |cache, hash| {
            std::fs::remove_file(cache.install(hash).join("game")).unwrap();
            std::os::unix::fs::symlink("/bin/sh", cache.install(hash).join("game")).unwrap();
        }),
    ];
    for (what, harm) in harms {
        let dir = tempfile::tempdir().unwrap();
        let (cache, hash, manifest) = installed(dir.path());
        harm(&cache, hash);
        let error = cache.check(hash, &manifest).unwrap_err();
        assert_eq!(error.code(), "MS-S434", "{what}");
        assert!(!cache.install(hash).exists(), "{what}");
        assert!(!cache.check(hash, &manifest).unwrap(), "{what}");
    }
}

#[test]
fn a_start_finds_no_part_of_an_install() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, manifest) = installed(dir.path());
    cache.forget(hash).unwrap();
    // As a machine that lost power in the middle of laying it out.
    std::fs::create_dir_all(cache.making(hash).join("bin")).unwrap();
    cache.open().unwrap();
    assert!(!cache.check(hash, &manifest).unwrap());
    assert!(!cache.making(hash).exists());
    cache.lay_out(hash, &manifest).unwrap();
    assert!(cache.check(hash, &manifest).unwrap());
}

#[test]
fn a_list_whose_bytes_changed_is_as_none() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, _) = installed(dir.path());
    let path = cache.object(Object::list(hash));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&path, "{}").unwrap();
    assert_eq!(cache.manifest(hash).unwrap(), None);
    assert!(!path.exists());
}

#[test]
fn references_are_kept_as_told_and_rubbish_is_as_none() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, _) = installed(dir.path());
    let of = |revision| ConfigurationRef { id: BuildConfigurationId::from_number(7).unwrap(), revision };
    let told = Reference { form: Form::Files, manifest: Some(hash) };
    assert_eq!(cache.reference(of(1)).unwrap(), None);
    cache.refer(of(1), told).unwrap();
    cache.refer(of(2), told).unwrap();
    assert_eq!(cache.reference(of(1)).unwrap(), Some(told));
    cache.keep_references(&BTreeSet::from([of(2)])).unwrap();
    assert_eq!((cache.reference(of(1)).unwrap(), cache.reference(of(2)).unwrap()), (None, Some(told)));
    for rubbish in
        ["", "{", "[]", r#"{"form":"files","manifest":"../../etc"}"#, r#"{"form":"socket","manifest":null}"#]
    {
        std::fs::write(dir.path().join("builds/refs/7-2"), rubbish).unwrap();
        assert_eq!(cache.reference(of(2)).unwrap(), None, "{rubbish}");
    }
}

/// A machine that has just joined is told what it is to run, which has its disk looked at, and asks what that is made of.
#[test]
fn a_reference_that_is_being_written_is_left_alone_by_a_sweep() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, _) = installed(dir.path());
    let named = ConfigurationRef { id: BuildConfigurationId::from_number(7).unwrap(), revision: 1 };
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !written.load(Ordering::Relaxed) {
                cache.keep_references(&BTreeSet::from([named])).unwrap();
            }
        });
        for _ in 0..50 {
            let told = cache.refer(named, Reference { form: Form::Files, manifest: Some(hash) });
            written.store(told.is_err(), Ordering::Relaxed);
            told.unwrap();
        }
        written.store(true, Ordering::Relaxed);
    });
    // What an agent that was killed left of one is deleted by the next.
    let left = dir.path().join("builds/refs/7-1.new");
    std::fs::write(&left, "{").unwrap();
    cache.open().unwrap();
    assert!(!left.exists() && cache.reference(named).unwrap().is_some());
}

#[test]
fn a_sweep_takes_what_nobody_names_and_leaves_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, manifest) = installed(dir.path());
    let lone = file("lone", b"nobody");
    put(&cache, &lone, b"nobody");
    std::io::Write::write_all(&mut cache.append(Object::of(&file("half", b"whole"))).unwrap(), b"wh")
        .unwrap();
    assert_eq!(cache.kept().unwrap()[0].bytes, 10);
    assert_eq!(cache.sweep(&BTreeSet::from([hash])).unwrap(), 8);
    assert!(cache.check(hash, &manifest).unwrap());
    cache.forget(hash).unwrap();
    assert_eq!(cache.sweep(&BTreeSet::from([hash])).unwrap(), 0, "wanted again: its files stay");
    assert_eq!(cache.missing(&manifest), []);
    cache.sweep(&BTreeSet::new()).unwrap();
    assert_eq!((cache.missing(&manifest).len(), cache.manifest(hash).unwrap()), (2, None));
}

/// "one disk budget a machine …", and nothing in use is given up: an agent that has just started has not looked at most of
/// what its servers run.
#[tokio::test]
async fn a_build_that_a_specification_names_stays_before_it_was_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, _) = installed(dir.path());
    let named = ConfigurationRef { id: BuildConfigurationId::from_number(7).unwrap(), revision: 1 };
    cache.refer(named, Reference { form: Form::Files, manifest: Some(hash) }).unwrap();
    let clock = Arc::new(mainstay_runtime::SystemClock::start());
    let disk = Disk::new(dir.path(), DiskLimits { budget: Some(0), free_min: 0 }, clock);
    let plane = Plane { uri: String::new(), pass: Pass::Host(HostSecret(String::new())) };
    let builds = Builds::new(BuildSource::Plane, plane, dir.path(), disk);
    builds.table().entries.insert(named, Entry::default());
    builds.sweep().await.unwrap();
    assert!(cache.install(hash).exists());
    builds.keep_only(&BTreeSet::new());
    builds.sweep().await.unwrap();
    assert!(!cache.install(hash).exists(), "nobody names it any more");
}

#[test]
fn when_it_was_used_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, hash, _) = installed(dir.path());
    let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
    cache.touch(hash, then).unwrap();
    assert_eq!(cache.kept().unwrap()[0].used, then);
}
