//! What the peers of a game say to each other beside the protocol of migration.

use mainstay_peer::migration::Tick;

use crate::peers::harbour::Harbour;
use crate::world::Helm;

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

/// What a player does: throttle i8, rudder i8.
#[must_use]
pub const fn encode_helm(helm: Helm) -> [u8; 2] {
    [helm.throttle.cast_unsigned(), helm.rudder.cast_unsigned()]
}

/// Reads [`encode_helm`]'s form.
#[must_use]
pub fn decode_helm(bytes: &[u8]) -> Option<Helm> {
    let [throttle, rudder] = bytes.try_into().ok()?;
    Some(Helm { throttle: u8::cast_signed(throttle), rudder: u8::cast_signed(rudder) })
}

/// The sound of a horn: that of who says it.
pub const HORN: u8 = b'!';

/// The harbour's bell, which its host rings at that tick: u64, big-endian.
#[must_use]
pub const fn encode_bell(tick: Tick) -> [u8; 8] {
    tick.0.to_be_bytes()
}

/// Reads [`encode_bell`]'s form.
#[must_use]
pub fn decode_bell(bytes: &[u8]) -> Option<Tick> {
    Some(Tick(u64::from_be_bytes(bytes.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_read_is_written_again(bytes in prop::collection::vec(any::<u8>(), 0..40), throttle: i8, rudder: i8) {
            let helm = Helm { throttle, rudder };
            prop_assert_eq!(decode_helm(&encode_helm(helm)), Some(helm));
            if let Some(helm) = decode_helm(&bytes) {
                prop_assert_eq!(encode_helm(helm).to_vec(), bytes.clone());
            }
            if let Some(told) = Told::decode(&bytes) {
                prop_assert_eq!(Told::encode(told.durable, &told.harbour.encode()), bytes);
            }
        }
    }
}
