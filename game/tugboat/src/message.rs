//! Tugboat's wire: one message a datagram, numbers big-endian, a text is one length byte and as many bytes of UTF-8.
//!
//! Every message begins with `54 42` ("TB"), the version `01` and its kind:
//!
//! | kind | from the client | bytes after the kind |
//! |---|---|---|
//! | `01` | join | nonce u32, name text (at most 24 bytes) |
//! | `02` | helm | boat u8, token u32, sequence u32, throttle i8, rudder i8 |
//! | `03` | leave | boat u8, token u32 |
//! | `04` | look | nonce u32, then zeros up to 640 bytes in all, so that a look never is shorter than its answer |
//! | `05` | control | nonce u32, token text, command text |
//!
//! | kind | from the server | bytes after the kind |
//! |---|---|---|
//! | `81` | welcome | nonce u32, boat u8, token u32 |
//! | `82` | state | sequence u32 (the last helm's, or the look's nonce), hash u64, allocation text, the world as [`World::encode`] |
//! | `83` | refused | nonce u32, reason u8: 1 full, 2 version not spoken, 3 unknown command |
//! | `84` | gone | boat u8: nobody by that number and token plays here |
//! | `85` | obeyed | nonce u32 |
//!
//! A client joins, is welcomed, and enters the game with its first helm, which proves its address; from then on it is
//! sent the state after every tick. Silence of five seconds ends its game.

use crate::world::{BoatId, Helm, WORLD_BYTES_MAX, World};

/// The version this crate speaks.
pub const VERSION: u8 = 1;
/// The longest name of a player, in bytes.
pub const NAME_BYTES_MAX: usize = 24;
/// The longest allocation id shown in a state: a UUID as text.
pub const ALLOCATION_BYTES_MAX: usize = 36;
/// The length of a look.
pub const LOOK_BYTES: usize = 640;
/// The longest message: nothing may be longer than a look, for a state that answers one must not be.
pub const MESSAGE_BYTES_MAX: usize = LOOK_BYTES;

const MAGIC: [u8; 2] = *b"TB";
const _: () = assert!(4 + 4 + 8 + 1 + ALLOCATION_BYTES_MAX + WORLD_BYTES_MAX <= LOOK_BYTES);

/// What a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// "Let me in."
    Join {
        /// Marks the answer.
        nonce: u32,
        /// What others call the player.
        name: String,
    },
    /// "My levers stand like this."
    Helm {
        /// Which boat.
        boat: BoatId,
        /// Its token.
        token: u32,
        /// Counts up; an older one is ignored.
        sequence: u32,
        /// The levers.
        helm: Helm,
    },
    /// "I go."
    Leave {
        /// Which boat.
        boat: BoatId,
        /// Its token.
        token: u32,
    },
    /// "Show me the state", without playing.
    Look {
        /// Marks the answer.
        nonce: u32,
    },
    /// "Misbehave": see [`crate::fault`].
    Control {
        /// Marks the answer.
        nonce: u32,
        /// The server's control token.
        token: String,
        /// What to do.
        command: String,
    },
}

/// What a server sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// "Here is your boat; you are in once you steer."
    Welcome {
        /// The join's.
        nonce: u32,
        /// The boat.
        boat: BoatId,
        /// What proves that a message comes from its player.
        token: u32,
    },
    /// The state after a tick.
    State(State),
    /// "No."
    Refused {
        /// The request's.
        nonce: u32,
        /// Why.
        reason: Reason,
    },
    /// "You do not play here."
    Gone {
        /// The boat that was named.
        boat: BoatId,
    },
    /// "I did as told", or am about to.
    Obeyed {
        /// The command's.
        nonce: u32,
    },
}

/// The whole game, as shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The last helm's sequence that the server has taken from this client; for a look, its nonce.
    pub sequence: u32,
    /// The server's own fingerprint of the world.
    pub hash: u64,
    /// The allocation the server is for.
    pub allocation: Option<String>,
    /// The world.
    pub world: World,
}

/// Why a server says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// Every boat is taken.
    Full = 1,
    /// Another version of this wire.
    Version = 2,
    /// No such command.
    Command = 3,
}

/// Why a datagram is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// Another program's, cut, or with something impossible in it.
    #[error("not a message of this game")]
    Foreign,
    /// Another version's.
    #[error("a message of version {found}, and this is version {VERSION}")]
    Version {
        /// Its version.
        found: u8,
    },
}

