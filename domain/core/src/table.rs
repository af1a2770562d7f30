//! A look-up table without iteration, so that no rule can come to depend on the order of a hash.

use core::borrow::Borrow;
use core::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A hash table seeded from outside. It offers no iteration: whatever's order can be seen lives in an ordered map.
#[derive(Debug, Clone)]
pub struct Table<K, V>(HashMap<K, V, FixedState>);

impl<K: Eq + Hash, V> Table<K, V> {
    /// An empty table. The seed keeps a stranger who chooses keys from choosing collisions.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(HashMap::with_hasher(FixedState::with_seed(seed)))
    }

    /// The value at `key`.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    /// The value at `key`, to change.
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.0.get_mut(key)
    }

    /// Whether `key` is there.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Puts a value and returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// Takes the value at `key` out.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key)
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
