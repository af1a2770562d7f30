//! What must be true of every queue on every day, judged from outside: by what was declared, sent, decided and made durable.

use std::time::Duration;

use mainstay_core::{MatchId, StateMachine as _, TicketId, Timestamp};
use mainstay_matchmaking::spec::Gather;
use mainstay_matchmaking::{Caller, Event};

use super::World;
use super::oracle::{Waiting, looked_at, missed_among, waiting, why_not};
use crate::laws::{Broken, ensure};

/// So many may wait for everything to be tried in bearable time.
const TRIED_MAX: usize = 8;

/// An event as it is decided, by the state before it.
pub(super) fn judge(world: &mut World, at: Timestamp, event: &Event, late: bool) -> Result<(), Broken> {
    world.trace.number(at.unix_ms());
    world.say("queue", |_| format!("{event:?}"));
    match event {
        Event::MatchFormed { id, tickets, backfill, .. } => {
            let tickets = tickets.iter().map(|(ticket, _)| *ticket);
            let group = group(world, tickets.chain(backfill.iter().map(|filled| filled.ticket)))?;
            judge_match(world, at, *id, &group, late)?;
            world.counts.matches += 1;
            world.counts.gathered += u64::from(gathers(world));
            world.counts.backfilled += u64::from(backfill.is_some());
            world.decided.apply(at, event);
            return judge_seats(world, at, *id, &group);
        }
        Event::MatchHeld { id, tickets, .. } => {
            let group = group(world, tickets.iter().map(|(ticket, _)| *ticket))?;
            judge_match(world, at, *id, &group, late)?;
            world.counts.gathered += u64::from(gathers(world));
            world.holds(*id, group);
        }
        Event::MatchPlaced { hold, .. } => {
            let (id, group) = world.is_placed(*hold)?;
            world.counts.matches += 1;
            world.counts.placed += 1;
            world.decided.apply(at, event);
            return judge_seats(world, at, id, &group);
        }
        Event::PlacementRefused { hold, .. } => {
            world.is_over_there(world.decided.hold(*hold).map(|hold| hold.asked()))?;
        }
        Event::PlacementUndone { id } => world.is_over_there(Some(*id))?,
        Event::Configured { .. } | Event::Resumed => world.configured = at,
        Event::TicketCanceled { .. } | Event::BackfillCanceled { .. } => world.counts.canceled += 1,
        Event::Closed
        | Event::Paused
        | Event::TicketCreated { .. }
        | Event::TicketJoined { .. }
        | Event::BackfillCreated { .. }
        | Event::BackfillChanged { .. }
        | Event::HoldReleased { .. }
        | Event::Searched(_)
        | Event::Merged(_) => {}
        Event::Stood { .. }
        | Event::TicketStood(_)
        | Event::BackfillStood(_)
        | Event::MatchStood(_)
        | Event::HoldStood(_)
        | Event::UndoStood { .. } => {
            return Err(Broken::new("a turn tells no snapshot", format!("{event:?}")));
        }
    }
    world.decided.apply(at, event);
    Ok(())
}

/// Whether the queue gathers those who come.
fn gathers(world: &World) -> bool {
    world.decided.spec().is_some_and(|spec| spec.gather != Gather::NONE)
}

/// The tickets of a match as they wait.
fn group(world: &World, ids: impl Iterator<Item = TicketId>) -> Result<Vec<Waiting>, Broken> {
    let all = waiting(&world.decided);
    let waits = |id: TicketId| all.iter().find(|it| it.id() == id).cloned();
    let found = |id: TicketId| {
        waits(id).ok_or_else(|| Broken::new("whoever is matched was waiting, and in no match", id))
    };
    ids.map(found).collect()
}

