//! What a game says right after it became its session's host: one packet is quicker than the proof that it is the host, which is
//! several. It is kept until that has come, for the game would say it again a tick later at best, and what it said on a stream never.

use std::collections::{BTreeMap, VecDeque};

use mainstay_migration::{PeerId, Roster, Stamp};
use mainstay_wire::peer::PACKET_BYTES_MAX;

use crate::link::Way;

/// How many datagrams of one sender wait: two seconds of a game of 30 ticks. They tell how things stand, so the newest count.
const DATAGRAMS_MAX: usize = 64;
/// How many bytes of them: a second of states at 2 Mbit/s.
const DATAGRAMS_BYTES_MAX: usize = 256 * 1024;
/// How many words: what a busy host says to one member in a second, fifty a tick at 20 Hz.
const WORDS_MAX: usize = 1_024;
/// How many bytes of them: the longest there is.
const WORDS_BYTES_MAX: usize = PACKET_BYTES_MAX;

/// What hosts have said that this peer does not obey yet. Each has room of its own: a member that says what no host has pushes nobody
/// else's out, and holds none once it has left.
#[derive(Debug, Default)]
pub(super) struct Ahead(BTreeMap<PeerId, Said>);

/// What one of them has. States come many a second and words have to come through: neither takes the other's room.
#[derive(Debug, Default)]
struct Said {
    words: Kept<WORDS_MAX, WORDS_BYTES_MAX>,
    datagrams: Kept<DATAGRAMS_MAX, DATAGRAMS_BYTES_MAX>,
}

/// The oldest first; where there is too much, the oldest goes.
#[derive(Debug, Default)]
struct Kept<const PACKETS: usize, const BYTES: usize> {
    packets: VecDeque<(Stamp, Vec<u8>)>,
    bytes: usize,
}

impl<const PACKETS: usize, const BYTES: usize> Kept<PACKETS, BYTES> {
    fn keep(&mut self, stamp: Stamp, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.packets.push_back((stamp, bytes));
        while self.packets.len() > PACKETS || self.bytes > BYTES {
            let Some((_, oldest)) = self.packets.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// Gives up what is of that stamp or an earlier one, and returns what of it counts.
    fn until(&mut self, stamp: Stamp, counts: impl Fn(Stamp) -> bool) -> Vec<(Stamp, Vec<u8>)> {
        let (later, due): (VecDeque<_>, VecDeque<_>) =
            core::mem::take(&mut self.packets).into_iter().partition(|(of, _)| *of > stamp);
        self.packets = later;
        self.bytes = self.packets.iter().map(|(_, bytes)| bytes.len()).sum();
        due.into_iter().filter(|(of, _)| counts(*of)).collect()
    }
}

impl Said {
    fn is_empty(&self) -> bool {
        self.words.packets.is_empty() && self.datagrams.packets.is_empty()
    }
}

impl Ahead {
    /// Somebody said that. Only members are heard, and whoever has left meanwhile is forgotten.
    pub(super) fn keep(&mut self, (from, way): (PeerId, Way), stamp: Stamp, bytes: Vec<u8>, roster: &Roster) {
        self.0.retain(|from, _| roster.members.contains_key(from));
        if roster.members.contains_key(&from) {
            let said = self.0.entry(from).or_default();
            match way {
                Way::Stream => said.words.keep(stamp, bytes),
                Way::Datagram => said.datagrams.keep(stamp, bytes),
            }
        }
    }

    /// This peer obeys another host from now on, under that stamp: what of all that was said counts by then, of each its words, then how things stood, in the order in
    /// which they came. What is of no later host is gone.
    pub(super) fn obey(
        &mut self,
        stamp: Stamp,
        roster: &Roster,
        counts: impl Fn(PeerId, Way, Stamp) -> bool,
    ) -> Vec<(Stamp, Vec<u8>)> {
        let mut heard = Vec::new();
        self.0.retain(|from, said| {
            heard.extend(said.words.until(stamp, |of| counts(*from, Way::Stream, of)));
            heard.extend(said.datagrams.until(stamp, |of| counts(*from, Way::Datagram, of)));
            !said.is_empty() && roster.members.contains_key(from)
        });
        heard
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mainstay_migration::{ChannelId, Epoch, MEMBERS_MAX, Support};

    use super::*;

    const ANN: PeerId = PeerId(1);
    const BOB: PeerId = PeerId(2);

    fn of(epoch: u32) -> Stamp {
        Stamp::certified(Epoch(epoch))
    }

    fn roster(members: impl IntoIterator<Item = PeerId>) -> Roster {
        let channel = |number| ChannelId { stamp: of(1), number };
        let members = members.into_iter().zip(0..).map(|(peer, number)| (peer, channel(number))).collect();
        Roster {
            stamp: of(1),
            version: 1,
            members,
            kicked: BTreeSet::new(),
            actors: BTreeMap::new(),
            support: Support::Supported,
        }
    }

    /// What is heard where that one is host, and nobody gave it the session.
    fn heard(ahead: &mut Ahead, host: PeerId, stamp: Stamp, roster: &Roster) -> Vec<Vec<u8>> {
        let heard = ahead.obey(stamp, roster, |from, _, of| (from, of) == (host, stamp));
        heard.into_iter().map(|(_, bytes)| bytes).collect()
    }

    #[test]
    fn what_the_next_host_said_too_early_is_heard_in_order_and_once() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        ahead.keep((BOB, Way::Stream), of(3), b"first".to_vec(), &two);
        ahead.keep((ANN, Way::Stream), of(3), b"of a liar".to_vec(), &two);
        ahead.keep((BOB, Way::Stream), of(3), b"second".to_vec(), &two);
        ahead.keep((ANN, Way::Stream), of(4), b"of the one after".to_vec(), &two);
        assert_eq!(heard(&mut ahead, BOB, of(3), &two), [b"first".to_vec(), b"second".to_vec()]);
        assert_eq!(heard(&mut ahead, BOB, of(3), &two), Vec::<Vec<u8>>::new());
        assert_eq!(heard(&mut ahead, ANN, of(4), &two), [b"of the one after".to_vec()]);
        assert!(ahead.0.is_empty());
    }

    /// Who was host for so short a time that this peer never obeyed it, and gave the session away, has said what it said.
    #[test]
    fn words_of_a_host_that_was_never_obeyed_count_where_it_gave_the_session_away() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        ahead.keep((ANN, Way::Stream), of(2), b"a word".to_vec(), &two);
        ahead.keep((ANN, Way::Datagram), of(2), b"how it stood".to_vec(), &two);
        ahead.keep((BOB, Way::Datagram), of(3), b"how it stands".to_vec(), &two);
        let counts = |from, way, _| from == BOB || way == Way::Stream;
        let heard = ahead.obey(of(3), &two, counts);
        assert_eq!(heard, [(of(2), b"a word".to_vec()), (of(3), b"how it stands".to_vec())]);
    }

    /// Any member may say that it is a later host: it costs nothing.
    #[test]
    fn nobody_pushes_out_what_another_said() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        ahead.keep((BOB, Way::Stream), of(3), b"ahoy".to_vec(), &two);
        for _ in 0..=WORDS_MAX {
            ahead.keep((ANN, Way::Stream), of(9), vec![1], &two);
        }
        ahead.keep((ANN, Way::Datagram), of(9), vec![0; DATAGRAMS_BYTES_MAX], &two);
        assert_eq!(heard(&mut ahead, BOB, of(3), &two), [b"ahoy".to_vec()]);
    }

