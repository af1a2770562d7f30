//! What a game says right after it became its session's host: one packet is quicker than the proof that it is the host, which is
//! several. It is kept until that has come, for the game would say it again a tick later at best, and what it said on a stream never.

use std::collections::{BTreeMap, VecDeque};

use mainstay_migration::{PeerId, Roster, Stamp};

/// How many packets of one sender wait: two seconds of a game of 30 ticks.
const PACKETS_MAX: usize = 64;
/// How many bytes of them: a second of states at 2 Mbit/s.
const BYTES_MAX: usize = 256 * 1024;

/// What hosts have said that this peer does not obey yet. Each has room of its own: a member that says what no host has pushes nobody
/// else's out, and holds none once it has left.
#[derive(Debug, Default)]
pub(super) struct Ahead(BTreeMap<PeerId, Said>);

/// What one of them has, the oldest first; where there is too much, the oldest goes.
#[derive(Debug, Default)]
struct Said {
    packets: VecDeque<(Stamp, Vec<u8>)>,
    bytes: usize,
}

impl Said {
    fn keep(&mut self, stamp: Stamp, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.packets.push_back((stamp, bytes));
        while self.packets.len() > PACKETS_MAX || self.bytes > BYTES_MAX {
            let Some((_, oldest)) = self.packets.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// Gives up what is of that stamp or an earlier one, and returns what is of that.
    fn until(&mut self, stamp: Stamp) -> Vec<Vec<u8>> {
        let mut said = Vec::new();
        for (of, bytes) in core::mem::take(&mut self.packets) {
            if of > stamp {
                self.packets.push_back((of, bytes));
            } else if of == stamp {
                said.push(bytes);
            }
        }
        self.bytes = self.packets.iter().map(|(_, bytes)| bytes.len()).sum();
        said
    }
}

impl Ahead {
    /// Somebody said that. Only members are heard, and whoever has left meanwhile is forgotten.
    pub(super) fn keep(&mut self, from: PeerId, stamp: Stamp, bytes: Vec<u8>, roster: &Roster) {
        self.0.retain(|from, _| roster.members.contains_key(from));
        if roster.members.contains_key(&from) {
            self.0.entry(from).or_default().keep(stamp, bytes);
        }
    }

    /// Whom this peer obeys from now on: what that one said, in the order in which it came. What is of no later host is gone.
    pub(super) fn obey(&mut self, host: PeerId, stamp: Stamp, roster: &Roster) -> Vec<Vec<u8>> {
        let mut heard = Vec::new();
        self.0.retain(|from, said| {
            let of_it = said.until(stamp);
            if *from == host {
                heard = of_it;
            }
            !said.packets.is_empty() && roster.members.contains_key(from)
        });
        heard
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mainstay_migration::{ChannelId, Epoch, MEMBERS_MAX};

    use super::*;

    const ANN: PeerId = PeerId(1);
    const BOB: PeerId = PeerId(2);

    fn of(epoch: u32) -> Stamp {
        Stamp::certified(Epoch(epoch))
    }

    fn roster(members: impl IntoIterator<Item = PeerId>) -> Roster {
        let channel = |number| ChannelId { stamp: of(1), number };
        let members = members.into_iter().zip(0..).map(|(peer, number)| (peer, channel(number))).collect();
        Roster { stamp: of(1), version: 1, members, kicked: BTreeSet::new(), actors: BTreeMap::new() }
    }

    #[test]
    fn what_the_next_host_said_too_early_is_heard_in_order_and_once() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        ahead.keep(BOB, of(3), b"first".to_vec(), &two);
        ahead.keep(ANN, of(3), b"of a liar".to_vec(), &two);
        ahead.keep(BOB, of(3), b"second".to_vec(), &two);
        ahead.keep(ANN, of(4), b"of the one after".to_vec(), &two);
        assert_eq!(ahead.obey(BOB, of(3), &two), [b"first".to_vec(), b"second".to_vec()]);
        assert_eq!(ahead.obey(BOB, of(3), &two), Vec::<Vec<u8>>::new());
        assert_eq!(ahead.obey(ANN, of(4), &two), [b"of the one after".to_vec()]);
        assert!(ahead.0.is_empty());
    }

    /// Any member may say that it is a later host: it costs nothing.
    #[test]
    fn nobody_pushes_out_what_another_said() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        ahead.keep(BOB, of(3), b"ahoy".to_vec(), &two);
        for number in 0..=u8::try_from(PACKETS_MAX).unwrap() {
            ahead.keep(ANN, of(9), vec![number], &two);
        }
        ahead.keep(ANN, of(9), vec![0; BYTES_MAX], &two);
        assert_eq!(ahead.obey(BOB, of(3), &two), [b"ahoy".to_vec()]);
    }

    #[test]
    fn of_too_many_the_oldest_go() {
        let (mut ahead, two) = (Ahead::default(), roster([ANN, BOB]));
        for number in 0..=u8::try_from(PACKETS_MAX).unwrap() {
            ahead.keep(BOB, of(3), vec![number], &two);
        }
        assert_eq!(ahead.obey(BOB, of(3), &two).first(), Some(&vec![1]));
        ahead.keep(BOB, of(5), vec![0; BYTES_MAX], &two);
        ahead.keep(BOB, of(5), vec![7], &two);
        assert_eq!(ahead.obey(BOB, of(5), &two), [vec![7]]);
    }

    /// Whoever plays may say that it is host of the last epoch there can be, and leave.
    #[test]
    fn who_has_left_takes_nobodys_room() {
        let mut ahead = Ahead::default();
        let liars: Vec<PeerId> = (100..100 + MEMBERS_MAX as u128).map(PeerId).collect();
        for liar in &liars {
            ahead.keep(*liar, of(u32::MAX), vec![0; BYTES_MAX], &roster([ANN, BOB, *liar]));
        }
        ahead.keep(BOB, of(3), b"ahoy".to_vec(), &roster([ANN, BOB]));
        assert_eq!(ahead.0.len(), 1, "of whom one is there");
        ahead.keep(liars[0], of(9), vec![1], &roster([ANN, BOB]));
        ahead.keep(liars[1], of(9), vec![1], &roster([ANN, BOB, liars[1]]));
        assert_eq!(ahead.obey(BOB, of(3), &roster([ANN, BOB])), [b"ahoy".to_vec()]);
        assert!(ahead.0.is_empty(), "nor with the next host");
    }
}
