//! One player's process: it reads what its session says, steps the game where it is the host, steers, listens to its console,
//! and tells whatever happens as one JSON object a line on standard output.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainstay_peer::lan::LanError;
use mainstay_peer::link::Way;
use mainstay_peer::migration::{
    Acting, CanBeHost, End, GamePhase, Handover, Identification, Kind, Level, Outcome, PeerId, Piece,
    Priority, Report, Role, Stage, Stamp, Standing, State, Tick,
};
use mainstay_peer::{
    Closing, Event, Joining, Over, Peer, PlayError, Registered, SayError, Seat, SeatError, Shown, StartError,
    To, TrustError,
};
use ratatui::crossterm::event::KeyEvent;
use serde_json::{Value, json};

use crate::peers::account::{Account, Bells, Cost, Heard, Writer};
use crate::peers::console::{Console, Said, listen};
use crate::peers::entrance::{FINDS_WITHIN, look, reachable, take_seat, way_in};
use crate::peers::harbour::Harbour;
use crate::peers::options::Options;
use crate::peers::screen::{Pressed, Scene, Screen, sentence};
use crate::peers::stagehand::Stagehand;
use crate::peers::voice::{HORN, Told, decode_bell, decode_helm, encode_bell, encode_helm};
use crate::world::{Helm, TICKS_PER_SECOND};

/// How often the game steps.
const TICK: Duration = Duration::from_millis(1_000 / TICKS_PER_SECOND as u64);
/// After how many ticks a host gives its whole game again: between them it gives what each tick brought, where that is shorter.
const SNAPSHOT_EVERY: u32 = TICKS_PER_SECOND;
/// How often a process says how it stands.
const STANDING: Duration = Duration::from_millis(250);
/// After how many ticks a bot moves its levers: twice a second.
const BOT_EVERY: u32 = TICKS_PER_SECOND / 2;
/// After how many ticks a bot sounds its horn, and a host rings the harbour's bell: twice a second.
const SOUNDS_EVERY: u32 = TICKS_PER_SECOND / 2;
/// How many states a player waits for one that says what it did: those of a second.
const UNKNOWN_MAX: u32 = TICKS_PER_SECOND;
/// How long a host stands still for a successor: a moment longer than the rules wait for one.
const HANDING_OVER: Duration = Duration::from_millis(2_200);
/// How long leaving may take, handing over included: the rules give a successor two seconds.
const LEAVING_MAX: Duration = Duration::from_secs(4);

