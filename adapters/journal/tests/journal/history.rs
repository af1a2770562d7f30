//! The history follows the journal, keeps what it should, and may be lost.

use std::fs;
use std::time::Duration;

use mainstay_journal::history::{About, History, HistoryError, HistoryRow, Pruned, Retention, Told};
use mainstay_journal::memory::{MemoryStore, Tenancy};
use mainstay_journal::{Cause, Forgot, Journal, Reader, Seq, TurnRecord};

use crate::fixture::{Teller, at, shard};

/// One row for each event: about its shard, and its own number.
fn tell(turn: &TurnRecord) -> Result<Vec<Told>, Cause> {
    let row = |index: u32| Told {
        index,
        kind: "tested".to_owned(),
        subjects: vec![turn.shard.to_string(), format!("event-{}", turn.first.plus(index.into()))],
        detail: String::from_utf8_lossy(&turn.bytes).into_owned(),
    };
    Ok((0..turn.count).map(row).collect())
}

fn seqs(rows: &[HistoryRow]) -> Vec<u64> {
    rows.iter().map(|row| row.seq.0).collect()
}

#[test]
fn every_event_is_told_once_and_found_by_its_subjects() {
    let dir = tempfile::tempdir().unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut history = History::open(dir.path()).unwrap();
    let mut one = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let mut two = Teller::of(&journal.lead(&shard("fleet/2")).unwrap());
    let turns = one.turns(&[1, 2]);
    let _space = journal.append(&turns).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 2);
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 0, "nothing twice");
    let _space = journal.append(&two.turns(&[1])).unwrap();
    drop(history);
    let mut history = History::open(dir.path()).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 1, "it goes on where it was");

    let rows = history.find(About::Everything, i64::MAX, 100).unwrap();
    assert_eq!(seqs(&rows), [1, 3, 2, 1], "newest first");
    assert_eq!(rows[1].subjects, ["fleet/1", "event-3"]);
    assert_eq!((rows[1].at, rows[1].detail.as_bytes()), (turns[1].at, turns[1].bytes.as_slice()));
    assert_eq!(seqs(&history.find(About::Subject("fleet/1"), i64::MAX, 100).unwrap()), [3, 2, 1]);
    assert_eq!(seqs(&history.find(About::Subject("event-2"), i64::MAX, 100).unwrap()), [2]);
    assert_eq!(history.find(About::Subject("nobody"), i64::MAX, 100).unwrap(), []);
    let page = history.find(About::Everything, i64::MAX, 2).unwrap();
    let rest = history.find(About::Everything, page[1].id, 2).unwrap();
    assert_eq!([page, rest].concat(), rows);
}

#[test]
fn rows_go_by_age_and_by_count() {
    let dir = tempfile::tempdir().unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut history = History::open(dir.path()).unwrap();
    let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let turns = teller.turns(&[1; 20]);
    let _space = journal.append(&turns).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 20);

    let long = Duration::from_secs(1_000_000);
    let by_count = Retention { age_max: long, rows_max: 15 };
    assert_eq!(history.prune(turns[19].at, by_count).unwrap(), Pruned::All);
    let kept: Vec<u64> = (6..=20).rev().collect();
    assert_eq!(seqs(&history.find(About::Everything, i64::MAX, 100).unwrap()), kept);
    assert_eq!(history.find(About::Subject("event-5"), i64::MAX, 10).unwrap(), [], "its subjects go with it");

    let now = turns[9].at + long;
    assert_eq!(history.prune(now, Retention { age_max: long, rows_max: 15 }).unwrap(), Pruned::All);
    let kept: Vec<u64> = (10..=20).rev().collect();
    assert_eq!(seqs(&history.find(About::Everything, i64::MAX, 100).unwrap()), kept);
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 0, "what went does not come back");
}

