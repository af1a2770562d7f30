//! The truth about one slot of a machine, as its kernel and its disk know it: what no crash of an agent changes.
//!
//! Modelled on `services/holder`: a holder locks the slot, notes its run and its boot id before the game starts, and
//! writes `exit.json` before it tells anyone.

use mainstay_core::slot::{ConfigurationRef, Exit};
use mainstay_supervisor::{RunNumber, SessionFile};

use crate::agenda::Micros;
use crate::message::Launch;

/// A slot's directory, its lock, and its processes.
#[derive(Debug, Default)]
pub(crate) struct SlotTruth {
    /// What `server.json` says.
    pub(crate) file: Option<SessionFile>,
    /// The holder that has the lock, and its game.
    pub(crate) held: Option<Game>,
    /// `launch.json`: what a holder that was forked and has not locked the slot yet will start.
    pub(crate) launch: Option<Launch>,
    /// A second game in the slot: the world's laws end the world as soon as there is one.
    pub(crate) intruder: Option<Game>,
    /// `holder.json`: the newest run that a holder noted, and the boot it was noted in.
    pub(crate) holder_record: Option<(RunNumber, u64)>,
    /// `exit.json`.
    pub(crate) exit_record: Option<(RunNumber, Exit)>,
    /// When its newest process last ended in each way: what can have ended an allocation.
    pub(crate) ends: Ends,
}

/// When a slot's process last ended in each way.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) completed: Option<Micros>,
    pub(crate) crashed: Option<Micros>,
    pub(crate) lost: Option<Micros>,
}

/// A game's process under its holder.
#[derive(Debug, Clone)]
pub(crate) struct Game {
    pub(crate) run: RunNumber,
    pub(crate) pid: u32,
    pub(crate) configuration: ConfigurationRef,
    pub(crate) answers_from: Option<Micros>,
    pub(crate) ignores_term: bool,
    /// From then on it answers no query.
    pub(crate) mute_from: Option<Micros>,
    /// From then on it uses more CPU than its slot allows.
    pub(crate) busy_from: Option<Micros>,
    /// Players come for so long and stay away for so long, by turns; nobody ever comes where nothing.
    pub(crate) played_every: Option<Micros>,
    /// It has been told to end; its end is on the agenda.
    pub(crate) ending: bool,
}

impl Game {
    /// How many play.
    pub(crate) const fn players(&self, now: Micros) -> u32 {
        match self.played_every {
            Some(every) if (now / every).is_multiple_of(2) => 3,
            Some(_) | None => 0,
        }
    }
}

/// What a look at a slot's directory finds of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Running { pid: u32 },
    Exited(Exit),
    Lost,
    Absent,
}

impl SlotTruth {
    /// What there is of a run. A holder that was forked and has not locked the slot yet is not seen.
    pub(crate) fn look(&self, run: RunNumber) -> Found {
        if let Some(game) = &self.held
            && game.run == run
        {
            return Found::Running { pid: game.pid };
        }
        if let Some((exited, exit)) = &self.exit_record
            && *exited == run
        {
            return Found::Exited(exit.clone());
        }
        match self.holder_record {
            Some((noted, _)) if noted == run => Found::Lost,
            Some(_) | None => Found::Absent,
        }
    }

    /// The game ends and its holder says so on disk.
    pub(crate) fn exit(&mut self, now: Micros, exit: &Exit) -> Option<Game> {
        let game = self.held.take()?;
        self.note_end(now, exit);
        self.exit_record = Some((game.run, exit.clone()));
        Some(game)
    }

    pub(crate) fn note_end(&mut self, now: Micros, exit: &Exit) {
        match exit {
            Exit::Code(0) => self.ends.completed = Some(now),
            Exit::Code(_) | Exit::Signal { .. } | Exit::NotStarted(_) => self.ends.crashed = Some(now),
        }
    }

    /// The holder is killed or the machine reboots: the game goes with it and nobody knows how.
    pub(crate) fn lose(&mut self, now: Micros) -> Option<Game> {
        let game = self.held.take()?;
        self.ends.lost = Some(now);
        Some(game)
    }

    /// How many games run in the slot.
    pub(crate) fn games(&self) -> usize {
        usize::from(self.held.is_some()) + usize::from(self.intruder.is_some())
    }
}
