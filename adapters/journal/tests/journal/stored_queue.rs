//! The stored form of a queue's events: whatever is in it survives, and no bytes are dangerous.

use std::sync::Arc;

use mainstay_core::{MatchId, Tenure, TicketId, Timestamp};
use mainstay_journal::Limits;
use mainstay_journal::stored::Stored;
use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Enforced, Expansion, Gather, Merge, Missing, PlayFabBuild, QueueSpec, Rule,
    RuleKind, ServerAllocation, Shown, Source, TeamSpec, Unread, Venue, Visibility, Weight,
};
use mainstay_matchmaking::{
    Amount, Asked, Attributes, Back, BackfillStage, BackfillTicket, Cancellation, Cursor, Entity, Event,
    Filled, Hold, Kind, Lease, LetGo, LookedAt, Match, Member, Members, Origin, Port, Protocol, Queue,
    Searching, Seated, ServerDetails, Stage, TakenOut, Terms, Ticket, Value, WAITING_MAX,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::stored::survives;

fn text() -> impl Strategy<Value = Arc<str>> {
    "[a-zA-Z0-9 é]{0,12}".prop_map(Arc::from)
}

fn texts() -> impl Strategy<Value = Arc<[Arc<str>]>> {
    vec(text(), 0..3).prop_map(Into::into)
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(Timestamp::from_unix_ms)
}

fn ticket_id() -> impl Strategy<Value = TicketId> {
    any::<u128>().prop_map(|bits| format!("{bits:032x}").parse().unwrap())
}

fn match_id() -> impl Strategy<Value = MatchId> {
    any::<u128>().prop_map(|bits| format!("{bits:032x}").parse().unwrap())
}

fn entity() -> impl Strategy<Value = Entity> {
    ("[a-z_]{1,8}", "[A-F0-9!]{1,8}").prop_map(|(kind, id)| Entity::new(&kind, &id).unwrap())
}

fn amount() -> impl Strategy<Value = Amount> {
    any::<i64>().prop_map(Amount::from_millionths)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::Text),
        amount().prop_map(Value::Number),
        texts().prop_map(Value::Texts),
        vec((text(), any::<u32>()), 0..3).prop_map(|measured| Value::Latencies(measured.into())),
        Just(Value::Other("something else")),
    ]
}

fn member() -> impl Strategy<Value = Member> {
    (entity(), option::of(text()), vec(option::of(value()), 0..3)).prop_map(|(entity, raw, values)| Member {
        entity,
        attributes: Attributes { raw, values: values.into() },
    })
}

fn members() -> impl Strategy<Value = Arc<[Member]>> {
    vec(member(), 0..3).prop_map(Into::into)
}

fn seated() -> impl Strategy<Value = Vec<Seated>> {
    vec((member(), option::of(text())).prop_map(|(member, team)| Seated { member, team }), 0..3)
}

fn server() -> impl Strategy<Value = Arc<ServerDetails>> {
    let protocol = prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp)];
    let port =
        (text(), any::<u16>(), protocol).prop_map(|(name, number, protocol)| Port { name, number, protocol });
    let may = || option::of(text());
    (may(), may(), vec(port, 0..3), may(), may()).prop_map(
        |(fqdn, ipv4_address, ports, region, server_id)| {
            Arc::new(ServerDetails { fqdn, ipv4_address, ports: ports.into(), region, server_id })
        },
    )
}

fn reason() -> impl Strategy<Value = Cancellation> {
    prop_oneof![
        Just(Cancellation::User),
        Just(Cancellation::Server),
        Just(Cancellation::Timeout),
        Just(Cancellation::ServerAllocationFailed),
        Just(Cancellation::TicketUnmatchable),
        Just(Cancellation::RetryRequired),
        Just(Cancellation::Internal),
    ]
}

fn back() -> impl Strategy<Value = Back> {
    let why = prop_oneof![Just(LetGo::Changed), Just(LetGo::NoServer)];
    (time(), why).prop_map(|(at, why)| Back { at, why })
}

fn searching() -> impl Strategy<Value = Searching> {
    (time(), any::<u64>()).prop_map(|(since, arrival)| Searching { since, arrival, back: None })
}

