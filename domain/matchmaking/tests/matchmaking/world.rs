//! A queue to try things on: its clock, its journal, and short words for what is asked.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{MatchId, StateMachine, TicketId, Timestamp, Turn};
use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Enforced, Expansion, Gather, Merge, Missing, QueueSpec, Rule, RuleKind,
    Source, TeamSpec, Unread, Visibility, Weight,
};
use mainstay_matchmaking::{
    Amount, Answer, Attributes, Caller, Command, Entity, Event, Match, Member, Observation, Outcome, Queue,
    Rejection, Seated, ServerDetails, Terms, Value, laws,
};
use uuid::Uuid;

/// A number of a test.
pub fn number(number: f64) -> Amount {
    Amount::from_f64(number).unwrap()
}

pub fn number_value(value: f64) -> Option<Value> {
    Some(Value::Number(number(value)))
}

pub fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.into()))
}

pub fn texts(texts: &[&str]) -> Option<Value> {
    Some(Value::Texts(texts.iter().map(|text| Arc::from(*text)).collect()))
}

pub fn latencies(measured: &[(&str, u32)]) -> Option<Value> {
    Some(Value::Latencies(measured.iter().map(|(region, ms)| (Arc::from(*region), *ms)).collect()))
}

pub fn player(name: &str) -> Entity {
    Entity::new(Entity::PLAYER, name).unwrap()
}

pub fn server(name: &str) -> Caller {
    Caller::Server(Entity::new(Entity::GAME_SERVER, name).unwrap())
}

pub fn member(name: &str, values: &[Option<Value>]) -> Member {
    Member { entity: player(name), attributes: Attributes { raw: None, values: values.into() } }
}

pub fn seated(name: &str, team: &str, values: &[Option<Value>]) -> Seated {
    let team = (!team.is_empty()).then(|| Arc::from(team));
    Seated { member: member(name, values), team }
}

pub fn region(name: &str) -> ServerDetails {
    ServerDetails { region: Some(name.into()), ..ServerDetails::default() }
}

pub fn rule(name: &str, kind: RuleKind) -> Rule {
    Rule { name: name.into(), optional_after: None, kind }
}

pub fn optional(after: u32, rule: Rule) -> Rule {
    Rule { optional_after: Some(after), ..rule }
}

pub fn user(path: &str) -> Attribute {
    Attribute { source: Source::User, path: path.into() }
}

pub fn difference(name: &str, allowed: Expansion<Amount>) -> Rule {
    weighted_difference(name, 1.0, allowed)
}

pub fn weighted_difference(name: &str, weight: f64, allowed: Expansion<Amount>) -> Rule {
    let weight = Weight::new(number(weight)).unwrap();
    let (attribute, missing, merge) = (user(name), Missing::MatchAny, Merge::Average);
    rule(name, RuleKind::Difference { attribute, weight, missing, merge, allowed })
}

pub fn equality(name: &str, missing: Missing<Arc<str>>) -> Rule {
    let enforced = Expansion::Fixed(Enforced);
    rule(name, RuleKind::StringEquality { attribute: user(name), weight: Weight::DEFAULT, missing, enforced })
}

pub fn intersection(name: &str, weight: f64, shared: Expansion<u32>) -> Rule {
    let weight = Weight::new(number(weight)).unwrap();
    rule(
        name,
        RuleKind::SetIntersection { attribute: user(name), weight, missing: Missing::MatchAny, shared },
    )
}

pub fn total(name: &str, min: Expansion<Amount>, max: Expansion<Amount>) -> Rule {
    rule(name, RuleKind::MatchTotal { attribute: user(name), weight: Weight::DEFAULT, min, max })
}

pub fn selection(latency: Expansion<u32>) -> Rule {
    rule("region", RuleKind::RegionSelection { path: "latency".into(), weight: Weight::DEFAULT, latency })
}

pub fn fixed(value: f64) -> Expansion<Amount> {
    Expansion::Fixed(number(value))
}

pub fn growing(from: f64, by: f64, limit: f64, every: u32) -> Expansion<Amount> {
    Expansion::Linear { from: number(from), delta: Delta::Up(number(by)), limit: Some(number(limit)), every }
}

