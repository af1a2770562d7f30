//! Listeners that come and go while a session runs, and what they are told beside their stages.

use std::sync::{Arc, Mutex};

use mainstay_peer::listener::{Listener, Migrating};
use mainstay_peer::migration::{
    Answer, Cause, EntityId, LISTENERS_MAX, Priority, Progress, SessionId, Stage,
};
use mainstay_peer::{Event, ListenersError, Registered, SessionOptions};

use crate::{Player, is_linked, start, until};

/// What its listeners were called for, by their names.
type Calls = Arc<Mutex<Vec<(&'static str, Stage)>>>;

/// What it does in the middle of a migration.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// It is done with each stage at once.
    Stays,
    /// It unregisters itself in the second stage.
    Goes,
    /// It is never done with the second stage.
    Hangs,
}

struct Noting {
    name: &'static str,
    calls: Calls,
    way: Way,
    progress: Arc<Mutex<Vec<Progress>>>,
}

impl Noting {
    fn registered(name: &'static str, calls: &Calls, way: Way) -> Registered {
        let listener = Self { name, calls: Arc::clone(calls), way, progress: Arc::default() };
        Registered { name: name.to_owned(), priority: Priority::PostEngine, listener: Box::new(listener) }
    }

    fn note(&self, stage: Stage) -> Answer {
        self.calls.lock().unwrap().push((self.name, stage));
        Answer::Done
    }
}

impl Listener for Noting {
    fn on_initiate(&mut self, _: &Migrating, _: &mut u32) -> Answer {
        self.note(Stage::Initiate)
    }
    fn on_disconnect_client(&mut self, info: &Migrating, _: &mut u32) -> Answer {
        self.note(Stage::DisconnectClient);
        match self.way {
            Way::Stays => Answer::Done,
            Way::Goes => {
                info.unregister();
                Answer::Wait
            }
            Way::Hangs => Answer::Wait,
        }
    }
    fn on_demote_to_client(&mut self, info: &Migrating, _: &mut u32) -> Answer {
        info.no_longer_needed(vec![EntityId(7)]).unwrap();
        self.note(Stage::DemoteToClient)
    }
    fn on_finalise(&mut self, _: &Migrating, _: &mut u32) -> Answer {
        self.note(Stage::Finalise)
    }
    fn on_progress(&mut self, _: &Migrating, progress: &Progress) {
        self.progress.lock().unwrap().push(progress.clone());
    }
}

/// "your class must register itself with the network layer. This is best done in the constructor of the class" and "A corresponding
/// call to unregister your class should go in its destructor": whenever that is, in the middle of a migration, too.
#[test]
fn listeners_come_and_go_while_a_session_runs() {
    let session = SessionOptions::new(SessionId(23));
    let (ann, bob, cat) = (start(), start(), start());
    let calls = Calls::default();
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let first = vec![Noting::registered("first", &calls, Way::Stays)];
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], first).unwrap());
    // Before it is in, and after.
    let early = member.seat.add_listener(Noting::registered("early", &calls, Way::Goes)).unwrap();
    let gone = member.seat.add_listener(Noting::registered("gone", &calls, Way::Stays)).unwrap();
    assert_eq!(member.seat.remove_listener(gone).unwrap().map(|it| it.name), Some("gone".to_owned()));
    let mut third = Player::new(&cat, cat.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("three play", &mut [&mut host, &mut member, &mut third], |it| is_linked(it, 3));
    let hangs = member.seat.add_listener(Noting::registered("hangs", &calls, Way::Hangs)).unwrap();
    assert!(gone < hangs, "a number is not given twice");
    assert!(member.seat.remove_listener(gone).unwrap().is_none());

    drop((host, ann));
    let called = |name, stage| calls.lock().unwrap().contains(&(name, stage));
    until("it waits for the one that hangs", &mut [&mut member, &mut third], |_| {
        called("hangs", Stage::DisconnectClient) && called("early", Stage::DisconnectClient)
    });
    assert!(!called("first", Stage::Finalise));
    assert!(member.seat.remove_listener(early).unwrap().is_none(), "it has unregistered itself");
    // Who comes in the middle is called from the next migration on.
    member.seat.add_listener(Noting::registered("late", &calls, Way::Stays)).unwrap();
    member.seat.remove_listener(hangs).unwrap().unwrap();
    until("nobody waits for it", &mut [&mut member, &mut third], |it| it.moved().is_some());
    assert_eq!(member.moved().unwrap().0, Cause::Controlled);
    let all = calls.lock().unwrap().clone();
    assert!(all.contains(&("first", Stage::Finalise)));
    assert!(all.iter().all(|(name, _)| !["late", "gone"].contains(name)), "{all:?}");
    assert_eq!(all.iter().filter(|(name, _)| *name == "early").count(), 2, "{all:?}");
    let told = |player: &Player| {
        let told = player.heard.iter().filter_map(|event| {
            let Event::Progress(progress) = event else { return None };
            progress.stage.map(|stage| (stage, progress.waits_for.clone()))
        });
        told.collect::<Vec<_>>()
    };
    let waits = (Stage::Initiate, ["first", "early", "hangs"].map(str::to_owned).to_vec());
    assert_eq!(told(&member).first(), Some(&waits), "the game is told whom it waits for");
    for _ in 2..LISTENERS_MAX {
        member.seat.add_listener(Noting::registered("many", &calls, Way::Stays)).unwrap();
    }
    let more = member.seat.add_listener(Noting::registered("more", &calls, Way::Stays));
    assert_eq!(more, Err(ListenersError::TooMany));
}
