//! Who plays: joins, tokens, silence, and the orders that the next tick brings. No socket, no clock.
//!
//! Time is told as the time since the server began.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use mainstay_query::Player as Shown;

use crate::message::{NotAMessage, Reason, Reply, Request, State};
use crate::world::{BOATS_MAX, BoatId, Order, TICKS_PER_SECOND, World};

/// How long a player may be silent.
pub const SILENCE_MAX: Duration = Duration::from_secs(5);
/// How long a boat is kept for someone who was welcomed but has not steered: two lost datagrams' worth, so that made-up
/// addresses do not fill the harbour for long.
pub const WELCOME_LIFETIME: Duration = Duration::from_secs(2);
/// The time between ticks while anyone plays.
pub const TICK: Duration = Duration::from_millis(1000 / TICKS_PER_SECOND as u64);
/// The time between ticks while nobody does.
pub const TICK_IDLE: Duration = Duration::from_secs(1);

/// What the hand must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to that address.
    Send(SocketAddr, Vec<u8>),
    /// Write this down.
    Note(Note),
    /// Someone asks for a fault; whether they may is the hand's to say.
    Control {
        /// Who asks.
        from: SocketAddr,
        /// Marks the answer.
        nonce: u32,
        /// What they show to prove that they may.
        token: String,
        /// What they ask for.
        command: String,
    },
}

/// What happened, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A player entered the game.
    Joined {
        /// Their boat.
        boat: BoatId,
        /// Their name.
        name: String,
    },
    /// A player left the game.
    Left {
        /// Their boat.
        boat: BoatId,
        /// Their name.
        name: String,
        /// How.
        how: Leaving,
    },
}

/// How a player left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// They said so.
    Said,
    /// They fell silent.
    Silent,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { boat, name } => write!(f, "joined boat={} name={name:?}", boat.0),
            Self::Left { boat, how: Leaving::Said, .. } => write!(f, "left boat={}", boat.0),
            Self::Left { boat, how: Leaving::Silent, .. } => write!(f, "left boat={} silent", boat.0),
        }
    }
}

/// The game on a server.
pub struct Game {
    world: World,
    seats: BTreeMap<BoatId, Seat>,
    orders: Vec<(BoatId, Order)>,
    players_max: usize,
    draw: Box<dyn FnMut() -> u32>,
}

/// Someone welcomed.
#[derive(Debug)]
struct Seat {
    address: SocketAddr,
    nonce: u32,
    token: u32,
    name: String,
    heard: Duration,
    presence: Presence,
}

#[derive(Debug)]
enum Presence {
    /// Has been told its token, has not shown it.
    Welcomed,
    /// Has shown it, and so plays.
    Playing { since: Duration, sequence: u32 },
}

impl Game {
    /// An empty game. `players_max` above [`BOATS_MAX`] counts as that; `draw` gives tokens that nobody can foresee.
    pub fn new(seed: u64, players_max: usize, draw: impl FnMut() -> u32 + 'static) -> Self {
        Self {
            world: World::new(seed),
            seats: BTreeMap::new(),
            orders: Vec::new(),
            players_max: players_max.min(BOATS_MAX),
            draw: Box::new(draw),
        }
    }

    /// The world after the last tick.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// How many can play.
    #[must_use]
    pub const fn players_max(&self) -> usize {
        self.players_max
    }

    /// Everyone who plays, as queries show them.
    #[must_use]
    pub fn players(&self, now: Duration) -> Vec<Shown> {
        let playing = self.seats.iter().filter_map(|(boat, seat)| match seat.presence {
            Presence::Playing { since, .. } => Some((boat, seat, since)),
            Presence::Welcomed => None,
        });
        playing
            .map(|(boat, seat, since)| Shown {
                name: seat.name.clone(),
                score: self.world.boats().get(boat).map_or(0, |boat| boat.score.cast_signed()),
                connected: now.saturating_sub(since),
            })
            .collect()
    }

    /// The time from one tick to the next, as things stand.
    #[must_use]
    pub fn pace(&self) -> Duration {
        if self.seats.is_empty() { TICK_IDLE } else { TICK }
    }

    /// Takes a datagram, whatever its bytes.
    pub fn receive(
        &mut self,
        now: Duration,
        from: SocketAddr,
        bytes: &[u8],
        allocation: Option<&str>,
    ) -> Vec<Output> {
        match Request::decode(bytes) {
            Ok(Request::Join { nonce, name }) => self.join(now, from, nonce, name),
            Ok(Request::Helm { boat, token, sequence, helm }) => {
                self.steer(now, from, (boat, token), sequence, Order::Steer(helm))
            }
            Ok(Request::Leave { boat, token }) => match self.seat(boat, token, from) {
                Some(_) => self.leave(boat, Leaving::Said),
                None => Vec::new(),
            },
            Ok(Request::Look { nonce }) => vec![Output::Send(from, self.state(nonce, allocation))],
            Ok(Request::Control { nonce, token, command }) => {
                vec![Output::Control { from, nonce, token, command }]
            }
            Err(NotAMessage::Version { .. }) => {
                // Only where the answer is no longer than what it answers.
                let refusal = Reply::Refused { nonce: 0, reason: Reason::Version }.encode();
                if bytes.len() < refusal.len() { Vec::new() } else { vec![Output::Send(from, refusal)] }
            }
            Err(NotAMessage::Foreign) => Vec::new(),
        }
    }

