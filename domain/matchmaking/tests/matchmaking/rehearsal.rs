//! What a queue would do with some tickets is what it does with them.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::TicketId;
use mainstay_matchmaking::rehearsal::{Rehearsed, rehearse};
use mainstay_matchmaking::spec::{Declared, Gather, QueueSpec};
use mainstay_matchmaking::{Entity, Member, Rejection};
use uuid::Uuid;

use crate::draw::{Dice, queue, values};
use crate::world::{World, difference, fixed, growing, member, number_value, player, spec};

fn id(number: usize) -> TicketId {
    TicketId(Uuid::from_u128(number as u128 + 1))
}

fn tried(spec: QueueSpec, parties: Vec<Vec<Member>>, seconds: u32) -> Rehearsed {
    let creator = Entity::new("title", "title").unwrap();
    let tickets = parties.into_iter().enumerate().map(|(at, party)| (id(at), creator.clone(), party));
    rehearse(&Arc::new(spec), tickets.collect(), seconds, || true).unwrap()
}

#[test]
fn who_fits_at_once_and_who_fits_later_is_told() {
    let rules = vec![difference("skill", growing(1.0, 1.0, 9.0, 10))];
    let skilled = |name: &str, skill: f64| vec![member(name, &[number_value(skill)])];
    let parties = vec![
        skilled("alice", 1.0),
        skilled("bob", 2.0),
        skilled("carol", 10.0),
        skilled("dave", 13.0),
        skilled("eve", 90.0),
    ];
    let told = tried(spec(2, 2, rules), parties, 60);
    let matches: Vec<_> = told
        .matches
        .iter()
        .map(|it| (it.after, it.tickets.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        matches,
        [(Duration::ZERO, vec![id(0), id(1)]), (Duration::from_secs(20), vec![id(2), id(3)])],
        "3 apart may be after two steps"
    );
    assert_eq!(told.left, [id(4)]);
}

#[test]
fn what_nobody_waits_for_ends() {
    let rules = vec![difference("skill", growing(1.0, 1.0, 9.0, 10))];
    let ticket = |at: usize, skill: f64| {
        let name = format!("p{at}");
        (id(at), player(&name), vec![member(&name, &[number_value(skill)])])
    };
    let tickets = vec![ticket(0, 1.0), ticket(1, 4.0)];
    let looks = Cell::new(0);
    let waits = || looks.replace(looks.get() + 1) == 0;
    let told = rehearse(&Arc::new(spec(2, 2, rules)), tickets, 60, waits).unwrap();
    assert_eq!((told.matches.len(), told.left.len(), looks.get()), (0, 2, 2));
}

/// They have just missed a gathering, so each of these is told the longest wait.
#[test]
fn a_queue_that_gathers_is_rehearsed_with_its_wait() {
    let rules = vec![difference("skill", growing(1.0, 1.0, 9.0, 10))];
    let plain = spec(2, 2, rules);
    let gather = Gather::for_ms(3_000);
    let spec = QueueSpec::new(Declared { gather, ..plain.declared().clone() }).unwrap();
    let skilled = |name: &str, skill: f64| vec![member(name, &[number_value(skill)])];
    let parties = vec![
        skilled("a", 1.0),
        skilled("b", 2.0),
        skilled("c", 10.0),
        skilled("d", 13.0),
        skilled("e", 90.0),
    ];
    let after = |told: &Rehearsed| told.matches.iter().map(|it| it.after.as_secs()).collect::<Vec<_>>();
    assert_eq!(after(&tried(spec.clone(), parties.clone(), 60)), [3, 21]);
    assert_eq!(after(&tried(spec, parties, 2)), [0; 0]);
}

#[test]
fn who_is_not_taken_is_named() {
    let creator = player("alice");
    let party = || vec![member("alice", &[])];
    let tickets = vec![(id(0), creator.clone(), party()), (id(1), creator, party())];
    let refused = rehearse(&Arc::new(spec(2, 2, vec![])), tickets, 9, || true).unwrap_err();
    assert_eq!(refused.ticket, id(1));
    assert!(matches!(refused.why, Rejection::MembershipLimitExceeded { .. }), "{:?}", refused.why);
}

#[test]
fn nobody_waits_longer_than_asked() {
    let rules = vec![difference("skill", growing(0.0, 1.0, 9.0, 10))];
    let parties =
        vec![vec![member("alice", &[number_value(1.0)])], vec![member("bob", &[number_value(2.0)])]];
    assert_eq!(tried(spec(2, 2, rules), parties, 9).left, [id(0), id(1)]);
    assert_eq!(tried(spec(2, 2, vec![difference("skill", fixed(1.0))]), vec![], 9).matches, []);
}

/// Whatever the queue is like.
#[test]
fn it_is_what_the_queue_does() {
    let mut matched = 0;
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let spec = queue(&mut dice);
        let mut party = |at: usize| vec![member(&format!("player {at}"), &values(&mut dice, &spec))];
        let parties: Vec<Vec<Member>> = (0..6).map(&mut party).collect();
        let told = tried(spec.clone(), parties.clone(), 30);
        let mut world = World::new(spec);
        for party in parties {
            world.party(party);
        }
        world.seconds(30);
        let real: Vec<usize> = world.formed().iter().map(|formed| formed.members.len()).collect();
        let dry: Vec<usize> = told.matches.iter().map(|tried| tried.tickets.len()).collect();
        assert_eq!(dry, real, "seed {seed}");
        matched += real.len();
    }
    assert!(matched > 100, "{matched} matches are too few to tell");
}
