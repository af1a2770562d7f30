//! Who asks: players, servers and the title, by what they could know and sometimes by what they could not.

use std::sync::Arc;

use mainstay_core::TicketId;
use mainstay_matchmaking::spec::{Declared, Gather, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{
    Attributes, Caller, Command, Entity, Lease, Member, Seated, ServerDetails, Stage, TakenOut, Terms,
};
use uuid::Uuid;

use super::World;
use super::draw::{Dice, REGIONS, gather, gathering, queue, tightened, values};
use super::oracle;
use crate::laws::Broken;
use crate::random::mix;

/// How many players there are: few enough that they meet their own open tickets.
const PLAYERS: u64 = 16;
/// So many may wait; more could not be searched by trying everything.
const WAITING_MAX: usize = 9;
/// One in how many queues gathers those who come; and one in how many changes has it not gather any more, and as many gather for so long.
const GATHERS_IN: u64 = 3;
const GATHERS_ANEW_IN: u64 = 6;
/// So many of the last requests may be repeated.
const ASKED_MAX: usize = 8;

impl World {
    pub(super) fn draw_queue(&mut self) -> Arc<QueueSpec> {
        let lot = self.random.next();
        let gathers = mix(lot).is_multiple_of(GATHERS_IN);
        let drawn = if gathers { gathering(&mut Dice(lot)) } else { queue(&mut Dice(lot)) };
        if !self.random.chance(400_000) {
            return Arc::new(drawn);
        }
        let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
        let declared = Declared { venue: Some(Venue::Server(allocation)), ..drawn.declared().clone() };
        Arc::new(QueueSpec::new(declared).unwrap_or(drawn))
    }

    /// A caller asks for something, or asks again.
    pub(super) fn ask(&mut self) -> Result<(), Broken> {
        if self.seat.is_none() {
            return Ok(());
        }
        if self.random.chance(self.scenario.configure) {
            return self.configure();
        }
        if self.random.chance(100_000)
            && let Some(again) = self.asked.get(self.random.index(self.asked.len())).cloned()
        {
            self.counts.repeats += 1;
            return self.turn(&again);
        }
        let Some(spec) = self.decided.spec().cloned() else { return self.configure() };
        let full = oracle::waiting(&self.decided).len() >= WAITING_MAX;
        let command = match self.random.below(if full { 3 } else { 12 }) {
            0 => self.cancels(),
            1 | 2 => self.joins(&spec),
            3 if self.random.chance(400_000) => self.keeps(&spec),
            3 => self.fills_up(&spec),
            4 => self.brings_together(&spec),
            5 => self.looks(&spec, 1),
            _ => self.looks(&spec, 0),
        };
        let Some(command) = command else { return Ok(()) };
        if self.asked.len() == ASKED_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(command.clone());
        self.say("caller", |_| format!("{command:?}"));
        self.turn(&command)
    }

    fn configure(&mut self) -> Result<(), Broken> {
        self.counts.configured += 1;
        let command = match (self.decided.spec().cloned(), self.random.below(6)) {
            (Some(_), 0) => Command::Close,
            (Some(_), 1 | 2) if self.decided.paused().is_some() => Command::Resume,
            (Some(_), 1) => Command::Pause,
            (Some(spec), 2..=4) => {
                let lot = self.random.next();
                let gather = match mix(lot) % GATHERS_ANEW_IN {
                    0 => Gather::NONE,
                    1 => gather(&mut Dice(lot)),
                    _ => spec.gather,
                };
                let declared = Declared { rules: tightened(&spec, lot), gather, ..spec.declared().clone() };
                Command::Configure(QueueSpec::new(declared).map_or(spec, Arc::new))
            }
            (Some(_) | None, _) => Command::Configure(self.draw_queue()),
        };
        self.say("title", |_| format!("{command:?}"));
        self.turn(&command)
    }

    fn ticket(&mut self) -> TicketId {
        self.next_ticket += 1;
        TicketId(Uuid::from_u128(self.next_ticket))
    }

    fn player(&mut self) -> Entity {
        entity(Entity::PLAYER, self.random.below(PLAYERS))
    }

    fn member(&mut self, spec: &QueueSpec) -> Member {
        let values = values(&mut Dice(self.random.next()), spec).into();
        Member { entity: self.player(), attributes: Attributes { raw: None, values } }
    }

    fn give_up_after(&mut self) -> u32 {
        self.random.between(3, 60) as u32
    }

    /// The queue's form, or one that a caller read before the rules changed.
    fn form(&mut self) -> u32 {
        self.decided.form().saturating_sub(u32::from(self.random.chance(20_000)))
    }

    fn looks(&mut self, spec: &QueueSpec, friends: usize) -> Option<Command> {
        let creator = self.member(spec);
        let invited: Vec<Entity> =
            (0..friends).map(|_| self.player()).filter(|friend| *friend != creator.entity).collect();
        Some(Command::CreateTicket {
            ticket: self.ticket(),
            caller: Caller::Player(creator.entity.clone()),
            creator,
            invited,
            give_up_after: self.give_up_after(),
            form: self.form(),
        })
    }

    fn brings_together(&mut self, spec: &QueueSpec) -> Option<Command> {
        let size = self.random.between(1, 3);
        let mut members: Vec<Member> = (0..size).map(|_| self.member(spec)).collect();
        members.sort_by(|one, other| one.entity.cmp(&other.entity));
        members.dedup_by(|one, other| one.entity == other.entity);
        Some(Command::CreateServerTicket {
            ticket: self.ticket(),
            caller: Caller::Title,
            creator: entity("title", 0),
            members,
            give_up_after: self.give_up_after(),
            form: self.form(),
        })
    }

    /// Who plays a game.
    fn players(&mut self, spec: &QueueSpec) -> Vec<Seated> {
        let size = self.random.below(spec.max_match_size.into());
        let mut members: Vec<Member> = (0..size).map(|_| self.member(spec)).collect();
        members.sort_by(|one, other| one.entity.cmp(&other.entity));
        members.dedup_by(|one, other| one.entity == other.entity);
        let teams: Vec<Arc<str>> = spec.teams.iter().map(|team| team.name.clone()).collect();
        let seated = |member: Member| {
            let team = (!teams.is_empty() && !self.random.chance(250_000))
                .then(|| teams[self.random.index(teams.len())].clone());
            Seated { member, team }
        };
        members.into_iter().map(seated).collect()
    }

    /// A hosted game says who plays; sometimes it knows of the last match, and sometimes not.
    fn keeps(&mut self, spec: &QueueSpec) -> Option<Command> {
        let (members, tenure) = (self.players(spec), self.tenure());
        let filled = self.decided.backfills().filter(|it| it.terms.lease.tenure() == Some(tenure));
        let known = filled.map(|it| it.id).max().filter(|_| self.random.chance(700_000));
        let region = Some(REGIONS[self.random.index(REGIONS.len())].into());
        Some(Command::KeepBackfill {
            ticket: self.ticket(),
            tenure,
            members,
            server: ServerDetails { region, ..ServerDetails::default() },
            places: self.random.below(3) as u32,
            known,
            form: self.form(),
        })
    }

    fn fills_up(&mut self, spec: &QueueSpec) -> Option<Command> {
        let members = self.players(spec);
        let caller = match self.random.below(3) {
            0 => Caller::Hosted(self.tenure()),
            _ => Caller::Server(entity(Entity::GAME_SERVER, self.random.below(3))),
        };
        let lease = match self.random.below(4) {
            0 => Lease::Renewed { within: self.random.between(1, 20) as u32 },
            _ => Lease::Free,
        };
        let taken_out = if self.random.chance(500_000) { TakenOut::GoesOn } else { TakenOut::Ends };
        let region = Some(REGIONS[self.random.index(REGIONS.len())].into());
        let places = self.random.chance(300_000).then(|| self.random.between(1, 2) as u32);
        Some(Command::CreateBackfill {
            ticket: self.ticket(),
            caller,
            members,
            server: ServerDetails { region, ..ServerDetails::default() },
            places,
            give_up_after: self.give_up_after(),
            terms: Terms { lease, taken_out },
            form: self.form(),
        })
    }

    fn joins(&mut self, spec: &QueueSpec) -> Option<Command> {
        let gathering = |ticket: &&Arc<mainstay_matchmaking::Ticket>| ticket.stage == Stage::Gathering;
        let waiting: Vec<(TicketId, Entity)> = self
            .decided
            .tickets()
            .filter(gathering)
            .flat_map(|ticket| ticket.invited().iter().map(|friend| (ticket.id, friend.clone())))
            .collect();
        let (ticket, friend) = waiting.get(self.random.index(waiting.len()))?.clone();
        let member = Member { entity: friend.clone(), ..self.member(spec) };
        Some(Command::JoinTicket { ticket, caller: Caller::Player(friend), member, form: self.form() })
    }

    fn cancels(&mut self) -> Option<Command> {
        let player = self.player();
        let known: Vec<TicketId> = self.acknowledged.iter().rev().take(ASKED_MAX).copied().collect();
        let ticket = known.get(self.random.index(known.len())).copied();
        match self.random.below(5) {
            4 => ticket.map(|ticket| Command::RenewBackfill { ticket, caller: Caller::Title }),
            0 => Some(Command::CancelAllTickets { player, caller: Caller::Title }),
            1 => Some(Command::CancelAllBackfills { player, caller: Caller::Title }),
            2 => ticket.map(|ticket| Command::CancelBackfill { ticket, caller: Caller::Title }),
            _ => ticket.map(|ticket| Command::CancelTicket { ticket, caller: Caller::Title }),
        }
    }
}

fn entity(kind: &str, number: u64) -> Entity {
    Entity::kept(&format!("{kind}!{number}"))
}