    fn join(&mut self, now: Duration, from: SocketAddr, nonce: u32, name: String) -> Vec<Output> {
        let again = self.seats.iter().find(|(_, seat)| seat.address == from && seat.nonce == nonce);
        if let Some((boat, seat)) = again {
            let welcome = Reply::Welcome { nonce, boat: *boat, token: seat.token };
            return vec![Output::Send(from, welcome.encode())];
        }
        let last = u8::try_from(self.players_max).unwrap_or(u8::MAX);
        let Some(boat) = (1..=last).map(BoatId).find(|boat| !self.seats.contains_key(boat)) else {
            return vec![Output::Send(from, Reply::Refused { nonce, reason: Reason::Full }.encode())];
        };
        let token = (self.draw)();
        let seat = Seat { address: from, nonce, token, name, heard: now, presence: Presence::Welcomed };
        self.seats.insert(boat, seat);
        vec![Output::Send(from, Reply::Welcome { nonce, boat, token }.encode())]
    }

    fn steer(
        &mut self,
        now: Duration,
        from: SocketAddr,
        (boat, token): (BoatId, u32),
        sequence: u32,
        order: Order,
    ) -> Vec<Output> {
        let Some(seat) = self.seat(boat, token, from) else {
            return vec![Output::Send(from, Reply::Gone { boat }.encode())];
        };
        seat.heard = now;
        let mut outputs = Vec::new();
        match &mut seat.presence {
            Presence::Welcomed => {
                seat.presence = Presence::Playing { since: now, sequence };
                outputs.push(Output::Note(Note::Joined { boat, name: seat.name.clone() }));
                self.orders.push((boat, Order::Join));
            }
            // The counter may go once round: newer is what is less than half a round ahead.
            Presence::Playing { sequence: last, .. } if sequence.wrapping_sub(*last).cast_signed() > 0 => {
                *last = sequence;
            }
            Presence::Playing { .. } => return outputs,
        }
        // The newest helm of a tick replaces the ones before, so that no client can grow the list.
        self.orders.retain(|(id, order)| *id != boat || !matches!(order, Order::Steer(_)));
        self.orders.push((boat, order));
        outputs
    }

    fn seat(&mut self, boat: BoatId, token: u32, from: SocketAddr) -> Option<&mut Seat> {
        self.seats.get_mut(&boat).filter(|seat| seat.token == token && seat.address == from)
    }

    fn leave(&mut self, boat: BoatId, how: Leaving) -> Vec<Output> {
        match self.seats.remove(&boat).map(|seat| (seat.presence, seat.name)) {
            Some((Presence::Playing { .. }, name)) => {
                // Whatever the boat had ordered goes with it; a new player may take its number within this same tick.
                self.orders.retain(|(id, _)| *id != boat);
                self.orders.push((boat, Order::Leave));
                vec![Output::Note(Note::Left { boat, name, how })]
            }
            Some((Presence::Welcomed, _)) | None => Vec::new(),
        }
    }

    /// One tick: the silent go, the world is stepped, everyone who plays is told.
    pub fn tick(&mut self, now: Duration, allocation: Option<&str>) -> Vec<Output> {
        let silent = self.seats.iter().filter(|(_, seat)| {
            let patience = match seat.presence {
                Presence::Welcomed => WELCOME_LIFETIME,
                Presence::Playing { .. } => SILENCE_MAX,
            };
            now.saturating_sub(seat.heard) > patience
        });
        let silent: Vec<BoatId> = silent.map(|(boat, _)| *boat).collect();
        let mut outputs = Vec::new();
        for boat in silent {
            outputs.extend(self.leave(boat, Leaving::Silent));
        }
        self.world.step(&self.orders);
        self.orders.clear();
        for seat in self.seats.values() {
            if let Presence::Playing { sequence, .. } = seat.presence {
                outputs.push(Output::Send(seat.address, self.state(sequence, allocation)));
            }
        }
        outputs
    }

    fn state(&self, sequence: u32, allocation: Option<&str>) -> Vec<u8> {
        let world = self.world.clone();
        let allocation = allocation.map(str::to_owned);
        Reply::State(State { sequence, hash: world.hash(), allocation, world }).encode()
    }
}

