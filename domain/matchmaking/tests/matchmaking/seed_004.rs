//! Seed 004 (server backfill tickets), one example a sentence, each naming its sentence.

use std::sync::Arc;

use mainstay_matchmaking::spec::{Expansion, RuleKind};
use mainstay_matchmaking::{Answer, Caller, Command, Kind, Port, Protocol, Rejection, ServerDetails};

use crate::world::{
    World, difference, fixed, growing, latencies, member, number, number_value, player, region, rule, seated,
    selection, server, spec, total, with_teams,
};

/// 2v2 and nothing else.
fn teams() -> World {
    World::new(with_teams(4, 4, (2, 2), Vec::new()))
}

/// Two to four players, nothing else.
fn plain() -> World {
    World::new(spec(2, 4, Vec::new()))
}

fn skill(allowed: f64) -> World {
    World::new(spec(2, 4, vec![difference("skill", fixed(allowed))]))
}

/// "Games hosted on a server sometimes find they need to search for additional players. Most often this occurs when one or more
/// players disconnect while the game is in progress. Server backfill tickets allow a game server to search for additional
/// players which will fit into the game currently being played."
#[test]
fn a_game_that_lost_a_player_gets_another_who_fits() {
    let mut world = skill(5.0);
    let game = world.backfill(vec![seated("a", "", &[number_value(10.0)])], ServerDetails::default());
    let unfit = world.solo("unfit", &[number_value(30.0)]);
    assert_eq!((world.backfill_status(game), world.status(unfit)), ("WaitingForMatch", "WaitingForMatch"));
    world.solo("fit", &[number_value(12.0)]);
    assert_eq!(world.matched(), [["a", "fit"]]);
    assert_eq!(world.backfill_status(game), "Matched");
}

/// "Backfill tickets cannot match with each other."
#[test]
fn two_games_do_not_match() {
    let mut world = plain();
    let games = ["a", "b"].map(|name| world.backfill(vec![seated(name, "", &[])], ServerDetails::default()));
    world.seconds(30);
    assert_eq!(games.map(|game| world.backfill_status(game)), ["WaitingForMatch"; 2]);
    // Nor are they brought together by a third.
    world.solo("c", &[]);
    assert_eq!(world.matched(), [["a", "c"]]);
    assert_eq!(world.backfill_status(games[1]), "WaitingForMatch");
}

/// "Backfill tickets are given priority during searching. This reduces fragmentation of the player base."
#[test]
fn a_game_comes_before_a_new_match() {
    let mut world = skill(5.0);
    // Who comes fits both. The player has waited longer, and is nearer, by 4.6 to 4.9; they do not fit each other.
    world.solo("waits", &[number_value(0.0)]);
    world.seconds(10);
    world.backfill(vec![seated("plays", "", &[number_value(9.5)])], ServerDetails::default());
    world.solo("comes", &[number_value(4.6)]);
    assert_eq!(world.matched(), [["comes", "plays"]]);
}

/// The same: of two games the elder is served first.
#[test]
fn of_two_games_the_elder_is_filled_first() {
    let mut world = plain();
    world.backfill(vec![seated("first", "", &[])], ServerDetails::default());
    world.seconds(1);
    world.backfill(vec![seated("second", "", &[])], ServerDetails::default());
    world.solo("comes", &[]);
    assert_eq!(world.matched(), [["comes", "first"]]);
}