/// Shards are followed one after another, so an old row may stand behind a newer one of another.
#[test]
fn an_old_row_behind_a_newer_one_goes_and_so_do_its_subjects() {
    let dir = tempfile::tempdir().unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut history = History::open(dir.path()).unwrap();
    let mut one = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let mut two = Teller::of(&journal.lead(&shard("fleet/2")).unwrap());
    let turns = one.turns(&[1; 3]);
    let _space = journal.append(&turns).unwrap();
    let _space = journal.append(&two.turns(&[1])).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 4);
    let age_max = Duration::from_secs(1_000_000);
    assert_eq!(
        history.prune(turns[1].at + age_max, Retention { age_max, rows_max: 100 }).unwrap(),
        Pruned::All
    );
    let kept = history.find(About::Everything, i64::MAX, 100).unwrap();
    assert_eq!(
        kept.iter().map(|row| (row.shard.as_str(), row.seq.0)).collect::<Vec<_>>(),
        [("fleet/1", 3), ("fleet/1", 2)]
    );
    drop(history);
    let conn = rusqlite::Connection::open(dir.path().join("history.sqlite")).unwrap();
    let named = "SELECT count(*) FROM named WHERE row NOT IN (SELECT id FROM history)";
    assert_eq!(conn.query_row(named, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

/// Subjects are kept in lots of 8,192 rows.
#[test]
fn a_subject_is_found_and_counted_in_all_of_a_long_history() {
    let dir = tempfile::tempdir().unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut history = History::open(dir.path()).unwrap();
    let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let turns = teller.turns(&[10_000, 10_000]);
    let _space = journal.append(&turns).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 2);
    let of = |subject: &str, before, rows| history.find(About::Subject(subject), before, rows).unwrap();
    let newest = of("fleet/1", i64::MAX, 1_000);
    assert_eq!(seqs(&newest), (19_001..=20_000).rev().collect::<Vec<_>>());
    let page = of("fleet/1", 16_400, 1_000);
    assert_eq!(seqs(&page), (15_400..16_400).rev().collect::<Vec<_>>(), "over the edge of a lot");
    assert_eq!(seqs(&of("event-5", i64::MAX, 10)), [5], "in the oldest lot");
    let (from, to) = (turns[0].at, turns[1].at + Duration::from_millis(1));
    assert_eq!(history.find_within(About::Subject("event-5"), (from, to), 10).unwrap().len(), 1);
    let counted = history.count(About::Subject("fleet/1"), from, to, Duration::from_secs(3_600)).unwrap();
    assert_eq!(counted.iter().map(|step| step.count).sum::<u64>(), 20_000);
}

#[test]
fn a_history_of_the_first_format_is_brought_over() {
    let dir = tempfile::tempdir().unwrap();
    let conn = rusqlite::Connection::open(dir.path().join("history.sqlite")).unwrap();
    conn.execute_batch(
        "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, shard TEXT NOT NULL, seq INTEGER NOT NULL,
             at INTEGER NOT NULL, kind TEXT NOT NULL, subjects TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
         CREATE TABLE subjects (subject TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (subject, row)) STRICT, WITHOUT ROWID;
         CREATE INDEX history_shard_at ON history (shard, at);
         CREATE TABLE followed (shard TEXT PRIMARY KEY, next INTEGER NOT NULL) STRICT;
         INSERT INTO history VALUES (7, 'fleet/1', 3, 1, 'tested', 'a' || char(10) || 'b', ''), (9000, 'fleet/1', 4, 2, 'tested', 'b', '');
         INSERT INTO subjects VALUES ('a', 7), ('b', 7), ('b', 9000);
         INSERT INTO followed VALUES ('fleet/1', 5);
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(conn);
    let history = History::open(dir.path()).unwrap();
    let of = |subject: &str| seqs(&history.find(About::Subject(subject), i64::MAX, 10).unwrap());
    assert_eq!((of("a"), of("b")), (vec![3], vec![4, 3]));
    drop(history);
    let history = History::open(dir.path()).unwrap();
    assert_eq!(seqs(&history.find(About::Subject("b"), i64::MAX, 10).unwrap()), [4, 3], "once");
}

#[test]
fn what_was_compacted_away_unseen_is_told_as_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut history = History::open(dir.path()).unwrap();
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let _space = journal.append(&teller.turns(&[1, 1])).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 2);
    let _space = journal.append(&teller.turns(&[1, 1, 1])).unwrap();
    journal.write_snapshot_chunk(&name, Seq(5), 0, b"x").unwrap();
    let _snapshot = journal.finish_snapshot(&name, Seq(5), at(9)).unwrap();
    while journal.forget(&name, Seq(5), 10).unwrap() == Forgot::Some {}
    assert_eq!(journal.head(&name).unwrap().unwrap().oldest, Seq(5));
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 1);
    let rows = history.find(About::Everything, i64::MAX, 10).unwrap();
    assert_eq!(seqs(&rows), [5, 3, 2, 1]);
    assert_eq!(rows[1].kind, "history.gap");
    assert!(rows[1].detail.contains("events 3 to 4"), "{}", rows[1].detail);
}

#[test]
fn a_damaged_history_is_put_aside_and_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history.sqlite");
    fs::write(&file, vec![7; 8192]).unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let _space = journal.append(&teller.turns(&[1])).unwrap();
    let mut history = History::open(dir.path()).unwrap();
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 1);
    assert_eq!(fs::read(dir.path().join("history.sqlite.damaged")).unwrap(), vec![7; 8192]);
}

#[test]
fn what_cannot_be_told_stops_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut history = History::open(dir.path()).unwrap();
    let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let _space = journal.append(&teller.turns(&[1])).unwrap();
    let refused = history.follow(&mut journal, |_turn| Err("unknown".into()));
    assert!(matches!(refused, Err(HistoryError::Tell { at: Seq(1), .. })), "{refused:?}");
    assert_eq!(history.follow(&mut journal, tell).unwrap(), 1, "and is tried again");
}
