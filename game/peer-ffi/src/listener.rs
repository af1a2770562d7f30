//! The eight callbacks of seed 000 behind one function pointer, for C has no methods.

use std::ffi::{c_char, c_void};

use mainstay_peer::Registered;
use mainstay_peer::listener::{Listener, Migrating};
use mainstay_peer::migration::{Answer, EntityId, ListenerId, Moving, Priority, Stage};

use crate::MainstayId;
use crate::event::MainstayCause;
use crate::memory::{change, read, read_list, read_text};
use crate::seat::MainstaySeat;
use crate::status::{MainstayStatus, guard};

/// For what a listener is called.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayStage {
    /// `OnInitiate`
    Initiate = 0,
    /// `OnDisconnectClient`
    DisconnectClient = 1,
    /// `OnDemoteToClient`: on whoever is not the new host.
    DemoteToClient = 2,
    /// `OnPromoteToServer`: on the new host alone.
    PromoteToServer = 3,
    /// `OnReconnectClient`
    ReconnectClient = 4,
    /// `OnFinalise`
    Finalise = 5,
    /// `OnTerminate`
    Terminate = 6,
    /// `OnReset`
    Reset = 7,
}

impl From<Stage> for MainstayStage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Initiate => Self::Initiate,
            Stage::DisconnectClient => Self::DisconnectClient,
            Stage::DemoteToClient => Self::DemoteToClient,
            Stage::PromoteToServer => Self::PromoteToServer,
            Stage::ReconnectClient => Self::ReconnectClient,
            Stage::Finalise => Self::Finalise,
            Stage::Terminate => Self::Terminate,
            Stage::Reset => Self::Reset,
        }
    }
}

/// What a listener answers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayAnswer {
    /// All processing for this stage is complete.
    Done = 0,
    /// More is required: it is called again.
    Wait = 1,
    /// The migration shall end.
    Veto = 2,
}

/// What is known of a migration while it runs (seed 000's `SHostMigrationInfo`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MainstayMigration {
    /// Why it began.
    pub cause: MainstayCause,
    /// How often it was reset.
    pub resets: u32,
    /// Under whom the game was played until then.
    pub from: MainstayId,
    /// Whether it is known under whom it goes on: from OnDemoteToClient or OnPromoteToServer on at the latest, until that one is lost, too.
    pub is_known: bool,
    /// Under whom, where it is known; else zeros.
    pub to: MainstayId,
}

/// A migration, as long as its listener is called.
#[derive(Debug)]
pub struct MainstayMigrating {
    info: *const Migrating,
}

/// While a listener is called: what is known of the migration.
///
/// # Safety
/// `migrating` is what the listener was called with, which has not returned; `out` is a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_migration_of(
    migrating: *const MainstayMigrating,
    out: *mut MainstayMigration,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise: the library's own call of the listener, which holds the other one, has not returned.
        let (info, out) = unsafe { (read(read(migrating)?.info)?, change(out)?) };
        let Moving { cause, from, to, resets } = info.of;
        *out = MainstayMigration {
            cause: cause.into(),
            resets,
            from: from.into(),
            is_known: to.is_some(),
            to: to.map(MainstayId::from).unwrap_or_default(),
        };
        Ok(())
    })
}

/// While OnDemoteToClient runs, and then until OnFinalise has returned: "entities that will no longer be needed post-migration". They come back
/// as MAINSTAY_EVENT_KIND_DISCARD, each once; of more than 65,536 the later ones are forgotten. In any other stage, and on the new host,
/// MAINSTAY_STATUS_NOT_DEMOTED.
///
/// # Safety
/// `migrating` is what the listener was called with, which has not returned; `entities` points to `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_no_longer_needed(
    migrating: *const MainstayMigrating,
    entities: *const u64,
    length: usize,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise: the library's own call of the listener, which holds the other one, has not returned.
        let (info, entities) = unsafe { (read(read(migrating)?.info)?, read_list(entities, length)?) };
        Ok(info.no_longer_needed(entities.iter().copied().map(EntityId).collect())?)
    })
}

/// While a listener is called: it unregisters itself. It is called no more once it has returned, whatever it answers, and nobody waits for it.
///
/// # Safety
/// `migrating` is what the listener was called with, which has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_unregister(migrating: *const MainstayMigrating) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise, as above.
        unsafe { read(read(migrating)?.info)? }.unregister();
        Ok(())
    })
}

