//! "teams that cannot be filled […]: refused at the door […], never silently unmatchable": games and parties that no match of their queue has
//! room for, whoever else comes.

use mainstay_core::{ClaimId, FleetNumber, ServerId, Tenure, TicketId};
use mainstay_matchmaking::spec::{Declared, Expansion, NoRoom, QueueSpec, Rule, RuleKind, TeamSpec};
use mainstay_matchmaking::why::{Short, Verdict};
use mainstay_matchmaking::{
    Answer, Caller, Cancellation, Command, Event, Rejection, Seated, ServerDetails, TakenOut, Terms,
};
use uuid::Uuid;

use crate::world::{World, declared, member, optional, player, rule, seated, server, spec, with_teams};

/// A queue of these sizes, with a team for each of these.
fn of_teams(sizes: (u32, u32), teams: &[(u32, u32)], rules: Vec<Rule>) -> QueueSpec {
    let named = ["red", "blue", "gold"].into_iter().zip(teams);
    let teams = named.map(|(name, (min, max))| TeamSpec { name: name.into(), min: *min, max: *max });
    QueueSpec::new(Declared { teams: teams.collect(), ..declared(sizes.0, sizes.1, rules) }).unwrap()
}

fn even(allowed: Expansion<u32>) -> Rule {
    rule("even", RuleKind::TeamSizeBalance { allowed })
}

/// So many on red, on blue, and on no team.
fn game(red: usize, blue: usize, loose: usize) -> Vec<Seated> {
    let teams = [("red", red), ("blue", blue), ("", loose)];
    let seats = teams.iter().flat_map(|(team, count)| (0..*count).map(move |at| (*team, at)));
    seats.map(|(team, at)| seated(&format!("{team}-{at}"), team, &[])).collect()
}

