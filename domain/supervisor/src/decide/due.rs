//! Deadlines that have come.

use alloc::vec::Vec;

use mainstay_core::{ServerId, Turn};

use crate::decide::begin_again;
use crate::{Answer, Event, Observation, Reason, Rung, Supervisor, Why};

pub(super) fn decide(turn: &mut Turn<'_, Supervisor>) -> Answer {
    let now = turn.now();
    let state = turn.state();
    let due: Vec<ServerId> =
        state.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, server)| *server).collect();
    for server in due {
        let state = turn.state();
        let Some((_, why)) = state.entries.get(&server).and_then(|entry| state.deadline_of(entry)) else {
            continue;
        };
        match why {
            Why::Kill(server) => turn.emit(Event::KillBegan { server }),
            Why::Silence(server) => {
                turn.emit(Event::StopBegan { server, reason: Reason::Silent, rung: Rung::Kill });
            }
            Why::Check(server) => {
                let run = turn.state().slot(server).and_then(|slot| slot.live_run()).map(|run| run.number);
                if let Some(run) = run {
                    turn.observe(Observation::CheckDue { server, run });
                }
            }
            Why::Rest(server) => begin_again(turn, server),
        }
    }
    Answer::Done
}
