//! What a game said over [`crate::link::Way::Stream`] and no link takes: the game hears how much of it, to whom, and why. What travels so is to
//! come through as long as the link stands; a message that is missing without a word is worse than a link that is gone.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use mainstay_migration::{MEMBERS_MAX, PeerId};

use crate::link::Obstacle;

/// How many peers a line of the log names of each kind: those of a whole machine that is gone are as many as a session has.
const NAMED_MAX: usize = 3;
/// How often a game is told: it can do nothing about it faster, and of sixty-three links each may be full.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Why something that a game said over [`crate::link::Way::Stream`] does not come to a peer ([`crate::Seat::say`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not sent to {peer}: {count} more messages over a stream; of the first {first}. {mend} of what it missed [{code}]",
    mend = match self.first {
        Obstacle::NoLink => "It is linked again or leaves; once it is, give that player a fresh picture",
        Obstacle::Full(_) => "Say less at a time, and give that player a fresh picture",
    },
    code = Self::CODE
)]
pub struct NotCarried {
    /// To whom.
    pub peer: PeerId,
    /// How many messages, since the game was told so last.
    pub count: u64,
    /// What stood in the way of the first of them.
    pub first: Obstacle,
}

impl NotCarried {
    /// Its code.
    pub const CODE: &'static str = "MS-S247";
}

/// Several of one moment as one line of the log, by what stands in the way; one says more of itself.
pub(super) struct Together<'a>(pub &'a [NotCarried]);

impl fmt::Display for Together<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0 {
            return one.fmt(f);
        }
        let messages: u64 = self.0.iter().map(|of| of.count).sum();
        write!(f, "not sent to {} peers: {messages} more messages over a stream; ", self.0.len())?;
        let (unlinked, full): (Vec<&NotCarried>, Vec<&NotCarried>) =
            self.0.iter().partition(|of| match of.first {
                Obstacle::NoLink => true,
                Obstacle::Full(_) => false,
            });
        if !unlinked.is_empty() {
            write!(f, "there is no link to {}", named(&unlinked))?;
        }
        if !full.is_empty() {
            let and = if unlinked.is_empty() { "" } else { "; " };
            write!(f, "{and}too much waits already for {}", named(&full))?;
        }
        write!(
            f,
            ". To whoever is still there, give a fresh picture of what it missed [{}]",
            NotCarried::CODE
        )
    }
}

/// How many they are, and the first of them.
fn named(of: &[&NotCarried]) -> String {
    let first: Vec<String> = of.iter().take(NAMED_MAX).map(|it| it.peer.to_string()).collect();
    let rest = of.len() - first.len();
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!("{}: {}{more}", of.len(), first.join(", "))
}

/// Those of one session since its game was told last.
#[derive(Debug, Default)]
pub(super) struct Uncarried {
    by_peer: BTreeMap<PeerId, NotCarried>,
    told: Option<Instant>,
}

impl Uncarried {
    /// One more. A game may speak to whoever it likes: of who are no members as many are told of as could be.
    pub(super) fn note(&mut self, peer: PeerId, obstacle: Obstacle) {
        if self.by_peer.len() < MEMBERS_MAX || self.by_peer.contains_key(&peer) {
            self.by_peer.entry(peer).or_insert(NotCarried { peer, count: 0, first: obstacle }).count += 1;
        }
    }

