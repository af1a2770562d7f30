//! Small numbers for the texts that live tickets hold, given back when the last of them goes.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Table;

use super::lanes::bits;

/// Numbers for texts. Which number a text has is never seen in a result.
#[derive(Debug, Clone)]
pub(super) struct Interner {
    ids: Table<Arc<str>, u32>,
    held: Vec<Held>,
    free: Vec<u32>,
    /// Sets of numbers that many hold alike, each at its [place], with how many do: all of them hold its numbers once.
    alike: [(u64, u32); PLACES],
    /// Where the texts of the first numbers lie, as far as all of those are held.
    turn: Vec<usize>,
    /// Of the texts of one [place] the one that was looked for last.
    known: [Known; PLACES],
    /// Which number was looked for last.
    last: u32,
}

#[derive(Debug, Clone, Default)]
struct Held {
    text: Option<Arc<str>>,
    count: u32,
    /// The number that was looked for after this one last: tickets name their texts in the same order, so that most are found by one
    /// comparison also where each ticket brings its own.
    next: u32,
}

/// Where a text that is held lies, so that the very text is known without being read: as long as it is held it stays there.
#[derive(Debug, Clone, Copy)]
struct Known {
    at: usize,
    id: u32,
}

impl Known {
    /// No text lies there.
    const NONE: Self = Self { at: 0, id: 0 };
}

/// How many texts, and how many sets, are known at once.
const PLACES: usize = 256;

/// Where something is kept.
const fn place(it: u64) -> usize {
    // Texts made one after the other are about as far from each other: so multiples keep them apart (Knuth, section 6.4).
    (it.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2())) as usize
}

fn address(text: &Arc<str>) -> usize {
    text.as_ptr().addr()
}

