//! What a queue would do with some tickets, without anybody waiting: the queue itself, on a clock of its own.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{StateMachine as _, TicketId, Timestamp, Turn};

use crate::command::Command;
use crate::entity::{Caller, Entity};
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::Member;

/// The most tickets of a rehearsal.
pub const REHEARSED_MAX: usize = 100;
/// The longest a rehearsal looks ahead, in seconds. With that many tickets, looked at every second, a second of work.
pub const REHEARSED_SECONDS_MAX: u32 = 3_600;

/// What became of the tickets of a rehearsal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// The matches, in the order in which they were formed.
    pub matches: Vec<Tried>,
    /// Who was in none.
    pub left: Vec<TicketId>,
}

/// A match of a rehearsal. Of a queue whose matches have servers: a group for which one would be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// How long after the tickets came.
    pub after: Duration,
    /// Its tickets, the eldest first, with the place of each one's team in the queue's list.
    pub tickets: Arc<[(TicketId, Option<u8>)]>,
    /// Its regions, the best first.
    pub regions: Arc<[Arc<str>]>,
}

/// Why a ticket of a rehearsal is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken {
    /// Which.
    pub ticket: TicketId,
    /// What the queue says of it.
    pub why: Rejection,
}

/// Has a queue of these rules match tickets that all come at once, for so many seconds; as far as it comes while somebody waits for it. Rules
/// that hardly any group keeps take minutes.
///
/// # Errors
/// The first ticket that such a queue does not take.
pub fn rehearse(
    spec: &Arc<QueueSpec>,
    tickets: Vec<(TicketId, Entity, Vec<Member>)>,
    seconds: u32,
    is_waited_for: impl Fn() -> bool,
) -> Result<Rehearsed, NotTaken> {
    // Those of a rehearsal have just missed a moment at which others are looked at, so they wait for as long as the queue gathers.
    let begin = Timestamp::from_unix_ms(u64::from(spec.gather.ms()).max(1));
    let until = begin + Duration::from_secs(seconds.into());
    let mut stage = Stage { queue: Queue::new(0), begin, matches: Vec::new() };
    let mut left: Vec<TicketId> = tickets.iter().map(|(ticket, ..)| *ticket).collect();
    let nobody = |why| NotTaken { ticket: TicketId::LOWEST, why };
    stage.turn(begin, &Command::Configure(spec.clone())).map_err(nobody)?;
    for (ticket, creator, members) in tickets {
        let (caller, form) = (Caller::Title, stage.queue.form());
        let give_up_after = seconds.max(1);
        let command = Command::CreateServerTicket { ticket, caller, creator, members, give_up_after, form };
        stage.turn(begin, &command).map_err(|why| NotTaken { ticket, why })?;
    }
    while let Some((at, _)) = stage.queue.next_deadline().filter(|(at, _)| *at <= until) {
        if !is_waited_for() {
            break;
        }
        stage.turn(at.max(begin), &Command::Due).map_err(nobody)?;
    }
    left.retain(|ticket| {
        !stage.matches.iter().any(|tried| tried.tickets.iter().any(|(matched, _)| matched == ticket))
    });
    Ok(Rehearsed { matches: stage.matches, left })
}

struct Stage {
    queue: Queue,
    begin: Timestamp,
    matches: Vec<Tried>,
}

impl Stage {
    fn turn(&mut self, now: Timestamp, command: &Command) -> Result<(), Rejection> {
        let outcome = Turn::run(now, &mut self.queue, command);
        for event in outcome.events {
            if let Event::MatchFormed { tickets, regions, .. } | Event::MatchHeld { tickets, regions, .. } =
                event
            {
                self.matches.push(Tried { after: now.since(self.begin), tickets, regions });
            }
        }
        outcome.answer.map(|_| ())
    }
}