/// "Backfill tickets may be created with a ServerDetails field. This allows the server to indicate how matched players should
/// connect to it." "This structure is identical to the structure returned in a GetMatch call, and allows the server to specify any
/// information required to connect to it." "When the backfill ticket is matched, its ServerDetails structure will be returned to any players who call
/// GetMatch on the resulting match." "The IPV4Address field is not validated and may be used to supply arbitrary connection
/// string information to clients."
#[test]
fn those_who_join_are_told_how_to_connect() {
    let details = ServerDetails {
        ipv4_address: Some("steam://anything at all".into()),
        ports: [Port { name: "portname".into(), number: 12345, protocol: Protocol::Udp }].into(),
        region: Some("EastUS".into()),
        ..ServerDetails::default()
    };
    let mut world = plain();
    world.backfill(vec![seated("plays", "", &[])], details.clone());
    world.solo("joins", &[]);
    let formed = world.formed()[0].id;
    for name in ["plays", "joins"] {
        let told = world.queue.formed_match(formed, &Caller::Player(player(name)), world.now).unwrap();
        assert_eq!(told.server, Some(Arc::new(details.clone())));
    }
    let stranger = world.queue.formed_match(formed, &Caller::Player(player("stranger")), world.now);
    assert!(matches!(stranger, Err(Rejection::Unauthorized { .. })));
}

/// "All fields in this structure are optional."
#[test]
fn a_game_may_say_nothing_of_its_server() {
    let mut world = plain();
    world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    world.solo("joins", &[]);
    assert_eq!(world.formed()[0].server, Some(Arc::default()));
}

/// "Backfill tickets may be created with team assignments. This allows games with teams to maintain their team information."
/// "If the backfill ticket is submitted to a queue with teams, each member may also be specified with a TeamId, indicating the team
/// they are currently on. This membership will be preserved when a Match is returned."
#[test]
fn teams_are_kept() {
    let mut world = teams();
    world.backfill(
        vec![seated("a", "red", &[]), seated("b", "blue", &[]), seated("c", "blue", &[])],
        ServerDetails::default(),
    );
    world.solo("joins", &[]);
    assert_eq!(world.matched(), [["a/red", "b/blue", "c/blue", "joins/red"]]);
}

/// "If a TeamId is not specified for a user, it may be placed on any team."
#[test]
fn who_has_no_team_is_placed_on_any() {
    let mut world = teams();
    world.backfill(
        vec![seated("a", "red", &[]), seated("b", "red", &[]), seated("c", "", &[])],
        ServerDetails::default(),
    );
    world.solo("joins", &[]);
    assert_eq!(world.matched(), [["a/red", "b/red", "c/blue", "joins/blue"]]);
}

/// The same: a party stays together, so the player without a team makes room for it.
#[test]
fn who_has_no_team_makes_room_for_a_party() {
    let mut world = teams();
    world.backfill(vec![seated("a", "blue", &[]), seated("b", "", &[])], ServerDetails::default());
    world.party(vec![member("x", &[]), member("y", &[])]);
    assert_eq!(world.matched(), [["a/blue", "b/blue", "x/red", "y/red"]]);
}

/// A team that the queue does not have, or that would be overfull, is refused at the door.
#[test]
fn a_team_that_cannot_be_is_refused() {
    let mut world = teams();
    let three = ["a", "b", "c"].map(|name| seated(name, "red", &[])).to_vec();
    for (members, why) in [
        (vec![seated("a", "green", &[])], "team green: the queue has none of that name, but red, blue"),
        (three, "team red: more than 2 players are on it"),
    ] {
        let refused = world.try_backfill(&server("one"), members, ServerDetails::default(), None);
        assert_eq!(refused.unwrap_err().to_string(), why);
    }
}

/// "Backfill tickets are owned by a game server, not a user. Users cannot view or interact with backfill tickets in any way."
#[test]
fn a_player_neither_sees_nor_touches_a_backfill_ticket() {
    let mut world = plain();
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    let plays = Caller::Player(player("plays"));
    assert!(matches!(world.queue.backfill(game, &plays, world.now), Err(Rejection::Unauthorized { .. })));
    assert_eq!(world.queue.ticket(game, &plays, world.now).cloned(), Err(Rejection::TicketNotFound(game)));
    assert!(world.queue.backfills_of(&player("plays"), &plays).is_err());
    assert_eq!(world.queue.tickets_of(&player("plays"), &plays), Ok(None));
    let all = world.run(Command::CancelAllBackfills { player: player("plays"), caller: plays.clone() });
    assert!(matches!(all, Err(Rejection::Unauthorized { .. })));
    let made = world.try_backfill(&plays, vec![], ServerDetails::default(), None);
    assert!(matches!(made, Err(Rejection::Unauthorized { .. })));
    assert_eq!(world.backfill_status(game), "WaitingForMatch");
}

