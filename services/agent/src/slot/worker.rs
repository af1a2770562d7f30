//! The life of one slot's hands: do what is owed, hear the holder, ask the game.
//!
//! What is owed is a level that may be older than what has just been told; so every act first makes sure that it is not
//! done already, and none is ever done twice. [`acts`] does what is owed, [`asking`] is what goes on beside it, [`again`]
//! repeats the one signal that has to be.

mod acts;
mod again;
mod asking;

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::ServerId;
use mainstay_holder::client::Connection;
use mainstay_holder::protocol::Reply;
use mainstay_holder::record::ExitRecord;
use mainstay_supervisor::{Command, Observation, RunNumber, Rung, SessionFile, Sight};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::again::Again;
use self::asking::{Asked, Question, Since};
use crate::brain::{Brain, Ended};
use crate::hands::Level;
use crate::roster::SlotFacts;
use crate::slot::ended::{exit, in_full, is_full};
use crate::slot::holding::Holding;
use crate::slot::readings::Readings;
use crate::slot::{Context, Ending};

/// How long a slot waits after trouble of the machine's own (a full disk, a holder that does not answer) before it
/// tries again: long enough not to add to the trouble, short against any human's patience.
const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

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
    /// The second of two signals that a run needs.
    again: Option<Again>,
    /// The question on its way to a run's game.
    asking: Option<Question>,
    /// What the next reading of CPU is compared with.
    since: Option<Since>,
    /// What was lately read.
    readings: Readings,
    /// The keeping of the last run's evidence.
    keeping: Option<JoinHandle<()>>,
    /// Ticks when a build that was waited for may be here.
    built: watch::Receiver<u64>,
    /// The trouble that was said last: it is said again once it is another.
    troubled: Option<String>,
}

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
    Asked(Asked),
    Again,
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
            let built = context.builds.settled();
            let worker = Self {
                server,
                levels,
                ending,
                context,
                brain,
                holding: None,
                written: None,
                sent: None,
                again: None,
                asking: None,
                since: None,
                readings: Readings::default(),
                keeping: None,
                built,
                troubled: None,
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
                Next::Wait => {
                    if let Some(trouble) = self.troubled.take() {
                        tracing::warn!(server = %self.server, trouble, "this trouble of a slot is over");
                    }
                    None
                }
                Next::Retry => Some(TROUBLE_PAUSE),
                Next::End => return Ok(()),
            };
            match self.woken(pause).await {
                Woken::Level | Woken::Retry => {}
                Woken::Holder(reply) => self.heard(reply).await?,
                Woken::Asked(asked) => self.answered(asked).await?,
                Woken::Again => self.signal_again().await,
                Woken::Ending(Ending::NotYet) => {}
                Woken::Ending(Ending::Kill) => self.kill().await,
                Woken::Ending(Ending::Leave) | Woken::HandsGone => return Ok(()),
            }
        }
    }

    /// Waits for news. The holder comes first: what it says may make the rest obsolete.
    async fn woken(&mut self, pause: Option<Duration>) -> Woken {
        let Self { holding, asking, again, levels, ending, built, .. } = self;
        let heard = async {
            match holding {
                Some(holding) => holding.next().await,
                None => std::future::pending().await,
            }
        };
        let answered = async {
            match asking {
                Some(question) => question.answer().await,
                None => std::future::pending().await,
            }
        };
        let due_again = async {
            match again {
                Some(again) => again.due().await,
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
            asked = answered => Woken::Asked(asked),
            () = due_again => Woken::Again,
            changed = levels.changed() => if changed.is_ok() { Woken::Level } else { Woken::HandsGone },
            // The sender lives in the context, as long as this worker.
            Ok(()) = built.changed() => Woken::Level,
            () = paused => Woken::Retry,
        }
    }

    /// Something came from the holder, or it is gone.
    async fn heard(&mut self, reply: Option<Reply>) -> Result<(), Ended> {
        let server = self.server;
        let run = self.holding.as_ref().map(|holding| holding.run);
        match reply {
            Some(Reply::Exit { record }) => {
                self.let_go();
                self.asking = None;
                self.exited(record).await?;
            }
            Some(Reply::Failed { why, code, .. }) => {
                tracing::error!(%server, ?code, why, "a holder could not do what it was asked; it is asked again");
                self.sent = None;
                self.again = None;
                sleep(TROUBLE_PAUSE).await;
            }
            // Signals are all that holders are asked for here.
            Some(Reply::Done { .. }) => {
                self.signal_sent();
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

    /// A run has ended: the rules hear of it with its last words, and what was found is kept beside the slot.
    async fn exited(&mut self, record: ExitRecord) -> Result<Next, Ended> {
        let (server, run) = (self.server, RunNumber::from_number(record.run));
        let exit = exit(&record);
        let folder = match &*self.levels.borrow() {
            Level::Owed(owed) => owed.run.as_ref().and_then(|(_, spec)| self.context.builds.folder(spec)),
            Level::Gone => None,
        };
        let (context, dir) = (Arc::clone(&self.context), folder.clone());
        let found = self.blocking(move || context.ground.scene(server, dir.as_deref(), record)).await;
        let scene = found.told.clone();
        self.brain.report(Command::Exited { server, run, exit, scene }).await?;
        if let Some(incident) = self.brain.incident(server, run).await? {
            self.evidence_kept().await;
            let (context, readings) = (Arc::clone(&self.context), self.readings.of(run));
            // The slot may start again meanwhile: what is kept has been read.
            self.keeping = Some(tokio::spawn(async move {
                let ground = Arc::clone(&context);
                context.blocking(move || ground.ground.keep_evidence(&incident, &readings, &found)).await;
            }));
        }
        Ok(Next::Wait)
    }

    /// Waits until the evidence of the last run is kept: that of two runs is not kept at once.
    async fn evidence_kept(&mut self) {
        if let Some(keeping) = self.keeping.take()
            && let Err(error) = keeping.await
        {
            tracing::error!(server = %self.server, %error, "the keeping of evidence broke off");
        }
    }

    /// The agent's time is up: everything in the slot is killed now.
    async fn kill(&mut self) {
        if let Some(holding) = &mut self.holding
            && let Err(error) = holding.kill().await
        {
            tracing::warn!(server = %self.server, %error, "a holder is gone before it was asked to kill");
        }
    }

    async fn take_line(&mut self, run: RunNumber, connection: Connection) -> Result<Next, Ended> {
        match Holding::new(connection) {
            Ok(holding) => {
                let pid = holding.pid;
                self.holding = Some(holding);
                let sight = Sight::Running { pid };
                self.brain.see(Observation::Saw { server: self.server, run, sight }).await?;
                Ok(Next::Wait)
            }
            Err(error) => Ok(self.trouble("take the line to the holder", &error)),
        }
    }

    /// The pid of a run whose holder's line is held.
    fn held(&self, run: RunNumber) -> Option<u32> {
        self.holding.as_ref().filter(|holding| holding.run == run).map(|holding| holding.pid)
    }

    fn let_go(&mut self) {
        self.holding = None;
        // Whatever was on this line may not have arrived.
        self.sent = None;
        self.again = None;
    }

    fn facts(&self) -> Option<Arc<SlotFacts>> {
        let facts = self.context.facts(self.server);
        if facts.is_none() {
            tracing::warn!(server = %self.server, "the slot is not in the list of machines: it only stops");
        }
        facts
    }

    async fn report(&mut self, command: Command) -> Result<Next, Ended> {
        self.brain.report(command).await?;
        Ok(Next::Wait)
    }

    /// Runs what blocks, a few slots at once.
    async fn blocking<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.context.blocking(work).await
    }

    fn trouble(&mut self, what: &'static str, error: &(dyn std::error::Error + 'static)) -> Next {
        let trouble = format!("failed to {what}: {}", in_full(error));
        if is_full(error) {
            self.context.builds.disk().met_full(&format_args!("server {}", self.server));
        }
        if self.troubled.as_ref() != Some(&trouble) {
            tracing::error!(server = %self.server, error = %in_full(error), "failed to {what}; tried again");
            self.troubled = Some(trouble);
        }
        Next::Retry
    }
}
