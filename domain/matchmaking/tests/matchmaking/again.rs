//! Tickets that are asked for again, under the id that the first one was made with.

use std::sync::Arc;

use mainstay_core::TicketId;
use mainstay_matchmaking::spec::{Declared, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{Answer, Caller, Command, Entity, KEPT, Outcome, Rejection, ServerDetails, Terms};
use uuid::Uuid;

use crate::world::{World, declared, member, player, seated, server, spec};

/// An id that is made of names: of a key, and of what is asked under it.
fn named(key: u64, asked: u64) -> TicketId {
    let id = (u128::from(key) << 64) | u128::from(asked);
    TicketId(uuid::Builder::from_custom_bytes(Uuid::from_u128(id).into_bytes()).into_uuid())
}

fn by_player(ticket: TicketId, name: &str) -> Command {
    let (caller, creator) = (Caller::Player(player(name)), member(name, &[]));
    Command::CreateTicket { ticket, caller, creator, invited: Vec::new(), give_up_after: 600, form: 1 }
}

fn by_server(ticket: TicketId, name: &str) -> Command {
    let (creator, members) = (Entity::new("title", "ABCD").unwrap(), vec![member(name, &[])]);
    let caller = Caller::Title;
    Command::CreateServerTicket { ticket, caller, creator, members, give_up_after: 600, form: 1 }
}

fn game(ticket: TicketId, name: &str) -> Command {
    let (members, server_details) = (vec![seated(name, "", &[])], ServerDetails::default());
    Command::CreateBackfill {
        ticket,
        caller: server("one"),
        members,
        server: server_details,
        places: None,
        give_up_after: 600,
        terms: Terms::default(),
        form: 1,
    }
}

/// A ticket of each kind under one id would be ended as the other, again and again.
#[test]
fn no_id_is_of_both_kinds() {
    for ordinary in [by_player, by_server] {
        let mut world = World::new(spec(3, 3, Vec::new()));
        let (first, second) = (named(1, 1), named(2, 1));
        assert_eq!(world.run(ordinary(first, "a")), Ok(Answer::Ticket(first)));
        assert_eq!(world.run(game(first, "b")), Err(Rejection::RequestTypeMismatch(first)));
        assert_eq!(world.run(game(second, "b")), Ok(Answer::Ticket(second)));
        assert_eq!(world.run(ordinary(second, "c")), Err(Rejection::RequestTypeMismatch(second)));
    }
}

/// Issue 4, point 4: "idempotency keys".
#[test]
fn the_same_again_finds_its_ticket_and_something_else_does_not() {
    for make in [by_player, by_server, game] {
        let mut world = World::new(spec(3, 3, Vec::new()));
        for asked in [4, 9, 6] {
            let answer = world.run(make(named(7, asked), "a"));
            let expected = if asked == 4 { Ok(Answer::Ticket(named(7, 4))) } else { Err(named(7, 4)) };
            assert_eq!(answer, expected.map_err(|ticket| Rejection::KeyReused { ticket }));
        }
        let told = world.journal.len();
        assert_eq!(world.run(make(named(7, 4), "a")), Ok(Answer::Ticket(named(7, 4))));
        assert_eq!(world.journal.len(), told, "nothing happens again");
        // Of a lower half, and of another key.
        assert!(matches!(world.run(make(named(7, 1), "z")), Err(Rejection::KeyReused { .. })));
        assert_eq!(world.run(make(named(8, 4), "b")), Ok(Answer::Ticket(named(8, 4))));
    }
}

/// A repeat is judged by nothing: the first answer is told whatever its queue has come to ask since.
#[test]
fn the_same_again_is_answered_also_where_it_would_be_refused_by_now() {
    let mut world = World::new(spec(3, 6, Vec::new()));
    let two = |ticket| Command::CreateServerTicket {
        ticket,
        caller: Caller::Title,
        creator: Entity::new("title", "ABCD").unwrap(),
        members: vec![member("a", &[]), member("b", &[])],
        give_up_after: 600,
        form: 1,
    };
    let large = |ticket| Command::CreateBackfill {
        ticket,
        caller: Caller::Title,
        members: ["c", "d", "e", "f"].map(|name| seated(name, "", &[])).to_vec(),
        server: ServerDetails::default(),
        places: None,
        give_up_after: 600,
        terms: Terms::default(),
        form: 1,
    };
    for (key, make) in [(7, &two as &dyn Fn(TicketId) -> Command), (8, &large)] {
        assert_eq!(world.run(make(named(key, 4))), Ok(Answer::Ticket(named(key, 4))));
    }
    let smaller = Declared { max_ticket_size: Some(1), ..declared(3, 3, Vec::new()) };
    world.run(Command::Configure(Arc::new(QueueSpec::new(smaller).unwrap()))).unwrap();
    for (key, make) in [(7, &two as &dyn Fn(TicketId) -> Command), (8, &large)] {
        assert!(world.run(make(named(key + 10, 4))).is_err(), "it would be refused");
        assert_eq!(world.run(make(named(key, 4))), Ok(Answer::Ticket(named(key, 4))));
    }
}

/// "A repeat answers with the same ticket" while that is kept; then it asks for a new one, and so does something else under the key.
#[test]
fn a_key_is_free_once_its_ticket_is_forgotten() {
    for make in [by_player, by_server, game] {
        let mut world = World::new(spec(3, 3, Vec::new()));
        let caller = server("one");
        for asked in [4, 4, 9] {
            let ticket = named(7, asked);
            let before = world.journal.len();
            assert_eq!(world.run(make(ticket, "a")), Ok(Answer::Ticket(ticket)));
            assert_eq!(world.journal.len(), before + 1, "it is made");
            let end = world.cancel(ticket, caller.clone());
            if end.is_err() {
                world.run(Command::CancelBackfill { ticket, caller: caller.clone() }).unwrap();
            }
            world.pass(KEPT);
        }
    }
}

/// The halves of a random id say nothing.
#[test]
fn random_ids_have_no_key() {
    let mut world = World::new(spec(9, 9, Vec::new()));
    let random = |low: u128| {
        let bytes = Uuid::from_u128((77 << 64) | low).into_bytes();
        TicketId(uuid::Builder::from_random_bytes(bytes).into_uuid())
    };
    for (low, name) in [(1, "a"), (2, "b")] {
        assert_eq!(world.run(by_player(random(low), name)), Ok(Answer::Ticket(random(low))));
    }
}

/// A match's id is that of its server's allocation and session, which know it longer than its ticket is known: of the same id again
/// they would answer with the server of the match before.
#[test]
fn a_key_that_comes_again_when_its_ticket_is_forgotten_is_in_another_match() {
    type Makes = fn(TicketId, &str) -> Command;
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let venue = Some(Venue::Server(allocation));
    let placed = QueueSpec::new(Declared { venue, ..declared(2, 2, Vec::new()) }).unwrap();
    let plain = || spec(2, 2, Vec::new());
    let made: [(QueueSpec, Makes); 3] = [(placed, by_player), (plain(), by_player), (plain(), game)];
    for (spec, make) in made {
        let mut world = World::new(spec);
        let mut matches = Vec::new();
        for other in ["x", "y"] {
            world.solo(other, &[]);
            assert_eq!(world.run(make(named(7, 4), "bob")), Ok(Answer::Ticket(named(7, 4))));
            let asked = world.queue.holds().next().map(|hold| hold.asked());
            if let Some(id) = asked {
                world.answer(id, Outcome::Placed(Arc::new(ServerDetails::default())));
            }
            matches.push(world.formed_ids().last().unwrap());
            world.pass(KEPT);
        }
        assert_eq!(world.formed_ids().count(), 2);
        assert_ne!(matches[0], matches[1]);
    }
}