fn stage() -> impl Strategy<Value = Stage> {
    prop_oneof![
        Just(Stage::Gathering),
        (searching(), option::of(back()))
            .prop_map(|(searching, back)| Stage::Searching(Searching { back, ..searching })),
        (match_id(), searching(), option::of(back())).prop_map(|(hold, searching, back)| Stage::Held {
            hold,
            searching: Searching { back, ..searching }
        }),
        (match_id(), time()).prop_map(|(id, at)| Stage::Matched { id, at }),
        (reason(), time()).prop_map(|(reason, at)| Stage::Canceled { reason, at }),
    ]
}

fn backfill_stage() -> impl Strategy<Value = BackfillStage> {
    prop_oneof![
        (searching(), option::of(time())).prop_map(|(searching, at)| {
            let back = at.map(|at| Back { at, why: LetGo::Changed });
            BackfillStage::Searching(Searching { back, ..searching })
        }),
        (match_id(), time()).prop_map(|(id, at)| BackfillStage::Matched { id, at }),
        (reason(), time()).prop_map(|(reason, at)| BackfillStage::Canceled { reason, at }),
    ]
}

fn terms() -> impl Strategy<Value = Terms> {
    let claim = any::<u128>().prop_map(|bits| format!("{bits:032x}").parse().unwrap());
    let server = any::<u32>().prop_map(|number| format!("srv-1-{number}").parse().unwrap());
    let tenure = (server, claim, option::of(any::<u64>()))
        .prop_map(|(server, session, run)| Lease::Hosted(Tenure { server, session, run }));
    let lease =
        prop_oneof![Just(Lease::Free), any::<u32>().prop_map(|within| Lease::Renewed { within }), tenure];
    let taken_out = prop_oneof![Just(TakenOut::Ends), Just(TakenOut::GoesOn)];
    (lease, taken_out).prop_map(|(lease, taken_out)| Terms { lease, taken_out })
}

fn cursor() -> impl Strategy<Value = Cursor> {
    let kind = prop_oneof![Just(Kind::Backfill), Just(Kind::Ordinary)];
    (time(), kind, any::<u64>()).prop_map(|(at, kind, arrival)| Cursor { at, kind, arrival })
}

fn expansion<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Expansion<T>> {
    let delta = prop_oneof![value.clone().prop_map(Delta::Up), value.clone().prop_map(Delta::Down)];
    prop_oneof![
        value.clone().prop_map(Expansion::Fixed),
        (value.clone(), delta, option::of(value.clone()), any::<u32>())
            .prop_map(|(from, delta, limit, every)| Expansion::Linear { from, delta, limit, every }),
        (option::of(value.clone()), vec(option::of(value), 1..4), any::<u32>())
            .prop_map(|(base, values, every)| Expansion::Custom { base, values: values.into(), every }),
    ]
}

fn missing<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Missing<T>> {
    option::of(value).prop_map(|value| value.map_or(Missing::MatchAny, Missing::UseDefault))
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let source = prop_oneof![Just(Source::User), Just(Source::PlayerEntity)];
    (source, text()).prop_map(|(source, path)| Attribute { source, path })
}

fn weight() -> impl Strategy<Value = Weight> {
    (1_i64..=1_000_000_000).prop_map(|millionths| Weight::new(Amount::from_millionths(millionths)).unwrap())
}

fn rule_kind() -> impl Strategy<Value = RuleKind> {
    let merge = prop_oneof![Just(Merge::Min), Just(Merge::Max), Just(Merge::Average)];
    let number = || any::<i64>().prop_map(Amount::from_millionths);
    prop_oneof![
        (attribute(), weight(), missing(text()), expansion(Just(Enforced))).prop_map(
            |(attribute, weight, missing, enforced)| RuleKind::StringEquality {
                attribute,
                weight,
                missing,
                enforced
            }
        ),
        (attribute(), weight(), missing(number()), merge, expansion(number())).prop_map(
            |(attribute, weight, missing, merge, allowed)| RuleKind::Difference {
                attribute,
                weight,
                missing,
                merge,
                allowed
            }
        ),
        (attribute(), weight(), missing(texts()), expansion(any::<u32>())).prop_map(
            |(attribute, weight, missing, shared)| RuleKind::SetIntersection {
                attribute,
                weight,
                missing,
                shared
            }
        ),
        (attribute(), weight(), expansion(number()), expansion(number()))
            .prop_map(|(attribute, weight, min, max)| RuleKind::MatchTotal { attribute, weight, min, max }),
        (text(), weight(), expansion(any::<u32>()))
            .prop_map(|(path, weight, latency)| RuleKind::RegionSelection { path, weight, latency }),
        (attribute(), number(), expansion(number())).prop_map(|(attribute, default, allowed)| {
            RuleKind::TeamDifference { attribute, default, allowed }
        }),
        expansion(any::<u32>()).prop_map(|allowed| RuleKind::TeamSizeBalance { allowed }),
        Just(RuleKind::TeamTicketSizeSimilarity),
    ]
}

