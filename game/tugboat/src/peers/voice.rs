//! What the peers of a game say to each other beside the protocol of migration.

use mainstay_peer::migration::Tick;

use crate::peers::harbour::{Deed, Harbour};
use crate::world::Helm;

/// How many deeds a player tells at a time: those of five seconds. Older ones that no host has taken are lost to a player
/// who was away so long.
pub const DEEDS_MAX: usize = 100;

/// What a host tells its members with every tick: how far its game is held by others too, then the whole of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// So far nothing is lost when this host is.
    pub durable: Tick,
    /// The game.
    pub harbour: Harbour,
}

impl Told {
    /// The tick u64, then the game. Big-endian.
    #[must_use]
    pub fn encode(durable: Tick, harbour: &[u8]) -> Vec<u8> {
        [&durable.0.to_be_bytes(), harbour].concat()
    }

    /// Reads [`Told::encode`]'s form.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (durable, harbour) = bytes.split_first_chunk()?;
        Some(Self { durable: Tick(u64::from_be_bytes(*durable)), harbour: Harbour::decode(harbour)? })
    }
}

/// What a member tells its host: how many u8, for each its number u32, throttle i8 and rudder i8. Big-endian.
#[must_use]
pub fn encode_deeds<'a>(deeds: impl ExactSizeIterator<Item = &'a Deed>) -> Vec<u8> {
    let deeds = deeds.take(DEEDS_MAX);
    let mut out = vec![u8::try_from(deeds.len()).unwrap_or(u8::MAX)];
    for deed in deeds {
        out.extend(deed.number.to_be_bytes());
        out.extend(deed.helm.throttle.to_be_bytes());
        out.extend(deed.helm.rudder.to_be_bytes());
    }
    out
}

/// Reads [`encode_deeds`]' form.
#[must_use]
pub fn decode_deeds(bytes: &[u8]) -> Option<Vec<Deed>> {
    let (count, rest) = bytes.split_first()?;
    let (deeds, rest) = rest.as_chunks::<6>();
    let fits = rest.is_empty() && deeds.len() == usize::from(*count) && deeds.len() <= DEEDS_MAX;
    fits.then(|| {
        deeds
            .iter()
            .map(|[a, b, c, d, throttle, rudder]| Deed {
                number: u32::from_be_bytes([*a, *b, *c, *d]),
                helm: Helm { throttle: throttle.cast_signed(), rudder: rudder.cast_signed() },
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_read_is_written_again(bytes in prop::collection::vec(any::<u8>(), 0..40), count in 0..8_u32) {
            let deeds: Vec<Deed> = (0..count)
                .map(|number| Deed { number, helm: Helm { throttle: -1, rudder: 3 } })
                .collect();
            prop_assert_eq!(decode_deeds(&encode_deeds(deeds.iter())), Some(deeds));
            if let Some(deeds) = decode_deeds(&bytes) {
                prop_assert_eq!(encode_deeds(deeds.iter()), bytes.clone());
            }
            if let Some(told) = Told::decode(&bytes) {
                prop_assert_eq!(Told::encode(told.durable, &told.harbour.encode()), bytes);
            }
        }
    }
}
