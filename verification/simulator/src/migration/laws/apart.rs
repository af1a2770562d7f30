//! I13: sessions do not influence each other.
//!
//! Two peers that share a session may share others, over the same link. So now and then what comes to a peer is taken for a word of another
//! session: a copy of its own is told it, and a second one nothing. They say and keep the same, to the letter.

use mainstay_migration::{Guards, Input, Message, PeerId, SessionId};

use super::super::World;
use crate::laws::{Broken, ensure};

/// Every how many events: two copies cost as much as a thousand of them.
const EVERY: u64 = 4_096;

/// A message is about to come.
pub(in super::super) fn is_not_its_own<G: Guards>(
    world: &World<G>,
    to: PeerId,
    from: PeerId,
    message: &Message,
) -> Result<(), Broken> {
    if !world.counts.events.is_multiple_of(EVERY) {
        return Ok(());
    }
    let Some(session) = world.peers[&to].session() else { return Ok(()) };
    let now = world.clock(to);
    let told = |input: Input| {
        let mut copy = session.clone();
        copy.handle(now, input);
        (copy.take_outputs(), format!("{copy:?}"))
    };
    let another = SessionId(message.session.0.wrapping_add(1));
    let foreign = Input::Message { from, message: Message { session: another, ..message.clone() } };
    ensure(told(foreign) == told(Input::Wake), "I13: a word of another session changes nothing", || {
        format!("{to} was told by {from}: {:?}", message.body)
    })
}
