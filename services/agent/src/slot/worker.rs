//! The life of one slot's hands: do what is owed, hear the holder, ask the game.
//!
//! What is owed is a level that may be older than what has just been told; so every act first makes sure that it is not
//! done already, and none is ever done twice.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{Exit, QueryPort, Spec};
use mainstay_core::{Generation, ServerId};
use mainstay_holder::client::{Connection, Found};
use mainstay_holder::protocol::Reply;
use mainstay_query::Protocol;
use mainstay_supervisor::{Act, Command, Observation, Run, RunNumber, Rung, SessionFile, Sight};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::brain::{Brain, Ended};
use crate::hands::{Level, Owed};
use crate::roster::SlotFacts;
use crate::slot::ended::{exit, in_full};
use crate::slot::ground::{Begun, GroundError};
use crate::slot::holding::Holding;
use crate::slot::{Context, Ending, probe};

/// How long a slot waits after trouble of the machine's own (a full disk, a holder that does not answer) before it
/// tries again: long enough not to add to the trouble, short against any human's patience.
const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

/// SIGKILL, by its number on every Linux.
const SIGKILL: i32 = 9;

/// The hands of one slot.
pub(crate) struct Worker {
    server: ServerId,
    levels: watch::Receiver<Level>,
    ending: watch::Receiver<Ending>,
    context: Arc<Context>,
    brain: Brain,
    /// The line to the live run's holder.
    holding: Option<Holding>,
    /// What `server.json` says, as far as this worker has written it.
    written: Option<SessionFile>,
    /// The hardest signal that has been sent to a run.
    sent: Option<(RunNumber, Rung)>,
    /// The question on its way to a run's game.
    asking: Option<(RunNumber, Asking)>,
}

type Asking = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a worker does next.
enum Next {
    /// Waits for news.
    Wait,
    /// Tries again after a while: the machine is in trouble.
    Retry,
    /// Ends: the slot is gone.
    End,
}

/// What woke a worker.
enum Woken {
    Level,
    Holder(Option<Reply>),
    Answer(RunNumber),
    Ending(Ending),
    Retry,
    HandsGone,
}

impl Worker {
    /// Starts a slot's hands on a task of their own.
    pub(crate) fn start(server: ServerId, levels: watch::Receiver<Level>, context: Arc<Context>) {
        tokio::spawn(async move {
            let ending = context.end.subscribe();
            let brain = context.brain().await;
            let worker = Self {
                server,
                levels,
                ending,
                context,
                brain,
                holding: None,
                written: None,
                sent: None,
                asking: None,
            };
            // The rules have ended: so has the agent, and the games play on under their holders.
            let _ended = worker.run().await;
        });
    }

    async fn run(mut self) -> Result<(), Ended> {
        loop {
            let level = self.levels.borrow_and_update().clone();
            let next = match &level {
                Level::Owed(owed) => self.work(owed).await?,
                Level::Gone => self.clear().await,
            };
            let pause = match next {
                Next::Wait => None,
                Next::Retry => Some(TROUBLE_PAUSE),
                Next::End => return Ok(()),
            };
            match self.woken(pause).await {
                Woken::Level | Woken::Retry => {}
                Woken::Holder(reply) => self.heard(reply).await?,
                Woken::Answer(run) => {
                    self.asking = None;
                    self.brain.report(Command::Answered { server: self.server, run }).await?;
                }
                Woken::Ending(Ending::NotYet) => {}
                Woken::Ending(Ending::Kill) => self.kill().await,
                Woken::Ending(Ending::Leave) | Woken::HandsGone => return Ok(()),
            }
        }
    }

