//! One thread a seat, which asks the lobby what the rules want to know, pays what is owed and keeps this peer's pass alive.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Admission, CanBeHost, Epoch, Input, MEMBERS_MAX, PeerId, Question, Ruling, SessionId,
};
use mainstay_wire::peer::Card;
use tokio::sync::mpsc;

use super::{Done, Lobby, News};
use crate::Closing;
use crate::clock::Clock;
use crate::relay::Berth;

/// How many errands wait: behind a lobby that does not answer they are of no use, and what matters is asked again.
const ERRANDS_MAX: usize = 8;
/// How many rulings wait for the hands.
pub(crate) const RULINGS_MAX: usize = 64;
/// How often what is owed is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// What the lobby is to hear.
#[derive(Debug)]
pub(crate) enum Errand {
    /// A question of the rules, asked at that moment.
    Ask { asked: Timestamp, question: Question },
    /// Whether this peer may become host: until it is said.
    Introduce(CanBeHost),
    /// Where others see this peer: until it is said.
    SeenAs(SocketAddr),
    /// The host of that epoch throws somebody out: until it is said.
    Kick { peer: PeerId, epoch: Epoch },
}

/// What came from the lobby of a session.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) session: SessionId,
    pub(crate) told: Told,
}

/// Whom it is for.
#[derive(Debug)]
pub(crate) enum Told {
    /// The rules.
    Rules(Box<Input>),
    /// Whoever looks after links: who is a member as the lobby knows it, and where.
    Members(Vec<Card>),
    /// And what carries for this peer.
    Relay(Option<Berth>),
}

impl Told {
    fn rules(input: Input) -> Self {
        Self::Rules(Box::new(input))
    }
}

/// The way to the thread. Dropped, the member leaves.
#[derive(Debug)]
pub(crate) struct Line(SyncSender<Errand>);

impl Line {
    pub(crate) fn start(
        session: SessionId,
        lobby: Box<dyn Lobby>,
        brought: mpsc::Sender<Brought>,
        clock: Clock,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (errands, heard) = sync_channel(ERRANDS_MAX);
        let thread = thread::Builder::new()
            .name("mainstay-lobby".to_owned())
            .spawn(move || serve(session, lobby, &heard, &brought, clock))?;
        Ok((Self(errands), thread))
    }

    /// Where too much waits it is lost.
    pub(crate) fn send(&self, errand: Errand) {
        match self.0.try_send(errand) {
            Ok(()) => {}
            Err(TrySendError::Full(errand) | TrySendError::Disconnected(errand)) => {
                tracing::debug!(?errand, "the lobby is busy with what came before");
            }
        }
    }
}

/// What is to be said until it is.
#[derive(Debug, Default)]
struct Owed {
    introduction: Option<CanBeHost>,
    seen_as: Option<SocketAddr>,
    kicks: BTreeMap<PeerId, Epoch>,
}

impl Owed {
    fn pay(&mut self, lobby: &mut dyn Lobby) {
        if let Some(can_be_host) = self.introduction
            && lobby.introduce(can_be_host) == Done::Yes
        {
            self.introduction = None;
        }
        if let Some(address) = self.seen_as
            && lobby.seen_as(address) == Done::Yes
        {
            self.seen_as = None;
        }
        self.kicks.retain(|peer, epoch| lobby.kick(*peer, *epoch) == Done::NotYet);
    }
}

/// What a lobby said to something that was asked at that moment, and what came with it.
fn told(lobby: &mut dyn Lobby, asked: Timestamp, ruling: Option<Ruling>) -> Vec<Told> {
    let ruling = ruling.map(|ruling| Told::rules(Input::Lobby { asked, ruling }));
    let news = lobby.news().into_iter().map(|news| match news {
        News::Admitted { pass, as_of } => Told::rules(Input::Admitted(Admission { pass, as_of, at: asked })),
        News::Relay(berth) => Told::Relay(berth),
        News::Kicked(peer) => Told::rules(Input::Kick(peer)),
        News::Members(cards) => Told::Members(cards),
    });
    ruling.into_iter().chain(news).collect()
}

fn serve(
    session: SessionId,
    mut lobby: Box<dyn Lobby>,
    errands: &Receiver<Errand>,
    brought: &mpsc::Sender<Brought>,
    clock: Clock,
) {
    let mut owed = Owed::default();
    let bring = |told| brought.blocking_send(Brought { session, told }).map_err(|_closed| Closing);
    let bring_all = |told: Vec<Told>| told.into_iter().try_for_each(bring);
    loop {
        let mut question = None;
        match errands.recv_timeout(AGAIN) {
            Ok(Errand::Ask { asked, question: put }) => question = Some((asked, put)),
            Ok(Errand::Introduce(can_be_host)) => owed.introduction = Some(can_be_host),
            Ok(Errand::SeenAs(address)) => owed.seen_as = Some(address),
            Ok(Errand::Kick { peer, epoch }) => {
                if owed.kicks.len() < MEMBERS_MAX {
                    owed.kicks.insert(peer, epoch);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // Whoever claims has to be known as one who can be host.
        owed.pay(lobby.as_mut());
        if let Some((asked, question)) = question {
            let ruling = lobby.ask(&question);
            if bring_all(told(lobby.as_mut(), asked, ruling)).is_err() {
                break;
            }
        }
        // After the answer: somebody waits for that.
        let asked = clock.now();
        let ruling = lobby.renew();
        if bring_all(told(lobby.as_mut(), asked, ruling)).is_err() {
            break;
        }
    }
    lobby.leave();
}
