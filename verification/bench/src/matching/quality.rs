//! Whether matches are what the rules say: rules broken, by the checker of the domain's tests, which shares nothing with the engine;
//! matches missed, by trying everything.

use std::time::Duration;

use mainstay_core::{StateMachine as _, Timestamp, Turn};
use mainstay_matchmaking::spec::Gather;
use mainstay_matchmaking::{Command, Queue};

use super::SEEDS;
use super::machine::{commands, matched, queue};
use super::oracle::{self, Waiting};
use super::queues::Preset;
use crate::Failure;

/// Between two tickets of a day that is judged.
const APART: Duration = Duration::from_millis(20);
/// So many tickets may wait for everything to be tried.
const TRIED_MAX: usize = 8;

/// Every match of a day, judged.
pub fn violations(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let (mut matches, mut broken) = (0_u64, 0_u64);
    for seed in SEEDS {
        let mut day = Day::new(preset)?;
        for command in commands(preset, seed, tickets, day.queue.form()) {
            let told = day.step(&command, APART)?;
            matches += told.matches;
            broken += told.broken;
        }
    }
    say!("rules broken, {preset:?}: {broken} of {matches} matches");
    Ok(())
}

/// Small pools, each searched by trying everything after each ticket and each boundary.
pub fn missed(preset: Preset, pools: u64) -> Result<(), Failure> {
    let (mut checks, mut missed) = (0_u64, 0_u64);
    for seed in 0..pools {
        let mut day = Day::new(preset)?;
        for command in commands(preset, seed, TRIED_MAX as u64, day.queue.form()) {
            day.step(&command, Duration::from_secs(1 + seed % 5))?;
            let Some(spec) = day.queue.spec() else { continue };
            checks += 1;
            let (waiting, at) = oracle::looked_at(spec, &day.queue, Timestamp::EPOCH, day.now);
            missed += u64::from(oracle::missed_among(spec, &waiting, at).is_some());
        }
    }
    say!("matches missed, {preset:?}: {missed} of {checks} checks");
    Ok(())
}

/// A queue that lives, and one behind it that has not seen the last turn.
struct Day {
    queue: Queue,
    shadow: Queue,
    now: Timestamp,
}

#[derive(Default)]
struct Told {
    matches: u64,
    broken: u64,
}

impl Day {
    fn new(preset: Preset) -> Result<Self, Failure> {
        let queue = queue(preset, Gather::NONE)?;
        let mut shadow = Queue::new(9);
        queue.snapshot().iter().for_each(|(at, event)| shadow.apply(*at, event));
        Ok(Self { queue, shadow, now: Timestamp::EPOCH })
    }

    /// Lives on to a command, from deadline to deadline.
    fn step(&mut self, command: &Command, after: Duration) -> Result<Told, Failure> {
        let mut told = Told::default();
        let until = self.now + after;
        while let Some((at, _)) = self.queue.next_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.turn(&Command::Due, &mut told)?;
        }
        self.now = until;
        self.turn(command, &mut told)?;
        Ok(told)
    }

    fn turn(&mut self, command: &Command, told: &mut Told) -> Result<(), Failure> {
        let outcome = Turn::run(self.now, &mut self.queue, command);
        outcome.answer?;
        for event in &outcome.events {
            if let (Some(ids), Some(spec)) = (matched(event), self.shadow.spec()) {
                let waiting = oracle::waiting(&self.shadow);
                let group: Vec<Waiting> = waiting.into_iter().filter(|it| ids.contains(&it.id())).collect();
                told.matches += 1;
                told.broken += u64::from(oracle::why_not(spec, &group, self.now).is_some());
            }
            self.shadow.apply(self.now, event);
        }
        Ok(())
    }
}
