//! The game's listener of migrations.

use std::sync::{Arc, Mutex, PoisonError};

use mainstay_peer::listener::{Listener, Migrating};
use mainstay_peer::migration::{Answer, Stage};

/// The game's listener: it has nothing to save beyond the state that goes along, and notes what it was called for.
pub(super) struct Stagehand(pub(super) Arc<Mutex<Vec<Stage>>>);

impl Stagehand {
    fn note(&self, stage: Stage) -> Answer {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stage);
        Answer::Done
    }
}

impl Listener for Stagehand {
    fn on_initiate(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::Initiate)
    }
    fn on_disconnect_client(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::DisconnectClient)
    }
    fn on_demote_to_client(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::DemoteToClient)
    }
    fn on_promote_to_server(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::PromoteToServer)
    }
    fn on_reconnect_client(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::ReconnectClient)
    }
    fn on_finalise(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::Finalise)
    }
    fn on_terminate(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::Terminate)
    }
    fn on_reset(&mut self, _info: &Migrating, _state: &mut u32) -> Answer {
        self.note(Stage::Reset)
    }
}