    /// Waits for news. The holder comes first: what it says may make the rest obsolete.
    async fn woken(&mut self, pause: Option<Duration>) -> Woken {
        let Self { holding, asking, levels, ending, .. } = self;
        let heard = async {
            match holding {
                Some(holding) => holding.next().await,
                None => std::future::pending().await,
            }
        };
        let answered = async {
            match asking {
                Some((run, question)) => {
                    question.await;
                    *run
                }
                None => std::future::pending().await,
            }
        };
        let paused = async {
            match pause {
                Some(pause) => sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            reply = heard => Woken::Holder(reply),
            changed = ending.changed() => match changed {
                Ok(()) => Woken::Ending(*ending.borrow_and_update()),
                Err(_) => Woken::HandsGone,
            },
            run = answered => Woken::Answer(run),
            changed = levels.changed() => if changed.is_ok() { Woken::Level } else { Woken::HandsGone },
            () = paused => Woken::Retry,
        }
    }

    /// Does what is owed: the write first, then the act.
    async fn work(&mut self, owed: &Owed) -> Result<Next, Ended> {
        self.ask_no_longer(&owed.effects.act);
        let Some((run, spec)) = owed.run.clone() else { return Ok(Next::Wait) };
        if let Some(file) = owed.effects.write
            && let Err(error) = self.write(file, &spec).await?
        {
            return Ok(self.trouble("write server.json", &error));
        }
        match owed.effects.act {
            Act::Nothing => Ok(Next::Wait),
            Act::Look { run } => self.look(run).await,
            Act::Start { allocation, .. } => {
                // Another session stands in the file: what is owed next says what to do.
                let stands = |file: SessionFile| (file.run, file.allocation) == (run.number, allocation);
                if self.written.is_some_and(stands) {
                    self.begin(run, owed.generation, spec).await
                } else {
                    Ok(Next::Wait)
                }
            }
            Act::Probe { run, .. } => {
                self.ask(run, &spec);
                Ok(Next::Wait)
            }
            Act::Signal { run, signal } => self.signal(run, Rung::Signal, signal).await,
            Act::Kill { run } => self.signal(run, Rung::Kill, SIGKILL).await,
        }
    }

    /// Writes `server.json`; a slot that has no names yet has no file either.
    async fn write(&mut self, file: SessionFile, spec: &Arc<Spec>) -> Result<Result<(), GroundError>, Ended> {
        let Some(facts) = self.facts() else { return Ok(Ok(())) };
        let (context, spec) = (Arc::clone(&self.context), Arc::clone(spec));
        let written = self.blocking(move || context.ground.write_session(&facts, &spec, file)).await;
        // A write that failed may have left anything.
        self.written = written.is_ok().then_some(file);
        if written.is_ok() {
            self.brain.see(Observation::Wrote { server: self.server, file }).await?;
        }
        Ok(written)
    }

    fn facts(&self) -> Option<Arc<SlotFacts>> {
        let facts = self.context.facts(self.server);
        if facts.is_none() {
            tracing::warn!(server = %self.server, "the slot is not in the list of machines: it only stops");
        }
        facts
    }

    /// Looks what is there of a run, and takes the line to its holder.
    async fn look(&mut self, run: RunNumber) -> Result<Next, Ended> {
        let server = self.server;
        if let Some(pid) = self.held(run) {
            self.brain.see(Observation::Saw { server, run, sight: Sight::Running { pid } }).await?;
            return Ok(Next::Wait);
        }
        match self.find(run).await {
            Err(error) => Ok(self.trouble("look at the slot", &error)),
            Ok(There::Running(connection)) => self.take_line(run, *connection).await,
            Ok(There::Ended(exit)) => self.report(Command::Exited { server, run, exit }).await,
            Ok(There::Lost) => self.report(Command::Lost { server, run }).await,
            Ok(There::Nothing) => {
                self.brain.see(Observation::Saw { server, run, sight: Sight::Absent }).await?;
                Ok(Next::Wait)
            }
        }
    }

    /// Starts a run, unless there is something of it already.
    async fn begin(&mut self, run: Run, generation: Generation, spec: Arc<Spec>) -> Result<Next, Ended> {
        let (server, number) = (self.server, run.number);
        let Some(facts) = self.facts() else { return Ok(Next::Retry) };
        if self.held(number).is_some() {
            return self.look(number).await;
        }
        match self.find(number).await {
            Err(error) => return Ok(self.trouble("look at the slot", &error)),
            Ok(There::Nothing) => {}
            Ok(There::Running(_) | There::Ended(_) | There::Lost) => return self.look(number).await,
        }
        let context = Arc::clone(&self.context);
        let begun = self.blocking(move || context.ground.start(&facts, &spec, number, generation)).await;
        match begun {
            Ok(Begun::Running(connection)) => self.take_line(number, *connection).await,
            Ok(Begun::Ended(record)) => {
                self.report(Command::Exited { server, run: number, exit: exit(&record) }).await
            }
            Ok(Begun::Taken) => Ok(Next::Retry),
            Err(error) => {
                // The machine cannot start it: that counts as a start that failed, so that it ends in back-off with
                // its reason instead of being tried for ever.
                tracing::error!(%server, run = %number, error = %in_full(&error), "a start failed");
                let exit = Exit::NotStarted(in_full(&error).into());
                self.report(Command::Exited { server, run: number, exit }).await
            }
        }
    }

    /// Sends a signal of the stop ladder, once a run and rung; that it was delivered is heard from the holder.
    async fn signal(&mut self, run: RunNumber, rung: Rung, number: i32) -> Result<Next, Ended> {
        let server = self.server;
        if self.held(run).is_none() {
            match self.find(run).await {
                Err(error) => return Ok(self.trouble("look at the slot", &error)),
                Ok(There::Nothing) => return self.report(Command::NeverRan { server, run }).await,
                Ok(There::Ended(exit)) => return self.report(Command::Exited { server, run, exit }).await,
                Ok(There::Lost) => return self.report(Command::Lost { server, run }).await,
                Ok(There::Running(connection)) => {
                    self.take_line(run, *connection).await?;
                }
            }
        }
        let sent_already = self.sent.is_some_and(|(of, hardest)| of == run && hardest >= rung);
        if let Some(holding) = self.holding.as_mut().filter(|_| !sent_already) {
            let sent = match rung {
                Rung::Signal => holding.signal(number).await,
                Rung::Kill => holding.kill().await,
            };
            if let Err(error) = sent {
                tracing::warn!(%server, %run, %error, "a holder is gone; what became of its game is looked for");
                self.let_go();
                return Ok(Next::Retry);
            }
            self.sent = Some((run, rung));
        }
        Ok(Next::Wait)
    }

    /// Something came from the holder, or it is gone.
    async fn heard(&mut self, reply: Option<Reply>) -> Result<(), Ended> {
        let server = self.server;
        let run = self.holding.as_ref().map(|holding| holding.run);
        match reply {
            Some(Reply::Exit { record }) => {
                self.let_go();
                self.asking = None;
                let run = RunNumber::from_number(record.run);
                self.brain.report(Command::Exited { server, run, exit: exit(&record) }).await?;
            }
            Some(Reply::Failed { why, code, .. }) => {
                tracing::error!(%server, ?code, why, "a holder could not do what it was asked; it is asked again");
                self.sent = None;
                sleep(TROUBLE_PAUSE).await;
            }
            // Signals are all that holders are asked for here.
            Some(Reply::Done { .. }) => {
                if let Some((run, rung)) = self.sent {
                    self.brain.see(Observation::Delivered { server, run, rung }).await?;
                }
            }
            Some(
                Reply::Status { .. } | Reply::Tail { .. } | Reply::Welcome { .. } | Reply::Refused { .. },
            ) => {}
            None => {
                self.let_go();
                if let Some(run) = run {
                    self.look(run).await?;
                }
            }
        }
        Ok(())
    }

    /// The agent's time is up: everything in the slot is killed now.
    async fn kill(&mut self) {
        if let Some(holding) = &mut self.holding
            && let Err(error) = holding.kill().await
        {
            tracing::warn!(server = %self.server, %error, "a holder is gone before it was asked to kill");
        }
    }

    /// Asks the game until it answers; the question goes on while other things happen.
    fn ask(&mut self, run: RunNumber, spec: &Spec) {
        let Some(query) = spec.query.as_ref().filter(|_| self.asking.is_none()) else { return };
        let Some(facts) = self.facts() else { return };
        let protocol = match query.protocol.parse::<Protocol>() {
            Ok(protocol) => protocol,
            Err(error) => {
                tracing::error!(server = %self.server, %error, "a query protocol is not known here");
                return;
            }
        };
        let port = match query.port {
            QueryPort::Game => facts.ports.game,
            QueryPort::Query => facts.ports.query,
        };
        let within = query.timeout;
        let question = async move {
            probe::until_answer(protocol, port, within).await;
        };
        self.asking = Some((run, Box::pin(question)));
    }

    fn ask_no_longer(&mut self, act: &Act) {
        let wanted = match act {
            Act::Probe { run, .. } => Some(*run),
            Act::Nothing | Act::Look { .. } | Act::Start { .. } | Act::Signal { .. } | Act::Kill { .. } => {
                None
            }
        };
        if self.asking.as_ref().is_some_and(|(run, _)| Some(*run) != wanted) {
            self.asking = None;
        }
    }

    /// The pid of a run whose holder's line is held.
    fn held(&self, run: RunNumber) -> Option<u32> {
        self.holding.as_ref().filter(|holding| holding.run == run).map(|holding| holding.pid)
    }

    async fn take_line(&mut self, run: RunNumber, connection: Connection) -> Result<Next, Ended> {
        match Holding::new(connection) {
            Ok(holding) => {
                let pid = holding.pid;
                self.context.running(self.server, Some(holding.holder));
                self.holding = Some(holding);
                let sight = Sight::Running { pid };
                self.brain.see(Observation::Saw { server: self.server, run, sight }).await?;
                Ok(Next::Wait)
            }
            Err(error) => Ok(self.trouble("take the line to the holder", &error)),
        }
    }

    fn let_go(&mut self) {
        self.holding = None;
        // Whatever was on this line may not have arrived.
        self.sent = None;
        self.context.running(self.server, None);
    }

    async fn report(&mut self, command: Command) -> Result<Next, Ended> {
        self.brain.report(command).await?;
        Ok(Next::Wait)
    }

    /// What is there of a run. A process of any other run is ended first: a slot has at most one.
    async fn find(&mut self, run: RunNumber) -> Result<There, GroundError> {
        let (context, server) = (Arc::clone(&self.context), self.server);
        self.blocking(move || {
            loop {
                match context.ground.look(server)? {
                    Found::Running(connection) if connection.status.run == run.number() => {
                        return Ok(There::Running(Box::new(connection)));
                    }
                    Found::Running(mut stranger) => context.ground.end_stranger(server, &mut stranger)?,
                    Found::Exited(record) if record.run == run.number() => {
                        return Ok(There::Ended(exit(&record)));
                    }
                    Found::OtherBoot(record) | Found::HolderDead(record) if record.run == run.number() => {
                        return Ok(There::Lost);
                    }
                    Found::Exited(_) | Found::OtherBoot(_) | Found::HolderDead(_) | Found::Nothing => {
                        return Ok(There::Nothing);
                    }
                }
            }
        })
        .await
    }

    /// Nothing of the slot is left behind.
    async fn clear(&mut self) -> Next {
        let (context, server) = (Arc::clone(&self.context), self.server);
        match self.blocking(move || context.ground.clear(server)).await {
            Ok(()) => Next::End,
            Err(error) => self.trouble("clear the slot", &error),
        }
    }

    /// Runs what blocks, a few slots at once.
    async fn blocking<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let permit = self.context.work.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        drop(permit);
        match done {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Cancelled: the process is ending.
                Err(_) => std::future::pending().await,
            },
        }
    }

    fn trouble(&self, what: &'static str, error: &(dyn std::error::Error + 'static)) -> Next {
        tracing::error!(server = %self.server, error = %in_full(error), "failed to {what}; tried again");
        Next::Retry
    }
}

/// What is there of a run.
enum There {
    Running(Box<Connection>),
    Ended(Exit),
    Lost,
    Nothing,
}