/// What a server is told that asks for so many places.
fn asked(queue: &QueueSpec, members: Vec<Seated>, places: Option<u32>) -> Result<(), NoRoom> {
    let mut world = World::new(queue.clone());
    match world.try_backfill(&server("one"), members, ServerDetails::default(), places) {
        Ok(_) => Ok(()),
        Err(Rejection::NoRoom(why)) => Err(why),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_game_that_no_match_has_room_for_is_refused() {
    let few = |most, least| Err(NoRoom::TooFew { most, least });
    let full = |players, max| Err(NoRoom::Full { players, max });
    let teams = |most| Err(NoRoom::Teams { most });

    let ten = spec(10, 10, Vec::new());
    assert_eq!(asked(&ten, game(0, 0, 8), Some(1)), few(9, 10), "of nine there is no match");
    assert_eq!(asked(&ten, game(0, 0, 8), Some(2)), Ok(()));
    assert_eq!(asked(&ten, game(0, 0, 8), None), Ok(()));
    assert_eq!(asked(&ten, game(0, 0, 9), None), Ok(()));
    assert_eq!(asked(&ten, game(0, 0, 10), None), full(10, 9));

    // The teams hold four, whatever else the match may.
    let roomy = of_teams((2, 8), &[(1, 2), (1, 2)], Vec::new());
    assert_eq!(asked(&roomy, game(2, 2, 0), None), full(4, 3));
    assert_eq!(asked(&roomy, game(2, 1, 0), None), Ok(()));
    assert_eq!(asked(&roomy, game(2, 0, 2), None), full(4, 3));

    // Blue takes three, and there are places for two.
    let large = of_teams((6, 10), &[(3, 5), (3, 5)], Vec::new());
    assert_eq!(asked(&large, game(5, 0, 0), Some(2)), teams(7));
    assert_eq!(asked(&large, game(5, 0, 0), Some(3)), Ok(()));
    assert_eq!(asked(&large, game(0, 0, 5), Some(2)), Ok(()), "who has no team may be on either");
    // Of three teams one is full, and the others are as large or there is no match.
    let three = of_teams((3, 9), &[(0, 5), (1, 3), (1, 3)], vec![even(Expansion::Fixed(0))]);
    assert_eq!(asked(&three, game(4, 0, 0), None), teams(9));
    assert_eq!(asked(&three, game(3, 0, 0), Some(5)), teams(8));
    assert_eq!(asked(&three, game(3, 0, 0), Some(6)), Ok(()));

    // Nor is a game refused that waits for a rule to give way.
    let grows = |every| {
        let values = vec![Some(0), Some(1)].into();
        of_teams((4, 8), &[(0, 4), (0, 4)], vec![even(Expansion::Custom { base: None, values, every })])
    };
    assert_eq!(asked(&grows(60), game(4, 1, 0), Some(2)), Ok(()));
    assert_eq!(asked(&grows(60), game(4, 0, 0), Some(2)), teams(6));
    let gives_way = of_teams((4, 8), &[(0, 4), (0, 4)], vec![optional(60, even(Expansion::Fixed(0)))]);
    assert_eq!(asked(&gives_way, game(4, 0, 0), Some(1)), Ok(()));
}

#[test]
fn the_words_say_with_numbers_what_is_wrong() {
    let told = |why| {
        let rejection = Rejection::NoRoom(why);
        (rejection.code(), rejection.to_string())
    };
    let (code, words) = told(NoRoom::TooFew { most: 9, least: 10 });
    assert_eq!(code, ("MatchmakingBadRequest", 2059));
    assert!(words.contains("it has 9 players, and a match of this queue at least 10"), "{words}");
    let (code, words) = told(NoRoom::Full { players: 4, max: 3 });
    assert_eq!(code, ("MatchmakingNumberOfPlayersInTicketTooLarge", 2044));
    assert!(words.contains("4 players are in it, and to be joined it may have 3"), "{words}");
    assert_eq!(told(NoRoom::Teams { most: 7 }).0, ("MatchmakingBadRequest", 2059));
}

/// A party has to fit on a team of a match that there can be.
#[test]
fn a_party_is_as_large_as_the_teams_of_a_match_let_it_be() {
    let even = |by| vec![even(Expansion::Fixed(by))];
    for (queue, most) in [
        (of_teams((2, 8), &[(0, 6), (0, 6)], even(0)), 4),
        (of_teams((2, 8), &[(0, 6), (0, 6)], even(2)), 5),
        (of_teams((2, 8), &[(0, 6), (0, 6)], Vec::new()), 6),
        (of_teams((2, 8), &[(3, 6), (3, 6)], Vec::new()), 5),
        (of_teams((2, 9), &[(0, 6), (0, 6), (0, 6)], even(0)), 3),
        (of_teams((5, 5), &[(1, 1), (4, 4)], Vec::new()), 4),
    ] {
        assert_eq!(queue.ticket_size_max(), most, "{queue:?}");
        let party = |size: u32| (0..size).map(|at| member(&format!("p{at}"), &[])).collect();
        let mut world = World::new(queue.clone());
        world.party(party(most));
        let mut world = World::new(queue);
        let refused = Rejection::NumberOfPlayersTooLarge { players: most as usize + 1, max: most };
        assert_eq!(world.try_party(party(most + 1)), Err(refused));
    }
}

fn keep(world: &mut World, members: Vec<Seated>, places: u32) -> Result<TicketId, Rejection> {
    let (ticket, form) = (world.id(), world.queue.form());
    let server = ServerId::of(FleetNumber::new(1).unwrap(), 7);
    let tenure = Tenure { server, session: ClaimId(Uuid::from_u128(99)), run: Some(1) };
    let server = ServerDetails::default();
    let said = Command::KeepBackfill { ticket, tenure, members, server, places, known: None, form };
    match world.run(said)? {
        Answer::Ticket(ticket) => Ok(ticket),
        other @ (Answer::Done | Answer::Cancelled(_)) => panic!("{other:?}"),
    }
}

/// A hosted game says it each second: nothing is written down, and a ticket it had ends, since its last word is right.
#[test]
fn a_hosted_game_without_room_is_told_so_and_its_ticket_ends() {
    let mut world = World::new(spec(10, 10, Vec::new()));
    let none = Err(Rejection::NoRoom(NoRoom::TooFew { most: 9, least: 10 }));
    let journal = world.journal.len();
    for _ in 0..3 {
        assert_eq!(keep(&mut world, game(0, 0, 8), 1), none);
        world.seconds(1);
    }
    assert_eq!(world.journal.len(), journal);
    let ticket = keep(&mut world, game(0, 0, 8), 2).unwrap();
    assert_eq!(keep(&mut world, game(0, 0, 8), 1), Ok(ticket));
    let ended = Event::BackfillCanceled { ticket, reason: Cancellation::TicketUnmatchable };
    assert!(world.journal.iter().any(|(_, event)| *event == ended));
    assert_eq!(keep(&mut world, game(0, 0, 8), 1), none);
}

/// A player is taken out, and the places that were asked for are too few for a match.
#[test]
fn a_game_that_loses_a_player_and_its_room_is_told_so() {
    for (places, stands) in [(2, "Canceled"), (3, "WaitingForMatch")] {
        let mut world = World::new(spec(10, 10, Vec::new()));
        let (ticket, form) = (world.id(), world.queue.form());
        let create = Command::CreateBackfill {
            ticket,
            caller: server("one"),
            members: game(0, 0, 8),
            server: ServerDetails::default(),
            places: Some(places),
            give_up_after: 600,
            terms: Terms { taken_out: TakenOut::GoesOn, ..Terms::default() },
            form,
        };
        world.run(create).unwrap();
        world.run(Command::CancelAllBackfills { player: player("-0"), caller: Caller::Title }).unwrap();
        assert_eq!(world.backfill_status(ticket), stands, "seven and {places}");
    }
}

/// Games and parties that a changed queue has no room for submit again, and are refused by name then.
#[test]
fn a_queue_that_changes_ends_whom_it_has_no_room_for() {
    let mut world = World::new(with_teams(4, 8, (0, 6), vec![even(Expansion::Fixed(9))]));
    world.run(Command::Pause).unwrap();
    let wants = world.try_backfill(&server("one"), game(2, 2, 0), ServerDetails::default(), Some(1)).unwrap();
    let stays = world.try_backfill(&server("one"), vec![], ServerDetails::default(), Some(6)).unwrap();
    let party = world.party((0..5).map(|at| member(&format!("p{at}"), &[])).collect());
    let changed = of_teams((6, 8), &[(0, 6), (0, 6)], vec![even(Expansion::Fixed(0))]);
    world.run(Command::Configure(std::sync::Arc::new(changed))).unwrap();
    assert_eq!([wants, stays].map(|it| world.backfill_status(it)), ["Canceled", "WaitingForMatch"]);
    assert_eq!(world.status(party), "Canceled");
}

/// Who waits beside a game whose teams are full is told that, and nothing of tickets that are too large.
#[test]
fn a_pair_that_is_more_than_the_teams_hold_is_told_so() {
    let mut world = World::new(with_teams(2, 8, (1, 2), Vec::new()));
    world.run(Command::Pause).unwrap();
    let three = world.backfill(game(2, 1, 0), ServerDetails::default());
    world.party(vec![member("a", &[]), member("b", &[])]);
    let why = world.queue.around(three, &Caller::Title).unwrap().why(world.now);
    let size = why.nearest[0].rules.iter().find(|judged| &*judged.rule == "matchSize").unwrap();
    assert_eq!(size.verdict, Verdict::Fails(Short::Players { players: 5, max: 4 }));
}
