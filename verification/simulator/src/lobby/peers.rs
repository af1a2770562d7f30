//! The peers: what each believes of its sessions, what it asks of the lobby, and what strikes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::{
    Authority, CanBeHost, Command, Epoch, Joiner, Migratable, Misses, Observation, Pace, PeerKey, Player,
    Rejection, Renewal, Service, Session, Settings, Takeover,
};

use super::{Happening, SESSIONS, World};
use crate::agenda::Micros;

/// One player, and its process of today.
#[derive(Debug)]
pub(super) struct Peer {
    player: Player,
    pub(super) key: PeerKey,
    plight: Plight,
    /// What it believes of the sessions it is in.
    pub(super) knows: BTreeMap<SessionId, Known>,
}

/// What it believes of a session.
#[derive(Debug, Clone)]
pub(super) struct Known {
    epoch: Epoch,
    host: Option<PeerKey>,
    members: Vec<PeerKey>,
    /// The newest moment of the lobby's clock that it knows of, and when in the world that was.
    as_of: Option<(Timestamp, Micros)>,
}

impl Known {
    /// The lobby's clock, as far as it knows that.
    fn as_of(&self, now: Micros) -> Option<Timestamp> {
        self.as_of.map(|(told, then)| told + Duration::from_micros(now - then))
    }
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plight {
    /// Nothing.
    Well,
    /// Its process is gone until then, and then another.
    Gone(Micros),
    /// It does nothing until then, and then goes on as if nothing had been.
    Frozen(Micros),
    /// It does not reach the lobby until then; the other peers it does.
    CutOff(Micros),
}

/// What it asks.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    /// The rules.
    Command(Command),
    /// A sign of life. With `relayed`, of a host that does not reach the lobby itself: as of this moment of the lobby's clock, which
    /// was then in the world.
    Beat { session: SessionId, epoch: Epoch, says: Says },
}

/// What a sign of life says.
#[derive(Debug, Clone)]
pub(super) enum Says {
    /// As host: whom it hears.
    Hosts(Vec<PeerKey>),
    /// As another.
    Follows(Misses),
    /// What the host signed.
    Brings { host: PeerKey, as_of: Timestamp, signed: Micros },
}

/// What it is told.
#[derive(Debug, Clone)]
pub(super) enum Word {
    /// The session as it durably is, by the lobby's clock, and when in the world that was read.
    Session(Arc<Session>, (Timestamp, Micros)),
    /// It is no more, or not for this one.
    Out(SessionId),
    /// Another epoch is the newest.
    Passed(SessionId, mainstay_lobby::Grant),
    /// Nothing to learn from.
    Nothing,
}

impl World {
    /// A player with a process of its own.
    pub(super) fn comes(&mut self, number: u64) -> Peer {
        let player = Player(format!("player-{number}").into());
        let key = self.new_key(&player);
        Peer { player, key, plight: Plight::Well, knows: BTreeMap::new() }
    }

