//! No player is stuck in the ticket of a game that is gone: leases, hosted processes, and tickets kept in step with their games.

use std::time::Duration;

use mainstay_core::{ClaimId, FleetNumber, ServerId, StateMachine as _, Tenure, TicketId, Turn};
use mainstay_matchmaking::spec::Missing;
use mainstay_matchmaking::{
    Answer, BackfillStage, Caller, Cancellation, Command, Lease, Observation, Rejection, Seated,
    ServerDetails, TakenOut, Target, Terms,
};
use uuid::Uuid;

use crate::world::{World, equality, member, player, seated, server, spec, text, with_teams};

fn world() -> World {
    World::new(with_teams(2, 4, (1, 2), vec![]))
}

fn tenure(run: u64) -> Tenure {
    let server = ServerId::of(FleetNumber::new(1).unwrap(), 7);
    Tenure { server, session: ClaimId(Uuid::from_u128(99)), run: Some(run) }
}

fn create(
    world: &mut World,
    caller: Caller,
    members: Vec<Seated>,
    terms: Terms,
) -> Result<TicketId, Rejection> {
    let (ticket, form) = (world.id(), world.queue.form());
    let server = ServerDetails::default();
    world.run(Command::CreateBackfill {
        ticket,
        caller,
        members,
        server,
        places: None,
        give_up_after: 600,
        terms,
        form,
    })?;
    Ok(ticket)
}

fn keep(
    world: &mut World,
    tenure: Tenure,
    members: Vec<Seated>,
    places: u32,
    known: Option<TicketId>,
) -> Result<Answer, Rejection> {
    let (ticket, form) = (world.id(), world.queue.form());
    let server = ServerDetails::default();
    world.run(Command::KeepBackfill { ticket, tenure, members, server, places, known, form })
}

