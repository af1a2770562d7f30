//! Who comes in on a LAN while its session moves: the host that it found is not there any more, and another announces it.

use mainstay_peer::lan::{FoundSession, Search};
use mainstay_peer::{Service, Support};

use super::*;

/// Issue 5, section 4: "join in progress redirected during a migration".
#[test]
fn who_found_a_host_that_has_gone_comes_in_by_the_next() {
    let (ann, bob, cat, gone, elsewhere) = (start(), start(), start(), start(), start());
    // Nobody else has it.
    let session = SessionOptions::new(SessionId(ann.id().0));
    let mut host = Player::new(&ann, ann.found_lan("harbour", session, Vec::new()).unwrap());
    let mut search = Search::start().unwrap();
    let found = search.find(PATIENCE, |it| it.session == session.session).unwrap();
    let nobody = vec![gone.address()];
    drop(gone);
    // Whose door answers and who knows nothing of the session is as one that has just left it.
    for (newcomer, doors) in [(&bob, nobody), (&cat, vec![elsewhere.address()])] {
        let found = FoundSession { doors, ..found.clone() };
        let seat = newcomer.join_lan(&found, session, Vec::new()).unwrap();
        let mut new = Player::new(newcomer, seat);
        until("it plays", &mut [&mut host, &mut new], |it| is_linked(it, 2));
        drop(new);
        until("it has gone", &mut [&mut host], |it| it.shown().is_some_and(|it| it.members.len() == 1));
    }
}

/// Seed 000: "an individual lobby service can be configured to not support host migration". Issue 5: "off means that no session of that
/// service migrates", one that is played neither, and whoever looks for one is told.
#[test]
fn a_session_that_is_played_goes_by_the_flag_of_its_service() {
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(ann.id().0));
    let mut host = Player::new(&ann, ann.found_lan("quay", session, Vec::new()).unwrap());
    // Each look is a new one: a cache keeps two records of one second beside each other for a while (RFC 6762, section 10.2).
    let found = |migratable| {
        let is_it = |it: &FoundSession| it.session == session.session && it.migratable == migratable;
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = Search::start().unwrap().find(Duration::from_secs(2), is_it) {
                return found;
            }
            assert!(Instant::now() < until, "{migratable:?} is not told");
        }
    };
    let seat = bob.join_lan(&found(Migratable::Yes), session, Vec::new()).unwrap();
    let mut member = Player::new(&bob, seat);
    member.seat.set_can_be_host(CanBeHost::Yes).unwrap();
    let is_next = |it: &mut Player, next| it.shown().is_some_and(|it| it.anticipated == next);
    let (yes, no) = (Some(bob.id()), None);
    until("it could follow", &mut [&mut host, &mut member], |it| is_next(it, yes));
    ann.set_support(Service::Lan, Support::Unsupported);
    until("nobody could", &mut [&mut host, &mut member], |it| is_next(it, no));
    found(Migratable::No);
    ann.set_support(Service::Lan, Support::Supported);
    until("it could again", &mut [&mut host, &mut member], |it| is_next(it, yes));
    found(Migratable::Yes);
    // Who would not go along is nobody's successor.
    bob.set_support(Service::Lan, Support::Unsupported);
    until("it would not", &mut [&mut host, &mut member], |it| is_next(it, no));
}
