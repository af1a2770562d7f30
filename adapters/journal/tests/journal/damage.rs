//! Any flipped byte of database, log or mark: the full state or a refusal, never less state in silence.

use std::fs;
use std::path::{Path, PathBuf};

use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::{Forgot, Head, Journal, OpenError, Reader, Seq, TurnRecord};
use tempfile::TempDir;

use crate::fixture::{Teller, read_all, shard};

/// Zeroes in a row from which on a stretch counts as unused: of those every sixteenth byte is flipped, of all else each.
const UNUSED_RUN: usize = 24;
const UNUSED_STRIDE: usize = 16;

/// The files of a data directory at one moment, and what they hold.
struct Picture {
    files: Vec<(&'static str, Vec<u8>)>,
    story: Story,
}

/// Everything a reader can learn.
#[derive(Debug, PartialEq)]
struct Story {
    heads: Vec<Head>,
    turns: Vec<Vec<TurnRecord>>,
    chunks: Vec<Vec<Vec<u8>>>,
}

/// A directory in memory where it can be: each flip opens a journal, and none of it must outlive the test.
fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { tempfile::tempdir_in(shm).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn story(reader: &mut impl Reader) -> Result<Story, mainstay_journal::ReadError> {
    let heads = reader.heads()?;
    let (mut turns, mut chunks) = (Vec::new(), Vec::new());
    for head in &heads {
        let (mut all, mut next) = (Vec::new(), head.replay_from());
        loop {
            let page = reader.read(&head.shard, next, 7)?;
            let Some(last) = page.last() else { break };
            next = last.next();
            all.extend(page);
        }
        turns.push(all);
        let mut parts = Vec::new();
        if let Some(snapshot) = &head.snapshot {
            for index in 0..snapshot.chunks {
                parts.push(reader.snapshot_chunk(&head.shard, snapshot, index)?);
            }
        }
        chunks.push(parts);
    }
    Ok(Story { heads, turns, chunks })
}

/// Writes three shards with turns, one of them compacted.
fn write_some(journal: &mut SqliteJournal, rounds: u64) {
    let names = ["agent", "fleet/1", "queue/1"].map(shard);
    let mut tellers = names.map(|name| Teller::of(&journal.lead(&name).unwrap()));
    for round in 0..rounds {
        for teller in &mut tellers {
            let batch = teller.turns(&[1, 2]);
            let _space = journal.append(&batch).unwrap();
        }
        if round == rounds / 2 {
            let name = &tellers[1].shard;
            let below = tellers[1].next;
            for index in 0..3 {
                journal.write_snapshot_chunk(name, below, index, &[7; 300]).unwrap();
            }
            let at = journal.head(name).unwrap().unwrap().last_at;
            let _snapshot = journal.finish_snapshot(name, below, at).unwrap();
            while journal.forget(name, below, 5).unwrap() == Forgot::Some {}
        }
    }
}

fn take(dir: &Path, names: &[&'static str], story: Story) -> Picture {
    let files = names.iter().map(|&name| (name, fs::read(dir.join(name)).unwrap())).collect();
    Picture { files, story }
}

/// All in the log, nothing in the database yet: a few commits, so that each byte can be tried.
fn in_the_log() -> Picture {
    let dir = scratch();
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    let mut teller = Teller::of(&journal.lead(&shard("agent")).unwrap());
    for _ in 0..3 {
        let _space = journal.append(&teller.turns(&[1, 2])).unwrap();
    }
    let told = story(&mut journal).unwrap();
    take(dir.path(), &["journal.db", "journal.db-wal", "journal.mark"], told)
}

/// All in the database, as a clean stop leaves it.
fn in_the_database() -> Picture {
    let dir = scratch();
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    write_some(&mut journal, 5);
    let told = story(&mut journal).unwrap();
    drop(journal);
    take(dir.path(), &["journal.db", "journal.mark"], told)
}

/// Some in the database and newer in the log.
fn in_both() -> Picture {
    let dir = scratch();
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    write_some(&mut journal, 6);
    drop(journal);
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    write_some(&mut journal, 2);
    let told = story(&mut journal).unwrap();
    take(dir.path(), &["journal.db", "journal.db-wal", "journal.mark"], told)
}

/// A place where damaged pictures are opened again and again.
struct Bench {
    dir: TempDir,
}

#[derive(Debug)]
enum Seen {
    Full,
    Refused,
    Less(String),
}

impl Bench {
    fn new() -> Self {
        let dir = scratch();
        // Makes the reserve once; the rest of what this leaves is replaced.
        drop(SqliteJournal::open(dir.path()).unwrap());
        Self { dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Lays the picture out with one file replaced, then opens and reads it.
    fn try_with(&self, picture: &Picture, replaced: &str, bytes: &[u8]) -> Seen {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm", "journal.mark"] {
            match fs::remove_file(self.file(name)) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => panic!("{error}"),
            }
        }
        for (name, whole) in &picture.files {
            fs::write(self.file(name), if *name == replaced { bytes } else { whole }).unwrap();
        }
        let Ok(mut journal) = SqliteJournal::open(self.dir.path()) else { return Seen::Refused };
        let by_writer = story(&mut journal);
        let by_reader = journal.reader().map(|mut reader| story(&mut reader));
        match (by_writer, by_reader) {
            (Err(_), _) | (_, Err(_) | Ok(Err(_))) => Seen::Refused,
            (Ok(one), Ok(Ok(two))) if one == picture.story && two == picture.story => Seen::Full,
            (Ok(one), Ok(Ok(_))) => Seen::Less(format!("{:?}", one.heads)),
        }
    }
}

/// The bytes worth flipping: each one in use, and a sample of stretches of zeroes.
fn places(bytes: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut zeroes = 0;
    for (place, byte) in bytes.iter().enumerate() {
        zeroes = if *byte == 0 { zeroes + 1 } else { 0 };
        if zeroes < UNUSED_RUN || zeroes % UNUSED_STRIDE == 0 {
            places.push(place);
        }
    }
    places
}

/// Flips one bit of every `every`th place, another bit each time, on as many threads as there are cores.
fn flip_all(picture: &Picture, name: &'static str, every: usize) {
    let whole = &picture.files.iter().find(|(file, _)| *file == name).unwrap().1;
    let places: Vec<usize> = places(whole).into_iter().step_by(every).collect();
    let (mut full, mut refused) = (0_usize, 0_usize);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let shares: Vec<_> = places
            .chunks(places.len().div_ceil(threads))
            .map(|share| {
                scope.spawn(move || {
                    let bench = Bench::new();
                    let mut bytes = whole.clone();
                    let mut counts = (0, 0);
                    for &place in share {
                        bytes[place] ^= 1 << (place % 8);
                        match bench.try_with(picture, name, &bytes) {
                            Seen::Full => counts.0 += 1,
                            Seen::Refused => counts.1 += 1,
                            Seen::Less(heads) => panic!("{name}, byte {place} of {}: {heads}", whole.len()),
                        }
                        bytes[place] = whole[place];
                    }
                    counts
                })
            })
            .collect();
        for share in shares {
            let (of_full, of_refused) = share.join().unwrap();
            full += of_full;
            refused += of_refused;
        }
    });
    eprintln!("{name}: {} bytes, {} flipped: {full} full, {refused} refused", whole.len(), places.len());
    assert!(refused > 0, "some flip must matter");
}

#[test]
fn an_untouched_picture_opens_whole() {
    for picture in [in_the_log(), in_the_database(), in_both()] {
        let seen = Bench::new().try_with(&picture, "nothing", &[]);
        assert!(matches!(seen, Seen::Full), "{seen:?}");
    }
}

#[test]
fn flipped_bytes_of_a_database_are_never_less_state() {
    flip_all(&in_the_database(), "journal.db", 1);
}

#[test]
fn flipped_bytes_of_a_log_are_never_less_state() {
    flip_all(&in_the_log(), "journal.db-wal", 1);
}

#[test]
fn flipped_bytes_of_a_database_and_its_log_are_never_less_state() {
    let picture = in_both();
    flip_all(&picture, "journal.db", 5);
    flip_all(&picture, "journal.db-wal", 61);
}

#[test]
fn flipped_bytes_of_a_mark_refuse_the_start() {
    let picture = in_the_database();
    flip_all(&picture, "journal.mark", 1);
    let bench = Bench::new();
    let mark = &picture.files.last().unwrap().1;
    for place in 0..mark.len() {
        let mut bytes = mark.clone();
        bytes[place] ^= 0x10;
        assert!(matches!(bench.try_with(&picture, "journal.mark", &bytes), Seen::Refused), "byte {place}");
        let refused = SqliteJournal::open(bench.dir.path());
        assert!(matches!(refused, Err(OpenError::Mark { .. })), "{refused:?}");
    }
}

#[test]
fn a_log_cut_short_is_full_state_or_a_refusal() {
    let picture = in_both();
    let log = &picture.files.iter().find(|(name, _)| *name == "journal.db-wal").unwrap().1;
    let bench = Bench::new();
    for length in (0..log.len()).step_by(509) {
        let seen = bench.try_with(&picture, "journal.db-wal", &log[..length]);
        assert!(!matches!(seen, Seen::Less(_)), "cut at {length}: {seen:?}");
    }
    for length in [0, log.len() / 2] {
        let seen = bench.try_with(&picture, "journal.db-wal", &log[..length]);
        assert!(matches!(seen, Seen::Refused), "cut at {length}: {seen:?}");
        match SqliteJournal::open(bench.dir.path()) {
            Err(OpenError::TailLost { found, marked, .. }) => assert!(found < marked, "{found} {marked}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn missing_files_refuse_the_start() {
    let picture = in_both();
    let lay_out = |without: &str| {
        let dir = scratch();
        for (name, bytes) in picture.files.iter().filter(|(name, _)| *name != without) {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        dir
    };
    let without_mark = SqliteJournal::open(lay_out("journal.mark").path());
    assert!(matches!(without_mark, Err(OpenError::Mark { what: "is missing", .. })), "{without_mark:?}");
    let without_database = SqliteJournal::open(lay_out("journal.db").path());
    assert!(matches!(without_database, Err(OpenError::Damaged { .. })), "{without_database:?}");
    let without_log = SqliteJournal::open(lay_out("journal.db-wal").path());
    assert!(matches!(without_log, Err(OpenError::TailLost { .. })), "{without_log:?}");
}

#[test]
fn a_mark_that_lags_is_no_loss_and_one_of_another_journal_is_refused() {
    let dir = scratch();
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    write_some(&mut journal, 1);
    let older = fs::read(dir.path().join("journal.mark")).unwrap();
    write_some(&mut journal, 2);
    let told = story(&mut journal).unwrap();
    drop(journal);
    fs::write(dir.path().join("journal.mark"), &older).unwrap();
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    assert_eq!(story(&mut journal).unwrap(), told);
    drop(journal);

    let other = scratch();
    drop(SqliteJournal::open(other.path()).unwrap());
    fs::write(other.path().join("journal.mark"), older).unwrap();
    let refused = SqliteJournal::open(other.path());
    assert!(matches!(refused, Err(OpenError::Damaged { .. })), "{refused:?}");
}

#[test]
fn a_making_cut_short_is_made_again() {
    let dir = scratch();
    drop(SqliteJournal::open(dir.path()).unwrap());
    fs::remove_file(dir.path().join("journal.mark")).unwrap();
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    write_some(&mut journal, 1);
    drop(journal);
    let empty = scratch();
    fs::write(empty.path().join("journal.db"), []).unwrap();
    let mut journal = SqliteJournal::open(empty.path()).unwrap();
    write_some(&mut journal, 1);
    assert_eq!(read_all(&mut journal, &shard("agent"), Seq::FIRST, 10).len(), 2);
}

#[test]
fn one_process_has_the_directory() {
    let dir = scratch();
    let journal = SqliteJournal::open(dir.path()).unwrap();
    let refused = SqliteJournal::open(dir.path());
    assert!(matches!(refused, Err(OpenError::InUse { .. })), "{refused:?}");
    let reader = journal.reader().unwrap();
    drop(journal);
    assert!(SqliteJournal::open(dir.path()).is_err(), "a reader keeps it");
    drop(reader);
    drop(SqliteJournal::open(dir.path()).unwrap());
}
