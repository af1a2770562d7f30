//! Host migration over real QUIC between processes on networks of their own, at the settings of issue 5: 50 ms there and back,
//! one packet in a hundred lost each way.
//!
//! `cost` is what a session costs while nothing happens, `wireless` how it bears a network that stutters, and this module what
//! its hosts' ends cost: host after host goes, and somebody new comes in for each.

mod cost;
mod field;
mod wireless;

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use mainstay_wan::line::Line;
use serde_json::json;

use self::field::{Field, Mandate, Words};
use crate::report::percentile;
use crate::{Failure, option, word};

/// As many as a session has.
const PLAYERS_MAX: u64 = 64;
/// A day's worth of two players.
const TIMES_MAX: u64 = 40_000;

/// How a host goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its line is cut and its process stopped in the same moment: nothing leaves it, nothing answers for it.
    PowerCut,
    /// It quits the game.
    Graceful,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
struct Settings {
    players: usize,
    line: Line,
    seed: u64,
    /// Whether each migration is told as a line of JSON.
    told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Words,
    Json,
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let number = |name: &str, default: u64| Ok::<_, Failure>(option(arguments, name)?.unwrap_or(default));
    let line = Line {
        delay: Duration::from_millis(number("--round-trip", 50)? / 2),
        ..Line::FIGURES.losing(u16::try_from(number("--loss", 10)?)?)
    };
    let told = match word(arguments, "-o")?.as_deref() {
        None => Told::Words,
        Some("json") => Told::Json,
        Some(other) => return Err(format!("-o {other}: json").into()),
    };
    let within = |name: &str, default: u64, allowed: RangeInclusive<u64>| match number(name, default)? {
        count if allowed.contains(&count) => Ok::<_, Failure>(usize::try_from(count)?),
        count => Err(format!("{name} {count}: {} to {}", allowed.start(), allowed.end()).into()),
    };
    // Somebody has to be left who goes on.
    let players = within("--players", 8, 2..=PLAYERS_MAX)?;
    let settings = Settings { players, line, seed: number("--seed", 1)?, told };
    if arguments.iter().any(|it| it == "--cost") {
        return cost::run(&settings, Duration::from_secs(number("--seconds", 20)?));
    }
    match word(arguments, "--trace")?.as_deref() {
        Some("wifi") => return wireless::run(&settings, Duration::from_secs(number("--seconds", 300)?)),
        Some(other) => return Err(format!("--trace {other}: wifi").into()),
        None => {}
    }
    let cause = match word(arguments, "--cause")?.as_deref() {
        None | Some("power-cut") => Cause::PowerCut,
        Some("graceful") => Cause::Graceful,
        Some(other) => return Err(format!("--cause {other}: power-cut or graceful").into()),
    };
    migrate(&settings, cause, within("--times", 200, 1..=TIMES_MAX)?)
}

impl Settings {
    fn round_trip_ms(&self) -> u64 {
        u64::try_from(2 * self.line.delay.as_millis()).unwrap_or(u64::MAX)
    }

    fn words(&self) -> String {
        format!(
            "{} players, {} ms there and back, {} of 1,000 packets lost each way",
            self.players,
            self.round_trip_ms(),
            self.line.lost_per_mille
        )
    }
}

impl Cause {
    const fn word(self) -> &'static str {
        match self {
            Self::PowerCut => "power-cut",
            Self::Graceful => "graceful",
        }
    }

    /// What no implementation of these rules can be faster than on such a line, where nothing is lost and nobody computes:
    /// in milliseconds.
    fn floor_ms(self, players: usize, round_trip_ms: u64) -> u64 {
        // The first state of the new host is on its way for half a round trip.
        let told = round_trip_ms / 2;
        match self {
            // The least silence that is suspected; then the others' word that they miss the host too is on its way, and they are
            // asked for votes.
            Self::PowerCut if players > 2 => 800 + round_trip_ms / 2 + round_trip_ms + told,
            // Whoever is alone asks nobody, and waits for the other half a second more.
            Self::PowerCut => 800 + 500,
            // Two players: with the last state comes the host's vote, and the successor is the only survivor.
            Self::Graceful if players == 2 => 0,
            // All hear at once that the host goes, and give their votes.
            Self::Graceful => round_trip_ms / 2 + told,
        }
    }
}

