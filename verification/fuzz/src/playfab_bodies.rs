//! Any JSON as a queue of PlayFab's, and as tickets for it: each is refused with the place of what is wrong, or taken. A queue that is taken is shown as
//! what it is read as again, and its laws hold whatever tickets come.

use std::sync::Arc;

use mainstay_core::{TicketId, Timestamp, Turn};
use mainstay_matchmaking::spec::QueueSpec;
use mainstay_matchmaking::{Caller, Command, Entity, Member, Queue, laws};
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use mainstay_wire::playfab::request::CreateServerTicket;
use mainstay_wire::playfab::{MatchmakingPlayer, Stored, attributes};
use serde_json::Value;
use uuid::Uuid;

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let mut bodies = crate::packets(bytes).filter_map(|body| serde_json::from_slice::<Value>(body).ok());
    let Some(spec) = bodies.next().and_then(queue) else { return };
    let (mut queue, spec) = (Queue::new(1), Arc::new(spec));
    let configured = Turn::run(Timestamp::EPOCH, &mut queue, &Command::Configure(Arc::clone(&spec)));
    assert!(configured.answer.is_ok(), "a queue that was let in is refused: {:?}", configured.answer);
    for (number, body) in (1_u32..).zip(bodies) {
        let now = Timestamp::from_unix_ms(u64::from(number) * 1_000);
        let Ok(asked) = serde_json::from_value::<CreateServerTicket>(body) else { continue };
        let Some(members) = members(&spec, &asked) else { continue };
        let command = Command::CreateServerTicket {
            ticket: TicketId(Uuid::from_u128(number.into())),
            caller: Caller::Title,
            creator: Entity::kept("title!fuzz"),
            members,
            give_up_after: 60,
            form: queue.form(),
        };
        let _answer = Turn::run(now, &mut queue, &command).answer;
        // One look at a time.
        for _ in 0..LOOKS {
            let _looked = Turn::run(now, &mut queue, &Command::Due).answer;
        }
        laws::all(&queue).unwrap_or_else(|broken| panic!("{broken:?}"));
    }
    let _over = Turn::run(Timestamp::from_unix_ms(600_000), &mut queue, &Command::Due).answer;
    laws::all(&queue).unwrap_or_else(|broken| panic!("{broken:?}"));
}

/// How often those who wait are looked at after each ticket.
const LOOKS: usize = 4;

/// The queue of a body, if it is one.
fn queue(body: Value) -> Option<QueueSpec> {
    let told = match MatchmakingQueueConfig::read(body) {
        Ok(told) => told,
        Err(faults) => {
            assert!(
                !faults.is_empty() && faults.iter().all(|it| !it.place.is_empty() && !it.what.is_empty())
            );
            return None;
        }
    };
    let declared = told.declared(None).ok()?;
    let shown = serde_json::to_value(MatchmakingQueueConfig::of(&declared)).ok()?;
    let spec = QueueSpec::new(declared.clone()).ok()?;
    let again = MatchmakingQueueConfig::read(shown).map(|shown| shown.declared(None));
    assert_eq!(again, Ok(Ok(declared)), "what is shown is what was set");
    Some(spec)
}

fn members(spec: &QueueSpec, asked: &CreateServerTicket) -> Option<Vec<Member>> {
    let none = Stored::new();
    let member = |player: &MatchmakingPlayer| {
        let sent = match &player.attributes {
            Some(sent) => sent.object().ok()?,
            None => None,
        };
        let attributes = attributes(spec, sent.as_ref(), &none);
        Some(Member { entity: player.entity.entity()?, attributes })
    };
    asked.members.iter().map(member).collect()
}
