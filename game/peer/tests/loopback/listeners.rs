//! Listeners that come and go while a session runs, and what they are told beside their stages.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use mainstay_peer::listener::{ListError, Listener, Migrating};
use mainstay_peer::migration::{
    Answer, Cause, End, EntityId, Failure, LISTENERS_MAX, Order, Priority, Progress, SessionId, Stage,
};
use mainstay_peer::{Event, ListenersError, Over, Registered, SessionOptions};

use crate::seats::over;
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

/// In each stage: seed 000 has the list made "in the OnDemoteToClient() listener", and kept until OnFinalise.
fn lists(info: &Migrating) -> Result<(), ListError> {
    info.no_longer_needed(vec![EntityId(7)])
}

impl Listener for Noting {
    fn on_initiate(&mut self, info: &Migrating, _: &mut u32) -> Answer {
        assert_eq!(lists(info), Err(ListError::NotDemoted));
        self.note(Stage::Initiate)
    }
    fn on_disconnect_client(&mut self, info: &Migrating, _: &mut u32) -> Answer {
        assert_eq!(lists(info), Err(ListError::NotDemoted));
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
        assert_eq!(lists(info), Ok(()));
        self.note(Stage::DemoteToClient)
    }
    fn on_promote_to_server(&mut self, info: &Migrating, _: &mut u32) -> Answer {
        assert_eq!(lists(info), Err(ListError::NotDemoted));
        self.note(Stage::PromoteToServer)
    }
    fn on_finalise(&mut self, info: &Migrating, _: &mut u32) -> Answer {
        let is_demoted = self.calls.lock().unwrap().contains(&(self.name, Stage::DemoteToClient));
        assert_eq!(lists(info), if is_demoted { Ok(()) } else { Err(ListError::NotDemoted) });
        self.note(Stage::Finalise)
    }
    fn on_progress(&mut self, _: &Migrating, progress: &Progress) {
        self.progress.lock().unwrap().push(progress.clone());
    }
}

/// "your class must register itself with the network layer. This is best done in the constructor of the class"
/// (AddHostMigrationEventListener, with a name by which the game is told whom it waits for) and "A corresponding
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

/// It panics in the second stage.
struct Panicking;

impl Listener for Panicking {
    fn on_disconnect_client(&mut self, _: &Migrating, _: &mut u32) -> Answer {
        panic!("the listener's")
    }
}

/// A listener panics on the game's own thread, out of [`mainstay_peer::Seat::next`]. A game that catches that has not answered, so its budget ends the
/// migration for it; its peer lives on, and nobody else waits for it.
#[test]
fn a_listener_that_panics_takes_nobody_along() {
    let session = SessionOptions::new(SessionId(51));
    let (ann, bob, cat) = (start(), start(), start());
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut heir = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut heir], |it| is_linked(it, 2));
    let panicking = Registered {
        name: "panics".to_owned(),
        priority: Priority::PostEngine,
        listener: Box::new(Panicking),
    };
    let mut member = Player::new(&cat, cat.join(session, vec![ann.address()], vec![panicking]).unwrap());
    until("three play", &mut [&mut host, &mut heir, &mut member], |it| is_linked(it, 3));
    member.seat.set("net_migrate_timeout", "1").unwrap();
    drop((host, ann));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        until("it panics", &mut [&mut heir, &mut member], |_| false);
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"the listener's"));
    let too_late = Over::Ended(End::Failed(Failure::TimeLimit));
    until("the others have moved, and its time is up", &mut [&mut heir, &mut member], |it| {
        if it.me == cat.id() { over(it) == Some(&too_late) } else { it.moved().is_some() }
    });
    let mut again = Player::new(&cat, cat.join(session, vec![bob.address()], Vec::new()).unwrap());
    // Whether the host that left is listed yet depends on who had a vote when it did.
    until("its peer takes a place again", &mut [&mut heir, &mut again], |it| {
        it.shown().is_some_and(|shown| {
            shown.leader == bob.id() && shown.members.iter().any(|(peer, _)| *peer == cat.id())
        })
    });
}

/// A comparator is called on the peer's own thread, which a panic takes along: its games are told, instead of waiting for ever.
#[test]
fn a_game_whose_comparator_panics_is_told_that_it_is_over() {
    let order = Order::Game { number: 1, compare: &|_, _| -> Ordering { panic!("the comparator's") } };
    let session = SessionOptions { order, ..SessionOptions::new(SessionId(52)) };
    let (ann, bob, cat) = (start(), start(), start());
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let members =
        [&bob, &cat].map(|it| Player::new(it, it.join(session, vec![ann.address()], Vec::new()).unwrap()));
    until("it is told", &mut [&mut host], |it| over(it) == Some(&Over::Panicked));
    assert_eq!(over(&host).and_then(Over::code), Some("MS-S248"));
    assert!(host.seat.leave().is_err(), "there is nobody to tell");
    drop((host, members));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(ann)));
    assert_eq!(dropped.unwrap_err().downcast_ref(), Some(&"the comparator's"), "it is not swallowed");
    for peer in [bob, cat] {
        // Whether they have compared anybody yet is open.
        let _dropped = catch_unwind(AssertUnwindSafe(|| drop(peer)));
    }
}
