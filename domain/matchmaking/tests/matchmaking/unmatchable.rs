//! Nobody waits in silence: whom the rules could never match is told so, as are queues that could match nobody.

use std::sync::Arc;

use mainstay_core::TicketId;
use mainstay_matchmaking::spec::{
    Declared, Delta, Expansion, Fault, Missing, QueueSpec, Rule, RuleKind, TeamSpec,
};
use mainstay_matchmaking::{Cancellation, Command, Event, Terms};

use crate::world::{
    World, declared, difference, equality, fixed, intersection, latencies, member, number_value, optional,
    region, rule, seated, selection, server, spec, texts,
};

const fn within() -> Expansion<u32> {
    Expansion::Fixed(100)
}

/// Why a ticket of either kind ended.
fn reason(world: &World, ticket: TicketId) -> Option<Cancellation> {
    Cancellation::ALL.into_iter().find(|reason| {
        let told = [
            Event::TicketCanceled { ticket, reason: *reason },
            Event::BackfillCanceled { ticket, reason: *reason },
        ];
        world.journal.iter().any(|(_, event)| told.contains(event))
    })
}

/// Who cannot be read by the new rules, or is too large for them, submits again; whom they could never match is told so. Nobody waits
/// in silence.
#[test]
fn a_queue_that_changes_keeps_only_whom_it_could_match() {
    let near = |regions: &[&str], max: u32, rules: Vec<mainstay_matchmaking::spec::Rule>| {
        let regions = regions.iter().map(|region| Arc::from(*region)).collect();
        let team = |name: &str| TeamSpec { name: name.into(), min: 1, max: max / 2 };
        let teams = vec![team("red"), team("blue")];
        Arc::new(QueueSpec::new(Declared { regions, teams, ..declared(max, max, rules) }).unwrap())
    };
    let rules = |maps: u32| vec![selection(within()), intersection("maps", 1.0, Expansion::Fixed(maps))];
    let mut world = World::new(QueueSpec::clone(&near(&[], 8, rules(1))));
    let values = |region: &str, maps: &[&str]| [latencies(&[(region, 10)]), texts(maps)];
    let stays = world.solo("stays", &values("EastUs", &["a", "b"]));
    let elsewhere = world.solo("elsewhere", &values("Atlantis", &["a", "b"]));
    let picky = world.solo("picky", &values("EastUs", &["a"]));
    let group = world.try_ticket("group", &values("EastUs", &["a", "b"]), &["1", "2", "3"]).unwrap();
    let seats = |count: u32| {
        (0..count).map(|at| seated(&format!("red {at}"), "red", &values("EastUs", &["a", "b"]))).collect()
    };
    let game = world.backfill(seats(3), region("EastUs"));
    let sunk = world.try_backfill(&server("s"), Vec::new(), region("Atlantis"), None).unwrap();

    world.run(Command::Configure(near(&["EastUs"], 4, rules(2)))).unwrap();
    assert_eq!(
        [stays, elsewhere, picky, group].map(|it| world.status(it)),
        ["WaitingForMatch", "Canceled", "Canceled", "Canceled"]
    );
    assert_eq!([game, sunk].map(|it| world.backfill_status(it)), ["Canceled"; 2]);
    let (again, never) = (Some(Cancellation::RetryRequired), Some(Cancellation::TicketUnmatchable));
    assert_eq!(
        [elsewhere, picky, group, game, sunk].map(|it| reason(&world, it)),
        [again, never, again, again, again]
    );
}

/// A queue that forms no matches for now still tells whom it never could match.
#[test]
fn who_could_never_match_is_told_so_while_the_queue_is_paused() {
    let mut world = World::new(spec(2, 2, vec![intersection("maps", 1.0, Expansion::Fixed(2))]));
    world.run(Command::Pause).unwrap();
    let picky = world.solo("picky", &[texts(&["a"])]);
    let waits = world.solo("waits", &[texts(&["a", "b"])]);
    assert_eq!([picky, waits].map(|it| world.status(it)), ["Canceled", "WaitingForMatch"]);
}

/// Friends who reach no region together: the rule is broken by the ticket itself, and by none of its players.
#[test]
fn a_group_without_a_region_in_common_is_told_so_unless_the_rule_gives_way() {
    let of = |rule| World::new(spec(3, 3, vec![rule]));
    let (east, west) = ([latencies(&[("east", 10)])], [latencies(&[("west", 10)])]);
    let mut world = of(selection(within()));
    let group = world.try_ticket("a", &east, &["b"]).unwrap();
    world.join(group, "b", &west).unwrap();
    assert_eq!(world.status(group), "Canceled");
    assert_eq!(reason(&world, group), Some(Cancellation::TicketUnmatchable));

    let mut world = of(optional(5, selection(within())));
    let group = world.try_ticket("a", &east, &["b"]).unwrap();
    world.join(group, "b", &west).unwrap();
    world.solo("c", &east);
    let late = world.try_party(vec![member("d", &east), member("e", &west)]).unwrap();
    world.seconds(4);
    assert!(world.formed().is_empty());
    world.seconds(1);
    // Three of them are a match, and no more.
    assert_eq!(world.matched(), [["a", "b", "c"]]);
    assert_eq!(world.status(late), "WaitingForMatch");
}