impl fmt::Debug for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Game").field("world", &self.world).field("seats", &self.seats).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Helm;

    const AHEAD: Helm = Helm { throttle: 100, rudder: 0 };

    fn game(players_max: usize) -> Game {
        let mut last = 100;
        Game::new(1, players_max, move || {
            last += 1;
            last
        })
    }

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn replies(outputs: &[Output]) -> Vec<Reply> {
        outputs
            .iter()
            .filter_map(|output| match output {
                Output::Send(_, bytes) => Some(Reply::decode(bytes).unwrap()),
                Output::Note(_) | Output::Control { .. } => None,
            })
            .collect()
    }

    fn join(game: &mut Game, now: Duration, port: u16) -> Vec<Reply> {
        let join = Request::Join { nonce: 7, name: format!("p{port}") };
        replies(&game.receive(now, address(port), &join.encode(), None))
    }

    fn helm(boat: u8, token: u32, sequence: u32, helm: Helm) -> Vec<u8> {
        Request::Helm { boat: BoatId(boat), token, sequence, helm }.encode()
    }

    #[test]
    fn a_player_is_in_with_the_first_helm() {
        let mut game = game(2);
        let now = Duration::ZERO;
        let welcome = Reply::Welcome { nonce: 7, boat: BoatId(1), token: 101 };
        assert_eq!(join(&mut game, now, 1), std::slice::from_ref(&welcome));
        assert_eq!(join(&mut game, now, 1), [welcome], "a join that came twice");
        assert_eq!(game.players(now).len(), 0);
        assert_eq!(game.tick(now, None), [], "not told before it has proved its address");

        let notes = game.receive(now, address(1), &helm(1, 101, 5, AHEAD), None);
        assert_eq!(notes, [Output::Note(Note::Joined { boat: BoatId(1), name: "p1".into() })]);
        assert_eq!(game.players(now).len(), 1);
        let told = replies(&game.tick(now, Some("uuid")));
        let [Reply::State(state)] = told.as_slice() else { panic!("not a state: {told:?}") };
        assert_eq!((state.sequence, state.allocation.as_deref()), (5, Some("uuid")));
        assert_eq!(state.world.boats()[&BoatId(1)].helm, AHEAD);
        assert_eq!(state.hash, state.world.hash());
    }

    #[test]
    fn an_older_helm_is_ignored_and_a_newer_replaces() {
        let mut game = game(2);
        let now = Duration::ZERO;
        join(&mut game, now, 1);
        for (sequence, throttle) in [(5, 1), (7, 2), (6, 3), (7, 4)] {
            let levers = Helm { throttle, rudder: 0 };
            game.receive(now, address(1), &helm(1, 101, sequence, levers), None);
        }
        assert_eq!(game.orders.len(), 2, "one join and one helm");
        game.tick(now, None);
        assert_eq!(game.world().boats()[&BoatId(1)].helm.throttle, 2);
    }

    #[test]
    fn strangers_steer_no_one() {
        let mut game = game(2);
        let now = Duration::ZERO;
        join(&mut game, now, 1);
        for (port, boat, token) in [(1, 1, 999), (2, 1, 101), (1, 2, 101)] {
            let outputs = game.receive(now, address(port), &helm(boat, token, 1, AHEAD), None);
            assert_eq!(replies(&outputs), [Reply::Gone { boat: BoatId(boat) }]);
        }
        assert_eq!(game.players(now).len(), 0);
    }

    #[test]
    fn a_full_game_refuses_until_someone_goes() {
        let mut game = game(1);
        let now = Duration::ZERO;
        join(&mut game, now, 1);
        game.receive(now, address(1), &helm(1, 101, 1, AHEAD), None);
        assert_eq!(join(&mut game, now, 2), [Reply::Refused { nonce: 7, reason: Reason::Full }]);
        let leave = Request::Leave { boat: BoatId(1), token: 101 }.encode();
        let left = Output::Note(Note::Left { boat: BoatId(1), name: "p1".into(), how: Leaving::Said });
        assert_eq!(game.receive(now, address(1), &leave, None), [left]);
        assert_eq!(join(&mut game, now, 2), [Reply::Welcome { nonce: 7, boat: BoatId(1), token: 102 }]);
        game.receive(now, address(2), &helm(1, 102, 1, AHEAD), None);
        game.tick(now, None);
        assert_eq!(game.world().boats().len(), 1, "left and joined under one number in one tick");
    }

    #[test]
    fn the_silent_go() {
        let mut game = game(2);
        join(&mut game, Duration::ZERO, 1);
        join(&mut game, Duration::ZERO, 2);
        game.receive(Duration::ZERO, address(1), &helm(1, 101, 1, AHEAD), None);
        game.tick(WELCOME_LIFETIME + TICK, None);
        assert_eq!(game.seats.len(), 1, "welcomed, but never steered");
        game.tick(SILENCE_MAX, None);
        assert_eq!((game.seats.len(), game.pace()), (1, TICK));
        let outputs = game.tick(SILENCE_MAX + TICK, None);
        assert_eq!(
            outputs,
            [Output::Note(Note::Left { boat: BoatId(1), name: "p1".into(), how: Leaving::Silent })]
        );
        assert_eq!((game.world().boats().len(), game.pace()), (0, TICK_IDLE));
    }

    #[test]
    fn another_version_is_refused_without_gain() {
        let mut game = game(2);
        let reply = game.receive(Duration::ZERO, address(1), b"TB\x09\x01\x00\x00\x00\x00\x00", None);
        assert_eq!(replies(&reply), [Reply::Refused { nonce: 0, reason: Reason::Version }]);
        assert_eq!(game.receive(Duration::ZERO, address(1), b"TB\x09\x01", None), []);
    }
}
