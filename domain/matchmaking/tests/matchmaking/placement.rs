//! A queue with server allocation: "Ticket goes to WaitingForServer, then Matched with ServerDetails on GetMatch. […] If a region is
//! out of capacity the allocation is retried until the ticket expires." And through any crash and any late or double answer: never
//! more servers than matches.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{MatchId, StateMachine, TicketId};
use mainstay_matchmaking::spec::{Declared, Expansion, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{
    ASKED_AGAIN_AFTER, Ask, Asked, Caller, Cancellation, Command, Outcome, Owed, Rejection, Seated,
    ServerDetails, Stage, TakenOut, Target, Terms, laws,
};

use crate::world::{
    World, declared, difference, fixed, growing, latencies, member, number_value, player, region, seated,
    selection, total,
};

/// A queue of these, each match with a server of fleet `f`.
fn with_servers(declared: Declared) -> QueueSpec {
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    QueueSpec::new(Declared { venue: Some(Venue::Server(allocation)), ..declared }).unwrap()
}

fn pairs() -> QueueSpec {
    with_servers(declared(2, 2, vec![]))
}

fn by_region() -> QueueSpec {
    with_servers(declared(2, 2, vec![selection(Expansion::Fixed(100))]))
}

fn refused() -> Outcome {
    Outcome::Refused { code: "MS-P006".into(), regions: 1 }
}

fn placed() -> Outcome {
    Outcome::Placed(Arc::new(ServerDetails { server_id: Some("s".into()), ..region("eu") }))
}

impl World {
    /// Everything the fleet is owed, by a full look.
    fn owed(&self) -> Vec<Owed> {
        let asked = self.queue.holds().map(|hold| hold.asked());
        let ids: Vec<MatchId> = asked.chain(self.queue.undos()).collect();
        ids.into_iter().filter_map(|id| self.queue.owed(&Target::Allocation(id))).collect()
    }

    fn asks(&self) -> Vec<Ask> {
        let ask = |owed| match owed {
            Owed::Allocate(ask) => Some(ask),
            Owed::Undo { .. } => None,
        };
        self.owed().into_iter().filter_map(ask).collect()
    }

    fn ask(&self) -> Ask {
        match &self.asks()[..] {
            [ask] => ask.clone(),
            other => panic!("one allocation is owed, not {other:?}"),
        }
    }

    /// How often the group of a ticket was refused.
    fn refusals(&self, ticket: TicketId) -> u32 {
        let mut holds = self.queue.holds();
        holds.find(|hold| hold.tickets.iter().any(|(of, _)| *of == ticket)).unwrap().refusals
    }

    fn reason(&self, ticket: TicketId) -> Cancellation {
        match self.queue.ticket(ticket, &Caller::Title, self.now).unwrap().stage {
            Stage::Canceled { reason, .. } => reason,
            open @ (Stage::Gathering | Stage::Searching(_) | Stage::Held { .. } | Stage::Matched { .. }) => {
                panic!("{open:?}")
            }
        }
    }

    fn pair(&mut self) -> [TicketId; 2] {
        [self.solo("alice", &[]), self.solo("bob", &[])]
    }
}

#[test]
fn tickets_wait_for_a_server_and_are_matched_with_its_details() {
    let mut world = World::new(pairs());
    let [alice, bob] = world.pair();
    assert_eq!((world.status(alice), world.status(bob)), ("WaitingForServer", "WaitingForServer"));
    assert!(world.formed().is_empty(), "no match without a server");
    let ask = world.ask();
    let players: Vec<&str> = ask.members.iter().map(|seated| seated.member.entity.id()).collect();
    assert_eq!(players, ["alice", "bob"]);
    assert!(matches!(&*ask.venue, Venue::Server(of) if &*of.fleet == "f"));
    world.answer(ask.id, placed());
    assert_eq!((world.status(alice), world.status(bob)), ("Matched", "Matched"));
    let formed = world.formed();
    assert_eq!(
        (formed.len(), formed[0].id),
        (1, ask.id),
        "the match has the id its server was asked for under"
    );
    assert_eq!(formed[0].server.as_ref().unwrap().server_id.as_deref(), Some("s"));
    assert_eq!(world.owed(), []);
}

#[test]
fn a_backfill_match_has_its_server_and_asks_for_none() {
    let mut world = World::new(pairs());
    world.backfill(vec![seated("old", "", &[])], region("eu"));
    let alice = world.solo("alice", &[]);
    assert_eq!((world.status(alice), world.owed()), ("Matched", vec![]));
}

/// "Backfill tickets are given priority during searching" (seed 004). Where every region has refused, a game is the only place to play: whoever
/// fits it fills it, and who came with it searches on.
#[test]
fn a_group_that_every_region_refused_fills_a_game_that_wants_players() {
    let mut world = World::new(by_region());
    let near = latencies(&[("eu", 20), ("us", 40)]);
    let alice = world.solo("alice", std::slice::from_ref(&near));
    let bob = world.solo("bob", &[near]);
    let game = world.backfill(vec![seated("old", "", &[])], region("us"));
    world.answer(world.ask().id, refused());
    assert_eq!(world.status(alice), "WaitingForServer", "the next region is asked first");
    let last = world.ask().id;
    world.answer(last, refused());
    assert_eq!(world.matched(), [["alice", "old"]]);
    assert_eq!(world.backfill_status(game), "Matched");
    assert_eq!((world.status(alice), world.status(bob)), ("Matched", "WaitingForMatch"));
    assert_eq!(world.owed(), [Owed::Undo { id: last, of: Asked::Fleet("f".into()) }]);
    assert_eq!(world.rebuilt().snapshot(), world.queue.snapshot());
}

/// One that no ticket of it fits lets no group go, and a queue that is paused none; then the game is filled when all have refused again.
#[test]
fn a_group_waits_for_its_server_where_no_game_fits() {
    let mut world = World::new(by_region());
    let near = latencies(&[("eu", 20)]);
    let alice = world.solo("alice", std::slice::from_ref(&near));
    world.solo("bob", &[near]);
    let elsewhere = world.backfill(vec![seated("far", "", &[])], region("us"));
    world.answer(world.ask().id, refused());
    assert_eq!((world.status(alice), world.queue.holds().next().unwrap().refusals), ("WaitingForServer", 1));
    world.run(Command::Pause).unwrap();
    let game = world.backfill(vec![seated("old", "", &[])], region("eu"));
    world.seconds(5);
    world.answer(world.ask().id, refused());
    assert_eq!((world.status(alice), world.queue.holds().next().unwrap().refusals), ("WaitingForServer", 2));
    world.run(Command::Resume).unwrap();
    world.seconds(5);
    world.answer(world.ask().id, refused());
    assert_eq!((world.status(alice), world.backfill_status(game)), ("Matched", "Matched"));
    assert_eq!(world.backfill_status(elsewhere), "WaitingForMatch");
}

/// "Backfill tickets are given priority during searching": whoever waits for a server that nobody has fills a game as it comes, and whoever
/// comes after finds its places taken. Of the groups that fit, no more go than the game has places for, the longest held first.
#[test]
fn a_game_that_comes_takes_those_who_were_refused_before_those_who_come_later() {
    let mut world = World::new(pairs());
    let first = world.pair();
    world.answer(world.ask().id, refused());
    world.seconds(1);
    let second = ["carol", "dave"].map(|name| world.solo(name, &[]));
    let asked: Vec<Ask> = world.asks().into_iter().filter(|ask| ask.from <= world.now).collect();
    assert_eq!(asked.len(), 1);
    world.answer(asked[0].id, refused());
    world.seconds(1);
    let game = world.backfill(vec![seated("old", "", &[])], region("eu"));
    let late = world.solo("late", &[]);
    assert_eq!(world.matched(), [["alice", "old"]]);
    assert_eq!(world.backfill_status(game), "Matched");
    // Whoever came with her finds the next who comes.
    assert_eq!([first[1], late].map(|it| world.status(it)), ["WaitingForServer"; 2]);
    assert_eq!(second.map(|it| world.status(it)), ["WaitingForServer"; 2]);
    assert_eq!(world.refusals(second[0]), 1, "nobody let it go");
    assert_eq!(world.rebuilt().snapshot(), world.queue.snapshot());
}

/// The fleet may have a server yet for whom it has not refused, so a game that comes lets them be; and they fill it when it does refuse.
#[test]
fn who_is_being_asked_for_waits_for_the_answer() {
    let mut world = World::new(by_region());
    let near = latencies(&[("eu", 20), ("us", 40)]);
    let alice = world.solo("alice", std::slice::from_ref(&near));
    world.solo("bob", &[near]);
    world.answer(world.ask().id, refused());
    let game = world.backfill(vec![seated("old", "", &[])], region("us"));
    assert_eq!(world.status(alice), "WaitingForServer", "the next region is asked first");
    world.answer(world.ask().id, refused());
    assert_eq!((world.status(alice), world.backfill_status(game)), ("Matched", "Matched"));
}

/// A game that was there, and has room for more of them now, is filled likewise.
#[test]
fn a_game_whose_player_is_taken_out_takes_those_who_were_refused() {
    let mut world = World::new(with_servers(declared(2, 4, vec![difference("skill", fixed(0.5))])));
    let of = |name: &str, skill: f64| member(name, &[number_value(skill)]);
    let members = ["carol", "old"].map(|name| Seated { member: of(name, 5.0), team: None }).to_vec();
    let (game, form) = (world.id(), world.queue.form());
    world
        .run(Command::CreateBackfill {
            ticket: game,
            caller: Caller::Title,
            members,
            server: ServerDetails::default(),
            places: None,
            give_up_after: 600,
            terms: Terms { taken_out: TakenOut::GoesOn, ..Terms::default() },
            form,
        })
        .unwrap();
    let party = world.party(["a", "b", "c"].map(|name| of(name, 5.5)).to_vec());
    let other = world.solo("d", &[number_value(6.0)]);
    world.answer(world.ask().id, refused());
    assert_eq!((world.status(party), world.backfill_status(game)), ("WaitingForServer", "WaitingForMatch"));
    world.run(Command::CancelAllBackfills { player: player("carol"), caller: Caller::Title }).unwrap();
    assert_eq!(world.matched(), [["a", "b", "c", "old"]]);
    assert_eq!((world.status(other), world.backfill_status(game)), ("WaitingForMatch", "Matched"));
}

/// What two tickets do not show may keep the whole from being a match: then the same are grouped at once, and their fleet is asked no faster.
#[test]
fn a_group_that_no_game_takes_after_all_is_let_go_once_in_a_while() {
    let sum = total("sum", fixed(100.0), fixed(1_000.0));
    let mut world = World::new(with_servers(declared(2, 2, vec![sum])));
    for name in ["alice", "bob"] {
        world.solo(name, &[number_value(60.0)]);
    }
    let game = world.backfill(vec![seated("old", "", &[number_value(1.0)])], ServerDetails::default());
    let refusals = |world: &World| world.queue.holds().next().unwrap().refusals;
    for _ in 0..3 {
        world.answer(world.ask().id, refused());
        assert_eq!(refusals(&world), 0, "another group of the same");
        world.answer(world.ask().id, refused());
        assert_eq!((refusals(&world), world.ask().from), (1, world.now + ASKED_AGAIN_AFTER));
        world.queue = world.rebuilt();
        world.seconds(5);
        let ids: Vec<MatchId> = world.queue.undos().collect();
        ids.into_iter().for_each(|id| world.answer(id, Outcome::Undone));
    }
    assert_eq!(world.backfill_status(game), "WaitingForMatch");
}

#[test]
fn a_region_that_refuses_is_followed_by_the_next_and_all_are_asked_again_later() {
    let mut world = World::new(by_region());
    let near = latencies(&[("eu", 20), ("us", 40)]);
    let alice = world.solo("alice", std::slice::from_ref(&near));
    world.solo("bob", &[near]);
    let mut ids = Vec::new();
    for (region, wait) in [("eu", Duration::ZERO), ("us", Duration::ZERO), ("eu", ASKED_AGAIN_AFTER)] {
        let ask = world.ask();
        assert_eq!((ask.region.as_deref(), ask.from), (Some(region), world.now + wait));
        assert!(!ids.contains(&ask.id), "an ask that was refused is never repeated as another one");
        ids.push(ask.id);
        world.answer(ask.id, refused());
        // Twice is once.
        world.answer(ask.id, refused());
    }
    let (first, last) = (ids[0], world.ask().id);
    world.answer(first, placed());
    assert_eq!(world.status(alice), "WaitingForServer", "an answer to what is asked no more");
    world.answer(last, placed());
    assert_eq!(world.formed()[0].id, last);
}

/// Where the queue has no rule of regions, those of the fleet are asked in turn, and as quickly.
#[test]
fn a_group_that_names_no_region_is_asked_for_in_all_of_them_before_it_waits() {
    let mut world = World::new(pairs());
    world.pair();
    let refused = || Outcome::Refused { code: "MS-P005".into(), regions: 3 };
    let wait = ASKED_AGAIN_AFTER;
    for wait in [Duration::ZERO, Duration::ZERO, wait, Duration::ZERO, Duration::ZERO, wait] {
        world.answer(world.ask().id, refused());
        assert_eq!((world.ask().region, world.ask().from), (None, world.now + wait));
        world.pass(wait);
    }
}

/// The first of them lets the group go, which is not why the others end.
#[test]
fn tickets_of_one_group_that_expire_together_say_the_same() {
    let mut world = World::new(pairs());
    let pair = world.pair();
    world.seconds(600);
    assert_eq!(pair.map(|ticket| world.reason(ticket)), [Cancellation::ServerAllocationFailed; 2]);
    assert!(world.queue.holds().next().is_none());
    assert_eq!(world.queue.undos().count(), 1);
}

/// Nor where they were made one after the other.
#[test]
fn tickets_of_one_group_that_expire_one_after_the_other_say_the_same() {
    let mut world = World::new(pairs());
    let alice = world.solo("alice", &[]);
    world.seconds(1);
    let bob = world.solo("bob", &[]);
    world.seconds(599);
    assert_eq!(world.reason(alice), Cancellation::ServerAllocationFailed);
    assert_eq!(world.status(bob), "WaitingForMatch");
    world.queue = world.rebuilt();
    world.seconds(1);
    assert_eq!(world.reason(bob), Cancellation::ServerAllocationFailed);
}

/// Whose group was let go by a player is told that nobody was found.
#[test]
fn who_is_left_by_a_player_and_finds_nobody_else_is_told_so() {
    let mut world = World::new(pairs());
    let [alice, bob] = world.pair();
    world.cancel(alice, Caller::Player(player("alice"))).unwrap();
    world.seconds(600);
    assert_eq!(world.reason(bob), Cancellation::Timeout);
}

/// A player who waits in the ticket of an old game is out of it once its new match is placed, and not before.
#[test]
fn who_is_placed_is_out_of_its_old_game() {
    let mut world =
        World::new(with_servers(declared(2, 3, vec![difference("skill", growing(1.0, 1.0, 5.0, 60))])));
    let old = ["alice", "old"].map(|name| seated(name, "", &[number_value(90.0)])).to_vec();
    let game = world.backfill(old, ServerDetails::default());
    for name in ["alice", "bob"] {
        world.solo(name, &[number_value(1.0)]);
    }
    let of = |world: &World| world.queue.backfills_of(&player("alice"), &Caller::Title);
    assert_eq!(of(&world), Ok(Some(game)));
    let ask = world.ask();
    world.answer(ask.id, placed());
    assert_eq!((of(&world), world.backfill_status(game)), (Ok(None), "WaitingForMatch"));
}

#[test]
fn a_ticket_that_expires_while_it_waits_for_a_server_says_so_and_the_others_keep_their_places() {
    let mut world =
        World::new(with_servers(declared(2, 2, vec![difference("skill", growing(1.0, 1.0, 5.0, 10))])));
    let bob = world.solo("bob", &[number_value(5.0)]);
    world.seconds(25);
    let alice = world.id();
    let (form, caller) = (world.queue.form(), Caller::Player(player("alice")));
    let creator = member("alice", &[number_value(5.0)]);
    let command =
        Command::CreateTicket { ticket: alice, caller, creator, invited: vec![], give_up_after: 30, form };
    world.run(command).unwrap();
    let ask = world.ask();
    world.seconds(31);
    assert_eq!(world.reason(alice), Cancellation::ServerAllocationFailed);
    assert_eq!(world.status(bob), "WaitingForMatch");
    assert_eq!(world.owed(), [Owed::Undo { id: ask.id, of: Asked::Fleet("f".into()) }]);
    // It has waited for 56 s, so whoever is 5 away fits it as soon as that one takes it too.
    world.answer(ask.id, Outcome::Undone);
    let carol = world.solo("carol", &[number_value(0.0)]);
    assert_eq!(world.status(carol), "WaitingForMatch");
    world.seconds(40);
    assert_eq!((world.status(carol), world.status(bob)), ("WaitingForServer", "WaitingForServer"));
    assert_ne!(world.ask().id, ask.id, "another group is asked for under another id");
}

#[test]
fn a_cancellation_while_waiting_for_a_server_is_undone_at_the_fleet_also_when_it_answers_late() {
    let mut world = World::new(pairs());
    let [alice, bob] = world.pair();
    let ask = world.ask();
    world.cancel(alice, Caller::Player(player("alice"))).unwrap();
    assert_eq!((world.reason(alice), world.status(bob)), (Cancellation::User, "WaitingForMatch"));
    let undo = Owed::Undo { id: ask.id, of: Asked::Fleet("f".into()) };
    // The server came all the same; and the undo is owed until it is acknowledged, through any restart.
    world.answer(ask.id, placed());
    assert_eq!((world.owed(), world.formed().len()), (vec![undo.clone()], 0));
    world.queue = world.rebuilt();
    assert_eq!(world.owed(), std::slice::from_ref(&undo));
    world.queue = world.replayed();
    assert_eq!(world.owed(), [undo]);
    world.answer(ask.id, Outcome::Undone);
    world.answer(ask.id, Outcome::Undone);
    assert_eq!(world.owed(), []);
    // Bob is matched with the next who comes.
    world.solo("carol", &[]);
    assert_eq!(world.status(bob), "WaitingForServer");
}

#[test]
fn a_queue_that_changes_lets_its_groups_go() {
    let mut world = World::new(pairs());
    let [alice, bob] = world.pair();
    let ask = world.ask();
    // Its tickets may stay, and match at once without a server.
    world.run(Command::Configure(Arc::new(crate::world::spec(2, 2, vec![])))).unwrap();
    assert_eq!((world.status(alice), world.status(bob)), ("Matched", "Matched"));
    assert_eq!(world.owed(), [Owed::Undo { id: ask.id, of: Asked::Fleet("f".into()) }]);
    // By other attributes they have to come again.
    let mut world = World::new(pairs());
    let [alice, _] = world.pair();
    world.run(Command::Configure(Arc::new(by_region()))).unwrap();
    assert_eq!(world.reason(alice), Cancellation::RetryRequired);
    assert!(matches!(world.owed()[..], [Owed::Undo { .. }]));
}

#[test]
fn a_removed_queue_still_owes_the_end_of_what_it_asked_for() {
    let mut world = World::new(pairs());
    let [alice, _] = world.pair();
    let ask = world.ask();
    world.run(Command::Close).unwrap();
    assert_eq!(world.reason(alice), Cancellation::Server);
    world.queue = world.rebuilt();
    assert_eq!(world.owed(), [Owed::Undo { id: ask.id, of: Asked::Fleet("f".into()) }]);
    world.answer(ask.id, placed());
    world.answer(ask.id, Outcome::Undone);
    assert_eq!(world.owed(), []);
}

#[test]
fn who_waits_for_a_server_is_in_a_ticket_and_cannot_make_another() {
    let mut world = World::new(pairs());
    let [alice, _] = world.pair();
    let again = world.try_ticket("alice", &[], &[]);
    assert!(matches!(again, Err(Rejection::MembershipLimitExceeded { .. })), "{again:?}");
    assert_eq!(world.queue.tickets_of(&player("alice"), &Caller::Title), Ok(Some(alice)));
    let shown = world.queue.statistics(&Caller::Title, world.now).unwrap();
    assert_eq!(shown.players_matching, Some(0), "others were found for it");
    assert!(world.queue.around(alice, &Caller::Title).is_none());
    world.backfill(vec![seated("old", "", &[])], region("eu"));
    assert_eq!(world.status(alice), "WaitingForServer");
    assert_eq!(laws::all(&world.rebuilt()), Ok(()));
}