/// Why a peer could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// No peer.
    #[error("cannot start the peer")]
    Start(#[from] StartError),
    /// No seat.
    #[error("cannot take a place in the session")]
    Seat(#[from] SeatError),
    /// No multicast DNS.
    #[error("cannot look for sessions on this LAN")]
    Lan(#[from] LanError),
    /// Nobody vouches for its lobby.
    #[error("cannot use the authorities that are to vouch for the lobby")]
    Trust(#[from] TrustError),
    /// Nobody on this LAN hosts it.
    #[error("no such session is found on this LAN in {} s", FINDS_WITHIN.as_secs())]
    Unfound,
    /// The hands are gone.
    #[error("the peer's thread is gone")]
    Closing(#[from] Closing),
    /// The seat takes no deed.
    #[error("cannot play")]
    Play(#[from] PlayError),
    /// The seat does not say it.
    #[error("cannot say")]
    Say(#[from] SayError),
    /// The system refuses.
    #[error("cannot {what}")]
    System {
        /// To do what.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl ProcessError {
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Start(_) => "MS-S220",
            Self::Seat(_)
            | Self::Trust(_)
            | Self::Lan(_)
            | Self::Unfound
            | Self::Closing(_)
            | Self::Play(_)
            | Self::Say(_) => "MS-S221",
            Self::System { .. } => "MS-S222",
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, ProcessError> {
    if options.look {
        return look();
    }
    let console = listen(options)?;
    let peer = Peer::start(options.bind)?;
    let stages = Arc::new(Mutex::new(Vec::new()));
    let listener = Registered {
        name: "tugboat".to_owned(),
        priority: Priority::PostEngine,
        listener: Box::new(Stagehand(Arc::clone(&stages))),
    };
    let seat = take_seat(options, &peer, vec![listener])?;
    let session = seat.session();
    for setting in &options.set {
        seat.set(&setting.name, &setting.value)?;
    }
    let screen = options.play.then(Screen::open).transpose();
    let screen = screen.map_err(|source| ProcessError::System { what: "draw in this terminal", source })?;
    let mut player = Player::new(options, peer.id(), seat, stages, screen);
    let address = reachable(peer.address());
    player.tell(&json!({
        "event": "started", "peer": name(peer.id()), "session": format!("{:032x}", session.0),
        "address": address.to_string(), "joinedBy": way_in(options, session.0, address), "pid": std::process::id(),
    }))?;
    let code = player.play(&console);
    drop(player);
    drop(peer);
    code
}

pub(super) fn name(peer: PeerId) -> String {
    format!("{:032x}", peer.0)
}

pub(super) fn write_line(facts: &Value) -> Result<(), ProcessError> {
    let line = format!("{facts}\n");
    io::stdout()
        .lock()
        .write_all(line.as_bytes())
        .map_err(|source| ProcessError::System { what: "write to standard output", source })
}

/// What the game is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It is not in yet.
    Outside,
    /// It obeys that host.
    Member(PeerId),
    /// It is the host, with that stamp.
    Host(Stamp),
}

/// Whether it is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// As host: it hands over first.
    HandingOver(Instant),
    /// It has said so, and waits for the end.
    Said,
}

/// Whether horn and bell are sounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sounds {
    Heard,
    Hushed,
}

struct Player {
    me: PeerId,
    bot: bool,
    with_parent: bool,
    seat: Seat,
    stages: Arc<Mutex<Vec<Stage>>>,
    harbour: Harbour,
    /// As host: who is there.
    present: BTreeSet<PeerId>,
    /// How many states in turn did not say what it did, which it has been told before.
    unknown: u32,
    part: Part,
    acting: Acting,
    durable: Tick,
    /// How many turns were given since the last snapshot; `None` where only a snapshot may be given.
    turns: Option<u32>,
    account: Account,
    /// How often it has moved its levers.
    done: u32,
    /// How often it has sounded its horn.
    hailed: u32,
    sounds: Sounds,
    bells: Bells,
    ticks: u32,
    can_be_host: CanBeHost,
    cost: Option<Cost>,
    report: Option<Report>,
    leaving: Leaving,
    next_tick: Instant,
    /// A host that hands over steps no further, unless nobody takes it.
    still_until: Instant,
    /// Why it does, while it does: what it gave with that may come too early, and is given again.
    handing: Option<Handover>,
    /// Where a person plays; otherwise every fact is a line of standard output.
    screen: Option<Screen>,
    /// How the session stood last.
    shown: Option<Shown>,
}

impl Player {
    fn new(
        options: &Options,
        me: PeerId,
        seat: Seat,
        stages: Arc<Mutex<Vec<Stage>>>,
        screen: Option<Screen>,
    ) -> Self {
        Self {
            me,
            bot: options.bot,
            with_parent: options.with_parent,
            seat,
            stages,
            harbour: Harbour::new(options.seed),
            present: BTreeSet::new(),
            unknown: 0,
            part: Part::Outside,
            acting: Acting::No,
            durable: Tick(0),
            turns: None,
            account: Account::default(),
            done: 0,
            hailed: 0,
            sounds: Sounds::Heard,
            bells: Bells::every(u64::from(SOUNDS_EVERY)),
            ticks: 0,
            can_be_host: CanBeHost::NotYet,
            cost: None,
            report: None,
            leaving: Leaving::No,
            next_tick: Instant::now(),
            still_until: Instant::now(),
            handing: None,
            screen,
            shown: None,
        }
    }

    /// Something happened: a line for a program, or news for a person.
    fn tell(&mut self, facts: &Value) -> Result<(), ProcessError> {
        match &mut self.screen {
            Some(screen) => {
                sentence(facts).into_iter().for_each(|news| screen.tell(news));
                Ok(())
            }
            None => write_line(facts),
        }
    }

    fn draw(&mut self) -> Result<(), ProcessError> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        let scene = Scene { harbour: &self.harbour, me: self.me, shown: self.shown.as_ref() };
        screen.draw(&scene).map_err(|source| ProcessError::System { what: "draw in this terminal", source })
    }

    fn play(&mut self, console: &Console) -> Result<ExitCode, ProcessError> {
        let mut standing_at = self.next_tick;
        loop {
            let now = Instant::now();
            if let Some(event) = self.seat.next(self.next_tick.saturating_duration_since(now)) {
                if let Event::Over(over) = event {
                    return self.end(&over);
                }
                self.hear(event)?;
                continue;
            }
            let now = Instant::now();
            // What a stall has cost is not made good: the game goes on from where it is.
            self.next_tick = (self.next_tick + TICK).max(now);
            self.tick()?;
            for said in console.since() {
                self.obey(&said)?;
            }
            if let Leaving::HandingOver(until) = self.leaving
                && now >= until
            {
                self.leaving = Leaving::Said;
                self.seat.leave()?;
            }
            if now >= standing_at {
                standing_at = now + STANDING;
                if let Some(shown) = self.seat.shown()? {
                    self.stand(shown)?;
                }
            }
            self.draw()?;
        }
    }

    fn hear(&mut self, event: Event) -> Result<(), ProcessError> {
        match event {
            Event::Entered => self.tell(&json!({ "event": "entered" }))?,
            Event::Lead { stamp, state } => self.lead(stamp, &state)?,
            Event::Follow { leader, stamp } => {
                self.part = Part::Member(leader);
                self.account.follow(leader);
                self.tell(
                    &json!({ "event": "follows", "host": name(leader), "epoch": stamp.epoch.0, "fork": stamp.fork }),
                )?;
            }
            Event::Act(acting) => {
                self.acting = acting;
                self.still_until = Instant::now();
                // Everybody waits for a new host's first tick.
                self.next_tick = self.still_until;
            }
            Event::Connected { peer, .. } => {
                self.present.insert(peer);
                self.harbour.board(peer);
            }
            Event::Gone(peer) => {
                self.present.remove(&peer);
                if matches!(self.part, Part::Host(_)) {
                    self.harbour.leave(peer);
                }
                self.tell(&json!({ "event": "gone", "peer": name(peer) }))?;
            }
            Event::Durable(state) => {
                self.durable = state.tick;
                self.account.promise(state.tick);
            }
            Event::Apply { from, bytes, .. } => {
                if let Some(helm) = decode_helm(&bytes) {
                    self.harbour.steer(from, helm);
                }
            }
            Event::SomebodyBetter(_) if self.leaving == Leaving::No => self.hand_over(Handover::Lobby)?,
            Event::NobodyBetter => {
                self.still_until = Instant::now();
                self.handing = None;
                self.tell(&json!({ "event": "nobodyBetter" }))?;
            }
            Event::Behind => {
                self.turns = None;
                if let Some(why) = self.handing {
                    self.hand_over(why)?;
                }
            }
            Event::NotTaken(why) => {
                self.turns = None;
                self.tell(&json!({ "event": "notTaken", "why": why.to_string() }))?;
            }
            Event::NotListed(why) => self.tell(&json!({ "event": "notListed", "why": why.to_string() }))?,
            Event::NotCarried(why) => {
                self.tell(&json!({ "event": "notCarried", "peer": name(why.peer), "why": why.to_string() }))?
            }
            Event::NotSaid(why) => self.tell(&json!({ "event": "notSaid", "why": why.to_string() }))?,
            Event::InputForgotten { number } => {
                self.tell(&json!({ "event": "forgotten", "number": number }))?
            }
            Event::Rewritten { host, .. } => {
                self.tell(&json!({ "event": "rewritten", "host": name(host) }))?
            }
            Event::Confirmed(stamp) => self.tell(&json!({ "event": "confirmed", "epoch": stamp.epoch.0 }))?,
            Event::Migrated(report) => {
                self.report = Some(report);
                self.tell_of_move()?;
            }
            Event::NotSet(why) => self.tell(&json!({ "event": "notSet", "why": why.to_string() }))?,
            Event::FromHost { stamp, bytes } => self.take(stamp, &bytes)?,
            // Hosts of this game give a state with every tick.
            Event::StateWanted(_) => {}
            Event::FromMember { peer, bytes } if bytes == [HORN] => self.harbour.hail(peer),
            Event::FromMember { .. }
            | Event::SomebodyBetter(_)
            | Event::Progress(_)
            | Event::Discard(_)
            | Event::Over(_) => {}
        }
        Ok(())
    }

    /// It is the host: the game goes on from what is known of it.
    fn lead(&mut self, stamp: Stamp, state: &State) -> Result<(), ProcessError> {
        let shown = self.seat.shown()?;
        self.present = shown.into_iter().flat_map(|shown| shown.members).map(|(peer, _)| peer).collect();
        let before = match self.part {
            Part::Host(_) => self.harbour.tick(),
            Part::Outside | Part::Member(_) => Tick(0),
        };
        if let Some(held) = Harbour::of(state.parts()) {
            self.harbour = held;
            self.harbour.take_over(&self.present);
        }
        self.harbour.pass_to(self.me, stamp);
        self.part = Part::Host(stamp);
        self.durable = Tick(0);
        self.turns = None;
        self.harbour.board(self.me);
        self.can_be_host()?;
        self.tell(&json!({
            "event": "leads", "epoch": stamp.epoch.0, "fork": stamp.fork, "fromTick": self.harbour.tick().0,
            "undone": before.0.saturating_sub(self.harbour.tick().0),
        }))
    }

    /// Seed 000: "Once the game deems that the client has sufficient information".
    fn can_be_host(&mut self) -> Result<(), ProcessError> {
        if self.can_be_host == CanBeHost::NotYet {
            self.can_be_host = CanBeHost::Yes;
            self.seat.set_can_be_host(CanBeHost::Yes)?;
        }
        Ok(())
    }

    /// A member has heard its host.
    fn take(&mut self, stamp: Stamp, bytes: &[u8]) -> Result<(), ProcessError> {
        if let Some(bell) = decode_bell(bytes) {
            self.bells.hear(bell);
            return Ok(());
        }
        let Some(told) = Told::decode(bytes) else { return Ok(()) };
        let Part::Member(host) = self.part else { return Ok(()) };
        // Whoever comes back is told what it did as soon as its host knows that it is there, or that is forgotten.
        if self.harbour.knows(self.me) && !told.harbour.knows(self.me) && self.unknown < UNKNOWN_MAX {
            self.unknown += 1;
            return Ok(());
        }
        self.unknown = 0;
        let (tick, deeds) = (told.harbour.tick(), told.harbour.deeds_of(self.me));
        let lineage = told.harbour.lineage();
        let heard =
            self.account.hear(Instant::now(), Writer { host, stamp }, (tick, lineage), deeds, told.durable);
        if heard != Heard::Stale {
            self.harbour = told.harbour;
            self.can_be_host()?;
        }
        self.note(heard)
    }

    fn note(&mut self, heard: Heard) -> Result<(), ProcessError> {
        match heard {
            Heard::Moved(cost) => {
                self.cost = Some(cost);
                self.tell_of_move()
            }
            Heard::Stale | Heard::Next => Ok(()),
        }
    }

    fn tick(&mut self) -> Result<(), ProcessError> {
        self.ticks = self.ticks.wrapping_add(1);
        if self.bot && self.ticks.is_multiple_of(BOT_EVERY) && self.part != Part::Outside {
            self.steer_by_itself()?;
        }
        match self.part {
            Part::Host(stamp) if self.acting == Acting::Yes && Instant::now() >= self.still_until => {
                self.handing = None;
                let piece = self.step();
                let told = Told::encode(self.durable, &self.harbour.encode_for(&self.present));
                self.seat.hold(piece)?;
                self.seat.say(To::Members, Way::Datagram, told)?;
                self.ring()?;
                let (tick, deeds) = (self.harbour.tick(), self.harbour.deeds_of(self.me));
                let own = Writer { host: self.me, stamp };
                let game = (tick, self.harbour.lineage());
                let heard = self.account.hear(Instant::now(), own, game, deeds, self.durable);
                self.note(heard)
            }
            Part::Member(_) if self.bot && self.ticks.is_multiple_of(SOUNDS_EVERY) => self.sound(),
            Part::Outside | Part::Member(_) | Part::Host(_) => Ok(()),
        }
    }

    /// As host: the harbour's bell, at the ticks that have one.
    fn ring(&mut self) -> Result<(), ProcessError> {
        let bell = self.harbour.tick();
        if self.sounds == Sounds::Heard
            && matches!(self.part, Part::Host(_))
            && bell.0.is_multiple_of(u64::from(SOUNDS_EVERY))
        {
            self.bells.hear(bell);
            self.seat.say(To::Members, Way::Stream, encode_bell(bell).to_vec())?;
        }
        Ok(())
    }

    /// Whoever has a boat sounds its horn: its host hears it once, whoever that is by then.
    fn sound(&mut self) -> Result<(), ProcessError> {
        if self.sounds == Sounds::Heard && self.harbour.boat_of(self.me).is_some() {
            self.hailed = self.hailed.saturating_add(1);
            self.seat.say(To::Host, Way::Stream, vec![HORN])?;
        }
        Ok(())
    }

    /// The game's next tick: what the standbys are given.
    fn step(&mut self) -> Piece {
        let turn = self.harbour.step().encode();
        let whole = self.harbour.encode();
        let (kind, bytes, turns) = match self.turns {
            Some(turns) if turns < SNAPSHOT_EVERY && turn.len() < whole.len() => {
                (Kind::Delta, turn, turns + 1)
            }
            Some(_) | None => (Kind::Snapshot, whole, 0),
        };
        self.turns = Some(turns);
        Piece { tick: self.harbour.tick(), kind, bytes }
    }

    fn steer_by_itself(&mut self) -> Result<(), ProcessError> {
        let turn = u8::try_from(self.me.0 >> 120).unwrap_or(0) ^ u8::try_from(self.done % 251).unwrap_or(0);
        self.done = self.done.saturating_add(1);
        let helm = Helm { throttle: 90, rudder: turn.cast_signed() / 2 };
        Ok(self.seat.play(encode_helm(helm).to_vec())?)
    }

    fn obey(&mut self, said: &Said) -> Result<(), ProcessError> {
        match said {
            Said::Signal => self.leave(),
            Said::Closed if self.with_parent => self.leave(),
            Said::Closed => Ok(()),
            Said::Key(key) => self.press(*key),
            Said::Line(line) => self.enter(line),
        }
    }

    fn press(&mut self, key: KeyEvent) -> Result<(), ProcessError> {
        match self.screen.as_mut().map(|screen| screen.press(key)) {
            Some(Pressed::Steers(helm)) if self.part != Part::Outside => {
                self.done = self.done.saturating_add(1);
                Ok(self.seat.play(encode_helm(helm).to_vec())?)
            }
            Some(Pressed::Line(line)) => self.enter(&line),
            Some(Pressed::Steers(_) | Pressed::Nothing) | None => Ok(()),
        }
    }

    fn enter(&mut self, line: &str) -> Result<(), ProcessError> {
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => Ok(()),
            ["leave"] => self.leave(),
            ["give-over"] => match self.part {
                Part::Host(_) => self.hand_over(Handover::Lobby),
                Part::Outside | Part::Member(_) => {
                    self.tell(&json!({ "event": "notHost", "line": line, "why": "only the host gives the session to another" }))
                }
            },
            ["gather"] => Ok(self.seat.set_phase(GamePhase::Gathering)?),
            ["begin"] => Ok(self.seat.set_phase(GamePhase::Started)?),
            ["open"] => Ok(self.seat.set_joining(Joining::Open)?),
            ["close"] => Ok(self.seat.set_joining(Joining::Closed)?),
            ["hush"] => {
                self.sounds = Sounds::Hushed;
                Ok(())
            }
            ["set", name, value] => Ok(self.seat.set(name, value)?),
            _ => self.tell(
                &json!({ "event": "unknown", "line": line, "commands": "set NAME VALUE, gather, begin, open, close, give-over, hush, leave" }),
            ),
        }
    }

    /// A host hands over first; so nobody waits for anything.
    fn leave(&mut self) -> Result<(), ProcessError> {
        if self.leaving != Leaving::No {
            return Ok(());
        }
        match self.part {
            Part::Host(_) => {
                self.leaving = Leaving::HandingOver(Instant::now() + LEAVING_MAX);
                self.hand_over(Handover::Leaves)
            }
            Part::Outside | Part::Member(_) => {
                self.leaving = Leaving::Said;
                Ok(self.seat.leave()?)
            }
        }
    }

    fn hand_over(&mut self, why: Handover) -> Result<(), ProcessError> {
        self.still_until = Instant::now() + HANDING_OVER;
        self.handing = Some(why);
        // What has come since the last tick is in the last state too.
        let last = self.step();
        self.ring()?;
        Ok(self.seat.hand_over(None, why, last)?)
    }

    /// Once the stages are through and the new host's first state is there. Of one who was host in between, and said nothing, nothing is told.
    fn tell_of_move(&mut self) -> Result<(), ProcessError> {
        let (Some(report), Some(cost)) = (&self.report, &self.cost) else { return Ok(()) };
        let Outcome::Moved { host, stamp, role } = &report.outcome else { return Ok(()) };
        if *host != cost.host {
            return Ok(());
        }
        let stages = std::mem::take(&mut *self.stages.lock().unwrap_or_else(PoisonError::into_inner));
        let stages: Vec<String> = stages.iter().map(|stage| format!("{stage:?}")).collect();
        let cause = format!("{:?}", report.cause).to_lowercase();
        let role = match role {
            Role::Host => "host",
            Role::Client => "client",
        };
        self.tell(&json!({
            "event": "moved", "epoch": stamp.epoch.0, "fork": stamp.fork, "cause": cause, "newHost": name(*host),
            "role": role, "gapMs": u64::try_from(cost.gap.as_millis()).unwrap_or(u64::MAX), "tookMs": report.took_ms,
            "resets": report.resets, "ackedLost": cost.acked_lost, "ticksLost": cost.ticks_lost, "tick": cost.tick.0, "stages": stages,
        }))?;
        (self.report, self.cost) = (None, None);
        Ok(())
    }

    fn stand(&mut self, shown: Shown) -> Result<(), ProcessError> {
        if self.screen.is_some() {
            self.shown = Some(shown);
            return Ok(());
        }
        let hints: Vec<String> = shown
            .hints
            .iter()
            .map(|(peer, entry)| {
                let hint = entry.hint;
                format!("{} {:?} {} connections", name(*peer), hint.nat, hint.connections)
            })
            .collect();
        self.tell(&json!({
            "event": "stands", "is": shown.role.text(), "shows": shown.identification.map(Identification::text),
            "host": name(shown.leader), "epoch": shown.stamp.epoch.0, "fork": shown.stamp.fork,
            "standing": shown.standing.map(|standing| match standing { Standing::Confirmed => "confirmed", Standing::Unconfirmed => "unconfirmed" }),
            "anticipated": shown.anticipated.map(name), "members": shown.members.len(), "voters": shown.voters, "linked": shown.linked,
            "relayed": shown.relayed, "nat": format!("{:?}", shown.nat).to_lowercase(),
            "tick": self.harbour.tick().0, "durable": self.durable.0, "holds": shown.holds.0, "handedOn": shown.handed_on, "goesAlong": shown.terms.level != Level::None, "boat": self.harbour.boat_of(self.me).map(|it| it.0),
            "deeds": self.harbour.deeds_of(self.me), "done": self.done, "hails": self.harbour.hails_of(self.me),
            "hailed": self.hailed, "bellsMissed": self.bells.missing(),
            "bellsOverdue": self.bells.overdue(), "bellsTwice": self.bells.twice(), "hints": hints,
        }))
    }

    fn end(&mut self, over: &Over) -> Result<ExitCode, ProcessError> {
        let left = *over == Over::Ended(End::Left) && self.leaving != Leaving::No;
        let facts = json!({ "event": "over", "why": over.to_string(), "code": over.code() });
        match self.screen.take() {
            Some(screen) => {
                // The screen goes, and what was on it: why the game is over is said where it can be read.
                drop(screen);
                let news = sentence(&facts).unwrap_or_default();
                writeln!(io::stderr(), "{news}")
                    .map_err(|source| ProcessError::System { what: "write to standard error", source })?;
            }
            None => write_line(&facts)?,
        }
        Ok(if left { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
