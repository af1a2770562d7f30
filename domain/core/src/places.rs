//! A look-up table for a list that holds its keys itself: four bytes and a mark for each entry, whatever a key weighs.

use core::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// Where keys stand in a list, which is given with each call: always the same one. As [`crate::Table`] it offers no iteration.
#[derive(Debug, Clone)]
pub struct Places {
    places: HashTable<u32>,
    hasher: FixedState,
}

impl Places {
    /// Of an empty list. The seed keeps a stranger who chooses keys from choosing collisions.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self { places: HashTable::new(), hasher: FixedState::with_seed(seed) }
    }

    /// Where a key stands.
    pub fn get<K: Eq + Hash>(&self, list: &[K], key: &K) -> Option<u32> {
        let found = self.places.find(self.hasher.hash_one(key), |place| stands(list, *place, key));
        found.copied()
    }

    /// A key has come to stand at a place. It stood nowhere before.
    pub fn insert<K: Eq + Hash>(&mut self, list: &[K], place: u32) {
        let hash = |place: &u32| list.get(*place as usize).map_or(0, |key| self.hasher.hash_one(key));
        self.places.insert_unique(hash(&place), place, hash);
    }

    /// A key stands nowhere any more; where it stood. What the list holds there from now on is not asked for.
    pub fn remove<K: Eq + Hash>(&mut self, list: &[K], key: &K) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let found = self.places.find_entry(hash, |place| stands(list, *place, key)).ok()?;
        Some(found.remove().0)
    }

    /// How many keys stand somewhere.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn stands<K: Eq>(list: &[K], place: u32, key: &K) -> bool {
    list.get(place as usize).is_some_and(|found| found == key)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn keys_are_found_where_they_stand_also_after_others_have_gone() {
        let mut list: Vec<u64> = (0..1_000).map(|key| key * 7).collect();
        let mut places = Places::seeded(3);
        (0..1_000).for_each(|place| places.insert(&list, place));
        assert_eq!((places.get(&list, &693), places.get(&list, &694)), (Some(99), None));
        for key in (0..1_000).step_by(2).map(|place| place * 7) {
            assert_eq!(places.remove(&list, &key).map(u64::from), Some(key / 7));
            assert_eq!(places.remove(&list, &key), None);
        }
        list[0] = 5_000;
        places.insert(&list, 0);
        assert_eq!((places.get(&list, &0), places.get(&list, &5_000), places.len()), (None, Some(0), 501));
    }
}
