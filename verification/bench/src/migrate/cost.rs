//! What a session costs while nothing happens: bytes and processor time of its host, and how many of the bytes its standbys are sent.

use std::fs;
use std::time::{Duration, Instant};

use super::field::Field;
use super::{Settings, Told};
use crate::Failure;
use crate::idle::spent;
use crate::report::median;
use serde_json::json;

/// How often each is measured: one session of 64 sends more or less than another by as much as its standbys take.
const RUNS: usize = 3;

/// Since when the machine is watched: what all its processors did until then, in ticks.
pub struct Busy {
    idle: f64,
    all: f64,
}

impl Busy {
    /// From now on.
    pub fn now() -> Result<Self, Failure> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().ok_or("an empty /proc/stat")?;
        let ticks: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .map(str::parse)
            .collect::<Result<_, std::num::ParseFloatError>>()?;
        let idle = ticks.get(3).zip(ticks.get(4)).map(|(idle, waits)| idle + waits);
        Ok(Self { idle: idle.ok_or("no idle time in /proc/stat")?, all: ticks.iter().take(8).sum() })
    }

    /// Which share of its time the machine has worked, 0 to 1.
    pub fn until_now(&self) -> Result<f64, Failure> {
        let now = Self::now()?;
        Ok(1.0 - (now.idle - self.idle) / (now.all - self.all))
    }
}

/// What one session cost.
struct Cost {
    /// Of what the host sends, the game that others hold: before it is encrypted, and without headers.
    standbys: f64,
    /// Sent by the host, in bytes a second, IP headers included.
    host: f64,
    /// Sent by all.
    all: f64,
    /// Share of one core, of the host's process.
    processor: f64,
    /// Share of the machine, of everything.
    busy: f64,
}

fn measure(settings: &Settings, level: &str, watched: Duration) -> Result<Cost, Failure> {
    let arguments = ["--level".to_owned(), level.to_owned()];
    let mut field = Field::new(settings.players, settings.line, settings.seed, &arguments)?;
    let (host, place) = field.host()?;
    let pid = u64::try_from(field.crew.players[host].pid().as_raw())?;
    let handed_on = |field: &Field| field.crew.players[host].stands["handedOn"].as_u64();
    let handed_before = handed_on(&field).ok_or("the host does not say what it hands on")?;
    let sent = |field: &Field| field.network.counts().sent_bytes;
    let (before, spent_before, busy) = (sent(&field), spent(&[pid])?, Busy::now()?);
    field.crew.hear_until(Instant::now() + watched);
    let (after, spent_after, busy) = (sent(&field), spent(&[pid])?, busy.until_now()?);
    let handed = handed_on(&field).and_then(|after| after.checked_sub(handed_before));
    let rate = |bytes: u64| super::ms(bytes) / watched.as_secs_f64();
    Ok(Cost {
        standbys: rate(handed.ok_or("the host is another")?),
        host: rate(after[place] - before[place]),
        all: rate(after.iter().sum::<u64>() - before.iter().sum::<u64>()),
        processor: (spent_after - spent_before) / watched.as_secs_f64(),
        busy,
    })
}

impl Cost {
    /// Of each the median.
    fn of(runs: &[Self]) -> Self {
        let of = |one: fn(&Self) -> f64| median(runs.iter().map(one));
        Self {
            standbys: of(|it| it.standbys),
            host: of(|it| it.host),
            all: of(|it| it.all),
            processor: of(|it| it.processor),
            busy: of(|it| it.busy),
        }
    }
}

/// Measures, with the state going along and without, in turn. What standbys are sent the host counts itself: two sessions of 64 differ by more.
pub fn run(settings: &Settings, watched: Duration) -> Result<(), Failure> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        with.push(measure(settings, "asynchronous", watched)?);
        without.push(measure(settings, "none", watched)?);
    }
    let (with, without) = (Cost::of(&with), Cost::of(&without));
    if settings.told == Told::Json {
        let line = json!({
            "players": settings.players, "hostBytesPerSecond": with.host, "allBytesPerSecond": with.all,
            "standbyBytesPerSecond": with.standbys, "hostBytesPerSecondWithout": without.host, "allBytesPerSecondWithout": without.all,
            "hostCores": with.processor, "hostCoresWithout": without.processor, "busy": with.busy,
        });
        say!("{line}");
        return Ok(());
    }
    say!("{}, {RUNS} times for {} s, medians:", settings.words(), watched.as_secs());
    say!("  the host sends {:.0} bytes a second, all players together {:.0}", with.host, with.all);
    say!(
        "  its standbys are sent {:.0} of the game; without them the host sends {:.0}, all together {:.0}",
        with.standbys,
        without.host,
        without.all
    );
    say!(
        "  the host takes {:.2} % of a core, without standbys {:.2} %; the machine is {:.0} % busy",
        100.0 * with.processor,
        100.0 * without.processor,
        100.0 * with.busy
    );
    Ok(())
}
