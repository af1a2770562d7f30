//! One thread a seat, which asks the lobby what the rules want to know, pays what is owed and keeps this peer's pass alive.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mainstay_core::Timestamp;
use mainstay_migration::{
    Admission, CanBeHost, Epoch, Input, MEMBERS_MAX, PeerId, Question, Ruling, SessionId,
};
use mainstay_wire::peer::Card;
use tokio::sync::mpsc;

use super::listing::REFUSED_FOR;
use super::{Done, Heeded, Listing, Lobby, News, NotListed};
use crate::Closing;
use crate::clock::Clock;
use crate::relay::Berth;

/// How many questions wait: behind a lobby that does not answer they are of no use, and what matters is asked again.
const QUESTIONS_MAX: usize = 8;
/// How many rulings wait for the hands.
pub(crate) const RULINGS_MAX: usize = 64;
/// How long a question waits for those before it. Later it is of no use: the rules have asked again, or want something else by now.
const QUESTION_WAITS: Duration = Duration::from_secs(1);
/// How often what is owed is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// What the lobby is to hear, and is told until it has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Errand {
    /// Whether this peer may become host.
    Introduce(CanBeHost),
    /// Where others see this peer.
    SeenAs(SocketAddr),
    /// The host of that epoch throws somebody out.
    Kick { peer: PeerId, epoch: Epoch },
    /// The host of that epoch says what the session is like.
    List { listing: Listing, epoch: Epoch },
}

/// What wakes the thread.
#[derive(Debug)]
enum Call {
    /// A question of the rules, asked at that moment.
    Ask { asked: Timestamp, question: Question },
    /// Something is owed.
    Owe,
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
    /// The game: what it said of its session is given up.
    NotListed(NotListed),
}

impl Told {
    fn rules(input: Input) -> Self {
        Self::Rules(Box::new(input))
    }
}

/// The way to the thread. Dropped, the member leaves.
#[derive(Debug)]
pub(crate) struct Line {
    calls: SyncSender<Call>,
    owed: Arc<Slate>,
}

impl Line {
    pub(crate) fn start(
        session: SessionId,
        lobby: Box<dyn Lobby>,
        brought: mpsc::Sender<Brought>,
        clock: Clock,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (calls, heard) = sync_channel(QUESTIONS_MAX);
        let owed = Arc::new(Slate::default());
        let slate = Arc::clone(&owed);
        let thread = thread::Builder::new()
            .name("mainstay-lobby".to_owned())
            .spawn(move || serve(session, lobby, &heard, &slate, &brought, clock))?;
        Ok((Self { calls, owed }, thread))
    }

    /// Asks. Where too much waits it is lost: the rules ask again.
    pub(crate) fn ask(&self, asked: Timestamp, question: Question) {
        match self.calls.try_send(Call::Ask { asked, question }) {
            Ok(()) => {}
            Err(TrySendError::Full(call) | TrySendError::Disconnected(call)) => {
                tracing::debug!(?call, "the lobby is busy with what came before");
            }
        }
    }

    /// Has it told, however long the lobby is away.
    pub(crate) fn owe(&self, errand: Errand) {
        self.owed.change(|owed| owed.owe(errand));
        // Where too much waits the thread wakes anyway, and looks at what is owed each time.
        let _full = self.calls.try_send(Call::Owe);
    }
}

/// What is to be said until it is: beside the questions, which may be lost.
#[derive(Debug, Default)]
struct Slate(Mutex<Owed>);

#[derive(Debug, Clone, Default)]
struct Owed {
    introduction: Option<CanBeHost>,
    seen_as: Option<SocketAddr>,
    kicks: BTreeMap<PeerId, Kick>,
    /// Of each kind one.
    listings: Vec<Said>,
}

/// Whom a host throws out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kick {
    epoch: Epoch,
    /// When it was refused first, and last.
    refused: Option<(Instant, Instant)>,
}

/// What a host says of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    listing: Listing,
    epoch: Epoch,
    /// When it was refused first, and last.
    refused: Option<(Instant, Instant)>,
}