impl Request {
    /// The bytes on the wire. Texts are cut at their limits.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Join { nonce, name } => {
                let mut out = head(0x01);
                out.extend(nonce.to_be_bytes());
                push_text(&mut out, name, NAME_BYTES_MAX);
                out
            }
            Self::Helm { boat, token, sequence, helm } => {
                let mut out = head(0x02);
                out.push(boat.0);
                out.extend(token.to_be_bytes());
                out.extend(sequence.to_be_bytes());
                out.extend(helm.throttle.to_be_bytes());
                out.extend(helm.rudder.to_be_bytes());
                out
            }
            Self::Leave { boat, token } => {
                let mut out = head(0x03);
                out.push(boat.0);
                out.extend(token.to_be_bytes());
                out
            }
            Self::Look { nonce } => {
                let mut out = head(0x04);
                out.extend(nonce.to_be_bytes());
                out.resize(LOOK_BYTES, 0);
                out
            }
            Self::Control { nonce, token, command } => {
                let mut out = head(0x05);
                out.extend(nonce.to_be_bytes());
                push_text(&mut out, token, usize::from(u8::MAX));
                push_text(&mut out, command, usize::from(u8::MAX));
                out
            }
        }
    }

    /// Reads what a client sent.
    ///
    /// # Errors
    /// Where the bytes are not exactly such a message.
    pub fn decode(bytes: &[u8]) -> Result<Self, NotAMessage> {
        let (kind, mut rest) = read_head(bytes)?;
        let request = match kind {
            0x01 => Self::Join { nonce: rest.u32()?, name: rest.text(NAME_BYTES_MAX)? },
            0x02 => Self::Helm {
                boat: BoatId(rest.u8()?),
                token: rest.u32()?,
                sequence: rest.u32()?,
                helm: Helm { throttle: rest.u8()?.cast_signed(), rudder: rest.u8()?.cast_signed() },
            },
            0x03 => Self::Leave { boat: BoatId(rest.u8()?), token: rest.u32()? },
            0x04 if bytes.len() == LOOK_BYTES => {
                let nonce = rest.u32()?;
                rest.0 = &[];
                Self::Look { nonce }
            }
            0x05 => Self::Control {
                nonce: rest.u32()?,
                token: rest.text(usize::from(u8::MAX))?,
                command: rest.text(usize::from(u8::MAX))?,
            },
            _ => return Err(NotAMessage::Foreign),
        };
        rest.end(request)
    }
}

impl Reply {
    /// The bytes on the wire. The allocation is cut at its limit.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Welcome { nonce, boat, token } => {
                let mut out = head(0x81);
                out.extend(nonce.to_be_bytes());
                out.push(boat.0);
                out.extend(token.to_be_bytes());
                out
            }
            Self::State(state) => {
                let mut out = head(0x82);
                out.extend(state.sequence.to_be_bytes());
                out.extend(state.hash.to_be_bytes());
                push_text(&mut out, state.allocation.as_deref().unwrap_or_default(), ALLOCATION_BYTES_MAX);
                out.extend(state.world.encode());
                out
            }
            Self::Refused { nonce, reason } => {
                let mut out = head(0x83);
                out.extend(nonce.to_be_bytes());
                out.push(*reason as u8);
                out
            }
            Self::Gone { boat } => {
                let mut out = head(0x84);
                out.push(boat.0);
                out
            }
            Self::Obeyed { nonce } => {
                let mut out = head(0x85);
                out.extend(nonce.to_be_bytes());
                out
            }
        }
    }

    /// Reads what a server sent.
    ///
    /// # Errors
    /// Where the bytes are not exactly such a message.
    pub fn decode(bytes: &[u8]) -> Result<Self, NotAMessage> {
        let (kind, mut rest) = read_head(bytes)?;
        let reply = match kind {
            0x81 => Self::Welcome { nonce: rest.u32()?, boat: BoatId(rest.u8()?), token: rest.u32()? },
            0x82 => {
                let (sequence, hash) = (rest.u32()?, rest.u64()?);
                let allocation = Some(rest.text(ALLOCATION_BYTES_MAX)?).filter(|text| !text.is_empty());
                let world = World::decode(rest.0).ok_or(NotAMessage::Foreign)?;
                rest.0 = &[];
                Self::State(State { sequence, hash, allocation, world })
            }
            0x83 => Self::Refused {
                nonce: rest.u32()?,
                reason: match rest.u8()? {
                    1 => Reason::Full,
                    2 => Reason::Version,
                    3 => Reason::Command,
                    _ => return Err(NotAMessage::Foreign),
                },
            },
            0x84 => Self::Gone { boat: BoatId(rest.u8()?) },
            0x85 => Self::Obeyed { nonce: rest.u32()? },
            _ => return Err(NotAMessage::Foreign),
        };
        rest.end(reply)
    }
}

fn head(kind: u8) -> Vec<u8> {
    vec![MAGIC[0], MAGIC[1], VERSION, kind]
}

fn push_text(out: &mut Vec<u8>, text: &str, max: usize) {
    let cut = &text[..text.floor_char_boundary(max)];
    out.push(u8::try_from(cut.len()).unwrap_or(u8::MAX));
    out.extend(cut.as_bytes());
}

fn read_head(bytes: &[u8]) -> Result<(u8, Rest<'_>), NotAMessage> {
    match bytes {
        [m0, m1, VERSION, kind, rest @ ..] if [*m0, *m1] == MAGIC => Ok((*kind, Rest(rest))),
        [m0, m1, found, ..] if [*m0, *m1] == MAGIC && *found != VERSION => {
            Err(NotAMessage::Version { found: *found })
        }
        _ => Err(NotAMessage::Foreign),
    }
}

