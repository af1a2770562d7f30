//! Small numbers for the texts that live tickets hold, given back when the last of them goes.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Table;

/// Numbers for texts. Which number a text has is never seen in a result.
#[derive(Debug, Clone)]
pub(super) struct Interner {
    ids: Table<Arc<str>, u32>,
    held: Vec<Held>,
    free: Vec<u32>,
}

#[derive(Debug, Clone, Default)]
struct Held {
    text: Option<Arc<str>>,
    count: u32,
    /// The number that was asked for after this one last. Tickets name the same regions in the same order, so that most texts
    /// are found by one comparison.
    next: u32,
}

impl Interner {
    pub(super) fn new(seed: u64) -> Self {
        Self { ids: Table::seeded(seed), held: Vec::new(), free: Vec::new() }
    }

    /// The number of a text, held once more; `before` is the number that was asked for before it, of the same ticket.
    #[inline]
    pub(super) fn hold(&mut self, before: Option<u32>, text: &Arc<str>) -> u32 {
        let guess = before.map_or(0, |before| self.held[before as usize].next);
        if let Some(held) = self.held.get_mut(guess as usize)
            && held.text.as_ref().is_some_and(|held| Arc::ptr_eq(held, text))
        {
            held.count += 1;
            return guess;
        }
        self.look_up(before, guess, text)
    }

    /// The same for whoever did not come with the very text that was guessed.
    #[inline(never)]
    fn look_up(&mut self, before: Option<u32>, guess: u32, text: &Arc<str>) -> u32 {
        if let Some(held) = self.held.get_mut(guess as usize)
            && held.text.as_ref() == Some(text)
        {
            held.count += 1;
            return guess;
        }
        let id = self.ids.get(text).copied();
        let id = id.unwrap_or_else(|| {
            let id = self.free.pop().unwrap_or_else(|| {
                self.held.push(Held::default());
                u32::try_from(self.held.len() - 1).unwrap_or(u32::MAX)
            });
            self.held[id as usize].text = Some(text.clone());
            self.ids.insert(text.clone(), id);
            id
        });
        self.held[id as usize].count += 1;
        if let Some(before) = before {
            self.held[before as usize].next = id;
        }
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
        let first = interner.hold(None, &a);
        assert_eq!(interner.hold(None, &a), first);
        assert_ne!(interner.hold(None, &b), first);
        interner.release(first);
        assert_eq!(interner.text(first), Some(&a));
        interner.release(first);
        assert_eq!((interner.text(first), interner.len(), interner.span()), (None, 1, 2));
        assert_eq!(interner.hold(None, &"c".into()), first);
    }
}