/// When a listener is called among others.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayPriority {
    /// After the engine: most games.
    PostEngine = 0,
    /// The engine.
    Engine = 1,
    /// Before it.
    PreEngine = 2,
}

/// Registers a listener while a session runs (`AddHostMigrationEventListener`): it is called from the next migration on, and one that runs
/// goes on without it. `name` is for people, `priority` a MainstayPriority; `out` is what it is removed by. There are 64 at most:
/// MAINSTAY_STATUS_TOO_MANY_LISTENERS.
///
/// # Safety
/// `seat` is not freed and used by nobody else meanwhile, `name` a text that ends with a zero byte, `out` a place for a number; `user` goes
/// with `listener` and outlives it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_add_listener(
    seat: *mut MainstaySeat,
    name: *const c_char,
    priority: u32,
    listener: MainstayListener,
    user: *mut c_void,
    out: *mut u32,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let (seat, name, out) = unsafe { (change(seat)?, read_text(name)?.to_owned(), change(out)?) };
        let function = listener.ok_or(MainstayStatus::NullPointer)?;
        let priority = match priority {
            0 => Priority::PostEngine,
            1 => Priority::Engine,
            2 => Priority::PreEngine,
            _ => return Err(MainstayStatus::NotAChoice.into()),
        };
        let listener = Box::new(Called { function, user });
        *out = seat.seat.add_listener(Registered { name, priority, listener })?.0;
        Ok(())
    })
}

/// Unregisters a listener (`RemoveHostMigrationEventListener`): it is called no more, nobody waits for it, and its `user` may be freed. Not to
/// be called by a listener: that one uses mainstay_unregister. Where there is none of that number, MAINSTAY_STATUS_NOTHING. The one that a seat
/// was taken with has number 0.
///
/// # Safety
/// `seat` is not freed and used by nobody else meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mainstay_seat_remove_listener(
    seat: *mut MainstaySeat,
    listener: u32,
) -> MainstayStatus {
    guard(|| {
        // SAFETY: the caller's promise.
        let seat = unsafe { change(seat)? };
        match seat.seat.remove_listener(ListenerId(listener))? {
            Some(_registered) => Ok(()),
            None => Err(MainstayStatus::Nothing.into()),
        }
    })
}

/// Called by mainstay_seat_next for each stage, with what was registered as `user`. `state` is 0 the first time in a stage,
/// and kept until the answer is MAINSTAY_ANSWER_DONE. Answers a MainstayAnswer; any other number is a veto.
pub type MainstayListener = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        session: *const MainstayId,
        stage: MainstayStage,
        state: *mut u32,
        migrating: *const MainstayMigrating,
    ) -> u32,
>;

/// A listener written in C.
pub(crate) struct Called {
    pub(crate) function: unsafe extern "C" fn(
        *mut c_void,
        *const MainstayId,
        MainstayStage,
        *mut u32,
        *const MainstayMigrating,
    ) -> u32,
    pub(crate) user: *mut c_void,
}

// SAFETY: the library stores the pointer and hands it back to the function, on the thread that calls `mainstay_seat_next`;
// that it may be used there is the caller's promise.
unsafe impl Send for Called {}

impl Called {
    fn call(&self, stage: Stage, info: &Migrating, state: &mut u32) -> Answer {
        let session = MainstayId::from(info.session);
        let (user, migrating) = (self.user, MainstayMigrating { info });
        // SAFETY: the function and its pointer are the caller's, who promised that they go together; the others live here.
        let answer =
            unsafe { (self.function)(user, &raw const session, stage.into(), state, &raw const migrating) };
        match answer {
            0 => Answer::Done,
            1 => Answer::Wait,
            _ => Answer::Veto,
        }
    }
}

impl Listener for Called {
    fn on_initiate(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::Initiate, info, state)
    }
    fn on_disconnect_client(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::DisconnectClient, info, state)
    }
    fn on_demote_to_client(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::DemoteToClient, info, state)
    }
    fn on_promote_to_server(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::PromoteToServer, info, state)
    }
    fn on_reconnect_client(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::ReconnectClient, info, state)
    }
    fn on_finalise(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::Finalise, info, state)
    }
    fn on_terminate(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::Terminate, info, state)
    }
    fn on_reset(&mut self, info: &Migrating, state: &mut u32) -> Answer {
        self.call(Stage::Reset, info, state)
    }
}
