//! Who comes in on a LAN while its session moves: the host that it found is not there any more, and another announces it.

use mainstay_peer::lan::{FoundSession, Search};

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
