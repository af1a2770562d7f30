//! The same tickets through the state machine, one command each, and through the journal: what stands beside the engine's figures.

use std::sync::Arc;
use std::time::Instant;

use mainstay_core::{TicketId, Timestamp, Turn};
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::stored::Stored as _;
use mainstay_journal::{Journal as _, ShardName, TurnRecord};
use mainstay_matchmaking::spec::Gather;
use mainstay_matchmaking::{Caller, Command, Entity, Event, Queue, Terms};
use uuid::Uuid;

use super::queues::Preset;
use super::workload::Workload;
use super::{SEEDS, cpu, per_second};
use crate::Failure;
use crate::report::median;

/// How many turns become durable together: as many as wait for a sync at a busy hour.
const BATCH: usize = 64;

/// Where a turn's events go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// Nowhere.
    Machine,
    /// A journal on disk, synced batch by batch.
    Journal,
}

/// Who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comers {
    /// Tickets of players.
    Tickets,
    /// Every fifth is a game that wants players, as in W8.
    WithGames,
}

/// Of how many that come one is a game.
const GAME_EVERY: u64 = 5;

/// The commands of tickets that come one by one.
pub fn commands(preset: Preset, seed: u64, tickets: u64, form: u32, comers: Comers) -> Vec<Command> {
    let mut workload = Workload::new(seed, preset.reads());
    let mut players = 0;
    let command = |number: u64| {
        if comers == Comers::WithGames && number.is_multiple_of(GAME_EVERY) {
            let (members, server) = workload.seated(players);
            players += members.len() as u64;
            return Command::CreateBackfill {
                ticket: TicketId(Uuid::from_u128(u128::from(number) + 1)),
                caller: Caller::Title,
                members,
                server,
                places: None,
                give_up_after: 600,
                terms: Terms::default(),
                form,
            };
        }
        let party = workload.party();
        let members = party.members(players);
        players += party.players();
        Command::CreateServerTicket {
            ticket: TicketId(Uuid::from_u128(u128::from(number) + 1)),
            caller: Caller::Title,
            creator: Entity::kept("title!bench"),
            members,
            give_up_after: 600,
            form,
        }
    };
    (0..tickets).map(command).collect()
}

/// A queue of a preset.
pub fn queue(preset: Preset, gather: Gather) -> Result<Queue, Failure> {
    let mut queue = Queue::new(7);
    let configure = Command::Configure(Arc::new(preset.queue(gather)?));
    Turn::run(Timestamp::EPOCH, &mut queue, &configure).answer?;
    Ok(queue)
}

/// Measures.
pub fn drain(preset: Preset, tickets: u64, through: Through) -> Result<(), Failure> {
    let (mut rates, mut waited) = (Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut queue = queue(preset, Gather::NONE)?;
        let commands = commands(preset, seed, tickets, queue.form(), Comers::Tickets);
        let dir = tempfile::tempdir()?;
        let mut journal = SqliteJournal::open(dir.path())?;
        let shard = ShardName::new("queue/bench")?;
        let head = journal.lead(&shard)?.head;
        let (mut first, mut batch) = (head.next, Vec::new());
        let (before, began) = (cpu(), Instant::now());
        for command in &commands {
            let outcome = Turn::run(Timestamp::EPOCH, &mut queue, command);
            outcome.answer?;
            if through == Through::Machine {
                continue;
            }
            let mut bytes = Vec::new();
            Queue::store(&outcome.events, &mut bytes);
            let count = u32::try_from(outcome.events.len())?;
            let turn = TurnRecord {
                shard: shard.clone(),
                first,
                count,
                epoch: head.epoch,
                at: Timestamp::EPOCH,
                bytes,
            };
            first = turn.next();
            batch.push(turn);
            if batch.len() == BATCH {
                journal.append(&batch)?;
                batch.clear();
            }
        }
        if !batch.is_empty() {
            journal.append(&batch)?;
        }
        rates.push(per_second(tickets, cpu() - before));
        waited.push(per_second(tickets, began.elapsed()));
    }
    say!(
        "one by one {tickets}, {preset:?}, {through:?}: median {:.0} tickets per CPU-s, {:.0} a second with what is waited for",
        median(rates),
        median(waited)
    );
    Ok(())
}

/// How long the turns of a queue in which so many wait are held up while its story begins, by which its journal is made short; and how long that
/// then takes whoever reads it.
pub fn story(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let (mut begins, mut takes, mut long) = (Vec::new(), Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut queue = queue(preset, Gather::NONE)?;
        Turn::run(Timestamp::EPOCH, &mut queue, &Command::Pause).answer?;
        for command in commands(preset, seed, tickets, queue.form(), Comers::Tickets) {
            Turn::run(Timestamp::EPOCH, &mut queue, &command).answer?;
        }
        let began = Instant::now();
        let story = queue.told();
        begins.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let bytes: usize = Queue::story_chunks(story).map(|chunk| chunk.len()).sum();
        takes.push(began.elapsed().as_secs_f64() * 1e3);
        long.push(bytes as f64 / tickets as f64);
    }
    say!(
        "the story of {tickets} that wait, {preset:?}: median {:.1} ms in one turn, then {:.0} ms beside others; {:.0} bytes a ticket",
        median(begins),
        median(takes),
        median(long)
    );
    Ok(())
}

/// Tickets that are looked at together: the one turn that forms all their matches.
pub fn batch(preset: Preset, tickets: u64, gather: Gather) -> Result<(), Failure> {
    let mut took = Vec::new();
    for seed in SEEDS {
        let mut queue = queue(preset, gather)?;
        for command in commands(preset, seed, tickets, queue.form(), Comers::Tickets) {
            Turn::run(Timestamp::EPOCH, &mut queue, &command).answer?;
        }
        let before = cpu();
        let outcome = Turn::run(gather.next_after(Timestamp::EPOCH), &mut queue, &Command::Due);
        took.push((cpu() - before).as_secs_f64() * 1e3);
        outcome.answer?;
    }
    say!("a batch of {tickets}, {preset:?}: median {:.1} ms in one turn", median(took));
    Ok(())
}

/// Tickets of matches.
pub fn matched(event: &Event) -> Option<Vec<TicketId>> {
    match event {
        Event::MatchFormed { tickets, backfill, .. } => {
            let tickets = tickets.iter().map(|(ticket, _)| *ticket);
            Some(tickets.chain(backfill.iter().map(|filled| filled.ticket)).collect())
        }
        Event::Configured { .. }
        | Event::Closed
        | Event::Paused
        | Event::Resumed
        | Event::TicketCreated { .. }
        | Event::TicketJoined { .. }
        | Event::TicketCanceled { .. }
        | Event::BackfillCreated { .. }
        | Event::BackfillChanged { .. }
        | Event::BackfillCanceled { .. }
        | Event::MatchHeld { .. }
        | Event::MatchPlaced { .. }
        | Event::PlacementRefused { .. }
        | Event::HoldReleased { .. }
        | Event::PlacementUndone { .. }
        | Event::HoldStood(_)
        | Event::UndoStood { .. }
        | Event::Searched(_)
        | Event::Merged(_)
        | Event::Stood { .. }
        | Event::TicketStood(_)
        | Event::BackfillStood(_)
        | Event::MatchStood(_) => None,
    }
}
