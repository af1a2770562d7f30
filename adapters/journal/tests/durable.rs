//! That nothing gets a name which a power cut could take: the system calls of this process are watched.
//!
//! The functions below stand in the place of the C library's, note what they were asked, and ask the kernel for it. So the calls
//! seen are those of the real code, on a real disk, SQLite's among them; and a sync that somebody forgets is missed here, where a
//! power cut on a disk that keeps more than it promises would not miss it.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mainstay_journal::durable;
use mainstay_journal::sqlite::SqliteJournal;

/// A call, with the paths as the kernel knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Call {
    Made(PathBuf),
    Wrote(PathBuf),
    Synced(PathBuf),
    Renamed(PathBuf, PathBuf),
}

thread_local! {
    static CALLS: RefCell<Option<Vec<Call>>> = const { RefCell::new(None) };
}

fn note(call: impl FnOnce() -> Call) {
    CALLS.with_borrow_mut(|calls| {
        if let Some(calls) = calls {
            let call = call();
            // A write in several pieces is one.
            if calls.last() != Some(&call) {
                calls.push(call);
            }
        }
    });
}

fn open_path(fd: c_int) -> PathBuf {
    fs::read_link(format!("/proc/self/fd/{fd}")).expect("an open file has a path")
}

/// # Safety
/// `path` is a C string.
unsafe fn path(path: *const c_char) -> PathBuf {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

fn status(result: i64) -> c_int {
    c_int::try_from(result).expect("a status is small")
}

/// fsync(2).
#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    note(|| Call::Synced(open_path(fd)));
    // SAFETY: the arguments are the caller's, of the call of the same name.
    status(unsafe { libc::syscall(libc::SYS_fsync, fd) })
}

/// fdatasync(2).
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    note(|| Call::Synced(open_path(fd)));
    // SAFETY: the arguments are the caller's, of the call of the same name.
    status(unsafe { libc::syscall(libc::SYS_fdatasync, fd) })
}

/// write(2).
///
/// # Safety
/// That of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    note(|| Call::Wrote(open_path(fd)));
    // SAFETY: the arguments are the caller's, of the call of the same name.
    let written = unsafe { libc::syscall(libc::SYS_write, fd, bytes, count) };
    isize::try_from(written).expect("no more than asked")
}

/// rename(2).
///
/// # Safety
/// That of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: both are C strings, as the call demands.
    note(|| unsafe { Call::Renamed(path(from), path(to)) });
    // SAFETY: the arguments are the caller's, of the call of the same name.
    status(unsafe { libc::syscall(libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) })
}

/// mkdir(2).
///
/// # Safety
/// That of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdir(name: *const c_char, mode: libc::mode_t) -> c_int {
    // SAFETY: a C string, as the call demands.
    note(|| unsafe { Call::Made(path(name)) });
    // SAFETY: the arguments are the caller's, of the call of the same name.
    status(unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, name, mode) })
}

/// What this thread asked of the kernel meanwhile.
fn watched(work: impl FnOnce()) -> Vec<Call> {
    CALLS.set(Some(Vec::new()));
    work();
    CALLS.take().expect("it was set")
}

/// Names that a power cut could take although the work is done: made or given without a sync of their folder after, or given to
/// bytes that were not synced before.
fn in_danger(calls: &[Call]) -> Vec<String> {
    let synced =
        |calls: &[Call], path: &Path| calls.iter().any(|call| *call == Call::Synced(path.to_owned()));
    let above = |path: &PathBuf| path.parent().expect("a folder above").to_owned();
    let mut found = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let (before, after) = (&calls[..at], &calls[at..]);
        match call {
            Call::Made(folder) if !synced(after, &above(folder)) => found.push(format!("{call:?}")),
            Call::Renamed(from, to) => {
                let written = before.iter().rposition(|call| *call == Call::Wrote(from.clone()));
                if written.is_some_and(|written| !synced(&before[written..], from))
                    || !synced(after, &above(to))
                {
                    found.push(format!("{call:?}"));
                }
            }
            Call::Made(_) | Call::Wrote(_) | Call::Synced(_) => {}
        }
    }
    found
}

#[test]
fn a_file_is_synced_then_named_and_then_its_folder_is_synced() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let calls = watched(|| durable::write(&dir, "a", b"one", 0o600).unwrap());
    let (unfinished, file) = (dir.join("a.new"), dir.join("a"));
    let wanted = [
        Call::Wrote(unfinished.clone()),
        Call::Synced(unfinished.clone()),
        Call::Renamed(unfinished.clone(), file.clone()),
        Call::Synced(dir.clone()),
    ];
    assert_eq!(calls, wanted);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // What an earlier attempt left is no hindrance, and gives nothing to this one.
    fs::write(&unfinished, "a longer one that was cut short").unwrap();
    assert_eq!(in_danger(&watched(|| durable::write(&dir, "a", b"two", 0o600).unwrap())), [""; 0]);
    assert_eq!(fs::read(&file).unwrap(), b"two");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
}

#[test]
fn every_folder_on_the_way_is_synced_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let (one, two) = (dir.join("one"), dir.join("one/two"));
    let calls = watched(|| durable::make_folder(&two, 0o700).unwrap());
    let wanted =
        [Call::Made(one.clone()), Call::Synced(dir.clone()), Call::Made(two.clone()), Call::Synced(one)];
    assert_eq!(calls, wanted);
    assert_eq!(watched(|| durable::make_folder(&two, 0o700).unwrap()), []);
    assert_eq!(in_danger(&watched(|| durable::rename(&two, &dir.join("moved")).unwrap())), [""; 0]);
}

#[test]
fn a_new_journal_has_a_name_that_stays() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap().join("data/journal");
    let calls = watched(|| drop(SqliteJournal::open(&folder).unwrap()));
    assert_eq!(in_danger(&calls), [""; 0], "{calls:#?}");
    // So have its files, whose making is not watched.
    assert!(calls.contains(&Call::Synced(folder)), "{calls:#?}");
}

/// The proof can fail.
#[test]
#[expect(clippy::disallowed_methods, reason = "what it is to find")]
fn a_sync_that_is_forgotten_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let (from, to) = (dir.join("from"), dir.join("to"));
    let found = |work: &dyn Fn()| in_danger(&watched(work)).len();
    assert_eq!(found(&|| fs::create_dir(dir.join("folder")).unwrap()), 1);
    let unsynced = || {
        fs::write(&from, "x").unwrap();
        durable::rename(&from, &to).unwrap();
    };
    assert_eq!(found(&unsynced), 1);
    let unnamed = || {
        fs::write(&from, "x").unwrap();
        fs::File::open(&from).unwrap().sync_all().unwrap();
        fs::rename(&from, &to).unwrap();
    };
    assert_eq!(found(&unnamed), 1);
}