/// "Clients are not allowed to cancel a backfill ticket they are in. […] To prevent this, only game servers may cancel backfill
/// tickets."
#[test]
fn a_player_cannot_cancel_the_ticket_of_its_game() {
    let mut world = plain();
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    let caller = Caller::Player(player("plays"));
    let canceled = world.run(Command::CancelBackfill { ticket: game, caller: caller.clone() });
    assert!(matches!(canceled, Err(Rejection::Unauthorized { .. })), "{canceled:?}");
    let canceled = world.cancel(game, caller);
    assert_eq!(canceled, Err(Rejection::TicketNotFound(game)));
    assert_eq!(world.backfill_status(game), "WaitingForMatch");
}

/// "Backfill tickets are owned by a game server": another game server's it may not cancel, the title may.
#[test]
fn a_ticket_is_its_own_servers() {
    let mut world = plain();
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    let other = world.run(Command::CancelBackfill { ticket: game, caller: server("two") });
    assert!(matches!(other, Err(Rejection::Unauthorized { .. })));
    assert!(world.queue.backfill(game, &server("two"), world.now).is_err());
    assert!(world.queue.backfill(game, &server("one"), world.now).is_ok());
    assert_eq!(
        world.run(Command::CancelBackfill { ticket: game, caller: Caller::Title }),
        Ok(Answer::Cancelled(1))
    );
}

/// "The game server must supply all member information for the game it is currently hosting. This is most efficiently done by
/// storing the attributes returned in the prior match result."
#[test]
fn attributes_of_a_match_make_the_next_backfill_ticket() {
    let mut world = skill(5.0);
    world.solo("a", &[number_value(10.0)]);
    world.solo("b", &[number_value(11.0)]);
    let stays = world.formed()[0].members[0].clone();
    world.backfill(vec![stays], ServerDetails::default());
    world.solo("c", &[number_value(13.0)]);
    assert_eq!(world.matched()[1], ["a", "c"]);
}

/// "Once created, a backfill ticket begins searching for regular matchmaking tickets which meet the rule criteria."
#[test]
fn a_new_game_finds_those_who_wait() {
    let mut world = World::new(spec(3, 3, vec![difference("skill", fixed(5.0))]));
    world.solo("a", &[number_value(10.0)]);
    world.solo("b", &[number_value(30.0)]);
    let plays = ["x", "y"].map(|name| seated(name, "", &[number_value(29.0)]));
    world.backfill(plays.to_vec(), ServerDetails::default());
    assert_eq!(world.matched(), [["b", "x", "y"]]);
}

/// "The flow for backfill tickets is identical to how regular matchmaking tickets operate, except with analagous APIs. The game
/// server may check the status of its ticket by calling GetServerBackfillTicket. It may also cancel the ticket by calling
/// CancelServerBackfillTicket."
#[test]
fn a_server_looks_at_its_ticket_and_cancels_it() {
    let mut world = plain();
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    assert_eq!(
        world.queue.backfill(game, &server("one"), world.now).unwrap().stage.as_str(),
        "WaitingForMatch"
    );
    let cancel = Command::CancelBackfill { ticket: game, caller: server("one") };
    assert_eq!(world.run(cancel.clone()), Ok(Answer::Cancelled(1)));
    assert_eq!(world.backfill_status(game), "Canceled");
    assert_eq!(world.run(cancel), Ok(Answer::Cancelled(0)), "again: nothing happens");
    world.solo("late", &[]);
    assert!(world.formed().is_empty());
}

/// The same: it gives up when its time is over, and a matched one cannot be cancelled.
#[test]
fn a_backfill_ticket_gives_up_and_ends_once() {
    let mut world = plain();
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    world.seconds(600);
    assert_eq!(world.backfill_status(game), "Canceled");
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    world.solo("joins", &[]);
    let cancel = world.run(Command::CancelBackfill { ticket: game, caller: server("one") });
    assert_eq!(cancel, Err(Rejection::AlreadyCompleted(game)));
}

