//! A lobby with a clock, whose every turn is checked against the laws and against the story so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{SessionId, StateMachine as _, Timestamp, Turn};
use mainstay_lobby::{
    Answer, CanBeHost, Command, ENDED_KEPT, Epoch, Event, Gone, Joiner, Lobby, Misses, Observation, Pace,
    PeerKey, Player, Rejection, Renewal, Service, Session, Settings, laws,
};

pub const BEGIN: u64 = 1_700_000_000_000;

pub fn id(number: u128) -> SessionId {
    format!("00000000-0000-4000-8000-{number:012x}").parse().unwrap()
}

pub fn key(number: u8) -> PeerKey {
    PeerKey([number; 32])
}

pub fn player(number: u8) -> Player {
    Player(format!("player-{number}").into())
}

pub fn joiner(number: u8) -> Joiner {
    Joiner {
        peer: key(number),
        player: player(number),
        can_be_host: CanBeHost::Yes,
        addresses: vec![format!("192.0.2.{number}:7777").into()],
    }
}

/// The lobby, the time, and what must stay true whatever happens next.
pub struct World {
    pub lobby: Lobby,
    pub now: Timestamp,
    /// Everything that happened, to be replayed.
    pub story: Vec<(Timestamp, Event)>,
    /// Who was ever host of what.
    hosts: BTreeMap<(SessionId, Epoch), PeerKey>,
    kicked: BTreeSet<(SessionId, Player)>,
}

impl World {
    pub fn new() -> Self {
        Self {
            lobby: Lobby::default(),
            now: Timestamp::from_unix_ms(BEGIN),
            story: Vec::new(),
            hosts: BTreeMap::new(),
            kicked: BTreeSet::new(),
        }
    }

    #[track_caller]
    pub fn ask(&mut self, command: &Command) -> Result<Answer, Rejection> {
        let outcome = Turn::run(self.now, &mut self.lobby, command);
        for event in outcome.events {
            assert_eq!(laws::after(&self.lobby, &event), Vec::<String>::new(), "{event:?}");
            self.remembers(&event);
            self.story.push((self.now, event));
        }
        assert_eq!(laws::all(&self.lobby), Vec::<String>::new(), "after {command:?}");
        outcome.answer
    }

    /// The laws that speak of the past.
    #[track_caller]
    fn remembers(&mut self, event: &Event) {
        match event {
            Event::Granted { session, epoch, host } => {
                let before = self.hosts.insert((*session, *epoch), *host);
                assert_eq!(before, None, "one lease holder an epoch");
                let newest = self.hosts.range((*session, Epoch(0))..=(*session, Epoch(u32::MAX))).next_back();
                assert_eq!(newest.unwrap().0.1, *epoch, "epochs only grow");
            }
            Event::Joined { session, player, .. } => {
                assert!(
                    !self.kicked.contains(&(*session, player.clone())),
                    "a kicked member never comes back"
                );
            }
            Event::Went { session, peer, gone: Gone::Kicked } => {
                let joined = self.story.iter().rev().find_map(|(_, event)| {
                    let Event::Joined { session: of, peer: who, player, .. } = event else { return None };
                    (of == session && who == peer).then(|| player.clone())
                });
                self.kicked.insert((*session, joined.unwrap()));
            }
            Event::Opened { session, .. } => {
                let is_end =
                    |event: &Event| matches!(event, Event::Ended { session: of, .. } if of == session);
                let ended = self.story.iter().rev().find(|(_, event)| is_end(event)).map(|(at, _)| *at);
                if let Some(at) = ended {
                    assert!(at + ENDED_KEPT <= self.now, "an id is not given again while its end is told");
                }
                // Of its id's earlier bearer nobody holds anything any more.
                self.hosts.retain(|(of, _), _| of != session);
                self.kicked.retain(|(of, _)| of != session);
            }
            Event::Configured { .. }
            | Event::Introduced { .. }
            | Event::Went { .. }
            | Event::Updated { .. }
            | Event::SeatsGivenUp { .. }
            | Event::Ended { .. }
            | Event::Stood(_) => {}
        }
    }

    pub fn see(&mut self, observation: Observation) {
        self.lobby.observe(self.now, observation);
        assert_eq!(laws::all(&self.lobby), Vec::<String>::new());
    }

    /// Time passes, and what is due happens.
    #[track_caller]
    pub fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some((at, _)) = self.lobby.next_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.ask(&Command::Due).unwrap();
            let next = self.lobby.next_deadline();
            assert!(next.is_none_or(|(next, _)| next > self.now), "a deadline is cleared by its turn");
        }
        self.now = until;
    }

    /// A session of one, made and hosted by `by`.
    #[track_caller]
    pub fn create(&mut self, session: SessionId, by: u8, settings: Settings) -> Arc<Session> {
        let command = Command::Create { session, service: Service::Online, settings, by: joiner(by) };
        told(self.ask(&command))
    }

    #[track_caller]
    pub fn join(&mut self, session: SessionId, by: u8) -> Result<Answer, Rejection> {
        self.ask(&Command::Join { session, by: joiner(by) })
    }

    #[track_caller]
    pub fn claim(&mut self, session: SessionId, expected: u32, by: u8) -> Result<Answer, Rejection> {
        self.ask(&Command::Claim { session, expected: Epoch(expected), by: key(by), as_of: None })
    }

    pub fn renew(&mut self, session: SessionId, epoch: u32, host: u8) {
        let renewal = Renewal::Now(Pace::Usual);
        self.see(Observation::Renewed {
            session,
            epoch: Epoch(epoch),
            host: key(host),
            renewal,
            hears: vec![],
        });
    }

    /// A member brings what the host signed as of a moment, and whom it says that the host hears.
    pub fn brings(&mut self, session: SessionId, epoch: u32, host: u8, as_of: Timestamp, hears: &[u8]) {
        let (epoch, host, renewal) = (Epoch(epoch), key(host), Renewal::AsOf(as_of));
        let hears = hears.iter().copied().map(key).collect();
        self.see(Observation::Renewed { session, epoch, host, renewal, hears });
    }

    /// The members there are.
    pub fn members(&self, session: SessionId) -> Vec<u8> {
        self.lobby.session(session).unwrap().members.keys().map(|peer| peer.0[0]).collect()
    }

    pub fn misses(&mut self, session: SessionId, epoch: u32, peer: u8) {
        self.misses_since(session, epoch, peer, None);
    }

    pub fn misses_since(&mut self, session: SessionId, epoch: u32, peer: u8, heard: Option<Timestamp>) {
        let (epoch, peer) = (Epoch(epoch), key(peer));
        let silent = heard.map(|heard| self.now.since(heard));
        self.see(Observation::Misses { session, epoch, peer, misses: Misses::Yes { silent } });
    }

    /// The process dies and another replays what is durable; nothing soft is left.
    pub fn restart(&mut self) {
        let mut replayed = Lobby::default();
        for (at, event) in &self.story {
            replayed.apply(*at, event);
        }
        assert_eq!(replayed.snapshot(), self.lobby.snapshot(), "replaying gives the same state");
        let mut rebuilt = Lobby::default();
        for (at, event) in self.lobby.snapshot() {
            rebuilt.apply(at, &event);
        }
        assert_eq!(rebuilt.snapshot(), self.lobby.snapshot(), "so does a snapshot");
        self.lobby = rebuilt;
    }
}

#[track_caller]
pub fn told(answer: Result<Answer, Rejection>) -> Arc<Session> {
    match answer.unwrap() {
        Answer::Session(session) => session,
        Answer::Done => panic!("a session was to be told"),
    }
}
