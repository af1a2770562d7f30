//! Whether matches are what the rules say: rules broken, by the checker of the domain's tests, which shares nothing with the engine;
//! matches missed, by trying everything.

use std::time::Duration;

use mainstay_core::{StateMachine as _, Timestamp, Turn};
use mainstay_matchmaking::spec::Gather;
use mainstay_matchmaking::{Command, Queue};

use super::SEEDS;
use super::machine::{Comers, commands, matched, queue};
use super::oracle::{self, Waiting};
use super::queues::Preset;
use crate::Failure;

/// Between two tickets of a day that is judged.
const APART: Duration = Duration::from_millis(20);
/// So many tickets come to a pool in which everything is tried: twenty players where they come in parties.
const TRIED_MAX: u64 = 12;
/// Between two of those.
const TRIED_APART_S: u64 = 5;
/// How long such a pool is looked at after its last ticket: limits of half a minute and more have grown by then.
const TRIED_ON: Duration = Duration::from_secs(30);

/// Every match of a day, judged.
pub fn violations(preset: Preset, tickets: u64, comers: Comers) -> Result<(), Failure> {
    let (mut matches, mut broken) = (0_u64, 0_u64);
    let mut of_games = 0_u64;
    for seed in SEEDS {
        let mut day = Day::new(preset)?;
        for command in commands(preset, seed, tickets, day.queue.form(), comers) {
            let told = day.step(&command, APART)?;
            matches += told.matches;
            broken += told.broken;
            of_games += told.of_games;
        }
    }
    say!("rules broken, {preset:?}: {broken} of {matches} matches, {of_games} of which filled a game");
    Ok(())
}

/// Small pools, each searched by trying everything after each ticket and each boundary at which enough players wait for a match, until so
/// many searches are done.
pub fn missed(preset: Preset, wanted: u64) -> Result<(), Failure> {
    let mut tried = Tried::default();
    let mut told = Told::default();
    let mut pools = 0;
    while tried.checks < wanted {
        let mut day = Day::new(preset)?;
        for command in commands(preset, pools, TRIED_MAX, day.queue.form(), Comers::Tickets) {
            let after = Duration::from_secs(1 + pools % TRIED_APART_S);
            day.live_on(after, &mut told, |day| tried.try_everything(day))?;
            day.turn(&command, &mut told)?;
            tried.try_everything(&day);
        }
        day.live_on(TRIED_ON, &mut told, |day| tried.try_everything(day))?;
        pools += 1;
    }
    let (Tried { checks, missed }, Told { matches, .. }) = (tried, told);
    say!(
        "matches missed, {preset:?}: {missed} of {checks} checks, in {pools} pools, of which {matches} matches came"
    );
    Ok(())
}

/// What came of trying everything.
#[derive(Default)]
struct Tried {
    checks: u64,
    missed: u64,
}

impl Tried {
    fn try_everything(&mut self, day: &Day) {
        let Some(spec) = day.queue.spec() else { return };
        let (waiting, at) = oracle::looked_at(spec, &day.queue, Timestamp::EPOCH, day.now);
        let players: usize = waiting.iter().map(|it| it.members().len()).sum();
        if waiting.len() < 2 || players < spec.min_match_size as usize {
            return;
        }
        self.checks += 1;
        self.missed += u64::from(oracle::missed_among(spec, &waiting, at).is_some());
    }
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
    of_games: u64,
}

impl Day {
    fn new(preset: Preset) -> Result<Self, Failure> {
        let queue = queue(preset, Gather::NONE)?;
        let mut shadow = Queue::new(9);
        queue.snapshot().iter().for_each(|(at, event)| shadow.apply(*at, event));
        Ok(Self { queue, shadow, now: Timestamp::EPOCH })
    }

    /// Lives on to a command.
    fn step(&mut self, command: &Command, after: Duration) -> Result<Told, Failure> {
        let mut told = Told::default();
        self.live_on(after, &mut told, |_| ())?;
        self.turn(command, &mut told)?;
        Ok(told)
    }

    /// Lives on from deadline to deadline, each of which is over before anybody looks.
    fn live_on(
        &mut self,
        after: Duration,
        told: &mut Told,
        mut is_over: impl FnMut(&Self),
    ) -> Result<(), Failure> {
        let until = self.now + after;
        while let Some((at, _)) = self.queue.next_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.turn(&Command::Due, told)?;
            if self.queue.next_deadline().is_none_or(|(at, _)| at > self.now) {
                is_over(self);
            }
        }
        self.now = until;
        Ok(())
    }

    fn turn(&mut self, command: &Command, told: &mut Told) -> Result<(), Failure> {
        let outcome = Turn::run(self.now, &mut self.queue, command);
        outcome.answer?;
        for event in &outcome.events {
            if let (Some(ids), Some(spec)) = (matched(event), self.shadow.spec()) {
                let waiting = oracle::waiting(&self.shadow);
                let group: Vec<Waiting> = waiting.into_iter().filter(|it| ids.contains(&it.id())).collect();
                told.matches += 1;
                told.of_games += u64::from(group.iter().any(|it| matches!(it, Waiting::Game(_))));
                told.broken += u64::from(oracle::why_not(spec, &group, self.now).is_some());
            }
            self.shadow.apply(self.now, event);
        }
        Ok(())
    }
}