/// An ordinary call for a backfill ticket, and the other way round.
#[test]
fn each_kind_has_its_own_calls() {
    let mut world = plain();
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    let refused = world.queue.ticket(game, &Caller::Title, world.now).cloned();
    assert_eq!(refused, Err(Rejection::RequestTypeMismatch(game)));
    let mut world = World::new(spec(3, 3, Vec::new()));
    let ticket = world.solo("a", &[]);
    let refused = world.queue.backfill(ticket, &Caller::Title, world.now).cloned();
    assert_eq!(refused, Err(Rejection::RequestTypeMismatch(ticket)));
    assert_eq!(refused.unwrap_err().code(), ("MatchmakingRequestTypeMismatch", 2058));
}

/// "Similar to regular matchmaking tickets, at any time a user may be in only one backfill ticket per queue. This limit is
/// tracked separately from the regular tickets which a client controls."
#[test]
fn a_player_is_in_one_ticket_of_each_kind() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    world.backfill(vec![seated("a", "", &[])], ServerDetails::default());
    let own = world.solo("a", &[]);
    assert_eq!(world.status(own), "WaitingForMatch", "counted apart");
    let again = world.try_backfill(
        &server("two"),
        vec![seated("b", "", &[]), seated("a", "", &[])],
        ServerDetails::default(),
        None,
    );
    let limit = |kind| Err(Rejection::MembershipLimitExceeded { kind, users: vec![player("a")] });
    assert_eq!(again, limit(Kind::Backfill));
    assert_eq!(world.try_ticket("a", &[], &[]), limit(Kind::Ordinary));
}

/// "A game server will discover this by receiving the error MatchmakingTicketMembershipLimitExceeded, along with a list of users
/// indicating which have outstanding backfill tickets", with `"errorCode": 2055` and `"errorMessage": "User is a member of too
/// many backfill tickets."`
#[test]
fn the_error_names_the_users() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    world.backfill(vec![seated("562D72A5B184F612", "", &[])], ServerDetails::default());
    let again = vec![seated("562D72A5B184F612", "", &[]), seated("other", "", &[])];
    let refused = world.try_backfill(&server("two"), again, ServerDetails::default(), None).unwrap_err();
    assert_eq!(refused.code(), ("MatchmakingTicketMembershipLimitExceeded", 2055));
    assert_eq!(refused.to_string(), "User is a member of too many backfill tickets.");
    let Rejection::MembershipLimitExceeded { users, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(users[0].as_str(), "title_player_account!562D72A5B184F612");
    assert_eq!(users.len(), 1);
}

/// "In the case where a game server creates a backfill ticket and then crashes, any users in the lost backfill ticket will be
/// unable to be submitted in another backfill ticket due to the membership limit." "The game server can recover a user from this
/// situation by calling CancelAllServerBackfillTicketsForPlayer, which removes all backfill tickets the user is in."
#[test]
fn another_server_frees_a_player_of_a_crashed_one() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    let lost = world
        .try_backfill(&server("crashed"), vec![seated("a", "", &[])], ServerDetails::default(), None)
        .unwrap();
    let by_two = |world: &mut World| {
        world.try_backfill(&server("two"), vec![seated("a", "", &[])], ServerDetails::default(), None)
    };
    assert!(matches!(by_two(&mut world), Err(Rejection::MembershipLimitExceeded { .. })), "it is lost");
    let all = Command::CancelAllBackfills { player: player("a"), caller: server("two") };
    assert_eq!(world.run(all.clone()), Ok(Answer::Cancelled(1)));
    assert_eq!(world.backfill_status(lost), "Canceled");
    assert_eq!(world.run(all), Ok(Answer::Cancelled(0)));
    assert!(by_two(&mut world).is_ok());
}