/// What of a message is still unread.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], NotAMessage> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(NotAMessage::Foreign)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, NotAMessage> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32, NotAMessage> {
        Ok(u32::from_be_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, NotAMessage> {
        Ok(u64::from_be_bytes(self.take()?))
    }

    fn text(&mut self, max: usize) -> Result<String, NotAMessage> {
        let length = usize::from(self.u8()?);
        if length > max {
            return Err(NotAMessage::Foreign);
        }
        let (taken, rest) = self.0.split_at_checked(length).ok_or(NotAMessage::Foreign)?;
        self.0 = rest;
        str::from_utf8(taken).map(str::to_owned).map_err(|_| NotAMessage::Foreign)
    }

    fn end<T>(self, whole: T) -> Result<T, NotAMessage> {
        if self.0.is_empty() { Ok(whole) } else { Err(NotAMessage::Foreign) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{BOATS_MAX, Order};
    use proptest::prelude::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn full_world() -> World {
        let mut world = World::new(9);
        let ids = 1..=u8::try_from(BOATS_MAX).unwrap();
        world.step(&ids.map(|id| (BoatId(id), Order::Join)).collect::<Vec<_>>());
        world
    }

    #[test]
    fn golden_requests() {
        let helm = Helm { throttle: 127, rudder: -1 };
        let boat = BoatId(3);
        let (token, nonce) = (0x0a0b_0c0d, 0x0102_0304);
        for (request, golden) in [
            (Request::Join { nonce, name: "ann".into() }, "54420101 01020304 03616e6e"),
            (Request::Helm { boat, token, sequence: 7, helm }, "54420102 03 0a0b0c0d 00000007 7f ff"),
            (Request::Leave { boat, token }, "54420103 03 0a0b0c0d"),
            (
                Request::Control { nonce, token: "t".into(), command: "hang".into() },
                "54420105 01020304 0174 0468616e67",
            ),
        ] {
            assert_eq!(hex(&request.encode()), golden.replace(' ', ""));
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        let look = Request::Look { nonce }.encode();
        assert_eq!((look.len(), hex(&look[..9])), (640, "544201040102030400".into()));
        assert_eq!(Request::decode(&look), Ok(Request::Look { nonce }));
        assert_eq!(
            Request::decode(&look[..639]),
            Err(NotAMessage::Foreign),
            "a look that does not pay its way"
        );
    }

    #[test]
    fn golden_replies() {
        let nonce = 0x0102_0304;
        for (reply, golden) in [
            (Reply::Welcome { nonce, boat: BoatId(1), token: 9 }, "54420181 01020304 01 00000009"),
            (Reply::Refused { nonce, reason: Reason::Full }, "54420183 01020304 01"),
            (Reply::Gone { boat: BoatId(2) }, "54420184 02"),
            (Reply::Obeyed { nonce }, "54420185 01020304"),
        ] {
            assert_eq!(hex(&reply.encode()), golden.replace(' ', ""));
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
        let mut world = World::new(0);
        world.step(&[(BoatId(1), Order::Join)]);
        let state = State { sequence: 5, hash: world.hash(), allocation: Some("ab".into()), world };
        let golden = "54420182 00000005 23d64820d2dc80fd 026162 00000001 f1bbcdcbfa53e0a8 \
                      0000e220 00006e78 000006c4 0000f88b 00001b39 000053cb 01 \
                      01 00002c82 0000c584 0000 0000 00 00 00000000";
        assert_eq!(hex(&Reply::State(state).encode()), golden.replace(' ', ""));
    }

    #[test]
    fn the_longest_state_fits() {
        let world = full_world();
        let allocation = Some("0".repeat(ALLOCATION_BYTES_MAX + 1));
        let state = State { sequence: 1, hash: world.hash(), allocation, world };
        let bytes = Reply::State(state.clone()).encode();
        assert!(bytes.len() <= MESSAGE_BYTES_MAX, "{}", bytes.len());
        let Reply::State(read) = Reply::decode(&bytes).unwrap() else { panic!("not a state") };
        assert_eq!(read.world, state.world);
        assert_eq!(read.allocation, Some("0".repeat(ALLOCATION_BYTES_MAX)));
    }

    #[test]
    fn other_versions_and_other_programs() {
        assert_eq!(Request::decode(b"TB\x02\x01"), Err(NotAMessage::Version { found: 2 }));
        for foreign in
            [&b""[..], b"TB", b"TB\x01", b"TB\x01\x77", b"XX\x01\x01", b"TB\x01\x03\x01\x00\x00\x00\x00\x00"]
        {
            assert_eq!(Request::decode(foreign), Err(NotAMessage::Foreign));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(kind: u8, rest in prop::collection::vec(any::<u8>(), 0..700)) {
            let bytes = [&[b'T', b'B', VERSION, kind][..], &rest].concat();
            if let Ok(reply) = Reply::decode(&bytes) {
                prop_assert_eq!(reply.encode(), bytes.clone());
            }
            if let Ok(request) = Request::decode(&bytes) {
                prop_assert_eq!(Request::decode(&request.encode()), Ok(request));
            }
        }
    }
}