impl Interner {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            ids: Table::seeded(seed),
            held: Vec::new(),
            free: Vec::new(),
            alike: [(0, 0); PLACES],
            turn: Vec::new(),
            known: [Known::NONE; PLACES],
            last: 0,
        }
    }

    /// The number of a text, to be held at once.
    #[inline]
    pub(super) fn number(&mut self, text: &Arc<str>) -> u32 {
        let known = self.known[place(address(text) as u64) % PLACES];
        if known.at == address(text) { known.id } else { self.look_up(text) }
    }

    /// Those of one ticket's texts, from the first on, that are numbered by their places. As a rule all are, where everybody names the same.
    #[inline]
    pub(super) fn in_turn<'a, T>(&self, texts: &'a [(Arc<str>, T)]) -> impl Iterator<Item = &'a T> {
        let known = self.turn.iter().zip(texts);
        known.map_while(|(at, (text, it))| (*at == address(text)).then_some(it))
    }

    /// Where a text that is held lies.
    fn known_as(&self, id: u32) -> Known {
        let text = self.held[id as usize].text.as_ref();
        text.map_or(Known::NONE, |text| Known { at: address(text), id })
    }

    /// The same for whoever did not come with a very text that is known.
    #[inline(never)]
    fn look_up(&mut self, text: &Arc<str>) -> u32 {
        let guess = self.held.get(self.last as usize).map_or(0, |last| last.next);
        let is_guess = self.held.get(guess as usize).is_some_and(|held| held.text.as_ref() == Some(text));
        let id = if is_guess { guess } else { self.find(text) };
        if let Some(last) = self.held.get_mut(self.last as usize) {
            last.next = id;
        }
        self.last = id;
        let known = self.known_as(id);
        self.known[place(known.at as u64) % PLACES] = known;
        id
    }

    fn find(&mut self, text: &Arc<str>) -> u32 {
        if let Some(known) = self.ids.get(text) {
            return *known;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            u32::try_from(self.held.len() - 1).unwrap_or(u32::MAX)
        });
        self.held[id as usize].text = Some(text.clone());
        self.ids.insert(text.clone(), id);
        while let Some(text) = self.held.get(self.turn.len()).and_then(|held| held.text.as_ref()) {
            self.turn.push(address(text));
        }
        id
    }

    /// The number of a text, held once more.
    pub(super) fn hold(&mut self, text: &Arc<str>) -> u32 {
        let id = self.number(text);
        self.held[id as usize].count += 1;
        id
    }

    /// Holds some numbers below 64 once more, one bit each. Most tickets name one of few sets, and then one count is all that changes.
    #[inline]
    pub(super) fn hold_all(&mut self, ids: u64) {
        let (set, count) = &mut self.alike[place(ids) % PLACES];
        if *set == ids && *count > 0 { *count += 1 } else { self.hold_new(ids) }
    }

    #[inline(never)]
    fn hold_new(&mut self, ids: u64) {
        bits(ids).for_each(|id| self.held[id as usize].count += 1);
        let alike = &mut self.alike[place(ids) % PLACES];
        // Where another stands there, each of those holds its numbers itself, and lets go of them itself: which of them does is all the same.
        if alike.1 == 0 {
            *alike = (ids, 1);
        }
    }

    /// Lets go of some numbers once.
    #[inline]
    pub(super) fn release_all(&mut self, ids: u64) {
        let (set, count) = &mut self.alike[place(ids) % PLACES];
        if *set == ids && *count > 1 { *count -= 1 } else { self.release_last(ids) }
    }

    #[inline(never)]
    fn release_last(&mut self, ids: u64) {
        let (set, count) = &mut self.alike[place(ids) % PLACES];
        if *set == ids {
            *count = 0;
        }
        bits(ids).for_each(|id| self.release(id));
    }

    /// Holds the numbers of a list once more, 64 a word. Of long lists words beyond the first are seldom alike.
    #[inline]
    pub(super) fn hold_list(&mut self, words: &[u64]) {
        let Some((first, others)) = words.split_first() else { return };
        self.hold_all(*first);
        for (at, word) in (1..).zip(others) {
            bits(*word).for_each(|bit| self.held[at * 64 + bit as usize].count += 1);
        }
    }

    /// Lets go of the numbers of a list once.
    #[inline]
    pub(super) fn release_list(&mut self, words: &[u64]) {
        let Some((first, others)) = words.split_first() else { return };
        self.release_all(*first);
        for (at, word) in (1..).zip(others) {
            bits(*word).for_each(|bit| self.release(at * 64 + bit));
        }
    }

    /// Lets go of a number once.
    #[inline]
    pub(super) fn release(&mut self, id: u32) {
        let Some(held) = self.held.get_mut(id as usize) else { return };
        held.count = held.count.saturating_sub(1);
        if held.count == 0 {
            self.give_back(id);
        }
    }

    #[inline(never)]
    fn give_back(&mut self, id: u32) {
        let known = self.known_as(id);
        self.known[place(known.at as u64) % PLACES] = Known::NONE;
        self.turn.truncate(id as usize);
        if let Some(text) = self.held[id as usize].text.take() {
            self.ids.remove(&text);
            self.free.push(id);
        }
    }

    /// How many numbers have ever been given out at once: all are below.
    pub(super) fn span(&self) -> usize {
        self.held.len()
    }

    /// How many a set of texts would add.
    pub(super) fn new_among<'a>(&self, texts: impl Iterator<Item = &'a Arc<str>>) -> usize {
        texts.filter(|text| !self.ids.contains(*text)).count()
    }

    /// The number of a text, if it is held.
    pub(super) fn known(&self, text: &Arc<str>) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// By how many each number is held.
    pub(super) fn holders(&self) -> Vec<u32> {
        let mut holders: Vec<u32> = self.held.iter().map(|held| held.count).collect();
        // Of those who hold a set alike, one holds its numbers.
        for (set, count) in self.alike.iter().filter(|(_, count)| *count > 1) {
            bits(*set).for_each(|id| holders[id as usize] += count - 1);
        }
        holders
    }

    /// How many are held.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn text(&self, id: u32) -> Option<&Arc<str>> {
        self.held.get(id as usize).and_then(|held| held.text.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_back_with_its_last_holder() {
        let mut interner = Interner::new(1);
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let first = interner.hold(&a);
        assert_eq!(interner.hold(&a), first);
        assert_ne!(interner.hold(&b), first);
        interner.release(first);
        assert_eq!(interner.text(first), Some(&a));
        interner.release(first);
        assert_eq!((interner.text(first), interner.len(), interner.span()), (None, 1, 2));
        assert_eq!(interner.hold(&"c".into()), first);
    }

    /// However many sets there are, and in whatever order they go: a number is held as long as any of its holders is there.
    #[test]
    fn sets_hold_their_numbers() {
        let mut interner = Interner::new(1);
        let texts: Vec<Arc<str>> = (0..8).map(|at| alloc::format!("{at}").into()).collect();
        let mut held: Vec<u64> = Vec::new();
        for round in 0..2_000_u64 {
            let dice = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            if dice & 1 == 0 || held.is_empty() {
                let named = (0..8).filter(|at| dice >> (at + 8) & 1 == 1);
                let named: Vec<(Arc<str>, usize)> = named.map(|at| (texts[at].clone(), at)).collect();
                let (mut ids, mut told) = (0_u64, Vec::new());
                let in_turn = interner.in_turn(&named).count();
                for (place, (text, at)) in named.iter().enumerate() {
                    let id = if place < in_turn { place as u32 } else { interner.number(text) };
                    ids |= 1 << id;
                    told.push((id, *at));
                }
                let expected = named.iter().map(|(text, at)| (Some(text), *at));
                assert!(
                    told.iter().map(|(id, at)| (interner.text(*id), *at)).eq(expected),
                    "in round {round}"
                );
                interner.hold_all(ids);
                held.push(ids);
            } else {
                interner.release_all(held.swap_remove((dice >> 40) as usize % held.len()));
            }
            let live = held.iter().fold(0, |all, ids| all | ids);
            for (id, holders) in (0..8).zip(interner.holders()) {
                let expected = held.iter().filter(|ids| *ids >> id & 1 == 1).count();
                assert_eq!(holders as usize, expected, "of {id} in round {round}");
            }
            for id in 0..8 {
                assert_eq!(interner.text(id).is_some(), live >> id & 1 == 1, "{id} in round {round}");
            }
        }
    }

    /// Rows grow wider while lists are held: a list is let go of by more words than it came with.
    #[test]
    fn a_list_lets_go_of_what_it_held_however_many_words_it_has_by_then() {
        let mut interner = Interner::new(1);
        let texts: Vec<Arc<str>> = (0..70).map(|at| alloc::format!("{at}").into()).collect();
        let numbers: Vec<u32> = texts.iter().map(|text| interner.number(text)).collect();
        assert_eq!(numbers, (0..70).collect::<Vec<_>>());
        interner.hold_list(&[0b11]);
        interner.hold_list(&[0b11]);
        interner.hold_list(&[0b10, 0b1]);
        for (list, left) in
            [([0b11, 0], [true, true, true]), ([0b10, 0b1], [true, true, false]), ([0b11, 0], [false; 3])]
        {
            interner.release_list(&list);
            assert_eq!([0, 1, 64].map(|id| interner.text(id).is_some()), left, "without {list:?}");
        }
    }
}