/// "ListServerBackfillTicketsForPlayer is also provided as a method to discover which backfill tickets a player may be in."
#[test]
fn a_server_lists_the_backfill_tickets_of_a_player() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    assert_eq!(world.queue.backfills_of(&player("a"), &server("two")), Ok(None));
    let game = world.backfill(vec![seated("a", "", &[])], ServerDetails::default());
    assert_eq!(world.queue.backfills_of(&player("a"), &server("two")), Ok(Some(game)));
}

/// "The Region Selection rule normally requires that tickets specify an array of latency measurements for its attribute. A backfill ticket,
/// however, represents a game already in progress in a particular datacenter."
#[test]
fn a_ticket_must_say_its_latencies_and_a_game_need_not() {
    let mut world = World::new(spec(2, 4, vec![selection(Expansion::Fixed(100))]));
    for nothing in [None, number_value(1.0)] {
        let refused = world.try_ticket("a", &[nothing], &[]).unwrap_err();
        assert_eq!(refused.code(), ("MatchmakingAttributeInvalid", 2046));
    }
    world.solo("a", &[latencies(&[("EastUs", 10)])]);
    world.backfill(vec![seated("b", "", &[None])], region("EastUs"));
    assert_eq!(world.matched(), [["a", "b"]]);
}

/// "Instead of an array of latency measurements, the create request must specify a Region in the ServerDetails structure."
#[test]
fn a_game_must_say_its_region() {
    let mut world = World::new(spec(2, 4, vec![selection(Expansion::Fixed(100))]));
    let refused =
        world.try_backfill(&server("one"), vec![seated("a", "", &[None])], ServerDetails::default(), None);
    assert_eq!(refused.unwrap_err().code(), ("MatchmakingAttributeInvalid", 2046));
    assert!(
        world.try_backfill(&server("one"), vec![seated("a", "", &[None])], region("EastUs"), None).is_ok()
    );
}

/// "For tickets to match with the backfill ticket, they must have an acceptable ping time to the region specified by the
/// backfill ticket."
#[test]
fn who_joins_must_be_near_the_games_region() {
    let mut world = World::new(spec(2, 4, vec![selection(Expansion::Fixed(100))]));
    world.backfill(vec![seated("a", "", &[None])], region("EastUs"));
    let far = world.solo("far", &[latencies(&[("EastUs", 150), ("WestEurope", 10)])]);
    let elsewhere = world.solo("elsewhere", &[latencies(&[("AsiaEast", 10)])]);
    assert_eq!([far, elsewhere].map(|ticket| world.status(ticket)), ["WaitingForMatch"; 2]);
    world.solo("near", &[latencies(&[("EASTUS", 99)])]);
    assert_eq!(world.matched(), [["a", "near"]]);
    // "RegionPreferences holds only the server region".
    assert_eq!(*world.formed()[0].regions, ["EastUs".into()]);
}

/// "However, backfill tickets do not contain the information of which players joined the game as a group. As such, the Ticket
/// Size Similarity Rule is ignored when matching backfill tickets."
#[test]
fn ticket_size_similarity_is_ignored_for_games() {
    let similarity = || vec![rule("similar", RuleKind::TeamTicketSizeSimilarity)];
    let mut world = World::new(with_teams(8, 8, (4, 4), similarity()));
    world.party(["a", "b", "c", "d"].map(|name| member(name, &[])).to_vec());
    for name in ["e", "f", "g", "h"] {
        world.solo(name, &[]);
    }
    assert!(world.formed().is_empty(), "a party of four does not meet four who came alone");
    let mut world = World::new(with_teams(8, 8, (4, 4), similarity()));
    world.backfill(
        ["a", "b", "c", "d"].map(|name| seated(name, "red", &[])).to_vec(),
        ServerDetails::default(),
    );
    world.party(["e", "f"].map(|name| member(name, &[])).to_vec());
    for name in ["g", "h"] {
        world.solo(name, &[]);
    }
    assert_eq!(world.formed().len(), 1);
}