    #[test]
    fn of_too_many_the_oldest_go() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        for number in 0..=u8::try_from(DATAGRAMS_MAX).unwrap() {
            ahead.keep((BOB, Way::Datagram), of(3), vec![number], &two);
        }
        assert_eq!(heard(&mut ahead, BOB, of(3), &two).first(), Some(&vec![1]));
        ahead.keep((BOB, Way::Datagram), of(5), vec![0; DATAGRAMS_BYTES_MAX], &two);
        ahead.keep((BOB, Way::Datagram), of(5), vec![7], &two);
        assert_eq!(heard(&mut ahead, BOB, of(5), &two), [vec![7]]);
    }

    /// Decision 0061: a host's words come through, however long the proof that it is host takes and however many states come meanwhile.
    #[test]
    fn states_push_no_words_out() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        let longest = vec![9; WORDS_BYTES_MAX];
        ahead.keep((BOB, Way::Stream), of(3), longest.clone(), &two);
        for number in 0..=u8::try_from(DATAGRAMS_MAX).unwrap() {
            ahead.keep((BOB, Way::Datagram), of(3), vec![number], &two);
        }
        let all = heard(&mut ahead, BOB, of(3), &two);
        assert_eq!((all.len(), &all[0]), (1 + DATAGRAMS_MAX, &longest));
    }

    /// Whoever plays may say that it is host of the last epoch there can be, and leave.
    #[test]
    fn who_has_left_takes_nobodys_room() {
        let mut ahead = Ahead::default();
        let liars: Vec<PeerId> = (100..100 + MEMBERS_MAX as u128).map(PeerId).collect();
        for liar in &liars {
            ahead.keep(
                (*liar, Way::Stream),
                of(u32::MAX),
                vec![0; WORDS_BYTES_MAX],
                &roster([ANN, BOB, *liar]),
            );
        }
        ahead.keep((BOB, Way::Stream), of(3), b"ahoy".to_vec(), &roster([ANN, BOB]));
        assert_eq!(ahead.0.len(), 1, "of whom one is there");
        ahead.keep((liars[0], Way::Stream), of(9), vec![1], &roster([ANN, BOB]));
        ahead.keep((liars[1], Way::Stream), of(9), vec![1], &roster([ANN, BOB, liars[1]]));
        assert_eq!(heard(&mut ahead, BOB, of(3), &roster([ANN, BOB])), [b"ahoy".to_vec()]);
        assert!(ahead.0.is_empty(), "nor with the next host");
    }
}