impl Owed {
    /// Of each kind the newest counts.
    fn owe(&mut self, errand: Errand) {
        match errand {
            Errand::Introduce(can_be_host) => self.introduction = Some(can_be_host),
            Errand::SeenAs(address) => self.seen_as = Some(address),
            Errand::Kick { peer, epoch } => {
                if self.kicks.len() < MEMBERS_MAX || self.kicks.contains_key(&peer) {
                    self.kicks.insert(peer, Kick { epoch, refused: None });
                }
            }
            Errand::List { listing, epoch } => {
                self.listings.retain(|before| !listing.is_of_same(before.listing));
                self.listings.push(Said { listing, epoch, refused: None });
            }
        }
    }
}

impl Slate {
    fn change<T>(&self, change: impl FnOnce(&mut Owed) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says what is owed, and returns what is given up of it. Something else may be owed when the lobby has answered: nobody waits for it
    /// meanwhile.
    fn pay(&self, lobby: &mut dyn Lobby, now: Instant) -> Vec<NotListed> {
        let Owed { introduction, seen_as, kicks, listings } = self.change(|owed| owed.clone());
        if let Some(can_be_host) = introduction
            && lobby.introduce(can_be_host) == Done::Yes
        {
            self.change(|owed| owed.introduction = owed.introduction.filter(|newer| *newer != can_be_host));
        }
        if let Some(address) = seen_as
            && lobby.seen_as(address) == Done::Yes
        {
            self.change(|owed| owed.seen_as = owed.seen_as.filter(|newer| *newer != address));
        }
        let is_due =
            |refused: Option<(Instant, Instant)>| refused.is_none_or(|(_, last)| now >= last + AGAIN);
        for (peer, kick) in kicks.into_iter().filter(|(_, kick)| is_due(kick.refused)) {
            let next = match lobby.kick(peer, kick.epoch) {
                Heeded::Yes => None,
                // Nor would it answer the next one, and a question waits.
                Heeded::NotYet => break,
                Heeded::Refused { code, detail } => {
                    tracing::debug!(%peer, code, detail, "the lobby throws nobody out");
                    still_refused(kick.refused, now).map(|refused| Kick { refused: Some(refused), ..kick })
                }
            };
            self.change(|owed| match (owed.kicks.get(&peer) == Some(&kick), next) {
                (true, Some(next)) => drop(owed.kicks.insert(peer, next)),
                (true, None) => drop(owed.kicks.remove(&peer)),
                // It is owed anew meanwhile.
                (false, _) => {}
            });
        }
        let said = listings.into_iter().filter(|said| is_due(said.refused));
        said.filter_map(|said| self.list(lobby, now, said)).collect()
    }

    fn list(&self, lobby: &mut dyn Lobby, now: Instant, said: Said) -> Option<NotListed> {
        let Said { listing, epoch, refused } = said;
        let (next, given_up) = match lobby.list(listing, epoch) {
            Heeded::Yes => (None, None),
            Heeded::NotYet => (Some(said), None),
            Heeded::Refused { code, detail } => match still_refused(refused, now) {
                Some(refused) => (Some(Said { refused: Some(refused), ..said }), None),
                None => (None, Some(NotListed { listing, code, detail })),
            },
        };
        // What the game says by now takes the place of this.
        self.change(|owed| {
            let at = owed.listings.iter().position(|newer| *newer == said)?;
            match next {
                Some(next) => owed.listings[at] = next,
                None => {
                    owed.listings.remove(at);
                }
            }
            Some(())
        })
        .and(given_up)
    }
}

/// When something was refused first, and now once more; `None` where it has been for so long that it is given up.
fn still_refused(before: Option<(Instant, Instant)>, now: Instant) -> Option<(Instant, Instant)> {
    let first = before.map_or(now, |(first, _)| first);
    (now < first + REFUSED_FOR).then_some((first, now))
}

/// What a lobby said to something that was asked at that moment, and what came with it.
fn told(lobby: &mut dyn Lobby, asked: Timestamp, ruling: Option<Ruling>) -> Vec<Told> {
    let ruling = ruling.map(|ruling| Told::rules(Input::Lobby { asked, ruling }));
    let news = lobby.news().into_iter().map(|news| match news {
        News::Admitted { pass, as_of } => Told::rules(Input::Admitted(Admission { pass, as_of, at: asked })),
        News::Relay(berth) => Told::Relay(berth),
        News::Kicked(peer) => Told::rules(Input::Kick(peer)),
        News::Replaced(peers) => Told::rules(Input::Replaced(peers)),
        News::Supports(support) => Told::rules(Input::Supports(support)),
        News::Members(cards) => Told::Members(cards),
    });
    ruling.into_iter().chain(news).collect()
}

fn serve(
    session: SessionId,
    mut lobby: Box<dyn Lobby>,
    calls: &Receiver<Call>,
    owed: &Slate,
    brought: &mpsc::Sender<Brought>,
    clock: Clock,
) {
    let bring = |told| brought.blocking_send(Brought { session, told }).map_err(|_closed| Closing);
    let bring_all = |told: Vec<Told>| told.into_iter().try_for_each(bring);
    loop {
        let mut question = None;
        match calls.recv_timeout(AGAIN) {
            Ok(Call::Ask { asked, question: put }) => question = Some((asked, put)),
            Ok(Call::Owe) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // Whoever claims has to be known as one who can be host.
        let given_up = owed.pay(lobby.as_mut(), Instant::now());
        if bring_all(given_up.into_iter().map(Told::NotListed).collect()).is_err() {
            break;
        }
        let is_wanted = |asked: Timestamp| clock.now().since(asked) < QUESTION_WAITS;
        if let Some((asked, question)) = question.filter(|(asked, _)| is_wanted(*asked)) {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use mainstay_migration::GamePhase;

    use super::*;
    use crate::lobby::Joining;

    /// A lobby that answers nothing until it is let to, and tells what it then heard.
    #[derive(Debug)]
    struct Away {
        asked: Sender<Question>,
        back: Receiver<()>,
        heard: Sender<Errand>,
    }

    impl Away {
        fn hear(&self, errand: Errand) -> Done {
            self.heard.send(errand).unwrap();
            Done::Yes
        }
    }

    impl Lobby for Away {
        fn ask(&mut self, question: &Question) -> Option<Ruling> {
            // Whoever waited for the first question waits no more; once it is back it stays so.
            let _heard = self.asked.send(question.clone());
            let _back = self.back.recv();
            None
        }
        fn renew(&mut self) -> Option<Ruling> {
            None
        }
        fn news(&mut self) -> Vec<News> {
            Vec::new()
        }
        fn introduce(&mut self, can_be_host: CanBeHost) -> Done {
            self.hear(Errand::Introduce(can_be_host))
        }
        fn seen_as(&mut self, address: SocketAddr) -> Done {
            self.hear(Errand::SeenAs(address))
        }
        fn kick(&mut self, peer: PeerId, epoch: Epoch) -> Heeded {
            self.hear(Errand::Kick { peer, epoch });
            Heeded::Yes
        }
        fn list(&mut self, listing: Listing, epoch: Epoch) -> Heeded {
            self.hear(Errand::List { listing, epoch });
            Heeded::Yes
        }
        fn leave(&mut self) {}
    }

    /// A host asks once a second, and each question to a lobby that is away takes longer.
    #[test]
    fn what_is_owed_is_said_however_many_questions_wait() {
        let (asked, is_asked) = channel();
        let (comes_back, back) = channel();
        let (heard_in, heard) = channel();
        let (brought, _rulings) = mpsc::channel(RULINGS_MAX);
        let lobby = Box::new(Away { asked, back, heard: heard_in });
        let (line, thread) = Line::start(SessionId(1), lobby, brought, Clock::new()).unwrap();
        for _ in 0..20 {
            line.ask(Timestamp::EPOCH, Question::Misses { epoch: Epoch::FIRST, silent: None });
        }
        is_asked.recv().unwrap();
        let seen_as = SocketAddr::from(([192, 0, 2, 1], 5_555));
        let list = |listing| Errand::List { listing, epoch: Epoch::FIRST };
        let kick = |peer| Errand::Kick { peer: PeerId(peer), epoch: Epoch::FIRST };
        for errand in [
            Errand::Introduce(CanBeHost::NotYet),
            Errand::Introduce(CanBeHost::Yes),
            Errand::SeenAs(seen_as),
            kick(2),
            kick(3),
            list(Listing::Phase(GamePhase::Gathering)),
            list(Listing::Joining(Joining::Closed)),
            list(Listing::Phase(GamePhase::Started)),
        ] {
            line.owe(errand);
        }
        drop(comes_back);
        let said: Vec<String> = (0..6).map(|_| format!("{:?}", heard.recv().unwrap())).collect();
        let owed = [
            Errand::Introduce(CanBeHost::Yes),
            Errand::SeenAs(seen_as),
            kick(2),
            kick(3),
            list(Listing::Joining(Joining::Closed)),
            list(Listing::Phase(GamePhase::Started)),
        ];
        assert_eq!(said, owed.map(|errand| format!("{errand:?}")), "the newest of each, and once");
        drop(line);
        thread.join().unwrap();
        assert!(heard.recv().is_err(), "and nothing again");
    }

    /// A member that went on without the lobby wants nothing any more of what it asked before.
    #[test]
    fn what_waited_for_long_is_not_asked() {
        let (asked, is_asked) = channel();
        let (_, back) = channel();
        let (heard, _) = channel();
        let (brought, _rulings) = mpsc::channel(RULINGS_MAX);
        let clock = Clock::begun(QUESTION_WAITS * 2);
        let lobby = Box::new(Away { asked, back, heard });
        let (line, thread) = Line::start(SessionId(1), lobby, brought, clock).unwrap();
        line.ask(Timestamp::EPOCH, Question::Claim { epoch: Epoch::FIRST });
        line.ask(clock.now(), Question::Misses { epoch: Epoch::FIRST, silent: None });
        assert_eq!(is_asked.recv().unwrap(), Question::Misses { epoch: Epoch::FIRST, silent: None });
        drop(line);
        thread.join().unwrap();
        assert!(is_asked.recv().is_err());
    }

    /// A lobby that knows another host until it has certified this one.
    #[derive(Debug, Default)]
    struct Refuses {
        times: usize,
        heard: Vec<Listing>,
        kicks: usize,
    }

    impl Refuses {
        fn says(&self, heard: usize) -> Heeded {
            if heard > self.times {
                return Heeded::Yes;
            }
            Heeded::Refused { code: "MS-G014".to_owned(), detail: "another is host".to_owned() }
        }
    }

    impl Lobby for Refuses {
        fn ask(&mut self, _: &Question) -> Option<Ruling> {
            None
        }
        fn renew(&mut self) -> Option<Ruling> {
            None
        }
        fn news(&mut self) -> Vec<News> {
            Vec::new()
        }
        fn introduce(&mut self, _: CanBeHost) -> Done {
            Done::Yes
        }
        fn seen_as(&mut self, _: SocketAddr) -> Done {
            Done::Yes
        }
        fn kick(&mut self, _: PeerId, _: Epoch) -> Heeded {
            self.kicks += 1;
            self.says(self.kicks)
        }
        fn list(&mut self, listing: Listing, _: Epoch) -> Heeded {
            self.heard.push(listing);
            self.says(self.heard.len())
        }
        fn leave(&mut self) {}
    }

    #[test]
    fn what_a_lobby_refuses_is_said_again_and_then_the_game_is_told() {
        let listing = Listing::Joining(Joining::Closed);
        let began = Instant::now();
        for (times, tried, given_up) in [(3, 4, 0), (usize::MAX, 21, 1)] {
            let slate = Slate::default();
            let mut lobby = Refuses { times, ..Refuses::default() };
            slate.change(|owed| owed.owe(Errand::List { listing, epoch: Epoch::FIRST }));
            slate.change(|owed| owed.owe(Errand::Kick { peer: PeerId(2), epoch: Epoch::FIRST }));
            // Asked twice as often as what is refused is said again.
            let moments = (0..60).map(|at| began + at * AGAIN / 2);
            let told: Vec<NotListed> = moments.flat_map(|now| slate.pay(&mut lobby, now)).collect();
            assert_eq!((lobby.heard.len(), lobby.kicks, told.len()), (tried, tried, given_up));
            assert!(told.iter().all(|it| it.listing == listing && it.code == "MS-G014"), "{told:?}");
        }
    }
}