fn migrate(settings: &Settings, cause: Cause, times: usize) -> Result<(), Failure> {
    let mut field = Field::new(settings.players, settings.line, settings.seed, &[])?;
    let mut worst: Vec<f64> = Vec::new();
    let (mut all, mut lost, mut left_behind): (Vec<f64>, u64, usize) = (Vec::new(), 0, 0);
    let (mut ticks_lost, mut moved_twice, mut words) = (0, 0, Words::default());
    let (began, mut late) = (Instant::now(), Duration::ZERO);
    let busy = crate::migrate::cost::Busy::now()?;
    for round in 1..=times {
        let (host, _) = field.host()?;
        let moved = field.break_host(cause)?;
        let gap = moved.gaps_ms.iter().copied().max().unwrap_or_default();
        if settings.told == Told::Json {
            let line = json!({
                "migration": round, "cause": cause.word(), "epoch": moved.epoch, "gapMs": gap,
                "gapsMs": moved.gaps_ms, "ackedLost": moved.acked_lost, "ticksLost": moved.ticks_lost, "leftBehind": moved.left_behind,
            });
            say!("{line}");
        }
        worst.push(ms(gap));
        all.extend(moved.gaps_ms.iter().copied().map(ms));
        if let Some(epoch) = field.crew.led_twice() {
            return Err(format!("two hosts were certified in one epoch: {epoch:?}").into());
        }
        lost += moved.acked_lost;
        ticks_lost += moved.ticks_lost;
        left_behind += moved.left_behind;
        moved_twice += moved.moved_twice;
        match moved.mandate {
            Mandate::Confirmed => field.replace(host)?,
            // Whoever is left of two can never have a majority of them again.
            Mandate::Unconfirmed => {
                late = late.max(field.network.counts().latest);
                words = words.and(field.words()?);
                drop(field);
                field = Field::new(settings.players, settings.line, settings.seed, &[])?;
            }
        }
    }
    let busy = busy.until_now()?;
    let words = words.and(field.words()?);
    let late = field.network.counts().latest.max(late);
    let (p50, p99, max) = (percentile(&worst, 50), percentile(&worst, 99), percentile(&worst, 100));
    let (all_p50, all_p99) = (percentile(&all, 50), percentile(&all, 99));
    let floor = ms(cause.floor_ms(settings.players, settings.round_trip_ms()));
    let ratio = (floor > 0.0).then(|| p50 / floor);
    if settings.told == Told::Json {
        let line = json!({
            "migrations": times, "players": settings.players, "cause": cause.word(), "p50Ms": p50, "p99Ms": p99,
            "maxMs": max, "ackedLost": lost, "ticksLost": ticks_lost, "wordsSaid": words.said, "wordsLost": words.lost,
            "wordsTwice": words.twice, "leftBehind": left_behind, "movedTwice": moved_twice, "floorMs": floor, "ratio": ratio,
            "eachP50Ms": all_p50, "eachP99Ms": all_p99, "busy": busy, "networkLateMs": late.as_millis(),
            "tookSeconds": began.elapsed().as_secs(),
        });
        say!("{line}");
        return Ok(());
    }
    say!("{times} times {}: {}", cause.word(), settings.words());
    say!("  from the old host's last state to the new one's first, on the survivor that waited longest:");
    say!("    p50 {p50:.0} ms   p99 {p99:.0} ms   max {max:.0} ms");
    say!("    on each survivor: p50 {all_p50:.0} ms   p99 {all_p99:.0} ms");
    let times_floor = ratio.map(|ratio| format!(", p50 is {ratio:.2} times that")).unwrap_or_default();
    say!("  floor of these rules on this line {floor:.0} ms{times_floor}");
    say!(
        "  told safe and lost: {lost}; survivors that did not come along: {left_behind}, and that moved more than once: {moved_twice}"
    );
    say!(
        "  ticks played anew: {ticks_lost}; of {} words of members, and the hosts' beside them, lost: {}, heard twice: {}",
        words.said,
        words.lost,
        words.twice
    );
    // What was under way to a host that dies is lost with it (decision 0061), of every member: whose they were tells nothing there.
    if cause == Cause::Graceful {
        for line in field.unheard() {
            say!("    {line}");
        }
    }
    say!(
        "  machine {:.0} % busy; the network wrote no packet more than {} ms late",
        100.0 * busy,
        late.as_millis()
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a benchmark are far below 2^52")]
fn ms(ms: u64) -> f64 {
    ms as f64
}