    fn new_key(&mut self, player: &Player) -> PeerKey {
        self.keys += 1;
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.keys.to_be_bytes());
        let key = PeerKey(key);
        self.seen.players.insert(key, player.clone());
        key
    }

    /// Nobody goes, freezes or is cut off any more.
    pub(super) fn peers_rest(&mut self) {
        for number in 0..self.peers.len() {
            if self.peers[number].plight != Plight::Well {
                self.recovers(number);
            }
        }
    }

    /// One step of one peer, and of what befalls it.
    pub(super) fn acts(&mut self, number: usize) {
        let pause = self.random.between(300_000, 2_000_000);
        self.after(pause, Happening::Acts { peer: number });
        match self.peers[number].plight {
            Plight::Well => {}
            Plight::Gone(until) | Plight::Frozen(until) | Plight::CutOff(until) if until <= self.now => {
                self.recovers(number);
            }
            Plight::Gone(_) | Plight::Frozen(_) => return,
            Plight::CutOff(_) => return self.is_relayed(number),
        }
        if self.busy && self.random.chance(self.scenario.peers) {
            return self.befalls(number);
        }
        for session in 0..SESSIONS {
            self.acts_in(number, SessionId(uuid(session)));
        }
    }

    fn befalls(&mut self, number: usize) {
        self.counts.struck += 1;
        let until = self.now + self.random.between(500_000, 60_000_000);
        let plight = match self.random.below(3) {
            0 => Plight::Gone(until),
            1 => Plight::Frozen(until),
            _ => Plight::CutOff(until),
        };
        self.peers[number].plight = plight;
        self.say("peer", |world| format!("{:?} {plight:?}", world.peers[number].key));
    }

    fn recovers(&mut self, number: usize) {
        let is_new = matches!(self.peers[number].plight, Plight::Gone(_));
        self.peers[number].plight = Plight::Well;
        if is_new {
            let player = self.peers[number].player.clone();
            let key = self.new_key(&player);
            self.peers[number].key = key;
            self.peers[number].knows.clear();
        }
    }

    fn acts_in(&mut self, number: usize, session: SessionId) {
        let Some(known) = self.peers[number].knows.get(&session).cloned() else {
            return self.tries_to_come(number, session);
        };
        let key = self.peers[number].key;
        if known.host == Some(key) {
            self.hosts(number, session, &known);
        } else {
            self.follows(number, session, &known);
        }
    }

    fn tries_to_come(&mut self, number: usize, session: SessionId) {
        // Nobody new once all is to come to rest.
        if !self.busy || !self.random.chance(250_000) {
            return;
        }
        let by = Joiner {
            peer: self.peers[number].key,
            player: self.peers[number].player.clone(),
            can_be_host: CanBeHost::Yes,
            addresses: Vec::new(),
        };
        let command = if self.random.chance(300_000) {
            let mut settings = Settings::of_size(u32::try_from(self.random.between(1, 8)).unwrap_or(8));
            if self.random.chance(400_000) {
                settings.takeover = Takeover::Strict;
            }
            if self.random.chance(100_000) {
                settings.migratable = Migratable::No;
            }
            Command::Create { session, service: Service::Online, settings, by }
        } else {
            Command::Join { session, by }
        };
        self.asks(number, Ask::Command(command));
    }

    fn hosts(&mut self, number: usize, session: SessionId, known: &Known) {
        let (key, epoch) = (self.peers[number].key, known.epoch);
        let hears = |world: &Self, peer: &PeerKey| {
            world
                .peers
                .iter()
                .any(|it| it.key == *peer && it.reaches_peers() && it.knows.contains_key(&session))
        };
        let heard: Vec<PeerKey> = known.members.iter().filter(|peer| hears(self, peer)).copied().collect();
        if self.busy && self.random.chance(30_000) {
            let others: Vec<PeerKey> = known.members.iter().filter(|peer| **peer != key).copied().collect();
            let other = others.get(self.random.index(others.len())).copied();
            let by = Authority::Host { peer: key, epoch };
            let as_of = known.as_of(self.now);
            let command = match (self.random.below(4), other) {
                (0, Some(peer)) => Command::Kick { session, peer, by },
                (1, Some(to)) => Command::HandOver { session, expected: epoch, by: key, to, as_of },
                (2, _) => Command::Leave { session, peer: key },
                _ => Command::End { session, by },
            };
            return self.asks(number, Ask::Command(command));
        }
        self.asks(number, Ask::Beat { session, epoch, says: Says::Hosts(heard) });
    }

    fn follows(&mut self, number: usize, session: SessionId, known: &Known) {
        let (key, epoch) = (self.peers[number].key, known.epoch);
        let lives = self.peers.iter().any(|it| {
            Some(it.key) == known.host
                && it.reaches_peers()
                && it.knows.get(&session).is_some_and(|its| its.host == known.host)
        });
        if self.busy && self.random.chance(10_000) {
            return self.asks(number, Ask::Command(Command::Leave { session, peer: key }));
        }
        let is_wrong = self.busy && self.random.chance(30_000);
        let misses = if lives && !is_wrong { Misses::No } else { Misses::Yes { silent: None } };
        self.asks(number, Ask::Beat { session, epoch, says: Says::Follows(misses) });
        if misses != Misses::No {
            let as_of = known.as_of(self.now);
            self.asks(number, Ask::Command(Command::Claim { session, expected: epoch, by: key, as_of }));
        }
    }

    /// A host that does not reach the lobby signs what it knows of its clock, and another brings that, at once or much later.
    fn is_relayed(&mut self, number: usize) {
        let (host, knows) = (self.peers[number].key, self.peers[number].knows.clone());
        for (session, known) in knows {
            let Some((as_of, signed)) = known.as_of.filter(|_| known.host == Some(host)) else { continue };
            let bearer = self.random.index(self.peers.len());
            let brings = self.peers[bearer].knows.contains_key(&session) && self.peers[bearer].is_well();
            if bearer != number && brings {
                let says = Says::Brings { host, as_of, signed };
                self.asks(bearer, Ask::Beat { session, epoch: known.epoch, says });
            }
        }
    }

    /// A request goes its way: late, twice, or nowhere.
    fn asks(&mut self, number: usize, ask: Ask) {
        if self.busy && self.random.chance(self.scenario.network) {
            self.counts.dropped += 1;
            return;
        }
        let twice = self.busy && self.random.chance(self.scenario.network / 2);
        for _ in 0..=u8::from(twice) {
            let delay = self.random.between(1_000, self.scenario.delay);
            let key = self.peers[number].key;
            self.after(delay, Happening::Arrives { peer: number, key, ask: ask.clone() });
        }
    }

    /// An answer came, to the process that asked, if it is there still.
    pub(super) fn hears(&mut self, number: usize, key: PeerKey, word: &Word) {
        let Some(peer) = self.peers.get_mut(number).filter(|peer| peer.key == key && peer.is_well()) else {
            return;
        };
        match word {
            Word::Session(session, at) => {
                if !session.members.contains_key(&key) {
                    peer.knows.remove(&session.id);
                    return;
                }
                let before = peer.knows.get(&session.id);
                if before.is_some_and(|known| known.epoch > session.epoch()) {
                    return;
                }
                let newer = before.filter(|known| known.epoch < session.epoch());
                self.counts.fenced += u64::from(newer.is_some_and(|known| known.host == Some(key)));
                let known = Known {
                    epoch: session.epoch(),
                    host: session.grant.map(|grant| grant.host),
                    members: session.members.keys().copied().collect(),
                    as_of: Some(*at),
                };
                peer.knows.insert(session.id, known);
            }
            Word::Passed(session, grant) => {
                if let Some(known) = peer.knows.get_mut(session).filter(|known| known.epoch < grant.epoch) {
                    self.counts.fenced += u64::from(known.host == Some(key));
                    known.epoch = grant.epoch;
                    known.host = Some(grant.host);
                }
            }
            Word::Out(session) => {
                peer.knows.remove(session);
            }
            Word::Nothing => {}
        }
    }
}

