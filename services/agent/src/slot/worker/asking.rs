//! The question on its way to a slot's game, while other things happen: until its first answer, and then at each check of
//! seed 001 what it uses and whether it answers.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{Heard, Query, QueryPort, Reading, Spec};
use mainstay_core::{ServerId, Timestamp};
use mainstay_holder::record::ProcessMark;
use mainstay_query::Protocol;
use mainstay_supervisor::{Act, Command, RunNumber};

use super::Worker;
use crate::brain::Ended;
use crate::os::measure::{Usage, cpu_millis};
use crate::slot::ended::in_full;
use crate::slot::probe::NoAnswer;
use crate::slot::{Context, probe};

/// A question on its way. Dropping it takes it back.
pub(super) struct Question {
    run: RunNumber,
    what: What,
    answer: Pin<Box<dyn Future<Output = Asked> + Send>>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Whether it has come up.
    Probe,
    /// What the check due then finds; answered ones stand here until what is owed says so too.
    Check(Timestamp),
}

/// How a question ended.
pub(super) enum Asked {
    /// The game has answered for the first time.
    Up(RunNumber),
    /// It has been checked.
    Checked(RunNumber, Reading, Option<Since>),
}

/// What the next reading of CPU is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    run: RunNumber,
    usage: Usage,
    since_boot: Duration,
}

impl Question {
    pub(super) async fn answer(&mut self) -> Asked {
        (&mut self.answer).await
    }
}

impl Worker {
    /// Asks the game until it answers.
    pub(super) fn probe(&mut self, run: RunNumber, spec: &Spec) {
        let Some((protocol, port, within)) = self.query(spec) else { return };
        if self.asking.is_some() {
            return;
        }
        let answer = Box::pin(async move {
            probe::until_answer(protocol, port, within).await;
            Asked::Up(run)
        });
        self.asking = Some(Question { run, what: What::Probe, answer });
    }

    /// Checks the game once.
    pub(super) fn check(&mut self, run: RunNumber, due: Timestamp, spec: &Spec) {
        let Some(holding) = self.holding.as_ref().filter(|holding| holding.run == run) else { return };
        if self.asking.is_some() {
            return;
        }
        let (server, holder) = (self.server, holding.holder);
        let query = self.query(spec);
        let before = self.since.filter(|since| since.run == run);
        let context = Arc::clone(&self.context);
        let answer = Box::pin(async move {
            let (read, heard) = tokio::join!(read(&context, server, holder), hear(query));
            let now = read.map(|(usage, since_boot)| Since { run, usage, since_boot });
            let cpu_millis = before.zip(now).and_then(|(before, now)| {
                cpu_millis(before.usage, now.usage, now.since_boot.saturating_sub(before.since_boot))
            });
            let memory_bytes = now.map(|now| now.usage.memory_bytes);
            Asked::Checked(run, Reading { cpu_millis, memory_bytes, heard }, now)
        });
        self.asking = Some(Question { run, what: What::Check(due), answer });
    }

    /// What a game said, or did not say.
    pub(super) async fn answered(&mut self, asked: Asked) -> Result<(), Ended> {
        let server = self.server;
        match asked {
            Asked::Up(run) => {
                self.asking = None;
                self.brain.report(Command::Answered { server, run }).await
            }
            Asked::Checked(run, reading, since) => {
                self.since = since.or(self.since);
                self.readings.note(run, self.context.ground.now(), reading);
                // The level may still say that this check is due: it stands answered until there is news.
                if let Some(question) = &mut self.asking {
                    question.answer = Box::pin(std::future::pending());
                }
                self.brain.report(Command::Checked { server, run, reading }).await
            }
        }
    }

    /// Takes a question back that is no longer owed.
    pub(super) fn ask_no_longer(&mut self, act: &Act) {
        let wanted = match act {
            Act::Probe { run, .. } => Some((*run, What::Probe)),
            Act::Check { run, due, .. } => Some((*run, What::Check(*due))),
            Act::Nothing | Act::Look { .. } | Act::Start { .. } | Act::Signal { .. } | Act::Kill { .. } => {
                None
            }
        };
        if self.asking.as_ref().is_some_and(|question| Some((question.run, question.what)) != wanted) {
            self.asking = None;
        }
    }

    /// How and where a game is asked, if it is.
    fn query(&self, spec: &Spec) -> Option<(Protocol, u16, Duration)> {
        let Query { protocol, port, timeout, .. } = spec.query.as_ref()?;
        let facts = self.facts()?;
        let port = match port {
            QueryPort::Game => facts.ports.game,
            QueryPort::Query => facts.ports.query,
        };
        match protocol.parse() {
            Ok(protocol) => Some((protocol, port, *timeout)),
            Err(error) => {
                tracing::error!(server = %self.server, %error, "a query protocol is not known here");
                None
            }
        }
    }
}

/// What a slot uses, and when that was read, by the time since boot: a game that is slow to answer must not shift it.
/// `None` where it cannot be read, which is said unless its game has ended meanwhile.
async fn read(context: &Arc<Context>, server: ServerId, holder: ProcessMark) -> Option<(Usage, Duration)> {
    let slots = Arc::clone(context);
    let read = move || slots.ground.usage(server, holder).map(|usage| (usage, slots.ground.since_boot()));
    match context.blocking(read).await {
        Ok(read) => Some(read),
        Err(error) => {
            if mainstay_holder::process::is_alive(holder) {
                tracing::warn!(%server, error = %in_full(&error), "a slot's CPU and memory could not be read");
            }
            None
        }
    }
}

/// Whether a game answers, once.
async fn hear(query: Option<(Protocol, u16, Duration)>) -> Heard {
    let Some((protocol, port, within)) = query else { return Heard::Unasked };
    match probe::once(&protocol, port, within).await {
        Ok(answer) => Heard::Answer { players: answer.players, players_max: answer.max_players },
        // Our own trouble is no silence of the game's.
        Err(error @ NoAnswer::Socket { .. }) => {
            tracing::warn!(%port, error = %in_full(&error), "a check could not be made");
            Heard::Unasked
        }
        Err(NoAnswer::Nonsense(nonsense)) => {
            nonsense.tell();
            Heard::Silence
        }
        Err(error @ (NoAnswer::Refused { .. } | NoAnswer::Silent { .. })) => {
            tracing::debug!(%port, error = %in_full(&error), "a check had no answer");
            Heard::Silence
        }
    }
}