/// A queue of these sizes and rules.
pub fn declared(min: u32, max: u32, rules: Vec<Rule>) -> Declared {
    Declared {
        name: "queue".into(),
        min_match_size: min,
        max_match_size: max,
        max_ticket_size: None,
        teams: Vec::new(),
        rules,
        regions: Vec::new(),
        visibility: Visibility::default(),
        venue: None,
        gather: Gather::NONE,
        unread: Unread::default(),
    }
}

pub fn spec(min: u32, max: u32, rules: Vec<Rule>) -> QueueSpec {
    QueueSpec::new(declared(min, max, rules)).unwrap()
}

/// Red and blue, of these sizes.
pub fn with_teams(min: u32, max: u32, team: (u32, u32), rules: Vec<Rule>) -> QueueSpec {
    let team = |name: &str| TeamSpec { name: name.into(), min: team.0, max: team.1 };
    QueueSpec::new(Declared { teams: vec![team("red"), team("blue")], ..declared(min, max, rules) }).unwrap()
}

/// A queue, its clock and its journal.
#[derive(Debug, Clone)]
pub struct World {
    pub queue: Queue,
    pub now: Timestamp,
    pub journal: Vec<(Timestamp, Event)>,
    next: u128,
}

impl World {
    pub fn new(spec: QueueSpec) -> Self {
        let now = Timestamp::from_unix_ms(1_000_000);
        let mut world = Self { queue: Queue::new(7), now, journal: Vec::new(), next: 0 };
        world.run(Command::Configure(Arc::new(spec))).unwrap();
        world
    }

    pub fn run(&mut self, command: Command) -> Result<Answer, Rejection> {
        let outcome = Turn::run(self.now, &mut self.queue, &command);
        self.journal.extend(outcome.events.into_iter().map(|event| (self.now, event)));
        assert_eq!(laws::all(&self.queue), Ok(()));
        outcome.answer
    }