fn spec() -> impl Strategy<Value = Arc<QueueSpec>> {
    let shown = || prop_oneof![Just(Shown::Hidden), Just(Shown::ToPlayers)];
    let visibility = (shown(), shown())
        .prop_map(|(players_matching, time_to_match)| Visibility { players_matching, time_to_match });
    let team = (text(), any::<u32>(), any::<u32>()).prop_map(|(name, min, max)| TeamSpec { name, min, max });
    let rule = (text(), option::of(any::<u32>()), rule_kind())
        .prop_map(|(name, optional_after, kind)| Rule { name, optional_after, kind });
    let sizes = (any::<u32>(), any::<u32>(), option::of(any::<u32>()));
    let builds = (option::of(text()), option::of(text()), vec((text(), text()), 0..3));
    let unread =
        builds.prop_map(|(build_id, build_alias, defaults)| Unread { build_id, build_alias, defaults });
    let unread = prop_oneof![Just(Unread::default()), unread];
    let told = (visibility, option::of(venue()), any::<u32>(), unread);
    (text(), sizes, vec(team, 0..3), vec(rule, 0..3), texts(), told).prop_map(
        |(name, sizes, teams, rules, regions, (visibility, venue, gather_ms, unread))| {
            let (min_match_size, max_match_size, max_ticket_size) = sizes;
            Arc::new(QueueSpec::kept(Declared {
                name,
                min_match_size,
                max_match_size,
                max_ticket_size,
                teams,
                rules,
                regions: regions.to_vec(),
                visibility,
                venue,
                gather: Gather::for_ms(gather_ms),
                unread,
            }))
        },
    )
}

fn allocation() -> impl Strategy<Value = ServerAllocation> {
    let build = prop_oneof![text().prop_map(PlayFabBuild::Id), text().prop_map(PlayFabBuild::Alias)];
    (text(), text(), option::of(build)).prop_map(|(fleet, build_configuration, build)| ServerAllocation {
        fleet,
        build_configuration,
        build,
    })
}

fn venue() -> impl Strategy<Value = Venue> {
    prop_oneof![allocation().prop_map(Venue::Server), text().prop_map(|lobby| Venue::Session { lobby })]
}

fn placement() -> impl Strategy<Value = Event> {
    let tickets = || vec((ticket_id(), option::of(any::<u8>())), 0..3).prop_map(Arc::from);
    let refused = || (any::<u32>(), option::of(text()), time());
    prop_oneof![
        (match_id(), tickets(), texts()).prop_map(|(id, tickets, regions)| Event::MatchHeld {
            id,
            tickets,
            regions
        }),
        (match_id(), server()).prop_map(|(hold, server)| Event::MatchPlaced { hold, server }),
        (match_id(), text(), time()).prop_map(|(hold, code, again)| Event::PlacementRefused {
            hold,
            code,
            again
        }),
        match_id().prop_map(|hold| Event::HoldReleased { hold }),
        match_id().prop_map(|id| Event::PlacementUndone { id }),
        (match_id(), tickets(), texts(), venue(), time(), refused()).prop_map(
            |(id, tickets, regions, venue, held, (refusals, refused, from))| {
                let venue = Arc::new(venue);
                Event::HoldStood(Arc::new(Hold {
                    id,
                    tickets,
                    regions,
                    venue,
                    held,
                    refusals,
                    refused,
                    from,
                }))
            }
        ),
        (match_id(), text()).prop_map(|(id, fleet)| Event::UndoStood { id, of: Asked::Fleet(fleet) }),
        match_id().prop_map(|id| Event::UndoStood { id, of: Asked::Lobby }),
    ]
}

