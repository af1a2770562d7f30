//! A disk that is really full: the journal goes on from its reserve, loses nothing, and recovers by itself.
//!
//! The test runs its own executable again in a mount namespace of its own, where a small tmpfs is the disk; so no mount
//! outlives it and no root is needed where user namespaces are allowed.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::{Admission, AppendError, Journal, Lease, Limits, Seq, Settled, Space, Turn, Writer};

use crate::fixture::{Teller, at, read_all, shard};

const CHILD_DIR: &str = "MAINSTAY_TEST_FULL_DISK";
const NAME: &str = "full_disk::a_full_disk_is_met_by_the_reserve";
const DISK: &str = "size=48m";

/// How many commits of one small turn the reserve carries at least, with the disk full to the last byte.
const COMMITS_ON_RESERVE_MIN: u32 = 500;

fn run(command: &mut Command) {
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("{command:?}: {error}; apt-get install util-linux mount"));
    assert!(status.success(), "{command:?}: {status}");
}

#[test]
fn a_full_disk_is_met_by_the_reserve() {
    if let Some(dir) = std::env::var_os(CHILD_DIR) {
        let dir = Path::new(&dir);
        run(Command::new("mount").args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(dir));
        return fill_and_recover(dir);
    }
    let dir = tempfile::tempdir().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let namespaces: &[&str] = if is_root { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    let exe = std::env::current_exe().unwrap();
    run(Command::new("unshare")
        .args(namespaces)
        .arg(exe)
        .args([NAME, "--exact", "--nocapture"])
        .env(CHILD_DIR, dir.path()));
}

/// Writes until not one byte more fits.
fn fill(path: &Path) {
    let mut filler = File::options().create(true).append(true).open(path).unwrap();
    for piece in [64 * 1024, 4096, 1] {
        loop {
            match filler.write(&vec![1; piece]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn fill_and_recover(dir: &Path) {
    let data = dir.join("data");
    let filler = dir.join("filler");
    let name = shard("fleet/1");
    let mut journal = SqliteJournal::open(&data).unwrap();
    assert_eq!(journal.space().unwrap(), Space::Ample);
    let mut writer = Writer::new(Limits::STANDARD);
    writer.renewed(Duration::ZERO, Lease::Exclusive);
    assert!(writer.lead(&journal.lead(&name).unwrap()).is_empty());
    let mut commits = 0;
    let mut step = |writer: &mut Writer<u64>, journal: &mut SqliteJournal| {
        commits += 1;
        let seq =
            writer.accept(&name, Turn { count: 1, at: at(commits), bytes: vec![9; 150] }, commits).unwrap();
        assert_eq!(seq, Seq(commits));
        let batch = writer.next_batch().unwrap();
        let appended = journal.append(&batch.turns).unwrap();
        let durable = writer.synced(Duration::ZERO, batch.number, appended);
        assert_eq!(durable.settled, vec![Settled::Durable(commits)]);
    };

    for _ in 0..10 {
        step(&mut writer, &mut journal);
    }
    assert_eq!(writer.admission(), Admission::Open);
    fill(&filler);
    let mut on_reserve = 0_u32;
    loop {
        step(&mut writer, &mut journal);
        // Someone takes every byte the reserve gives back and the journal does not use at once.
        fill(&filler);
        match writer.admission() {
            Admission::Open => assert_eq!(on_reserve, 0, "it stays below until there is room"),
            Admission::ReserveOnly => on_reserve += 1,
            Admission::Stalled => break,
            other @ (Admission::Wait | Admission::Ended) => panic!("{other:?}"),
        }
        assert!(on_reserve < 1_000_000, "the reserve ends some time");
    }
    eprintln!("{on_reserve} commits on the reserve until the floor");
    assert!(on_reserve >= COMMITS_ON_RESERVE_MIN, "{on_reserve}");

    // What was decided at the brim still fits below the floor, with an ordinary turn behind it.
    let largest = Limits::STANDARD.unsynced_bytes_max + 512 * 1024;
    let mut teller =
        Teller { shard: name.clone(), epoch: mainstay_journal::Epoch(1), next: Seq(commits + 1) };
    let brim: Vec<_> = (0..largest / 2_500).map(|_| teller.turn_with(1, vec![5; 2_500])).collect();
    for half in brim.chunks(brim.len() / 2) {
        let _appended = journal.append(half).unwrap();
    }

    // Past that nothing fits, nothing is written, and nothing breaks.
    let refused = loop {
        let turn = teller.clone().turn_with(1, vec![3; 500_000]);
        match journal.append(std::slice::from_ref(&turn)) {
            Ok(_) => teller.next = turn.next(),
            Err(AppendError::Full { .. }) => break turn,
            Err(other) => panic!("{other:?}"),
        }
        fill(&filler);
    };
    let again = journal.append(std::slice::from_ref(&refused));
    assert!(matches!(again, Err(AppendError::Full { .. })), "{again:?}");
    let all = read_all(&mut journal, &name, Seq::FIRST, 1000);
    assert_eq!(all.last().unwrap().next(), refused.first, "everything acknowledged, nothing else");

    fs::remove_file(&filler).unwrap();
    let space = journal.space().unwrap();
    assert_eq!(space, Space::Ample, "the reserve is made again");
    writer.space(space);
    assert_eq!(writer.admission(), Admission::Open);
    assert_eq!(fs::metadata(data.join("journal.reserve")).unwrap().len(), 16 * 1024 * 1024);
    let _appended = journal.append(std::slice::from_ref(&refused)).unwrap();
    drop(journal);
    let mut journal = SqliteJournal::open(&data).unwrap();
    let read = read_all(&mut journal, &name, Seq::FIRST, 1000);
    assert_eq!((read.len(), read.last()), (all.len() + 1, Some(&refused)));
}
