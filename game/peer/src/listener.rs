//! The eight callbacks of seed 000, as a game written in Rust has them; and one that tells how far it is.

use std::cell::Cell;

use mainstay_migration::{Answer, EntityId, Input, Moving, Progress, SessionId, Stage};
use tokio::sync::mpsc;

use crate::Closing;
use crate::hands::{Command, SeatId};

/// What a listener is told about the migration (`SHostMigrationInfo`).
#[derive(Debug)]
pub struct Migrating {
    /// Which session moves.
    pub session: SessionId,
    /// Why, from whom, to whom, and how often it began again.
    pub of: Moving,
    pub(crate) lists: Lists,
    pub(crate) seat: SeatId,
    pub(crate) commands: mpsc::Sender<Command>,
    /// Whether the listener that is called shall be so no more.
    pub(crate) goes: Cell<bool>,
}

/// Whether a list of entities counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    Count,
    /// Whether this peer is the next host is not known, or it is; or all is over.
    CountNot,
}

impl Lists {
    /// Seed 000 has them made in `OnDemoteToClient` and kept until `OnFinalise`; a reset that makes this peer host takes them back.
    pub(crate) const fn in_stage(self, stage: Stage) -> Self {
        match stage {
            Stage::DemoteToClient => Self::Count,
            Stage::ReconnectClient | Stage::Finalise => self,
            Stage::Initiate
            | Stage::DisconnectClient
            | Stage::PromoteToServer
            | Stage::Terminate
            | Stage::Reset => Self::CountNot,
        }
    }
}

/// Why a list of entities is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// This peer is not demoted, or not yet.
    #[error("entities are listed from OnDemoteToClient until OnFinalise, by whoever is not the new host")]
    NotDemoted,
    /// The peer is shut down.
    #[error(transparent)]
    Closing(#[from] Closing),
}

impl Migrating {
    /// In [`Listener::on_demote_to_client`], and then until [`Listener::on_finalise`] is done: "entities that will no longer be needed post-migration".
    /// They come back as [`crate::Event::Discard`], each once; of more than [`mainstay_migration::ENTITIES_MAX`] the later ones are forgotten.
    ///
    /// # Errors
    /// In any other stage, and on the new host, where nothing would come of it; once the peer is shut down.
    pub fn no_longer_needed(&self, entities: Vec<EntityId>) -> Result<(), ListError> {
        match self.lists {
            Lists::Count => {}
            Lists::CountNot => return Err(ListError::NotDemoted),
        }
        let give = Command::Give { seat: self.seat, input: Input::NoLongerNeeded(entities) };
        self.commands.blocking_send(give).map_err(|_| Closing.into())
    }

    /// The listener that is called unregisters itself: once it has returned it is dropped, whatever it answers, and nobody waits for it.
    pub fn unregister(&self) {
        self.goes.set(true);
    }
}

/// `IHostMigrationEventListener`. `state` is 0 the first time a method is called in a stage, and kept until it answers
/// [`Answer::Done`]. A method that has nothing to do is not written: it is done.
pub trait Listener: Send {
    /// "called at the start of a host migration event": store what has to outlive it.
    fn on_initiate(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// "called when the client disconnects from the original host".
    fn on_disconnect_client(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// "called on each client who is not the new host".
    fn on_demote_to_client(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// "called only on the anticipated new host of the session".
    fn on_promote_to_server(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// "called on all clients, whether they were the old host, the new host or remaining a client".
    fn on_reconnect_client(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// "called on all clients": release what was stored.
    fn on_finalise(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// "called in the event of an error (which could happen at any point in the host migration process)".
    fn on_terminate(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
    /// An addition: how the migration goes on, told as each stage begins and every second. Nobody waits for an answer.
    fn on_progress(&mut self, _info: &Migrating, _progress: &Progress) {}
    /// "called when the anticipated new host leaves part way through"; [`Listener::on_disconnect_client`] comes after.
    fn on_reset(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        Answer::Done
    }
}

/// Calls the method of that stage.
pub(crate) fn call(listener: &mut dyn Listener, stage: Stage, info: &Migrating, state: &mut u32) -> Answer {
    match stage {
        Stage::Initiate => listener.on_initiate(info, state),
        Stage::DisconnectClient => listener.on_disconnect_client(info, state),
        Stage::DemoteToClient => listener.on_demote_to_client(info, state),
        Stage::PromoteToServer => listener.on_promote_to_server(info, state),
        Stage::ReconnectClient => listener.on_reconnect_client(info, state),
        Stage::Finalise => listener.on_finalise(info, state),
        Stage::Terminate => listener.on_terminate(info, state),
        Stage::Reset => listener.on_reset(info, state),
    }
}
