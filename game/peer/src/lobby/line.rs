//! One thread a seat, which asks the lobby what the rules want to know and pays what is owed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{Admission, CanBeHost, Epoch, Input, MEMBERS_MAX, PeerId, Question, SessionId};
use mainstay_wire::peer::Card;
use tokio::sync::mpsc;

use super::{Done, Lobby, News};
use crate::Closing;

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
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (errands, heard) = sync_channel(ERRANDS_MAX);
        let thread = thread::Builder::new()
            .name("mainstay-lobby".to_owned())
            .spawn(move || serve(session, lobby, &heard, &brought))?;
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

fn serve(
    session: SessionId,
    mut lobby: Box<dyn Lobby>,
    errands: &Receiver<Errand>,
    brought: &mpsc::Sender<Brought>,
) {
    let mut owed = Owed::default();
    let bring = |told| brought.blocking_send(Brought { session, told }).map_err(|_closed| Closing);
    loop {
        match errands.recv_timeout(AGAIN) {
            Ok(Errand::Ask { asked, question }) => {
                // Whoever claims has to be known as one who can be host.
                owed.pay(lobby.as_mut());
                let ruling = lobby.ask(&question).map(|ruling| Told::rules(Input::Lobby { asked, ruling }));
                let news = lobby.news().into_iter().map(|news| match news {
                    News::Admitted { pass, as_of } => {
                        Told::rules(Input::Admitted(Admission { pass, as_of, at: asked }))
                    }
                    News::Kicked(peer) => Told::rules(Input::Kick(peer)),
                    News::Members(cards) => Told::Members(cards),
                });
                if ruling.into_iter().chain(news).try_for_each(bring).is_err() {
                    break;
                }
            }
            Ok(Errand::Introduce(can_be_host)) => {
                owed.introduction = Some(can_be_host);
                owed.pay(lobby.as_mut());
            }
            Ok(Errand::SeenAs(address)) => {
                owed.seen_as = Some(address);
                owed.pay(lobby.as_mut());
            }
            Ok(Errand::Kick { peer, epoch }) => {
                if owed.kicks.len() < MEMBERS_MAX {
                    owed.kicks.insert(peer, epoch);
                }
                owed.pay(lobby.as_mut());
            }
            Err(RecvTimeoutError::Timeout) => owed.pay(lobby.as_mut()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    lobby.leave();
}
