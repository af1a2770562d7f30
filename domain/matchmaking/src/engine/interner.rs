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
    /// Sets of numbers that many hold alike, with how many do: each holds its numbers once.
    sets: Vec<(u64, u32)>,
    /// Which of them was asked for last.
    last: usize,
    /// Where the texts of whoever named the most of them are, in their order, and their numbers. Most tickets name the same.
    list: Vec<(usize, u32)>,
    /// Which number was found last for a text at [some place](place): of lists of few values always the one that is asked for.
    lately: [u32; PLACES],
}

#[derive(Debug, Clone, Default)]
struct Held {
    text: Option<Arc<str>>,
    count: u32,
    /// The number that was asked for after this one last. Tickets name the same regions in the same order, so that most texts
    /// are found by one comparison.
    next: u32,
}

/// The most sets that are held as one.
const SETS_MAX: usize = 16;
/// For how many places of texts it is remembered which number was found for one.
const PLACES: usize = 256;

/// Where it is remembered, for texts at one place.
fn place(text: &Arc<str>) -> usize {
    // Texts made one after the other are about as far from each other: so multiples keep them apart (Knuth, section 6.4).
    let at = address(text) as u64;
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2())) as usize
}

fn address(text: &Arc<str>) -> usize {
    text.as_ptr().addr()
}

impl Held {
    /// Whether it is this very text: the same bytes at the same place.
    fn is(&self, text: &Arc<str>) -> bool {
        self.text.as_ref().is_some_and(|held| Arc::ptr_eq(held, text))
    }
}

impl Interner {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            ids: Table::seeded(seed),
            held: Vec::new(),
            free: Vec::new(),
            sets: Vec::new(),
            last: 0,
            list: Vec::new(),
            lately: [0; PLACES],
        }
    }

    /// The number of a text, held once more.
    pub(super) fn hold(&mut self, text: &Arc<str>) -> u32 {
        let mut number = 0;
        self.hold_each(core::iter::once(text), |id| number = id);
        number
    }

    /// The numbers of one ticket's texts, in their order, each held once more.
    #[inline]
    pub(super) fn hold_each<'a>(
        &mut self,
        texts: impl Iterator<Item = &'a Arc<str>>,
        mut tell: impl FnMut(u32),
    ) {
        self.number_each(texts.map(|text| (text, ())), 1, |id, ()| tell(id));
    }

    /// The same with what comes with each, to be [held](Self::hold_all) at once.
    #[inline]
    pub(super) fn number_all<T: Copy>(&mut self, texts: &[(Arc<str>, T)], mut tell: impl FnMut(u32, T)) {
        let mut same = 0;
        for ((at, id), (text, with)) in self.list.iter().zip(texts) {
            if *at != address(text) {
                break;
            }
            tell(*id, *with);
            same += 1;
        }
        if same < texts.len() {
            self.number_others(texts, same, tell);
        }
    }

    #[inline(never)]
    fn number_others<T: Copy>(&mut self, texts: &[(Arc<str>, T)], from: usize, mut tell: impl FnMut(u32, T)) {
        let mut ids = Vec::new();
        self.number_each(texts.iter().map(|(text, with)| (text, *with)), 0, |id, with| ids.push((id, with)));
        ids[from..].iter().for_each(|(id, with)| tell(*id, *with));
        // A text that is held stays where it is.
        if texts.len() > self.list.len() {
            self.list.clear();
            for ((text, _), (id, _)) in texts.iter().zip(ids) {
                if !self.held[id as usize].is(text) {
                    break;
                }
                self.list.push((address(text), id));
            }
        }
    }

    /// The numbers of some texts with what comes with each, each held so many times more.
    #[inline]
    fn number_each<'a, T>(
        &mut self,
        texts: impl Iterator<Item = (&'a Arc<str>, T)>,
        times: u32,
        mut tell: impl FnMut(u32, T),
    ) {
        let (mut before, mut guess) = (None, 0_u32);
        for (text, with) in texts {
            let held = match self.held.get_mut(guess as usize) {
                Some(held) if held.is(text) => held,
                Some(_) | None => {
                    guess = self.look_up(before, guess, text);
                    &mut self.held[guess as usize]
                }
            };
            held.count += times;
            tell(guess, with);
            (before, guess) = (Some(guess), held.next);
        }
    }

    /// Holds some numbers below 64 once more, one bit each. Most tickets name one of few sets, and then one count is all that changes.
    #[inline]
    pub(super) fn hold_all(&mut self, ids: u64) {
        match self.set(ids) {
            Some(count) => *count += 1,
            None => self.hold_new(ids),
        }
    }

    #[inline(never)]
    fn hold_new(&mut self, ids: u64) {
        bits(ids).for_each(|id| self.held[id as usize].count += 1);
        let free = self.sets.iter().position(|(_, count)| *count == 0);
        match free {
            Some(free) => self.sets[free] = (ids, 1),
            None if self.sets.len() < SETS_MAX => self.sets.push((ids, 1)),
            // Each of those holds its numbers itself, and lets go of them itself: which of them does is all the same.
            None => {}
        }
    }

    /// Lets go of some numbers once.
    #[inline]
    pub(super) fn release_all(&mut self, ids: u64) {
        match self.set(ids) {
            Some(count) if *count > 1 => *count -= 1,
            Some(count) => {
                *count = 0;
                bits(ids).for_each(|id| self.release(id));
            }
            None => bits(ids).for_each(|id| self.release(id)),
        }
    }

    /// How many hold a set as one, where any do.
    #[inline]
    fn set(&mut self, ids: u64) -> Option<&mut u32> {
        let is_it = |(set, count): &(u64, u32)| *set == ids && *count > 0;
        if !self.sets.get(self.last).is_some_and(is_it) {
            self.last = self.sets.iter().position(is_it)?;
        }
        self.sets.get_mut(self.last).map(|(_, count)| count)
    }

    /// The same for whoever did not come with the very text that was guessed.
    #[inline(never)]
    fn look_up(&mut self, before: Option<u32>, guess: u32, text: &Arc<str>) -> u32 {
        let id = self.found_lately(text).unwrap_or_else(|| {
            let is_guess = self.held.get(guess as usize).is_some_and(|held| held.text.as_ref() == Some(text));
            if is_guess { guess } else { self.find(text) }
        });
        if let Some(before) = before {
            self.held[before as usize].next = id;
        }
        id
    }

    fn found_lately(&self, text: &Arc<str>) -> Option<u32> {
        let lately = self.lately[place(text) % PLACES];
        self.held.get(lately as usize).is_some_and(|held| held.is(text)).then_some(lately)
    }

    fn find(&mut self, text: &Arc<str>) -> u32 {
        let known = self.ids.get(text).copied();
        let id = known.unwrap_or_else(|| {
            let id = self.free.pop().unwrap_or_else(|| {
                self.held.push(Held::default());
                u32::try_from(self.held.len() - 1).unwrap_or(u32::MAX)
            });
            self.held[id as usize].text = Some(text.clone());
            self.ids.insert(text.clone(), id);
            id
        });
        self.lately[place(text) % PLACES] = id;
        id
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
        self.list.clear();
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
                interner.number_all(&named, |id, at| {
                    ids |= 1 << id;
                    told.push((id, at));
                });
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
            for id in 0..8 {
                assert_eq!(interner.text(id).is_some(), live >> id & 1 == 1, "{id} in round {round}");
            }
        }
    }
}
