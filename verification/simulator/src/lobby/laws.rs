//! What must be true of a lobby whatever happens to it: judged by what was told and what is durable, not by what it remembers.

use mainstay_core::SessionId;
use mainstay_lobby::{Command, Epoch, Event, Gone, LEASE, Lease, Player, Takeover};

use super::World;
use super::peers::Word;
use crate::laws::{Broken, ensure};

/// A turn was decided; it may come to nothing yet.
pub(super) fn decided(world: &mut World, command: &Command, event: &Event) -> Result<(), Broken> {
    if let (Event::Granted { .. }, Command::HandOver { .. }) = (event, command) {
        world.counts.handed_over += 1;
    }
    let (Event::Granted { session, epoch, host }, Command::Claim { expected, .. }) = (event, command) else {
        return Ok(());
    };
    let Some(seat) = &world.seat else { return Ok(()) };
    let Ok(now) = seat.state.session(*session) else { return Ok(()) };
    let former = world.seen.granted.get(&(*session, *expected));
    let is_there = former.is_some_and(|former| former != host && now.members.contains_key(former));
    let heard = world.seen.renewed.get(&(*session, *expected));
    if let (true, Takeover::Strict, Some(heard)) = (is_there, now.settings.takeover, heard) {
        let lease = u64::try_from(LEASE.as_micros()).unwrap_or(u64::MAX);
        // Clocks tell whole milliseconds, and what was signed was told some way before.
        ensure(
            *heard + lease <= world.now + 1_000,
            "no strict session is taken from a host that was heard within its lease",
            || format!("{session} {epoch:?}: heard at {heard}, and now it is {}", world.now),
        )?;
    }
    Ok(())
}

/// An event is on the disk.
pub(super) fn durable(world: &mut World, event: &Event) -> Result<(), Broken> {
    match event {
        Event::Granted { session, epoch, host } => {
            world.counts.granted += 1;
            let before = world.seen.granted.insert((*session, *epoch), *host);
            ensure(before.is_none(), "one lease holder an epoch", || {
                format!("{session} {epoch:?}: {before:?}, {host:?}")
            })?;
            let newest = newest(world, *session);
            ensure(newest == Some(*epoch), "epochs only grow", || {
                format!("{session}: {epoch:?} after {newest:?}")
            })
        }
        Event::Went { session, peer, gone } => {
            match gone {
                Gone::Kicked => {
                    world.counts.kicked += 1;
                    if let Some(player) = world.seen.players.get(peer).cloned() {
                        world.seen.kicked.insert((*session, player));
                    }
                }
                Gone::Lost => world.counts.lost += 1,
                Gone::Left | Gone::Replaced => {}
            }
            Ok(())
        }
        Event::Joined { session, player, .. } => not_kicked(world, *session, player),
        Event::Ended { session, .. } => {
            world.seen.ended.insert(*session);
            Ok(())
        }
        Event::Opened { session, .. } => {
            ensure(!world.seen.ended.contains(session), "a session that ended does not begin again", || {
                session
            })
        }
        Event::Configured { .. }
        | Event::Introduced { .. }
        | Event::Updated { .. }
        | Event::SeatsGivenUp { .. }
        | Event::Stood(_) => Ok(()),
    }
}

/// Somebody was told: a certificate is about, for ever.
pub(super) fn told(world: &mut World, word: &Word) -> Result<(), Broken> {
    let (session, grant) = match word {
        Word::Session(session, _) => match session.grant {
            Some(grant) => (session.id, grant),
            None => return Ok(()),
        },
        Word::Passed(session, grant) => (*session, *grant),
        Word::Out(_) | Word::Nothing => return Ok(()),
    };
    let known = *world.seen.certificates.entry((session, grant.epoch)).or_insert(grant.host);
    ensure(known == grant.host, "no two certificates of one epoch name different hosts", || {
        format!("{session} {:?}: {known:?} and {:?}", grant.epoch, grant.host)
    })
}

/// The process died: what was told must be on the disk.
pub(super) fn survives(world: &World) -> Result<(), Broken> {
    let lost = world.seen.certificates.iter().find(|(at, host)| world.seen.granted.get(at) != Some(host));
    ensure(lost.is_none(), "a certificate that was told survives a crash", || format!("{lost:?}"))
}

/// Faults have stopped for longer than anything lasts.
pub(super) fn at_rest(world: &mut World) -> Result<(), Broken> {
    survives(world)?;
    let now = world.told;
    let Some(seat) = &world.seat else {
        return Err(Broken::new("a process takes the lobby again", "there is none"));
    };
    for session in seat.state.sessions_after(None) {
        let lease = seat.state.lease(session, now);
        let is_held = matches!(lease, Lease::Held { .. });
        let here = world.peers.iter().filter(|peer| peer.knows.contains_key(&session.id)).count();
        ensure(is_held, "a session that goes on comes to a host that is heard", || {
            format!(
                "{}: {lease:?}, epoch {}, {} members, {here} know it",
                session.id,
                session.epoch(),
                session.members.len()
            )
        })?;
    }
    Ok(())
}

fn newest(world: &World, session: SessionId) -> Option<Epoch> {
    let all = (session, Epoch(0))..=(session, Epoch(u32::MAX));
    world.seen.granted.range(all).next_back().map(|((_, epoch), _)| *epoch)
}

fn not_kicked(world: &World, session: SessionId, player: &Player) -> Result<(), Broken> {
    let is_kicked = world.seen.kicked.contains(&(session, player.clone()));
    ensure(!is_kicked, "a kicked member never comes back", || format!("{session}: {player}"))
}
