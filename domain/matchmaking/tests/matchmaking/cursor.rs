//! More comes due at once than one turn looks at: the rest follows in turns of its own, and a rebuilt queue goes on where the old
//! one was.

use mainstay_core::{StateMachine, Turn};
use mainstay_matchmaking::{Command, Event};

use crate::world::{World, difference, growing, number_value, spec};

/// Twelve hundred tickets pass a boundary at one moment; the queue is rebuilt between any two turns.
#[test]
fn a_herd_is_looked_at_in_slices_and_a_rebuilt_queue_goes_on() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(0.0, 1.0, 1.0, 10))]));
    for at in 0..1_200 {
        // Two by two within reach of each other once the limit is 1.
        world.solo(&format!("p{at}"), &[number_value(f64::from(at / 2 * 10 + at % 2))]);
    }
    assert!(world.formed().is_empty());
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + std::time::Duration::from_secs(10);
        let mut turns = 0;
        while world.queue.next_deadline().is_some_and(|(at, _)| at <= world.now) {
            let outcome = Turn::run(world.now, &mut world.queue, &Command::Due);
            assert!(!outcome.events.is_empty(), "a deadline is cleared, or the turn says how far it came");
            world.journal.extend(outcome.events.into_iter().map(|event| (world.now, event)));
            if rebuilds {
                world.queue = if turns % 2 == 0 { world.rebuilt() } else { world.replayed() };
            }
            turns += 1;
        }
        let slices = world.journal.iter().filter(|(_, event)| matches!(event, Event::Searched(_))).count();
        assert!(turns > 1 && slices == turns - 1, "{turns} turns, {slices} slices");
        assert_eq!(world.formed().len(), 600);
    }
    assert_eq!(world.journal, other.journal);
}