impl Peer {
    /// It reaches the lobby.
    pub(super) fn is_well(&self) -> bool {
        self.plight == Plight::Well
    }

    /// It reaches the other peers.
    fn reaches_peers(&self) -> bool {
        matches!(self.plight, Plight::Well | Plight::CutOff(_))
    }
}

impl Word {
    /// What a refusal tells.
    pub(super) fn of(session: SessionId, rejection: &Rejection) -> Self {
        if let Rejection::Passed { grant: Some(grant), .. } = rejection {
            return Self::Passed(session, *grant);
        }
        let is_out = matches!(
            rejection,
            Rejection::NotFound(_)
                | Rejection::Over { .. }
                | Rejection::NotMember(_)
                | Rejection::Replaced
                | Rejection::Kicked
        );
        if is_out { Self::Out(session) } else { Self::Nothing }
    }
}

impl Says {
    /// What the lobby is told, and when in the world the host said it.
    pub(super) fn observed(
        self,
        session: SessionId,
        epoch: Epoch,
        peer: PeerKey,
        now: Micros,
    ) -> (Vec<Observation>, Option<(PeerKey, Micros)>) {
        match self {
            Self::Hosts(peers) => {
                let (renewal, hears) = (Renewal::Now(Pace::Usual), peers);
                (vec![Observation::Renewed { session, epoch, host: peer, renewal, hears }], Some((peer, now)))
            }
            Self::Follows(misses) => (vec![Observation::Misses { session, epoch, peer, misses }], None),
            Self::Brings { host, as_of, signed } => {
                let (renewal, hears) = (Renewal::AsOf(as_of), Vec::new());
                (vec![Observation::Renewed { session, epoch, host, renewal, hears }], Some((host, signed)))
            }
        }
    }
}

/// The id of the n-th session.
fn uuid(number: u64) -> uuid::Uuid {
    uuid::Uuid::from_u128(u128::from(number) + 1)
}