    /// What the game is to be told now.
    pub(super) fn take(&mut self, now: Instant) -> Vec<NotCarried> {
        let is_time = self.told.is_none_or(|told| now >= told + TELL_EVERY) && !self.by_peer.is_empty();
        let all = if is_time { core::mem::take(&mut self.by_peer) } else { BTreeMap::new() };
        if is_time {
            self.told = Some(now);
        }
        all.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use mainstay_migration::{Session, SessionId};
    use tokio::sync::mpsc;
    use tracing::field::Field;
    use tracing::span::{Attributes, Id, Record};
    use tracing::subscriber::with_default;
    use tracing::{Metadata, Subscriber};

    use super::*;
    use crate::hands::Hands;
    use crate::hands::command::{SeatId, Seated, Under};
    use crate::hands::place::{Life, Outside, Place};
    use crate::key::Key;
    use crate::link::{ARRIVALS_MAX, Load};
    use crate::mailbox::{Mail, Mailbox};
    use crate::quic::Quic;
    use crate::seat::{Event, SessionOptions};

    /// What is logged, a line each.
    #[derive(Debug, Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut line = event.metadata().level().to_string();
            event.record(&mut |field: &Field, value: &dyn fmt::Debug| {
                write!(line, " {field}={value:?}").unwrap();
            });
            self.0.lock().unwrap().push(line);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    /// A machine with all members but one is gone: its log says so once, and the game of each.
    #[tokio::test]
    async fn a_host_whose_members_all_vanish_logs_one_line() {
        let key = Key::new().unwrap();
        let (arrivals_in, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let (_commands_in, commands) = mpsc::channel(1);
        let quic = Quic::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &key, arrivals_in).unwrap();
        let mut hands = Hands::new(key, (quic, None), Arc::default(), arrivals, commands);
        let options = SessionOptions::new(SessionId(1));
        let (id, mailbox) = (options.session, Arc::new(Mailbox::default()));
        let seated = Seated { id: SeatId::new(id), mailbox: mailbox.clone(), listeners: BTreeMap::new() };
        let config = hands.config(&options, &Under::Nobody);
        let session = Session::found(hands.now(), config.clone());
        let mut place = Place::new(config, seated, Outside::Nobody, Life::In(Box::new(session)));
        let others: BTreeSet<PeerId> = (1..=63).map(PeerId).collect();
        others.iter().for_each(|peer| place.uncarried.note(*peer, Obstacle::NoLink));
        hands.places.insert(id, place);

        let (log, began) = (Log::default(), Instant::now());
        with_default(log.clone(), || hands.own_up(began));
        let lines = log.0.lock().unwrap().clone();
        assert!(matches!(lines.as_slice(), [line] if line.contains("MS-S247")), "{lines:#?}");
        let mail = std::iter::from_fn(|| mailbox.take(began));
        let told: BTreeSet<PeerId> = mail
            .filter_map(|mail| match mail {
                Mail::Event(Event::NotCarried(why)) => Some(why.peer),
                Mail::Event(_) | Mail::Call(..) | Mail::Word(_) => None,
            })
            .collect();
        assert_eq!(told, others);
    }

    #[test]
    fn several_are_told_of_as_how_many_which_first_and_why() {
        let no_link = |peer| NotCarried { peer: PeerId(peer), count: 1, first: Obstacle::NoLink };
        let full = |peer| NotCarried {
            first: Obstacle::Full(Load { messages: 1_024, bytes: 70 }),
            count: 2,
            ..no_link(peer)
        };
        let mut all: Vec<NotCarried> = (1..=5).map(no_link).collect();
        let peer = |peer| PeerId(peer).to_string();
        let first = format!("{}, {}, {}", peer(1), peer(2), peer(3));
        let said = Together(&all).to_string();
        assert!(
            said.starts_with(&format!(
                "not sent to 5 peers: 5 more messages over a stream; there is no link to 5: {first} and 2 more."
            )),
            "{said}"
        );
        all.push(full(6));
        let said = Together(&all).to_string();
        assert!(said.contains(&format!("2 more; too much waits already for 1: {}.", peer(6))), "{said}");
        assert!(said.starts_with("not sent to 6 peers: 7 more") && said.ends_with("[MS-S247]"), "{said}");
        assert_eq!(Together(&all[5..]).to_string(), full(6).to_string(), "one says more of itself");
    }

    #[test]
    fn a_game_is_told_once_a_second_how_much_of_it_to_whom_and_why() {
        let (one, other, began) = (PeerId(1), PeerId(2), Instant::now());
        let full = Obstacle::Full(Load { messages: 1_024, bytes: 70 });
        let mut uncarried = Uncarried::default();
        assert_eq!(uncarried.take(began), []);
        uncarried.note(one, full);
        uncarried.note(other, Obstacle::NoLink);
        uncarried.note(one, Obstacle::NoLink);
        let told = uncarried.take(began);
        let first = NotCarried { peer: one, count: 2, first: full };
        assert_eq!(told, [first, NotCarried { peer: other, count: 1, first: Obstacle::NoLink }]);
        let why = first.to_string();
        assert!(why.contains("2 more") && why.contains("1024 messages of 70 bytes"), "{why}");
        assert!(why.contains("Say less at a time") && why.ends_with("[MS-S247]"), "{why}");
        let why = NotCarried { first: Obstacle::NoLink, ..first }.to_string();
        assert!(why.contains("once it is, give that player") && !why.contains("Say less"), "{why}");
        uncarried.note(one, full);
        assert_eq!(uncarried.take(began + TELL_EVERY / 2), [], "it was told just now");
        assert_eq!(
            uncarried.take(began + TELL_EVERY).iter().map(|why| why.count).sum::<u64>(),
            1,
            "and not forgotten"
        );
        (0..=MEMBERS_MAX).for_each(|peer| uncarried.note(PeerId(peer as u128), full));
        assert_eq!(uncarried.take(began + 2 * TELL_EVERY).len(), MEMBERS_MAX);
    }
}
