//! Measures appends to SQLite on the disk of the temporary directory: the mark, the chain and every sync included.
//!
//! ```text
//! cargo run --release -p mainstay-journal --example append [SECONDS]
//! ```

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use mainstay_core::Timestamp;
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::{Journal, Seq, ShardName, TurnRecord};

/// Turns in one commit: alone, and what 64 callers make of a sync.
const BATCHES: [u64; 3] = [1, 8, 64];
/// What the published figures were measured with.
const TURN_BYTES: usize = 200;
const SECONDS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(SECONDS), |text| text.parse())?;
    let mut out = std::io::stdout().lock();
    for batch in BATCHES {
        let dir = tempfile::tempdir()?;
        let mut times = fill(dir.path(), batch, Duration::from_secs(seconds))?;
        let turns = batch * times.len() as u64;
        let spent: Duration = times.iter().sum();
        times.sort_unstable();
        let at = |hundredths: usize| times[(times.len() * hundredths / 100).min(times.len() - 1)];
        let rate = turns as f64 / spent.as_secs_f64();
        writeln!(
            out,
            "{batch:>3} turns a commit: {rate:>8.0} turns/s, commit median {:?}, p99 {:?}",
            at(50),
            at(99)
        )?;
    }
    Ok(())
}

fn fill(dir: &std::path::Path, batch: u64, for_long: Duration) -> Result<Vec<Duration>, Box<dyn Error>> {
    let shard = ShardName::new("fleet/1")?;
    let mut journal = SqliteJournal::open(dir)?;
    let epoch = journal.lead(&shard)?.head.epoch;
    let (mut next, mut times, begun) = (Seq::FIRST, Vec::new(), Instant::now());
    while begun.elapsed() < for_long || times.is_empty() {
        let at = Timestamp::from_unix_ms(next.0);
        let turn = |index| {
            let (shard, first) = (shard.clone(), next.plus(index));
            TurnRecord { shard, first, count: 1, epoch, at, bytes: vec![7; TURN_BYTES] }
        };
        let turns: Vec<TurnRecord> = (0..batch).map(turn).collect();
        next = next.plus(batch);
        let sent = Instant::now();
        journal.append(&turns)?;
        times.push(sent.elapsed());
    }
    Ok(times)
}
