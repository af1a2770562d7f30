//! What is owed, done: each act looks before it leaps.

use std::sync::Arc;

use mainstay_core::Generation;
use mainstay_core::slot::{Exit, Scene, Spec};
use mainstay_holder::client::{Connection, Found};
use mainstay_holder::record::ExitRecord;
use mainstay_supervisor::{Act, Command, Observation, Run, RunNumber, Rung, SessionFile, Sight};

use super::again::{Again, SIGSEGV};
use super::{Next, Worker};
use crate::brain::Ended;
use crate::builds::{Installed, Stead};
use crate::hands::Owed;
use crate::slot::ended::in_full;
use crate::slot::ground::{Begun, GroundError};

/// SIGKILL, by its number on every Linux.
const SIGKILL: i32 = 9;

/// What is there of a run.
enum There {
    Running(Box<Connection>),
    Ended(ExitRecord),
    Lost,
    Nothing,
}

impl Worker {
    /// Does what is owed: the write first, then the act.
    pub(super) async fn work(&mut self, owed: &Owed) -> Result<Next, Ended> {
        self.ask_no_longer(&owed.effects.act);
        let Some((run, spec)) = owed.run.clone() else { return Ok(Next::Wait) };
        if let Some(file) = owed.effects.write {
            // Its files say where its build is; while that is not known there is no process to read them.
            let stead = match self.context.builds.stead(&spec) {
                Stead::Ready(installed) | Stead::Known(installed) => installed,
                Stead::Unknown => return Ok(Next::Wait),
            };
            if let Err(error) = self.write(file, &spec, &stead).await? {
                return Ok(self.trouble("write server.json", &error));
            }
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
                self.probe(run, &spec);
                Ok(Next::Wait)
            }
            Act::Check { run, due, .. } => {
                self.check(run, due, &spec);
                Ok(Next::Wait)
            }
            Act::Signal { run, signal } => self.signal(run, Rung::Signal, signal).await,
            Act::Kill { run } => self.signal(run, Rung::Kill, SIGKILL).await,
        }
    }

    /// Writes `server.json`; a slot that has no names yet has no file either.
    async fn write(
        &mut self,
        file: SessionFile,
        spec: &Arc<Spec>,
        installed: &Arc<Installed>,
    ) -> Result<Result<(), GroundError>, Ended> {
        let Some(facts) = self.facts() else { return Ok(Ok(())) };
        // A process that was running before this agent was may have been told what its file says.
        let adopted = self.written.is_none() && self.held(file.run).is_some();
        let (context, spec, installed) = (Arc::clone(&self.context), Arc::clone(spec), Arc::clone(installed));
        let written = self
            .blocking(move || {
                let before = if adopted { context.ground.session_written(facts.server) } else { None };
                context.ground.write_session(&facts, &spec, &installed, file).map(|()| before)
            })
            .await;
        if let Ok(before) = written {
            self.context.events.wrote(self.server, file.run, file.allocation, before);
        }
        let written = written.map(drop);
        // A write that failed may have left anything.
        self.written = written.is_ok().then_some(file);
        if written.is_ok() {
            self.brain.see(Observation::Wrote { server: self.server, file }).await?;
        }
        Ok(written)
    }

    /// Looks what is there of a run, and takes the line to its holder.
    pub(super) async fn look(&mut self, run: RunNumber) -> Result<Next, Ended> {
        let server = self.server;
        if let Some(pid) = self.held(run) {
            self.brain.see(Observation::Saw { server, run, sight: Sight::Running { pid } }).await?;
            return Ok(Next::Wait);
        }
        match self.find(run).await {
            Err(error) => Ok(self.trouble("look at the slot", &error)),
            Ok(There::Running(connection)) => self.take_line(run, *connection).await,
            Ok(There::Ended(record)) => self.exited(record).await,
            Ok(There::Lost) => self.report(Command::Lost { server, run }).await,
            Ok(There::Nothing) if self.context.is_cut_off(server, run).await => {
                self.report(Command::Lost { server, run }).await
            }
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
        // A server whose build is not here waits for it: nothing ever starts from a part of one.
        let installed = match self.context.builds.stead(&spec) {
            Stead::Ready(installed) => installed,
            Stead::Known(_) | Stead::Unknown => return Ok(Next::Wait),
        };
        let context = Arc::clone(&self.context);
        let begun = self.blocking(move || {
            context.builds.used(&installed);
            context.ground.start(&facts, &spec, &installed, number, generation)
        });
        let begun = begun.await;
        match begun {
            Ok(Begun::Running(connection)) => self.take_line(number, *connection).await,
            Ok(Begun::Ended(record)) => self.exited(record).await,
            Ok(Begun::Taken) => Ok(Next::Retry),
            // No game has run, and none is to blame: the session waits for the machine.
            Err(error) if error.is_the_machines() => Ok(self.trouble("start a game", &error)),
            Err(error) => {
                // What is configured cannot be started: that counts as a start that failed, so that it ends in back-off
                // with its reason instead of being tried for ever.
                tracing::error!(%server, run = %number, error = %in_full(&error), "a start failed");
                let exit = Exit::NotStarted(in_full(&error).into());
                self.report(Command::Exited { server, run: number, exit, scene: Scene::empty() }).await
            }
        }
    }

    /// Sends a signal, once a run and rung; that it was delivered is heard from the holder.
    async fn signal(&mut self, run: RunNumber, rung: Rung, number: i32) -> Result<Next, Ended> {
        let server = self.server;
        if self.held(run).is_none() {
            match self.find(run).await {
                Err(error) => return Ok(self.trouble("look at the slot", &error)),
                Ok(There::Nothing) => return self.report(Command::NeverRan { server, run }).await,
                Ok(There::Ended(record)) => return self.exited(record).await,
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
            self.again = (number == SIGSEGV).then_some(Again::Asked);
        }
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
                        return Ok(There::Ended(record));
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
    pub(super) async fn clear(&mut self) -> Next {
        self.evidence_kept().await;
        let (context, server) = (Arc::clone(&self.context), self.server);
        match self.blocking(move || context.ground.clear(server)).await {
            Ok(()) => {
                self.context.events.forget(self.server);
                Next::End
            }
            Err(error) => self.trouble("clear the slot", &error),
        }
    }
}