/// "every match satisfies every rule of its queue at the time it was formed": at the moment of the ticket it was formed around,
/// which a late turn works off as of that moment.
fn judge_match(
    world: &World,
    at: Timestamp,
    id: MatchId,
    group: &[Waiting],
    late: bool,
) -> Result<(), Broken> {
    let Some(spec) = world.decided.spec() else {
        return Err(Broken::new("a queue that is removed matches nobody", id));
    };
    ensure(world.decided.paused().is_none(), "a queue that is paused forms no match", || id.to_string())?;
    let is_seed = |it: &&Waiting| match it {
        Waiting::Ticket(ticket) if spec.venue.is_some() && !group.iter().any(Waiting::is_game) => {
            MatchId::held(ticket.id, ticket.created, ticket.changes) == id
        }
        Waiting::Ticket(ticket) => MatchId::around(ticket.id, ticket.created) == id,
        Waiting::Game(game) => MatchId::around(game.id, game.created) == id,
    };
    let seed = group.iter().find(is_seed);
    let seed = seed.ok_or_else(|| Broken::new("a match is formed around one of its tickets", id))?;
    let moments = match spec.gather {
        Gather::NONE => moments(world, at, (seed, group), late),
        gather => gatherings(gather, at, group, late),
    };
    ensure(
        !moments.is_empty(),
        "a queue that gathers matches whoever came before one of its moments, at that moment",
        || format!("at {at:?}, around {}: {group:?}", seed.id()),
    )?;
    let holds = moments.iter().any(|it| why_not(spec, group, *it).is_none());
    ensure(holds, "every match keeps every rule of its queue, and of its teams, as it is formed", || {
        format!("{:?} at {at:?}, around {}: {group:?}", why_not(spec, group, at), seed.id())
    })?;
    let (games, mut others): (Vec<Waiting>, Vec<Waiting>) = waiting(&world.decided)
        .into_iter()
        .filter(|it| it.comes(spec.gather) <= at)
        .partition(Waiting::is_game);
    others.retain(|it| it.id() != seed.id());
    if late || games.is_empty() || group.iter().any(Waiting::is_game) || others.len() > TRIED_MAX {
        return Ok(());
    }
    let served_first = games.iter().find(|game| {
        (0..1_u32 << others.len()).any(|subset| {
            let joined = others.iter().enumerate().filter(|(index, _)| subset >> index & 1 == 1);
            let mut group: Vec<Waiting> = joined.map(|(_, other)| other.clone()).collect();
            group.extend([seed.clone(), (*game).clone()]);
            why_not(spec, &group, at).is_none()
        })
    });
    ensure(served_first.is_none(), "where a game could take a ticket, it is served first", || {
        format!("{served_first:?} at {at:?} and {seed:?}")
    })
}

/// The moments at which a match may have been looked for that is formed now: a turn that is late works off those since.
fn moments(
    world: &World,
    at: Timestamp,
    (seed, group): (&Waiting, &[Waiting]),
    late: bool,
) -> Vec<Timestamp> {
    if !late {
        return vec![at];
    }
    let came = group.iter().map(Waiting::since).max().unwrap_or(at);
    let own = (0..=at.since(seed.since()).as_secs()).map(|waited| seed.since() + Duration::from_secs(waited));
    let moments = [at, world.configured].into_iter().chain(own);
    moments.filter(|it| (came..=at).contains(it)).collect()
}

/// The same of a queue that gathers. Those who come at such a moment wait for the next.
fn gatherings(gather: Gather, at: Timestamp, group: &[Waiting], late: bool) -> Vec<Timestamp> {
    let first = group.iter().map(|it| it.comes(gather)).max();
    let all = std::iter::successors(first, |moment| Some(gather.next_after(*moment)));
    all.take_while(|moment| *moment <= at).filter(|moment| late || *moment == at).collect()
}

