//! What a game says right after it became its session's host: one packet is quicker than the proof that it is the host, which is
//! several. It is kept until that has come, for the game would say it again a tick later at best, and what it said on a stream never.

use std::collections::VecDeque;

use mainstay_migration::{PeerId, Stamp};

/// How many packets wait: two seconds of a game of 30 ticks.
const PACKETS_MAX: usize = 64;
/// How many bytes of them: a second of states at 2 Mbit/s.
const BYTES_MAX: usize = 256 * 1024;

/// Packets of hosts that this peer does not obey yet, the oldest first; where there are too many, the oldest go.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    packets: VecDeque<(PeerId, Stamp, Vec<u8>)>,
    bytes: usize,
}

impl Ahead {
    pub(super) fn keep(&mut self, from: PeerId, stamp: Stamp, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.packets.push_back((from, stamp, bytes));
        while self.packets.len() > PACKETS_MAX || self.bytes > BYTES_MAX {
            let Some((_, _, oldest)) = self.packets.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// Whom this peer obeys from now on: what that one said, in the order in which it came. What is of no later host is gone.
    pub(super) fn obey(&mut self, host: PeerId, stamp: Stamp) -> Vec<Vec<u8>> {
        let mut said = Vec::new();
        for (from, of, bytes) in core::mem::take(&mut self.packets) {
            if of > stamp {
                self.packets.push_back((from, of, bytes));
            } else if (from, of) == (host, stamp) {
                said.push(bytes);
            }
        }
        self.bytes = self.packets.iter().map(|(_, _, bytes)| bytes.len()).sum();
        said
    }
}

#[cfg(test)]
mod tests {
    use mainstay_migration::Epoch;

    use super::*;

    const ANN: PeerId = PeerId(1);
    const BOB: PeerId = PeerId(2);

    fn of(epoch: u32) -> Stamp {
        Stamp::certified(Epoch(epoch))
    }

    #[test]
    fn what_the_next_host_said_too_early_is_heard_in_order_and_once() {
        let mut ahead = Ahead::default();
        ahead.keep(BOB, of(3), b"first".to_vec());
        ahead.keep(ANN, of(3), b"of a liar".to_vec());
        ahead.keep(BOB, of(3), b"second".to_vec());
        ahead.keep(ANN, of(4), b"of the one after".to_vec());
        assert_eq!(ahead.obey(BOB, of(3)), [b"first".to_vec(), b"second".to_vec()]);
        assert_eq!(ahead.obey(BOB, of(3)), Vec::<Vec<u8>>::new());
        assert_eq!(ahead.obey(ANN, of(4)), [b"of the one after".to_vec()]);
        assert_eq!(ahead.bytes, 0);
    }

    #[test]
    fn of_too_many_the_oldest_go() {
        let mut ahead = Ahead::default();
        for number in 0..=u8::try_from(PACKETS_MAX).unwrap() {
            ahead.keep(BOB, of(3), vec![number]);
        }
        assert_eq!(ahead.obey(BOB, of(3)).first(), Some(&vec![1]));
        ahead.keep(BOB, of(5), vec![0; BYTES_MAX]);
        ahead.keep(BOB, of(5), vec![7]);
        assert_eq!(ahead.obey(BOB, of(5)), [vec![7]]);
    }
}
