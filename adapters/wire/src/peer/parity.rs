//! How a packet lies on its stream: with as much parity that whichever one of its datagrams is lost, it is whole without it.
//!
//! QUIC repeats what was lost, but knows of it a round trip later at the earliest, and of the last of a burst only when an answer
//! fails to come. A new host's word to sixty-four members is five datagrams long: of so many survivors three would go on later than
//! the others, each time, on a line that loses one in a hundred. So whoever reads takes pieces in any order, and can do without
//! as many bytes in one piece as a datagram holds.
//!
//! On the stream lie the packet's length, a row of bytes, the length once more, and what is left. A packet that does not fit one
//! datagram is followed by its parity, a row of which each byte is the sum, without carry, of those that stand whole rows before it. So
//! of any bytes in one piece that are no longer than a row each is known from others, as across the disks of RAID 5; and of the two
//! lengths, further apart than a datagram is long, one is always there.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::{Malformed, PACKET_BYTES_MAX};

/// How many bytes may be missing in one piece: more than a datagram carries over Ethernet (1,472 bytes, QUIC's own included).
const ROW: usize = 1_500;
/// The longest packet without parity: it fits one datagram on any path (RFC 9000, section 14: 1,200 bytes with all that is QUIC's).
const ALONE: usize = 1_000;
/// How many bytes tell a length.
const LENGTH: usize = 4;
/// Where the second length stands.
const AGAIN: usize = LENGTH + ROW;
/// Where what is left begins.
const PAST: usize = AGAIN + LENGTH;
/// In how many pieces apart from each other a stream may come: of the longest, more than half as many as it has datagrams.
const APART_MAX: usize = 1_024;
/// In pages of so many bytes what has come is kept: one that is far ahead takes up no more.
const PAGE: usize = 1_024;
/// The longest stream: a packet, its parity and two lengths.
const STREAM_MAX: usize = PACKET_BYTES_MAX + ROW + 2 * LENGTH;

/// A packet as it goes on its stream, piece by piece; its bytes stay where they are.
#[must_use]
pub fn lay_out(packet: &Bytes) -> Vec<Bytes> {
    let length = Bytes::copy_from_slice(&u32::try_from(packet.len()).unwrap_or(u32::MAX).to_be_bytes());
    if packet.len() <= ALONE {
        return vec![length, packet.clone()];
    }
    let parity = parity(packet);
    let (first, parity_first) = (packet.len().min(ROW), ROW.saturating_sub(packet.len()));
    let mut pieces = vec![
        length.clone(),
        packet.slice(..first),
        parity.slice(..parity_first),
        length,
        packet.slice(first..),
        parity.slice(parity_first..),
    ];
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// It goes on where the packet ends, in the middle of a row. One that is shorter than a row follows once more, a row after its beginning, so
/// that no datagram has a bit of both at the same place.
fn parity(packet: &[u8]) -> Bytes {
    let mut parity = vec![0; ROW];
    for row in packet.chunks(ROW) {
        parity.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
    }
    parity.rotate_left(packet.len() % ROW);
    parity.into()
}

/// The pieces of one stream, in whatever order they come.
#[derive(Debug, Clone, Default)]
pub struct Gathering {
    /// Of those pages of it of which anything is there; what is missing of them is 0.
    pages: BTreeMap<usize, Box<[u8; PAGE]>>,
    /// What is there, in order, none next to another.
    here: Vec<Range<usize>>,
}

impl Gathering {
    /// Takes a piece that begins at so many bytes from the stream's beginning; gives the packet as soon as it can be known, and once
    /// more with whatever comes then.
    ///
    /// # Errors
    /// The packet is longer than [`PACKET_BYTES_MAX`], or so is what came of it; or it comes in shreds.
    pub fn take(&mut self, at: u64, piece: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let begins = usize::try_from(at).unwrap_or(usize::MAX);
        let ends = begins.saturating_add(piece.len());
        if ends > STREAM_MAX {
            return Err(Malformed::Huge { length: ends });
        }
        self.keep(begins, piece);
        self.is_here(begins..ends);
        if self.here.len() > APART_MAX {
            return Err(Malformed::Scattered { max: APART_MAX });
        }
        let Some(length) = self.length() else { return Ok(None) };
        if length > PACKET_BYTES_MAX {
            return Err(Malformed::Huge { length });
        }
        let parity = if length > ALONE { ROW } else { 0 };
        let missing = self.missing(length + parity);
        if missing.start < length && missing.len() > parity {
            return Ok(None);
        }
        // All but a row of it has come.
        let mut stream = self.laid_out(place(length + parity));
        for byte in missing.start..missing.end.min(length) {
            let others = (byte % parity..length + parity).step_by(parity).filter(|other| *other != byte);
            stream[place(byte)] = others.fold(0, |sum, other| sum ^ stream[place(other)]);
        }
        let first = length.min(ROW);
        let mut packet = stream[LENGTH..LENGTH + first].to_vec();
        packet.extend_from_slice(&stream[place(first)..place(first) + length - first]);
        Ok(Some(packet))
    }

    /// How many bytes of memory it takes up: about as many as have come.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.pages.len() * PAGE
    }

    fn keep(&mut self, mut begins: usize, mut piece: &[u8]) {
        while !piece.is_empty() {
            let (page, at) = (begins / PAGE, begins % PAGE);
            let (here, rest) = piece.split_at(piece.len().min(PAGE - at));
            let kept = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE]));
            kept[at..at + here.len()].copy_from_slice(here);
            (begins, piece) = (begins + here.len(), rest);
        }
    }

    /// The stream up to there.
    fn laid_out(&self, end: usize) -> Vec<u8> {
        let mut stream = vec![0; end];
        for (page, kept) in &self.pages {
            let begins = page * PAGE;
            if let Some(room) = stream.get_mut(begins..end.min(begins + PAGE)) {
                room.copy_from_slice(&kept[..room.len()]);
            }
        }
        stream
    }

    fn is_here(&mut self, mut piece: Range<usize>) {
        let touching = |it: &Range<usize>| it.start <= piece.end && piece.start <= it.end;
        let from = self.here.partition_point(|it| it.end < piece.start);
        let count = self.here[from..].iter().take_while(|it| touching(it)).count();
        for it in &self.here[from..from + count] {
            piece = piece.start.min(it.start)..piece.end.max(it.end);
        }
        self.here.splice(from..from + count, [piece]);
    }

    /// The packet's, by whichever of the two is there.
    fn length(&self) -> Option<usize> {
        let has = |place: &usize| self.here.iter().any(|it| it.start <= *place && place + LENGTH <= it.end);
        let place = [0, AGAIN].into_iter().find(has)?;
        let mut bytes = [0; LENGTH];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = self.pages.get(&((place + at) / PAGE))?[(place + at) % PAGE];
        }
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    }

    /// From the first to the last byte that is missing, of so many that lie there besides the lengths.
    fn missing(&self, count: usize) -> Range<usize> {
        let end = place(count);
        let (first, last) = (self.here.first(), self.here.last());
        let begins = first.filter(|it| it.start == 0).map_or(0, |it| it.end);
        let ends = last.filter(|it| it.end >= end).map_or(end, |it| it.start);
        if begins >= ends { count..count } else { index(begins)..index(ends).min(count) }
    }
}