/// "Team assignments survive": seats taken before are kept, a ticket is not divided, and nobody is in a match twice or missing.
fn judge_seats(world: &World, at: Timestamp, id: MatchId, group: &[Waiting]) -> Result<(), Broken> {
    let formed = world
        .decided
        .formed_match(id, &Caller::Title, at)
        .map_err(|why| Broken::new("a match is told", why))?;
    let players: usize = group.iter().map(|it| it.members().len()).sum();
    ensure(
        players == formed.members.len(),
        "all players of its tickets are in a match, and no others",
        || id,
    )?;
    for ticket in group {
        let seats = ticket.members().into_iter().map(|member| {
            formed.members.iter().find(|seated| seated.member.entity == member.entity).map(|it| &it.team)
        });
        let seats: Option<Vec<_>> = seats.collect();
        let seats = seats.ok_or_else(|| Broken::new("all players of its tickets are in a match", id))?;
        match ticket {
            Waiting::Ticket(_) => {
                let whole = seats.windows(2).all(|pair| pair[0] == pair[1]);
                ensure(whole, "a ticket is not divided between teams", || format!("{ticket:?}"))?;
            }
            Waiting::Game(game) => {
                let kept = game
                    .members
                    .iter()
                    .zip(&seats)
                    .all(|(before, now)| before.team.is_none() || before.team == **now);
                ensure(kept, "who plays already stays on its team", || format!("{game:?}: {seats:?}"))?;
            }
        }
    }
    Ok(())
}

/// "a ticket that a brute-force matcher on a small pool could match is not left for ever": not once everything due was looked at.
pub(super) fn none_is_missed(world: &mut World, at: Timestamp) -> Result<(), Broken> {
    let Some(spec) = world.decided.spec() else { return Ok(()) };
    let (all, at) = looked_at(spec, &world.decided, world.configured, at);
    if world.decided.paused().is_some() || all.len() > TRIED_MAX {
        return Ok(());
    }
    let left = missed_among(spec, &all, at);
    world.counts.tried += 1;
    ensure(left.is_none(), "no match that could be is left unmade", || format!("at {at:?}: {left:?}"))
}

/// An event that is durable: a ticket ends exactly once.
pub(super) fn durable(world: &mut World, event: &Event) -> Result<(), Broken> {
    match event {
        Event::TicketCreated { ticket, .. } | Event::BackfillCreated { ticket, .. } => {
            let before = world.made.insert(*ticket, 0);
            ensure(before.is_none(), "a ticket is made once", || ticket)
        }
        Event::TicketCanceled { ticket, .. } | Event::BackfillCanceled { ticket, .. } => ends(world, *ticket),
        Event::MatchFormed { tickets, backfill, .. } => {
            let tickets = tickets.iter().map(|(ticket, _)| *ticket);
            let mut all = tickets.chain(backfill.iter().map(|filled| filled.ticket));
            all.try_for_each(|ticket| ends(world, ticket))
        }
        Event::MatchPlaced { .. } => {
            let tickets = world.placed_durably(event);
            tickets.into_iter().try_for_each(|ticket| ends(world, ticket))
        }
        Event::Configured { .. }
        | Event::Closed
        | Event::Paused
        | Event::Resumed
        | Event::TicketJoined { .. }
        | Event::BackfillChanged { .. }
        | Event::Searched(_)
        | Event::Merged(_)
        | Event::Stood { .. }
        | Event::TicketStood(_)
        | Event::BackfillStood(_)
        | Event::MatchStood(_)
        | Event::MatchHeld { .. }
        | Event::PlacementRefused { .. }
        | Event::HoldReleased { .. }
        | Event::PlacementUndone { .. }
        | Event::HoldStood(_)
        | Event::UndoStood { .. } => Ok(()),
    }
}

fn ends(world: &mut World, ticket: TicketId) -> Result<(), Broken> {
    let ended = world.made.get_mut(&ticket).map(|ended| {
        *ended += 1;
        *ended
    });
    ensure(ended == Some(1), "a ticket that was made ends exactly once, in one match or in none", || {
        format!("{ticket}: {ended:?}")
    })
}

/// When everybody has waited as long as they would, every ticket is over.
pub(super) fn at_rest(world: &World) -> Result<(), Broken> {
    world.none_outlives_its_server()?;
    world.no_server_is_kept()?;
    let open = world.made.iter().find(|(_, ended)| **ended == 0);
    ensure(open.is_none(), "every ticket comes to its end", || format!("{open:?}"))
}