/// "rules that can never match, teams that cannot be filled: refused at the door".
#[test]
fn rules_that_can_never_hold_are_refused() {
    let teams = |min: u32, max: u32, teams: &[(u32, u32)], rule: Rule| {
        let named = (0..).zip(teams);
        let teams =
            named.map(|(at, (min, max))| TeamSpec { name: format!("t{at}").into(), min: *min, max: *max });
        QueueSpec::new(Declared { teams: teams.collect(), ..declared(min, max, vec![rule]) }).map(|_| ())
    };
    let even = |by: u32| rule("even", RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(by) });
    let grows = Expansion::Linear { from: 0, delta: Delta::Up(1), limit: None, every: 10 };
    let told = |outcome: Result<(), Vec<Fault>>| {
        outcome.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    let never =
        Err("rule even: it can never hold: no match has teams whose sizes differ by so little".to_owned());
    // One against four.
    assert_eq!(told(teams(5, 5, &[(1, 1), (4, 4)], even(2))), never);
    assert_eq!(told(teams(5, 5, &[(1, 1), (4, 4)], even(3))), Ok(()));
    // Seven players on two teams are never as many on each.
    assert_eq!(told(teams(7, 7, &[(0, 4), (0, 4)], even(0))), never);
    assert_eq!(told(teams(7, 8, &[(0, 4), (0, 4)], even(0))), Ok(()));
    assert_eq!(
        told(teams(7, 7, &[(0, 4), (0, 4)], rule("even", RuleKind::TeamSizeBalance { allowed: grows }))),
        Ok(())
    );
    assert_eq!(told(teams(7, 7, &[(0, 4), (0, 4)], optional(9, even(0)))), Ok(()));

    let maps = |shared: u32| {
        QueueSpec::new(declared(2, 2, vec![intersection("maps", 1.0, Expansion::Fixed(shared))]))
    };
    assert!(maps(128).is_ok());
    let told: Vec<String> = maps(129).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["rule maps: it can never hold: a list has at most 128 values"]);
    // Latencies are kept in 16 bits: above that every region would be near enough.
    let near = |ms: u32| QueueSpec::new(declared(2, 2, vec![selection(Expansion::Fixed(ms))])).map(|_| ());
    assert_eq!(near(65_533), Ok(()));
    let told: Vec<String> = near(65_534).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["rule region: a latency above 65533 ms; for no limit leave the rule out, or have it end"]
    );
    let long = equality("mode", Missing::UseDefault("x".repeat(257).into()));
    let told: Vec<String> =
        QueueSpec::new(declared(2, 2, vec![long])).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["rule mode: its default has 257 bytes, at most 256"]);
}

/// An earlier version could leave tickets in the journal that the queue's rules cannot read. They ended with nothing but their time;
/// now they are told that the fault is ours.
#[test]
fn what_the_rules_cannot_read_of_an_old_journal_is_ended_and_told() {
    for paused in [false, true] {
        let mut world = World::new(spec(2, 2, vec![difference("skill", fixed(1.0))]));
        let reads = world.solo("reads", &[number_value(40.0)]);
        let (ticket, game) = (world.id(), world.id());
        let (member, older) = (member("old", &[texts(&["40"])]), seated("older", "", &[texts(&["40"])]));
        let old = [
            Event::TicketCreated {
                ticket,
                creator: member.entity.clone(),
                members: [member].into(),
                invited: [].into(),
                give_up_after: 600,
            },
            Event::BackfillCreated {
                ticket: game,
                owner: None,
                members: [older].into(),
                server: Arc::default(),
                places: None,
                give_up_after: 600,
                terms: Terms::default(),
            },
        ];
        world.journal.extend(old.map(|event| (world.now, event)));
        world.queue = world.replayed();
        if paused {
            world.run(Command::Pause).unwrap();
        }
        world.seconds(1);
        assert_eq!([ticket, game].map(|it| reason(&world, it)), [Some(Cancellation::Internal); 2]);
        assert_eq!([world.status(ticket), world.backfill_status(game)], ["Canceled"; 2]);
        assert_eq!(world.status(reads), "WaitingForMatch");
    }
}