#[track_caller]
fn kept(answer: Result<Answer, Rejection>) -> TicketId {
    match answer {
        Ok(Answer::Ticket(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

fn why(world: &World, ticket: TicketId) -> Option<Cancellation> {
    match world.queue.backfill(ticket, &Caller::Title, world.now).unwrap().stage {
        BackfillStage::Canceled { reason, .. } => Some(reason),
        BackfillStage::Searching(_) | BackfillStage::Matched { .. } => None,
    }
}

fn alice() -> Vec<Seated> {
    vec![seated("alice", "red", &[])]
}

/// "a backfill ticket of a server that died or fell silent is withdrawn by law, so no player is ever stuck": a lease that is
/// renewed keeps it, and one that runs out withdraws it.
#[test]
fn a_lease_is_renewed_by_its_server_and_runs_out_without() {
    let mut world = world();
    let terms = Terms { lease: Lease::Renewed { within: 30 }, ..Terms::default() };
    let ticket = create(&mut world, server("one"), alice(), terms).unwrap();
    for _ in 0..3 {
        world.seconds(20);
        assert_eq!(world.run(Command::RenewBackfill { ticket, caller: server("one") }), Ok(Answer::Done));
    }
    let stranger = Command::RenewBackfill { ticket, caller: server("two") };
    assert!(matches!(world.run(stranger), Err(Rejection::Unauthorized { .. })));
    world.seconds(29);
    assert_eq!(world.backfill_status(ticket), "WaitingForMatch");
    world.seconds(1);
    assert_eq!(why(&world, ticket), Some(Cancellation::Timeout));
    let again = Command::RenewBackfill { ticket, caller: server("one") };
    assert_eq!(world.run(again), Err(Rejection::AlreadyCompleted(ticket)));
    // "any users in the lost backfill ticket will be unable to be submitted in another": no longer.
    create(&mut world, server("two"), alice(), Terms::default()).unwrap();
}

/// Silence counts from the moment a leader begins to listen: no lease runs out because nobody was there to hear.
#[test]
fn a_new_leader_counts_leases_from_its_first_moment() {
    let mut world = world();
    let terms = Terms { lease: Lease::Renewed { within: 30 }, ..Terms::default() };
    let ticket = create(&mut world, server("one"), alice(), terms).unwrap();
    world.queue = world.rebuilt();
    world.now = world.now + Duration::from_secs(100);
    world.seconds(29);
    assert_eq!(world.backfill_status(ticket), "WaitingForMatch");
    world.seconds(1);
    assert_eq!(why(&world, ticket), Some(Cancellation::Timeout));
}

/// A leader that was held up (its process stopped, its host asleep) heard nobody: that is no silence of the servers. Who is silent after it
/// is withdrawn a lease later, also by a leader that is held up again and again.
#[test]
fn no_lease_runs_out_because_its_leader_was_held_up() {
    let mut world = world();
    let terms = Terms { lease: Lease::Renewed { within: 5 }, ..Terms::default() };
    let lives = create(&mut world, server("one"), alice(), terms).unwrap();
    let silent = create(&mut world, server("two"), vec![seated("bob", "red", &[])], terms).unwrap();
    world.now = world.now + Duration::from_secs(12);
    let renewed = Command::RenewBackfill { ticket: lives, caller: server("one") };
    assert_eq!(world.run(renewed.clone()), Ok(Answer::Done), "it waited to be read");
    world.seconds(3);
    assert_eq!(world.backfill_status(silent), "WaitingForMatch");
    assert_eq!(world.run(renewed), Ok(Answer::Done));
    world.now = world.now + Duration::from_secs(12);
    world.seconds(0);
    assert_eq!(why(&world, silent), Some(Cancellation::Timeout));
    assert_eq!(world.backfill_status(lives), "WaitingForMatch");
    world.seconds(5);
    assert_eq!(why(&world, lives), Some(Cancellation::Timeout));
}

/// It is its own server that is silent, whoever else has its ticket changed.
#[test]
fn a_lease_is_not_renewed_by_others() {
    let mut world = World::new(spec(2, 4, vec![equality("mode", Missing::MatchAny)]));
    let terms = Terms { lease: Lease::Renewed { within: 30 }, taken_out: TakenOut::GoesOn };
    let three = ["alice", "bob", "carol"].map(|name| seated(name, "", &[text("old")])).to_vec();
    let ticket = create(&mut world, server("one"), three, terms).unwrap();
    world.seconds(20);
    let taken_out = Command::CancelAllBackfills { player: player("bob"), caller: Caller::Title };
    assert_eq!(world.run(taken_out), Ok(Answer::Cancelled(1)));
    for name in ["carol", "dan"] {
        world.solo(name, &[text("new")]);
    }
    assert_eq!(
        world.queue.backfills_of(&player("carol"), &Caller::Title),
        Ok(None),
        "it is matched elsewhere"
    );
    world.seconds(9);
    assert_eq!(world.backfill_status(ticket), "WaitingForMatch");
    world.seconds(1);
    assert_eq!(why(&world, ticket), Some(Cancellation::Timeout));
}

/// What has run out is not renewed, though nobody has looked since.
#[test]
fn a_word_that_comes_late_renews_nothing() {
    let mut world = world();
    let terms = Terms { lease: Lease::Renewed { within: 5 }, ..Terms::default() };
    let ticket = create(&mut world, server("one"), alice(), terms).unwrap();
    world.now = world.now + Duration::from_secs(5);
    let late = Command::RenewBackfill { ticket, caller: server("one") };
    assert_eq!(world.run(late), Err(Rejection::AlreadyCompleted(ticket)));
    for wrong in [0, 3_601] {
        let terms = Terms { lease: Lease::Renewed { within: wrong }, ..Terms::default() };
        let refused = create(&mut world, server("one"), alice(), terms);
        assert!(matches!(refused, Err(Rejection::BadRequest(_))), "{refused:?}");
    }
}

/// "tickets die with the process generation, so a restarted server starts clean".
#[test]
fn a_hosted_ticket_dies_with_its_process_and_the_next_starts_clean() {
    let mut world = world();
    let first = create(&mut world, Caller::Hosted(tenure(1)), alice(), Terms::default()).unwrap();
    assert_eq!(world.queue.tenures().collect::<Vec<_>>(), [&tenure(1)]);
    // The next process of the same server owns nothing of the first.
    let next = Caller::Hosted(tenure(2));
    let of_the_first = Command::CancelBackfill { ticket: first, caller: next.clone() };
    assert!(matches!(world.run(of_the_first), Err(Rejection::Unauthorized { .. })));
    assert_eq!(world.run(Command::TenureOver(tenure(1))), Ok(Answer::Cancelled(1)));
    assert_eq!(why(&world, first), Some(Cancellation::Server));
    assert_eq!(world.run(Command::TenureOver(tenure(1))), Ok(Answer::Cancelled(0)), "said again");
    let second = create(&mut world, next.clone(), alice(), Terms::default()).unwrap();
    assert_eq!(world.run(Command::TenureOver(tenure(1))), Ok(Answer::Cancelled(0)), "of another process");
    assert_eq!(world.backfill_status(second), "WaitingForMatch");
    assert_eq!(world.run(Command::CancelBackfill { ticket: second, caller: next }), Ok(Answer::Cancelled(1)));
}

/// "rights over its own tickets and the two per-player recovery calls alone".
#[test]
fn a_hosted_process_may_do_its_own_and_recover_a_player_and_nothing_else() {
    let mut world = world();
    let lost = create(&mut world, server("crashed"), alice(), Terms::default()).unwrap();
    let ticket = world.try_ticket("bob", &[], &["his friend"]).unwrap();
    let caller = Caller::Hosted(tenure(1));
    let form = world.queue.form();
    let id = world.id();
    for command in [
        Command::CancelTicket { ticket, caller: caller.clone() },
        Command::CancelAllTickets { player: player("bob"), caller: caller.clone() },
        Command::CancelBackfill { ticket: lost, caller: caller.clone() },
        Command::RenewBackfill { ticket: lost, caller: caller.clone() },
        Command::CreateServerTicket {
            ticket: id,
            caller: caller.clone(),
            creator: player("dave"),
            members: vec![seated("dave", "", &[]).member],
            give_up_after: 60,
            form,
        },
    ] {
        let refused = world.run(command.clone());
        assert!(matches!(refused, Err(Rejection::Unauthorized { .. })), "{command:?}: {refused:?}");
    }
    assert!(world.queue.statistics(&caller, world.now).is_err());
    assert!(world.queue.ticket(ticket, &caller, world.now).is_err());
    let another = Rejection::Unauthorized { who: "a hosted process", why: "it is about another player" };
    assert_eq!(world.queue.tickets_of(&player("bob"), &caller), Err(another), "and is no player");
    assert!(world.queue.backfill(lost, &caller, world.now).is_err());
    assert_eq!(world.queue.backfills_of(&player("alice"), &caller), Ok(Some(lost)));
    let recovery = Command::CancelAllBackfills { player: player("alice"), caller: caller.clone() };
    assert_eq!(world.run(recovery), Ok(Answer::Cancelled(1)));
    // A match it looks at is one of its session.
    let own = create(&mut world, caller.clone(), alice(), Terms::default()).unwrap();
    world.solo("carol", &[]);
    let formed = world.formed();
    assert_eq!(formed.len(), 1);
    assert!(world.queue.formed_match(formed[0].id, &caller, world.now).is_ok());
    let elsewhere = Tenure { session: ClaimId(Uuid::from_u128(98)), ..tenure(1) };
    assert!(world.queue.formed_match(formed[0].id, &Caller::Hosted(elsewhere), world.now).is_err());
    assert_eq!(world.backfill_status(own), "Matched");
}

/// Who watches is told of each process that has open tickets, and when it has none; a rebuilt queue owes the same.
#[test]
fn what_is_to_be_watched_follows_from_the_open_tickets() {
    let mut world = world();
    let target = Target::Tenure(tenure(1));
    create(&mut world, Caller::Hosted(tenure(1)), alice(), Terms::default()).unwrap();
    assert!(world.queue.take_touched().contains(&target) && world.queue.hangs_on(&tenure(1)));
    let mut rebuilt = world.rebuilt();
    assert!(rebuilt.take_touched().contains(&target) && rebuilt.hangs_on(&tenure(1)));
    world.run(Command::TenureOver(tenure(1))).unwrap();
    assert!(world.queue.take_touched().contains(&target) && !world.queue.hangs_on(&tenure(1)));
}

/// "a restarted server starts clean": its first word finds its players free, though nobody has noticed yet that the process before it
/// is over; and what that one says late is its own loss.
#[test]
fn a_restarted_servers_first_ticket_is_not_kept_out_by_the_last_ones() {
    let mut world = world();
    let first = create(&mut world, Caller::Hosted(tenure(1)), alice(), Terms::default()).unwrap();
    let second = create(&mut world, Caller::Hosted(tenure(2)), alice(), Terms::default()).unwrap();
    assert_eq!(why(&world, first), Some(Cancellation::Server));
    assert_eq!(world.backfill_status(second), "WaitingForMatch");
    let third = kept(keep(&mut world, tenure(3), alice(), 1, None));
    assert_eq!(why(&world, second), Some(Cancellation::Server));
    let late = keep(&mut world, tenure(2), alice(), 1, None);
    assert!(matches!(late, Err(Rejection::MembershipLimitExceeded { .. })), "{late:?}");
    // Nor by the tickets of the server that the session was moved from.
    let moved = Tenure { server: ServerId::of(FleetNumber::new(1).unwrap(), 9), ..tenure(1) };
    let elsewhere = kept(keep(&mut world, moved, alice(), 1, None));
    assert_eq!(why(&world, third), Some(Cancellation::Server));
    let third = elsewhere;
    // A refused word ends nothing, and neither does one of another server or session.
    let journal = world.journal.len();
    let five = (0..5).map(|n| seated(&format!("{n}"), "", &[])).collect();
    assert!(keep(&mut world, Tenure { run: Some(4), ..moved }, five, 1, None).is_err());
    assert_eq!(world.journal.len(), journal);
    for other in [
        Tenure { session: ClaimId(Uuid::from_u128(98)), ..tenure(9) },
        Tenure { server: ServerId::of(FleetNumber::new(1).unwrap(), 8), ..tenure(9) },
    ] {
        let bob = vec![seated(&format!("{other:?}"), "red", &[])];
        kept(keep(&mut world, other, bob, 1, None));
        assert_eq!(world.backfill_status(third), "WaitingForMatch");
    }
}

/// "never silently unmatchable", and nothing is written down for a game that says the same each second.
#[test]
fn a_game_that_nobody_can_join_is_told_so_and_leaves_no_trace() {
    let rule = equality("build", Missing::MatchAny);
    let mut world = World::new(with_teams(2, 4, (1, 2), vec![rule]));
    let on = |builds: [&str; 2]| {
        vec![seated("alice", "red", &[text(builds[0])]), seated("bob", "blue", &[text(builds[1])])]
    };
    let journal = world.journal.len();
    for _ in 0..5 {
        assert_eq!(keep(&mut world, tenure(1), on(["1", "2"]), 1, None), Err(Rejection::Unmatchable));
        world.seconds(1);
    }
    assert_eq!(world.journal.len(), journal);
    // One that can be joined is, and ends with its name once it can be no more.
    let ticket = kept(keep(&mut world, tenure(1), on(["1", "1"]), 1, None));
    assert_eq!(kept(keep(&mut world, tenure(1), on(["1", "2"]), 1, None)), ticket);
    assert_eq!(why(&world, ticket), Some(Cancellation::TicketUnmatchable));
    let journal = world.journal.len();
    assert_eq!(keep(&mut world, tenure(1), on(["1", "2"]), 1, None), Err(Rejection::Unmatchable));
    assert_eq!(world.journal.len(), journal);
}

/// "*automatic* backfill kept up from the players the server reports": a leaver opens it, a joiner who came otherwise changes it,
/// and it keeps its age and its place.
#[test]
fn a_kept_ticket_follows_its_game() {
    let mut world = world();
    let two = || vec![seated("alice", "red", &[]), seated("bob", "blue", &[])];
    let ticket = kept(keep(&mut world, tenure(1), two(), 2, None));
    assert_eq!(kept(keep(&mut world, tenure(1), two(), 2, None)), ticket, "said again");
    let created = world.queue.backfill(ticket, &Caller::Title, world.now).unwrap().created;
    world.seconds(30);
    let journal = world.journal.len();
    assert_eq!(kept(keep(&mut world, tenure(1), alice(), 3, None)), ticket);
    assert_eq!(world.journal.len(), journal + 1, "changed, not made anew");
    let changed = world.queue.backfill(ticket, &Caller::Title, world.now).unwrap().clone();
    assert_eq!((changed.members.len(), changed.places, changed.created), (1, Some(3), created));
    assert_eq!(changed.terms, Terms { lease: Lease::Hosted(tenure(1)), taken_out: TakenOut::GoesOn });
    // Bob left it, and may look for another game, and be in another's ticket.
    create(&mut world, server("two"), vec![seated("bob", "red", &[])], Terms::default()).unwrap();
    assert_eq!(keep(&mut world, tenure(1), alice(), 0, None), Ok(Answer::Cancelled(1)));
    assert_eq!(keep(&mut world, tenure(1), alice(), 0, None), Ok(Answer::Cancelled(0)));
    assert_eq!(why(&world, ticket), Some(Cancellation::Server));
}

/// A game has one search, and who plays it knows best: a title's ticket that names its session is the one its own words change from then on, with
/// the players and places that it says; it stays the title's, who may look at it and cancel it.
#[test]
fn a_titles_ticket_for_a_game_follows_the_games_own_words() {
    let mut world = world();
    let terms = Terms { lease: Lease::Hosted(tenure(1)), taken_out: TakenOut::Ends };
    let players = vec![seated("alice", "red", &[]), seated("bob", "blue", &[])];
    let ticket = create(&mut world, Caller::Title, players, terms).unwrap();
    assert_eq!(kept(keep(&mut world, tenure(1), alice(), 3, None)), ticket, "no second one");
    let followed = world.queue.backfill(ticket, &Caller::Title, world.now).unwrap().clone();
    assert_eq!((followed.members.len(), followed.places, followed.terms), (1, Some(3), terms));
    let cancel = Command::CancelBackfill { ticket, caller: Caller::Title };
    assert_eq!(world.run(cancel), Ok(Answer::Cancelled(1)));
    // It says who plays again and again, so it searches on.
    let own = kept(keep(&mut world, tenure(1), alice(), 3, None));
    assert_ne!(own, ticket);
    let again = create(&mut world, Caller::Title, alice(), terms);
    assert!(matches!(again, Err(Rejection::MembershipLimitExceeded { .. })), "{again:?}");
    assert_eq!(keep(&mut world, tenure(1), alice(), 0, None), Ok(Answer::Cancelled(1)), "it is full");
}

/// A ticket that the title makes beside the game's own, of others, is not taken for that one: the game's players are in its own.
#[test]
fn a_game_keeps_its_own_ticket_where_there_is_a_titles_beside_it() {
    let mut world = world();
    let (low, form) = (world.id(), world.queue.form());
    let own = kept(keep(&mut world, tenure(1), alice(), 1, None));
    assert!(low < own);
    world
        .run(Command::CreateBackfill {
            ticket: low,
            caller: Caller::Title,
            members: vec![seated("bob", "blue", &[])],
            server: ServerDetails::default(),
            places: None,
            give_up_after: 600,
            terms: Terms { lease: Lease::Hosted(tenure(1)), ..Terms::default() },
            form,
        })
        .unwrap();
    assert_eq!(kept(keep(&mut world, tenure(1), alice(), 2, None)), own);
    assert_eq!(world.backfill_status(low), "WaitingForMatch");
}

/// A game cannot know who was matched since it last heard: it is told before anything changes.
#[test]
fn a_game_is_told_who_comes_before_its_ticket_changes() {
    let mut world = world();
    let ticket = kept(keep(&mut world, tenure(1), alice(), 1, None));
    world.solo("carol", &[]);
    assert_eq!(world.backfill_status(ticket), "Matched");
    // It does not know of carol yet, and would ask for one more.
    let journal = world.journal.len();
    assert_eq!(kept(keep(&mut world, tenure(1), alice(), 2, None)), ticket);
    world.queue = world.rebuilt();
    assert_eq!(kept(keep(&mut world, tenure(1), alice(), 2, None)), ticket);
    assert_eq!(world.journal.len(), journal);
    let both = vec![seated("alice", "red", &[]), seated("carol", "blue", &[])];
    let next = kept(keep(&mut world, tenure(1), both, 1, Some(ticket)));
    assert_ne!(next, ticket);
    assert_eq!(world.backfill_status(next), "WaitingForMatch");
}

/// The title may look for players of the same game beside it: a game that hears once a second is told of each match, one after another, also of two in
/// one moment and by a queue that was rebuilt meanwhile.
#[test]
fn a_game_is_told_of_each_match_that_was_made_since_it_heard() {
    let mut world = world();
    let own = kept(keep(&mut world, tenure(1), alice(), 1, None));
    let terms = Terms { lease: Lease::Hosted(tenure(1)), ..Terms::default() };
    let beside = create(&mut world, Caller::Title, vec![seated("bob", "blue", &[])], terms).unwrap();
    world.solo("carol", &[]);
    world.solo("dan", &[]);
    assert_eq!([own, beside].map(|it| world.backfill_status(it)), ["Matched"; 2]);
    let first = kept(keep(&mut world, tenure(1), alice(), 1, None));
    world.queue = world.rebuilt();
    let second = kept(keep(&mut world, tenure(1), alice(), 1, Some(first)));
    assert_eq!(std::collections::BTreeSet::from([first, second]), [own, beside].into());
    assert_eq!(keep(&mut world, tenure(1), alice(), 0, Some(second)), Ok(Answer::Cancelled(0)));
}

/// "re-queueing players taken out of the ticket instead of destroying it".
#[test]
fn a_ticket_goes_on_without_who_is_taken_out_where_it_is_to() {
    let mut world = world();
    let terms = Terms { taken_out: TakenOut::GoesOn, ..Terms::default() };
    let two = vec![seated("alice", "red", &[]), seated("bob", "blue", &[])];
    let ticket = create(&mut world, server("one"), two, terms).unwrap();
    let recovery = Command::CancelAllBackfills { player: player("bob"), caller: Caller::Title };
    assert_eq!(world.run(recovery), Ok(Answer::Cancelled(1)));
    assert_eq!(world.backfill_status(ticket), "WaitingForMatch");
    assert_eq!(world.queue.backfills_of(&player("bob"), &Caller::Title), Ok(None));
    world.solo("carol", &[]);
    assert_eq!(world.matched(), [["alice/red", "carol/blue"]]);
}

/// "a player is never lost between two states, never matched twice": whoever is matched elsewhere plays there, and its old game's ticket goes on
/// without it, whatever becomes of that where a server takes a player out.
#[test]
fn a_ticket_goes_on_without_who_is_matched_elsewhere() {
    for taken_out in [TakenOut::Ends, TakenOut::GoesOn] {
        let mut world = World::new(with_teams(4, 4, (2, 2), Vec::new()));
        let terms = Terms { taken_out, ..Terms::default() };
        let three = ["alice", "bob", "carol"].into_iter().zip(["red", "blue", "blue"]);
        let three = three.map(|(name, team)| seated(name, team, &[])).collect();
        let game = create(&mut world, server("one"), three, terms).unwrap();
        let party = ["alice", "bob", "dan", "eve"].map(|name| member(name, &[])).to_vec();
        let (two, others) = (party[..2].to_vec(), party[2..].to_vec());
        let two = world.party(two);
        world.party(others);
        assert_eq!((world.status(two), world.backfill_status(game)), ("Matched", "WaitingForMatch"));
        for name in ["alice", "bob"] {
            assert_eq!(world.queue.backfills_of(&player(name), &Caller::Title), Ok(None), "{taken_out:?}");
        }
        // Each of those who come finds the game, which has room for three now.
        for name in ["fay", "gus", "hal"] {
            world.solo(name, &[]);
        }
        let last: Vec<String> =
            world.matched()[1].iter().map(|it| it.split('/').next().unwrap().into()).collect();
        assert_eq!(last, ["carol", "fay", "gus", "hal"]);
        assert_eq!(world.queue.snapshot(), world.replayed().snapshot());
    }
}

/// Where the places that it asked for are too few for a match then, it ends by that name.
#[test]
fn a_ticket_that_is_left_too_small_ends() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    let three = ["alice", "bob", "carol"].map(|name| seated(name, "", &[])).to_vec();
    let game = world.try_backfill(&server("one"), three, ServerDetails::default(), Some(1)).unwrap();
    for two in [["alice", "dan"], ["eve", "fay"]] {
        world.party(two.map(|name| member(name, &[])).to_vec());
    }
    assert_eq!(why(&world, game), Some(Cancellation::TicketUnmatchable));
}

/// What is soft may vanish at any instant: a lease is then counted anew, and nothing else changes.
#[test]
fn forgetting_is_safe() {
    let mut world = world();
    let terms = Terms { lease: Lease::Renewed { within: 30 }, ..Terms::default() };
    let ticket = create(&mut world, server("one"), alice(), terms).unwrap();
    world.seconds(20);
    world.queue.observe(world.now, Observation::Forgotten);
    let answer = Turn::run(world.now, &mut world.queue, &Command::Due).answer;
    assert_eq!(answer, Ok(Answer::Done));
    world.seconds(29);
    assert_eq!(world.backfill_status(ticket), "WaitingForMatch");
    world.seconds(1);
    assert_eq!(why(&world, ticket), Some(Cancellation::Timeout));
}
