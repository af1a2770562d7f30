//! A hosted process or its session has ended, and its backfill tickets with it: "no backfill outlives its server".

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use mainstay_core::{Tenure, TicketId, Turn};

use super::pace::Pace;
use crate::command::Answer;
use crate::engine::Kind;
use crate::event::Event;
use crate::queue::Queue;
use crate::ticket::{Cancellation, Seated};

/// Said again, or of one that has none, it changes nothing.
pub(super) fn over(turn: &mut Turn<'_, Queue>, pace: &mut Pace, tenure: &Tenure) -> Answer {
    let Some(open) = turn.state().hosted.get(tenure) else { return Answer::Cancelled(0) };
    let open: Vec<TicketId> = open.iter().copied().collect();
    pace.catch_up(turn);
    end(turn, &open);
    Answer::Cancelled(open.len())
}

/// The open tickets that a process's word ends, whoever has noticed: those of earlier processes of its server in this session, and those
/// that its players are in from another server that had the session before. It speaks, so they are over: a restarted server starts
/// clean, and its players are in no ticket that keeps them out of its own.
pub(super) fn outlived(state: &Queue, tenure: &Tenure, players: &[Seated]) -> BTreeSet<TicketId> {
    let Some(run) = tenure.run else { return BTreeSet::new() };
    let of = |run| Tenure { run: Some(run), ..*tenure };
    let earlier = state.hosted.range(of(0)..of(run)).flat_map(|(_, open)| open.iter().copied());
    let before = players.iter().filter_map(|seated| {
        let ticket = state.playing.of(&seated.member.entity, Kind::Backfill)?;
        let known = state.backfills.get(&ticket)?.terms.lease.tenure()?;
        (known.session == tenure.session && known.server != tenure.server).then_some(ticket)
    });
    earlier.chain(before).collect()
}

pub(super) fn end<'a>(turn: &mut Turn<'_, Queue>, tickets: impl IntoIterator<Item = &'a TicketId>) {
    for ticket in tickets {
        turn.emit(Event::BackfillCanceled { ticket: *ticket, reason: Cancellation::Server });
    }
}