/// Where a byte lies on the stream, of a packet that its parity follows.
const fn place(index: usize) -> usize {
    if index < ROW { LENGTH + index } else { LENGTH + index + LENGTH }
}

/// Which byte lies at a place, or is the next there.
const fn index(place: usize) -> usize {
    match place {
        0..LENGTH => 0,
        LENGTH..AGAIN => place - LENGTH,
        AGAIN..PAST => ROW,
        PAST.. => place - 2 * LENGTH,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream(packet: &[u8]) -> Vec<u8> {
        lay_out(&Bytes::copy_from_slice(packet)).concat()
    }

    /// As it is read from datagrams of so many bytes, in the order of some numbers, without one of them.
    fn read(stream: &[u8], datagram: usize, order: &[u32], lost: Option<usize>) -> Option<Vec<u8>> {
        let mut pieces: Vec<(u32, usize, &[u8])> = stream
            .chunks(datagram)
            .enumerate()
            .filter(|(at, _)| Some(*at) != lost)
            .map(|(at, piece)| (order[at % order.len()], at * datagram, piece))
            .collect();
        pieces.sort_unstable();
        let mut gathering = Gathering::default();
        pieces
            .into_iter()
            .find_map(|(_, at, piece)| gathering.take(at as u64, piece).expect("pieces of a packet"))
    }

    #[test]
    fn what_fits_one_datagram_has_a_length_and_nothing_else() {
        assert_eq!(stream(b"abc"), b"\0\0\0\x03abc");
        assert_eq!(stream(&[]), [0; 4]);
        assert_eq!(stream(&[7; ALONE]).len(), LENGTH + ALONE);
    }

    /// The format, byte by byte: 1,001 bytes follow once more, after as many as a row lacks, and of 3,001 the parity begins in the second
    /// byte of a row.
    #[test]
    fn a_longer_one_has_two_lengths_and_its_parity() {
        let packet: Vec<u8> = (0..1_001_u32).map(|at| at as u8).collect();
        let length = &[0, 0, 3, 233][..];
        assert_eq!(stream(&packet), [length, &packet, &[0; ROW - 1_001], length, &packet].concat());

        let packet: Vec<u8> = (0..3_001_u32).map(|at| (at / 7) as u8).collect();
        let mut parity: Vec<u8> = (1..ROW).map(|at| packet[at] ^ packet[ROW + at]).collect();
        parity.push(packet[0] ^ packet[ROW] ^ packet[2 * ROW]);
        let length = &[0, 0, 11, 185][..];
        assert_eq!(stream(&packet), [length, &packet[..ROW], length, &packet[ROW..], &parity].concat());
    }

    #[test]
    fn two_datagrams_apart_are_waited_for() {
        let packet: Vec<u8> = (0..6_000_u32).map(|at| (at * 31) as u8).collect();
        let stream = stream(&packet);
        let mut gathering = Gathering::default();
        let pieces: Vec<&[u8]> = stream.chunks(1_200).collect();
        for at in [0, 2, 4, 5, 6] {
            assert_eq!(gathering.take(at * 1_200, pieces[at as usize]), Ok(None));
        }
        assert_eq!(gathering.take(3 * 1_200, pieces[3]), Ok(Some(packet)));
    }

    #[test]
    fn what_is_too_long_or_comes_in_shreds_is_refused() {
        let mut gathering = Gathering::default();
        let long = Malformed::Huge { length: PACKET_BYTES_MAX + 1 };
        let length = u32::try_from(PACKET_BYTES_MAX + 1).expect("a length").to_be_bytes();
        assert_eq!(gathering.take(0, &length), Err(long));
        assert_eq!(
            Gathering::default().take(STREAM_MAX as u64, &[0]),
            Err(Malformed::Huge { length: STREAM_MAX + 1 })
        );
        assert!(matches!(Gathering::default().take(u64::MAX, &[0]), Err(Malformed::Huge { .. })));
        let mut gathering = Gathering::default();
        let mut shreds = (0..).map(|at| gathering.take(10_000 + 2 * at, &[0]));
        assert!(shreds.by_ref().take(APART_MAX).all(|taken| taken == Ok(None)));
        assert_eq!(shreds.next(), Some(Err(Malformed::Scattered { max: APART_MAX })));
    }

    /// One byte at the end of the longest packet took as much memory as the packet, for whoever has a peer's address.
    #[test]
    fn what_is_far_ahead_takes_up_no_more_than_has_come() {
        let mut gathering = Gathering::default();
        assert_eq!(gathering.take(1_040_000, &[0]), Ok(None));
        assert_eq!(gathering.kept(), PAGE);
        assert_eq!(gathering.take(2 * PAGE as u64, &[0; PAGE]), Ok(None));
        assert_eq!(gathering.kept(), 2 * PAGE);
    }

    #[test]
    fn the_longest_is_read() {
        let packet: Vec<u8> = (0..PACKET_BYTES_MAX).map(|at| (at / 3) as u8).collect();
        assert_eq!(read(&stream(&packet), 1_452, &[0], Some(100)), Some(packet));
    }

    proptest! {
        /// Whichever datagram is lost, and in whatever order the others come.
        #[test]
        fn a_lost_datagram_is_not_missed(
            packet in proptest::collection::vec(any::<u8>(), ALONE + 1..9_000),
            datagram in 900_usize..=1_472,
            order in proptest::collection::vec(any::<u32>(), 1..16),
            lost in any::<proptest::sample::Index>(),
        ) {
            let stream = stream(&packet);
            let lost = lost.index(stream.len().div_ceil(datagram));
            prop_assert_eq!(read(&stream, datagram, &order, Some(lost)), Some(packet));
        }

        #[test]
        fn every_packet_is_read(
            packet in proptest::collection::vec(any::<u8>(), 0..9_000),
            datagram in 1_usize..=1_472,
            order in proptest::collection::vec(any::<u32>(), 1..16),
        ) {
            prop_assume!(packet.len() / datagram < APART_MAX);
            prop_assert_eq!(read(&stream(&packet), datagram, &order, None), Some(packet));
        }

        /// Pieces of one stream that do not belong together, or of none at all, give something or an error.
        #[test]
        fn nothing_panics(pieces in proptest::collection::vec((0_u64..8_000, proptest::collection::vec(any::<u8>(), 0..1_500)), 0..12)) {
            let mut gathering = Gathering::default();
            for (at, piece) in pieces {
                if let Ok(Some(packet)) = gathering.take(at, &piece) {
                    prop_assert!(packet.len() <= PACKET_BYTES_MAX);
                }
            }
        }
    }
}
