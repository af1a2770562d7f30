//! Who may link to this peer: anybody who has its address, as long as there are links, and no address takes them all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_migration::MEMBERS_MAX;

/// How many links there may be at once, those included that are just being made: two to every other member of the largest
/// session (both ends may have dialed), and as many again for those of other sessions and for strangers. Who dials beyond
/// them is turned away before anything is computed for it, and from half as many on whoever dials has to show first that it is
/// where it says (RFC 9000, section 8.1.2).
pub(crate) const LINKS_MAX: usize = 4 * MEMBERS_MAX;
/// How many of them may come from one address: those of the largest session, all of whose players are behind one router. As many are left for everybody else.
const FROM_ONE_MAX: usize = LINKS_MAX / 2;
/// How many bits of an address of IPv6 are a household's (RFC 6177); the rest it chooses itself.
const HOUSEHOLD_BITS: u32 = 64;

/// How many links that others have dialed there are from each address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A link's, as long as it lasts.
#[derive(Debug)]
pub(crate) struct Place {
    door: Door,
    household: IpAddr,
}

/// Whether somebody who dials is answered.
#[derive(Debug)]
pub(crate) enum Entry {
    /// It is.
    Granted(Place),
    /// Once it has shown that it is where it says: whoever dials from an address that is not its own never comes so far.
    OnceShown,
    /// There are too many already.
    Full,
}

/// Whether whoever dials has shown that it is where it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Yes,
    NotYet,
}

impl Door {
    /// Somebody dials, beside so many links that there are.
    pub(crate) fn enter(&self, links: usize, from: IpAddr, shown: Shown) -> Entry {
        let household = household(from);
        let mut all = self.lock();
        let theirs = all.get(&household).copied().unwrap_or_default();
        if links >= LINKS_MAX || theirs >= FROM_ONE_MAX {
            return Entry::Full;
        }
        // Or somebody elsewhere could have all links of an address that is not its own.
        if shown == Shown::NotYet && (links >= LINKS_MAX / 2 || theirs >= FROM_ONE_MAX / 2) {
            return Entry::OnceShown;
        }
        all.insert(household, theirs + 1);
        Entry::Granted(Place { door: self.clone(), household })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.door.lock();
        if let Some(theirs) = all.get_mut(&self.household) {
            *theirs -= 1;
            if *theirs == 0 {
                all.remove(&self.household);
            }
        }
    }
}

fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> HOUSEHOLD_BITS)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(door: &Door, from: &str, shown: Shown) -> Option<Place> {
        match door.enter(0, from.parse().unwrap(), shown) {
            Entry::Granted(place) => Some(place),
            Entry::OnceShown | Entry::Full => None,
        }
    }

    #[test]
    fn no_address_has_all_links() {
        let door = Door::default();
        let mut theirs: Vec<Place> =
            (0..FROM_ONE_MAX).filter_map(|_| enter(&door, "192.0.2.1", Shown::Yes)).collect();
        assert_eq!(theirs.len(), FROM_ONE_MAX);
        assert!(theirs.len() >= 2 * (MEMBERS_MAX - 1), "a session behind one router has both links to each");
        assert!(enter(&door, "192.0.2.1", Shown::Yes).is_none());
        assert!(
            enter(&door, "::ffff:192.0.2.1", Shown::Yes).is_none(),
            "the same, as a socket of both kinds tells it"
        );
        let other = enter(&door, "192.0.2.2", Shown::NotYet);
        assert!(other.is_some(), "nobody else is kept out");
        theirs.pop();
        assert!(enter(&door, "192.0.2.1", Shown::Yes).is_some(), "as soon as one ends");
        drop((theirs, other));
        assert!(door.lock().is_empty(), "nothing is kept of who has gone");
    }

    #[test]
    fn a_household_chooses_its_addresses_itself() {
        let door = Door::default();
        let address = |host: usize| format!("2001:db8:0:1::{host:x}");
        let theirs: Vec<Place> =
            (0..LINKS_MAX).filter_map(|host| enter(&door, &address(host), Shown::Yes)).collect();
        assert_eq!(theirs.len(), FROM_ONE_MAX);
        assert!(enter(&door, "2001:db8:0:2::1", Shown::Yes).is_some());
    }

    /// RFC 9000, section 8.1: an address that is not validated may be anybody's.
    #[test]
    fn who_dials_from_anothers_address_takes_none_of_its_links() {
        let door = Door::default();
        let theirs: Vec<Place> =
            (0..LINKS_MAX).filter_map(|_| enter(&door, "192.0.2.1", Shown::NotYet)).collect();
        assert_eq!(theirs.len(), FROM_ONE_MAX / 2);
        assert!(matches!(door.enter(0, "192.0.2.1".parse().unwrap(), Shown::NotYet), Entry::OnceShown));
        assert!(enter(&door, "192.0.2.1", Shown::Yes).is_some());
        let half = |shown| door.enter(LINKS_MAX / 2, "192.0.2.9".parse().unwrap(), shown);
        assert!(matches!(half(Shown::NotYet), Entry::OnceShown));
        assert!(matches!(half(Shown::Yes), Entry::Granted(_)));
        assert!(matches!(door.enter(LINKS_MAX, "192.0.2.9".parse().unwrap(), Shown::Yes), Entry::Full));
    }
}