    /// Lets time go by, from deadline to deadline.
    pub fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some((at, _)) = self.queue.next_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.run(Command::Due).unwrap();
        }
        self.now = until;
    }

    pub fn seconds(&mut self, seconds: u64) {
        self.pass(Duration::from_secs(seconds));
    }

    pub fn id(&mut self) -> TicketId {
        self.next += 1;
        TicketId(Uuid::from_u128(self.next))
    }

    /// A player's own ticket.
    pub fn solo(&mut self, name: &str, values: &[Option<Value>]) -> TicketId {
        self.try_ticket(name, values, &[]).unwrap()
    }

    /// The same, that gives up after so many seconds.
    pub fn waiting_for(&mut self, name: &str, values: &[Option<Value>], give_up_after: u32) -> TicketId {
        let (ticket, form) = (self.id(), self.queue.form());
        let (caller, creator) = (Caller::Player(player(name)), member(name, values));
        let invited = Vec::new();
        self.run(Command::CreateTicket { ticket, caller, creator, invited, give_up_after, form }).unwrap();
        ticket
    }

    pub fn try_ticket(
        &mut self,
        name: &str,
        values: &[Option<Value>],
        invited: &[&str],
    ) -> Result<TicketId, Rejection> {
        let ticket = self.id();
        let form = self.queue.form();
        let invited = invited.iter().map(|name| player(name)).collect();
        self.run(Command::CreateTicket {
            ticket,
            caller: Caller::Player(player(name)),
            creator: member(name, values),
            invited,
            give_up_after: 600,
            form,
        })?;
        Ok(ticket)
    }

    pub fn join(
        &mut self,
        ticket: TicketId,
        name: &str,
        values: &[Option<Value>],
    ) -> Result<Answer, Rejection> {
        let form = self.queue.form();
        let caller = Caller::Player(player(name));
        self.run(Command::JoinTicket { ticket, caller, member: member(name, values), form })
    }

    /// A ticket of several players, made by a server.
    pub fn party(&mut self, members: Vec<Member>) -> TicketId {
        self.try_party(members).unwrap()
    }

    pub fn try_party(&mut self, members: Vec<Member>) -> Result<TicketId, Rejection> {
        let ticket = self.id();
        let form = self.queue.form();
        let (caller, creator) = (Caller::Title, Entity::new("title", "ABCD").unwrap());
        self.run(Command::CreateServerTicket { ticket, caller, creator, members, give_up_after: 600, form })?;
        Ok(ticket)
    }

    pub fn backfill(&mut self, members: Vec<Seated>, details: ServerDetails) -> TicketId {
        self.try_backfill(&server("one"), members, details, None).unwrap()
    }

    pub fn try_backfill(
        &mut self,
        caller: &Caller,
        members: Vec<Seated>,
        server: ServerDetails,
        places: Option<u32>,
    ) -> Result<TicketId, Rejection> {
        let ticket = self.id();
        let form = self.queue.form();
        let caller = caller.clone();
        self.run(Command::CreateBackfill {
            ticket,
            caller,
            members,
            server,
            places,
            give_up_after: 600,
            terms: Terms::default(),
            form,
        })?;
        Ok(ticket)
    }

    pub fn cancel(&mut self, ticket: TicketId, caller: Caller) -> Result<Answer, Rejection> {
        self.run(Command::CancelTicket { ticket, caller })
    }

    /// `WaitingForMatch`, `Matched`, …
    pub fn status(&self, ticket: TicketId) -> &'static str {
        self.queue.ticket(ticket, &Caller::Title, self.now).unwrap().stage.as_str()
    }

    pub fn backfill_status(&self, ticket: TicketId) -> &'static str {
        self.queue.backfill(ticket, &Caller::Title, self.now).unwrap().stage.as_str()
    }

    /// The matches formed so far, in order.
    pub fn formed(&self) -> Vec<Arc<Match>> {
        let ids = self.formed_ids();
        ids.filter_map(|id| self.queue.formed_match(id, &Caller::Title, self.now).ok().cloned()).collect()
    }

    /// Their ids, also of those that are forgotten.
    pub fn formed_ids(&self) -> impl Iterator<Item = MatchId> {
        self.journal.iter().filter_map(|(_, event)| match event {
            Event::MatchFormed { id, .. } => Some(*id),
            Event::Configured { .. }
            | Event::Closed
            | Event::Paused
            | Event::Resumed
            | Event::TicketCreated { .. }
            | Event::TicketJoined { .. }
            | Event::TicketCanceled { .. }
            | Event::BackfillCreated { .. }
            | Event::BackfillCanceled { .. }
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
            | Event::UndoStood { .. } => None,
            Event::MatchPlaced { hold, .. } => self.placed_as(*hold),
        })
    }

    /// The id of a match that was held: the one its server was asked for under last.
    fn placed_as(&self, held: MatchId) -> Option<MatchId> {
        let refused = |(_, event): &&(Timestamp, Event)| matches!(event, Event::PlacementRefused { hold, .. } if *hold == held);
        Some(held.asked(u32::try_from(self.journal.iter().filter(refused).count()).unwrap()))
    }

    /// The fleet answers.
    pub fn answer(&mut self, id: MatchId, outcome: Outcome) {
        self.run(Command::Placement { id, outcome }).unwrap();
    }

    /// The only match, by its players' names, each with the team: `alice/red`.
    pub fn matched(&self) -> Vec<Vec<String>> {
        let named = |formed: &Arc<Match>| {
            let mut names: Vec<String> = formed.members.iter().map(name).collect();
            names.sort();
            names
        };
        self.formed().iter().map(named).collect()
    }

    /// The state as it stands, rebuilt from its story.
    pub fn rebuilt(&self) -> Queue {
        let mut queue = Queue::new(99);
        for (at, event) in self.queue.snapshot() {
            queue.apply(at, &event);
        }
        queue
    }

    /// The state as it stands, rebuilt from its journal.
    pub fn replayed(&self) -> Queue {
        let mut queue = Queue::new(99);
        for (at, event) in &self.journal {
            queue.apply(*at, event);
        }
        queue
    }

    pub fn forget(&mut self) {
        self.queue.observe(self.now, Observation::Forgotten);
    }
}

fn name(seated: &Seated) -> String {
    let id = seated.member.entity.id();
    seated.team.as_ref().map_or_else(|| id.to_owned(), |team| format!("{id}/{team}"))
}
