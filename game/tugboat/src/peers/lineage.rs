//! Who has written the game, and from which tick on. Two sides of one session number their ticks alike: by this a player tells what it was told is safe from
//! another game that is as far.

use std::collections::VecDeque;

use mainstay_peer::migration::{PeerId, Stamp, Tick};

/// How many of the latest are known: it goes along with every state.
const WRITERS_MAX: usize = 3;

/// The latest last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage(VecDeque<Writer>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Writer {
    /// The first tick it wrote.
    from: u32,
    /// A part of its id and its stamp: enough to tell a few apart.
    mark: u32,
}

/// How much two games have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// The one goes on from the other.
    All,
    /// Up to this tick.
    UpTo(Tick),
    /// Too much has happened to either.
    Unknown,
}

impl Shared {
    /// How much of a game that is so far it is, at the most.
    #[must_use]
    pub fn of(self, tick: Tick) -> Tick {
        match self {
            Self::All | Self::Unknown => tick,
            Self::UpTo(shared) => shared.min(tick),
        }
    }
}

impl Lineage {
    /// A host writes from that tick on.
    pub fn pass_to(&mut self, host: PeerId, stamp: Stamp, from: Tick) {
        let id = u32::try_from(host.0 >> 96).unwrap_or_default();
        let mark = id ^ stamp.epoch.0.rotate_left(16) ^ stamp.fork;
        let from = u32::try_from(from.0).unwrap_or(u32::MAX);
        self.0.retain(|writer| writer.from < from);
        self.0.push_back(Writer { from, mark });
        while self.0.len() > WRITERS_MAX {
            self.0.pop_front();
        }
    }

    /// What both have.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Shared {
        let common = self.0.iter().enumerate().rev().find_map(|(own, writer)| {
            let theirs = other.0.iter().position(|it| it == writer)?;
            Some([self.0.get(own + 1), other.0.get(theirs + 1)])
        });
        let Some(next) = common else {
            return if self.0.is_empty() && other.0.is_empty() { Shared::All } else { Shared::Unknown };
        };
        let parted = next.into_iter().flatten().map(|writer| writer.from).min();
        parted.map_or(Shared::All, |from| Shared::UpTo(Tick(u64::from(from) - 1)))
    }

    /// How many they are u8; for each the tick u32 and its mark u32. Big-endian.
    pub(super) fn encode_to(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(self.0.len()).unwrap_or(u8::MAX));
        for Writer { from, mark } in &self.0 {
            out.extend(from.to_be_bytes());
            out.extend(mark.to_be_bytes());
        }
    }

    /// Reads that off the beginning of these bytes; `None` where it is not there.
    pub(super) fn decode_from(rest: &mut &[u8]) -> Option<Self> {
        let (count, mut bytes) = rest.split_first()?;
        let mut writers: VecDeque<Writer> = VecDeque::new();
        for _ in 0..*count {
            let (from, tail) = bytes.split_first_chunk()?;
            let (mark, tail) = tail.split_first_chunk()?;
            bytes = tail;
            let writer = Writer { from: u32::from_be_bytes(*from), mark: u32::from_be_bytes(*mark) };
            if writer.from <= writers.back().map_or(0, |last| last.from) {
                return None;
            }
            writers.push_back(writer);
        }
        *rest = bytes;
        (writers.len() <= WRITERS_MAX).then_some(Self(writers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_peer::migration::Epoch;

    fn written(by: &[(u128, u32, u32, u64)]) -> Lineage {
        let mut lineage = Lineage::default();
        for (host, epoch, fork, from) in by {
            let stamp = Stamp { epoch: Epoch(*epoch), fork: *fork };
            lineage.pass_to(PeerId(host << 96), stamp, Tick(*from));
        }
        lineage
    }

    #[test]
    fn two_games_share_what_the_same_hosts_wrote() {
        let first = (1, 1, 0, 1);
        let cases = [
            (vec![first], vec![first], Shared::All),
            (vec![first], vec![first, (2, 2, 0, 112)], Shared::UpTo(Tick(111))),
            // A side that branched off at 28, and the host that went on to 111.
            (vec![first], vec![first, (3, 1, 1, 29)], Shared::UpTo(Tick(28))),
            (vec![first, (2, 2, 0, 90)], vec![first, (3, 1, 1, 29)], Shared::UpTo(Tick(28))),
            (vec![first, (2, 2, 0, 90)], vec![first, (2, 2, 0, 90), (3, 3, 0, 95)], Shared::UpTo(Tick(94))),
            (vec![first], vec![(2, 2, 0, 9), (3, 3, 0, 10), (4, 4, 0, 11)], Shared::Unknown),
            (vec![], vec![], Shared::All),
        ];
        for (one, other, shared) in cases {
            let (one, other) = (written(&one), written(&other));
            assert_eq!(
                (one.shared_with(&other), other.shared_with(&one)),
                (shared, shared),
                "{one:?} {other:?}"
            );
        }
        assert_eq!(Shared::UpTo(Tick(28)).of(Tick(111)), Tick(28));
    }

    #[test]
    fn the_latest_are_known_and_one_that_goes_back_writes_anew() {
        let many = written(&[(1, 1, 0, 1), (2, 2, 0, 5), (3, 3, 0, 9), (4, 4, 0, 12)]);
        assert_eq!(many, written(&[(2, 2, 0, 5), (3, 3, 0, 9), (4, 4, 0, 12)]));
        assert_eq!(
            written(&[(1, 1, 0, 1), (2, 2, 0, 9), (3, 3, 0, 5)]),
            written(&[(1, 1, 0, 1), (3, 3, 0, 5)])
        );
        let mut bytes = Vec::new();
        many.encode_to(&mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(Lineage::decode_from(&mut rest), Some(many));
        assert!(rest.is_empty());
        assert_eq!(Lineage::decode_from(&mut &[4_u8][..]), None);
    }
}