/// What the seed leaves open, decided in record 0041: a game's players count in totals and sizes, its own age expands its rules,
/// and an empty server gets players too.
#[test]
fn a_game_counts_as_a_ticket_in_everything_else() {
    let mut world = World::new(spec(2, 8, vec![total("tanks", fixed(0.0), fixed(1.0))]));
    world.backfill(vec![seated("a", "", &[number_value(1.0)])], ServerDetails::default());
    world.solo("tank", &[number_value(1.0)]);
    assert!(world.formed().is_empty(), "one tank a match");
    world.solo("other", &[number_value(0.0)]);
    assert_eq!(world.matched(), [["a", "other"]]);

    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(1.0, 5.0, 20.0, 5))]));
    world.backfill(vec![seated("a", "", &[number_value(0.0)])], ServerDetails::default());
    world.solo("b", &[number_value(10.0)]);
    world.seconds(9);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "b"]]);
    assert_eq!(number(11.0), number(1.0) + number(10.0), "after two expansions by 5");

    let mut world = plain();
    world.backfill(vec![], ServerDetails::default());
    world.party(vec![member("x", &[]), member("y", &[])]);
    assert_eq!(world.matched(), [["x", "y"]]);
}

/// What no peer has: how many players a game wants.
#[test]
fn a_game_wants_no_more_than_its_places() {
    let mut world = World::new(spec(2, 8, Vec::new()));
    world
        .try_backfill(&server("one"), vec![seated("a", "", &[])], ServerDetails::default(), Some(1))
        .unwrap();
    let party = world.party(vec![member("x", &[]), member("y", &[])]);
    assert_eq!(world.status(party), "WaitingForMatch");
    world.cancel(party, Caller::Title).unwrap();
    world.solo("z", &[]);
    assert_eq!(world.matched(), [["a", "z"]]);
    let nobody = world.try_backfill(&server("one"), vec![], ServerDetails::default(), Some(0));
    assert!(matches!(nobody, Err(Rejection::BadRequest(_))));
}

/// The same limit, tracked separately, lets a player wait for a match of its own while its game looks for more: it joins any other
/// match, and never the one it is in (record 0041).
#[test]
fn nobody_joins_the_game_it_is_in() {
    let mut world = teams();
    let own = world.solo("a", &[]);
    let game = world.backfill(
        vec![seated("a", "red", &[]), seated("b", "blue", &[]), seated("c", "blue", &[])],
        ServerDetails::default(),
    );
    world.seconds(30);
    assert_eq!((world.status(own), world.backfill_status(game)), ("WaitingForMatch", "WaitingForMatch"));
    world.forget();
    world.seconds(30);
    assert_eq!(world.status(own), "WaitingForMatch");
    world.solo("comes", &[]);
    assert_eq!(world.matched(), [["a/red", "b/blue", "c/blue", "comes/red"]]);
    assert_eq!(world.status(own), "WaitingForMatch");
    // The game is full; who was kept from it alone plays with others.
    for name in ["d", "e", "f"] {
        world.solo(name, &[]);
    }
    assert_eq!(world.status(own), "Matched");
}

/// The same, where the player's own ticket comes after the game's, and of a party.
#[test]
fn a_party_does_not_join_the_game_of_one_of_it() {
    let mut world = plain();
    let game = world.backfill(vec![seated("a", "", &[])], ServerDetails::default());
    let party = world.party(vec![member("friend", &[]), member("a", &[])]);
    world.seconds(30);
    assert_eq!((world.status(party), world.backfill_status(game)), ("WaitingForMatch", "WaitingForMatch"));
    // Another game takes the party; the first goes on without the player who plays there.
    world.backfill(vec![seated("z", "", &[])], ServerDetails::default());
    assert_eq!(world.matched(), [["a", "friend", "z"]]);
    assert_eq!(world.backfill_status(game), "WaitingForMatch");
    assert_eq!(world.queue.backfills_of(&player("a"), &Caller::Title), Ok(None));
    world.solo("last", &[]);
    assert_eq!(world.formed().len(), 1, "nobody is left in the game whom the last could meet");
    world.solo("very last", &[]);
    assert_eq!(world.matched()[1], ["last", "very last"]);
}
