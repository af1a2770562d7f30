//! Every rule of a queue, one command a file.

mod again;
mod backfill;
mod cancel;
mod cancel_all;
mod cancel_backfill;
mod configure;
mod create;
mod join;
mod keep_backfill;
mod pace;
mod pause;
mod placement;
mod renew_backfill;
mod taken_out;
mod tenure_over;

use mainstay_core::{TicketId, Turn};

use self::pace::Pace;
use crate::command::{Answer, Command, Observation};
use crate::entity::{Caller, Entity};
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::Cancellation;

/// The longest a ticket may wait, in seconds: a day. PlayFab's bound is not published; its guidance is two minutes.
pub const GIVE_UP_AFTER_MAX: u32 = 86_400;

pub(crate) fn decide(turn: &mut Turn<'_, Queue>, command: &Command) -> Result<Answer, Rejection> {
    if turn.state().engine.is_none() {
        turn.observe(Observation::Open);
    }
    if turn.state().leases.as_ref().is_some_and(|leases| leases.were_unheard(turn.now())) {
        turn.observe(Observation::HeldUp);
    }
    let mut pace = Pace::new();
    let answer = match command {
        Command::Configure(spec) => configure::configure(turn, &mut pace, spec),
        Command::Close => configure::close(turn, &mut pace),
        Command::Pause => pause::pause(turn, &mut pace),
        Command::Resume => pause::resume(turn),
        Command::CreateTicket { ticket, caller, creator, invited, give_up_after, form } => {
            let asked = create::Asked { ticket: *ticket, give_up_after: *give_up_after, form: *form };
            create::by_player(turn, &mut pace, &asked, caller, creator, invited)
        }
        Command::CreateServerTicket { ticket, caller, creator, members, give_up_after, form } => {
            let asked = create::Asked { ticket: *ticket, give_up_after: *give_up_after, form: *form };
            create::by_server(turn, &mut pace, &asked, caller, creator, members)
        }
        Command::JoinTicket { ticket, caller, member, form } => {
            join::join(turn, &mut pace, *ticket, caller, member, *form)
        }
        Command::CancelTicket { ticket, caller } => cancel::cancel(turn, &mut pace, *ticket, caller),
        Command::CancelAllTickets { player, caller } => cancel_all::tickets(turn, &mut pace, player, caller),
        Command::CreateBackfill { ticket, caller, members, server, places, give_up_after, terms, form } => {
            let asked = create::Asked { ticket: *ticket, give_up_after: *give_up_after, form: *form };
            let game = backfill::NewGame { members, server, places: *places };
            backfill::create(turn, &mut pace, &asked, caller, &game, terms)
        }
        Command::KeepBackfill { ticket, tenure, members, server, places, known, form } => {
            let told =
                keep_backfill::Told { tenure: *tenure, members, server, places: *places, known: *known };
            keep_backfill::keep(turn, &mut pace, (*ticket, *form), &told)
        }
        Command::RenewBackfill { ticket, caller } => renew_backfill::renew(turn, *ticket, caller),
        Command::TenureOver(tenure) => Ok(tenure_over::over(turn, &mut pace, tenure)),
        Command::CancelBackfill { ticket, caller } => {
            cancel_backfill::cancel(turn, &mut pace, *ticket, caller)
        }
        Command::CancelAllBackfills { player, caller } => {
            cancel_all::backfills(turn, &mut pace, player, caller)
        }
        Command::Placement { id, outcome } => Ok(placement::answered(turn, &mut pace, *id, outcome)),
        Command::Due => Ok(Answer::Done),
    }?;
    pace.work(turn);
    Ok(answer)
}

/// The queue as it is, if attributes were read for it.
fn spec_of(turn: &Turn<'_, Queue>, form: u32) -> Result<alloc::sync::Arc<QueueSpec>, Rejection> {
    let state = turn.state();
    let spec = state.spec().cloned().ok_or(Rejection::QueueNotFound)?;
    if form == state.form() { Ok(spec) } else { Err(Rejection::OtherForm { form: state.form() }) }
}

/// The end of a ticket, of whichever kind it is.
fn canceled(state: &Queue, ticket: TicketId, reason: Cancellation) -> Event {
    // Of the same id there was one of each kind before that was refused, and journals have such.
    let is_open_game = state.backfills.get(&ticket).is_some_and(|game| game.stage.ended().is_none());
    if is_open_game {
        Event::BackfillCanceled { ticket, reason }
    } else {
        Event::TicketCanceled { ticket, reason }
    }
}

/// Not players; of a process hosted here no more than backfill.
fn server_only(caller: &Caller) -> Result<(), Rejection> {
    match caller {
        Caller::Server(_) | Caller::Title => Ok(()),
        Caller::Hosted(_) => Err(Rejection::Unauthorized { who: caller.word(), why: HOSTED_MAY }),
        Caller::Player(_) => Err(Rejection::Unauthorized {
            who: caller.word(),
            why: "only game servers and the title make this call",
        }),
    }
}

/// Who may ask for backfill.
fn game_only(caller: &Caller) -> Result<(), Rejection> {
    match caller {
        Caller::Server(_) | Caller::Hosted(_) | Caller::Title => Ok(()),
        Caller::Player(_) => Err(Rejection::Unauthorized {
            who: caller.word(),
            why: "only game servers and the title make this call",
        }),
    }
}

/// What the token of a process hosted here is for.
pub(crate) const HOSTED_MAY: &str =
    "its token is for its own backfill tickets, and for the recovery of a player from lost ones";

fn self_or_server(caller: &Caller, player: &Entity) -> Result<(), Rejection> {
    if caller.speaks_for(player) {
        Ok(())
    } else {
        Err(Rejection::Unauthorized { who: caller.word(), why: "it is about another player" })
    }
}