fn told() -> impl Strategy<Value = Event> {
    let invited = || vec(entity(), 0..3).prop_map(Arc::from);
    let owner = || option::of(entity());
    prop_oneof![
        (spec(), any::<u32>()).prop_map(|(spec, form)| Event::Configured { spec, form }),
        Just(Event::Closed),
        Just(Event::Paused),
        Just(Event::Resumed),
        (ticket_id(), entity(), members(), invited(), any::<u32>()).prop_map(
            |(ticket, creator, members, invited, give_up_after)| Event::TicketCreated {
                ticket,
                creator,
                members,
                invited,
                give_up_after
            }
        ),
        (ticket_id(), member()).prop_map(|(ticket, member)| Event::TicketJoined { ticket, member }),
        (ticket_id(), reason()).prop_map(|(ticket, reason)| Event::TicketCanceled { ticket, reason }),
        (ticket_id(), owner(), seated(), server(), option::of(any::<u32>()), any::<u32>(), terms()).prop_map(
            |(ticket, owner, members, server, places, give_up_after, terms)| Event::BackfillCreated {
                ticket,
                owner,
                members: members.into(),
                server,
                places,
                give_up_after,
                terms,
            }
        ),
        (ticket_id(), seated(), option::of(any::<u32>())).prop_map(|(ticket, members, places)| {
            Event::BackfillChanged { ticket, members: members.into(), places }
        }),
        (ticket_id(), reason()).prop_map(|(ticket, reason)| Event::BackfillCanceled { ticket, reason }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let filled = (ticket_id(), vec(any::<u8>(), 0..3))
        .prop_map(|(ticket, teams)| Filled { ticket, teams: teams.into() });
    let tickets = vec((ticket_id(), option::of(any::<u8>())), 0..3);
    let ticket = (ticket_id(), entity(), members(), vec(entity(), 0..3), time(), any::<[u32; 2]>(), stage());
    let backfill = (
        ticket_id(),
        option::of(entity()),
        seated(),
        server(),
        option::of(any::<u32>()),
        time(),
        any::<u32>(),
        (backfill_stage(), terms()),
    );
    prop_oneof![
        4 => told(),
        3 => placement(),
        1 => (match_id(), tickets, option::of(filled), texts()).prop_map(|(id, tickets, backfill, regions)| {
            Event::MatchFormed { id, tickets: tickets.into(), backfill, regions }
        }),
        1 => cursor().prop_map(Event::Searched),
        1 => cursor().prop_map(Event::Merged),
        1 => (any::<u32>(), any::<u64>(), cursor(), time()).prop_map(|(form, arrivals, until, anew)| {
            Event::Stood { form, arrivals, looked_at: LookedAt { until, anew, merged: None } }
        }),
        1 => ticket.prop_map(|(id, creator, members, invited, created, [give_up_after, changes], stage)| {
            let origin = Origin::new(&creator, &members, &invited.into());
            let members = Members::from(&members);
            let ticket = Ticket { id, origin, members, created, give_up_after, changes, stage };
            Event::TicketStood(Arc::new(ticket))
        }),
        1 => backfill.prop_map(|(id, owner, members, server, places, created, give_up_after, (stage, terms))| {
            let members = members.into();
            let ticket =
                BackfillTicket { id, owner, members, server, places, created, give_up_after, terms, stage };
            Event::BackfillStood(Arc::new(ticket))
        }),
        1 => (match_id(), time(), seated(), texts(), option::of(server())).prop_map(
            |(id, formed, members, regions, server)| {
                Event::MatchStood(Arc::new(Match { id, formed, members, regions, server }))
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_queue_event_survives(events in vec(event(), 0..3)) {
        survives::<Queue>(&events)?;
    }

    #[test]
    fn any_bytes_are_queue_events_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let mut bytes = bytes;
        bytes.insert(0, 3);
        // What is shown is that none of these panics or takes memory without end.
        if let Ok(events) = Queue::load(&bytes) {
            prop_assert!(events.len() <= bytes.len());
        }
    }
}

/// Rules that read something else end all of a queue's tickets in one turn; of 28,000 it was refused, and the queue ended.
#[test]
fn a_turn_may_end_as_many_tickets_as_a_queue_holds() {
    const SOME: usize = 1_000;
    let ended = |number: usize| Event::TicketCanceled {
        ticket: format!("{:032x}", u128::MAX - number as u128).parse().unwrap(),
        reason: Cancellation::RetryRequired,
    };
    let mut bytes = Vec::new();
    Queue::store(&(0..SOME).map(ended).collect::<Vec<_>>(), &mut bytes);
    let most = bytes.len() * (WAITING_MAX / SOME);
    assert!(most <= Limits::STANDARD.turn_bytes_max, "{most}");
}
