//! A network that stutters as Wi-Fi does, and a host that lives: whoever moves the session then is wrong.
//!
//! Every player has a radio of its own, which goes through four weathers. Their figures are chosen, not recorded: a calm
//! channel; one that others fill, where packets queue and are lost; the tenth of a second in which a client listens to other
//! channels; and roaming to another access point, which takes up to half a second.

use std::time::{Duration, Instant};

use mainstay_wan::line::{Line, Passage};
use serde_json::json;

use super::field::Field;
use super::{Settings, Told};
use crate::Failure;

/// How often the weather may change.
const STEP: Duration = Duration::from_millis(20);

/// What a radio does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weather {
    Calm,
    Crowded,
    /// It listens elsewhere, or roams: nothing passes.
    Away,
}

/// One player's radio.
#[derive(Debug, Clone, Copy)]
struct Radio {
    weather: Weather,
    until: Duration,
}

/// Draws by a seed (SplitMix64), so that a run can be had again.
struct Draw(u64);

impl Draw {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    const fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.next() % (to - from + 1))
    }
}

impl Radio {
    /// What comes next, and for how long.
    const fn next(self, draw: &mut Draw) -> (Weather, Duration) {
        match self.weather {
            Weather::Crowded | Weather::Away => (Weather::Calm, draw.millis(500, 8_000)),
            Weather::Calm => match draw.next() % 10 {
                0 => (Weather::Away, draw.millis(150, 500)),
                1..=3 => (Weather::Away, draw.millis(60, 120)),
                _ => (Weather::Crowded, draw.millis(200, 2_000)),
            },
        }
    }
}

/// What two radios make of the line between them.
fn between(line: Line, one: Weather, other: Weather) -> Passage {
    let crowded = [one, other].iter().filter(|it| **it == Weather::Crowded).count();
    if one == Weather::Away || other == Weather::Away {
        return Passage::Cut;
    }
    let crowded = u32::try_from(crowded).unwrap_or(2);
    Passage::Open(Line {
        delay: line.delay + crowded * Duration::from_millis(10),
        jitter: Duration::from_millis(8) + crowded * Duration::from_millis(60),
        lost_per_mille: line.lost_per_mille + u16::try_from(50 * crowded).unwrap_or(u16::MAX),
    })
}

/// Measures.
pub fn run(settings: &Settings, watched: Duration) -> Result<(), Failure> {
    let mut field = Field::new(settings.players, settings.line, settings.seed, &[])?;
    let mut draw = Draw(settings.seed);
    let mut radios = vec![Radio { weather: Weather::Calm, until: Duration::ZERO }; settings.players];
    let (before, reigns, began) = (field.network.counts(), field.reigns(), Instant::now());
    let (mut away, mut longest) = (0_u64, Duration::ZERO);
    while began.elapsed() < watched {
        let now = began.elapsed();
        let mut changed = false;
        for radio in radios.iter_mut().filter(|radio| now >= radio.until) {
            let (weather, lasts) = radio.next(&mut draw);
            *radio = Radio { weather, until: now + lasts };
            changed = true;
            if weather == Weather::Away {
                away += 1;
                longest = longest.max(lasts);
            }
        }
        if changed {
            for (index, one) in radios.iter().enumerate() {
                for (after, other) in radios.iter().enumerate().skip(index + 1) {
                    field.network.set_both(index, after, between(settings.line, one.weather, other.weather));
                }
            }
        }
        // Hears whatever the players say until the next step.
        let until = Instant::now() + STEP;
        while field.crew.line(until).is_some() {}
    }
    let counts = field.network.counts();
    let (delivered, lost) = (counts.delivered - before.delivered, counts.lost - before.lost);
    let (moves, reigns) = (field.moves(), field.reigns() - reigns);
    // Everybody plays on, together, once the air is calm: nobody was given up meanwhile, and nobody left.
    (0..settings.players).for_each(|place| field.network.set_all(place, Passage::Open(settings.line)));
    field.crew.settled()?;
    #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
    let share = 100.0 * lost as f64 / (delivered + lost) as f64;
    if settings.told == Told::Json {
        let line = json!({
            "players": settings.players, "seconds": watched.as_secs(), "falseMigrations": moves, "newReigns": reigns, "outages": away,
            "longestOutageMs": longest.as_millis(), "delivered": delivered, "lost": lost,
        });
        say!("{line}");
        return Ok(());
    }
    say!("{} on radios, for {} s:", settings.words(), watched.as_secs());
    say!(
        "  {away} outages, the longest {} ms; {share:.1} % of {} packets lost",
        longest.as_millis(),
        delivered + lost
    );
    say!(
        "  moves that players told of, though the host lived: {moves}; hosts that were made anew: {reigns}; afterwards all played on together"
    );
    Ok(())
}
