//! A writer killed with SIGKILL at any moment: everything it acknowledged is there.
//!
//! The test runs its own executable again as the writer, so that the process that dies is a real one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::{Forgot, Journal, Reader, Seq, TurnRecord};

use crate::fixture::{Teller, shard};

const CHILD_DIR: &str = "MAINSTAY_TEST_KILL_DIR";
const NAME: &str = "kill::everything_acknowledged_outlives_a_kill";

/// The turn that begins at `first`, the same in both processes. Every 50th is large, so that kills meet large commits.
fn turn(teller: &mut Teller) -> TurnRecord {
    let first = teller.next.0;
    let bytes = if first.is_multiple_of(50) { 200_000 } else { 40 + first % 300 };
    let fill = u8::try_from(first % 251).unwrap();
    teller.turn_with(1, vec![fill; usize::try_from(bytes).unwrap()])
}

/// Appends, acknowledging each on stdout, with snapshots and deletions in between, until it is killed.
fn write_until_killed(dir: &Path) -> ! {
    let name = shard("fleet/1");
    let mut journal = SqliteJournal::open(dir).unwrap();
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let mut stdout = std::io::stdout();
    loop {
        let batch = [turn(&mut teller), turn(&mut teller)];
        let _space = journal.append(&batch).unwrap();
        writeln!(stdout, "ack {}", teller.next).unwrap();
        stdout.flush().unwrap();
        let below = teller.next;
        if below.0 % 200 == 1 {
            journal.write_snapshot_chunk(&name, below, 0, below.to_string().as_bytes()).unwrap();
            let _snapshot = journal.finish_snapshot(&name, below, batch[1].at).unwrap();
            while journal.forget(&name, below, 40).unwrap() == Forgot::Some {}
        }
    }
}

#[test]
fn everything_acknowledged_outlives_a_kill() {
    if let Some(dir) = std::env::var_os(CHILD_DIR) {
        write_until_killed(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let mut epochs = 0;
    for acks in [1, 2, 3, 7, 20, 55, 90, 101, 140, 333] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(CHILD_DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told =
            lines.map(Result::unwrap).filter_map(|line| line.strip_prefix("ack ")?.parse::<u64>().ok());
        let seen = told.by_ref().take(acks).last().unwrap();
        child.kill().unwrap();
        let _signalled = child.wait().unwrap();
        // What it managed to say before the signal came counts too.
        let acknowledged = Seq(told.last().unwrap_or(seen));
        epochs += 1;

        let mut journal = SqliteJournal::open(dir.path()).unwrap();
        let head = journal.head(&shard("fleet/1")).unwrap().unwrap();
        assert!(head.next >= acknowledged, "{} < {acknowledged} after {acks}", head.next);
        assert_eq!(head.epoch.0, epochs);
        let mut teller = Teller { shard: shard("fleet/1"), epoch: head.epoch, next: head.replay_from() };
        while teller.next < head.next {
            let page = journal.read(&teller.shard, teller.next, 100).unwrap();
            assert!(!page.is_empty(), "nothing at {}", teller.next);
            for found in page {
                let expected = turn(&mut teller);
                assert_eq!((found.first, &found.bytes), (expected.first, &expected.bytes));
            }
        }
        if let Some(snapshot) = head.snapshot {
            let text = journal.snapshot_chunk(&teller.shard, &snapshot, 0).unwrap();
            assert_eq!(text, snapshot.covers_below.to_string().into_bytes());
        }
    }
}
