//! A2S packets: bytes to values and back.

use crate::limits::TEXT_BYTES_MAX;
use crate::malformed::Malformed;
use crate::reader::Reader;

pub(crate) const ONES: [u8; 4] = [0xff; 4];
/// The first four bytes of an answer over several datagrams.
pub(crate) const SPLIT: [u8; 4] = [0xfe, 0xff, 0xff, 0xff];
pub(crate) const CHALLENGE: u8 = 0x41;
pub(crate) const INFO: u8 = 0x49;
pub(crate) const PLAYERS: u8 = 0x44;
pub(crate) const RULES: u8 = 0x45;
const INFO_REQUEST: u8 = 0x54;
const PLAYERS_REQUEST: u8 = 0x55;
const RULES_REQUEST: u8 = 0x56;
const INFO_PHRASE: &[u8] = b"Source Engine Query\0";

/// What a prober sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// "What are you?", with the token of a challenge if there was one.
    Info {
        /// The token; `None` in the first question.
        token: Option<u32>,
    },
    /// "Who plays?"
    Players {
        /// The token; all ones to ask for one.
        token: u32,
    },
    /// "What are your settings?"
    Rules {
        /// The token; all ones to ask for one.
        token: u32,
    },
}

impl Request {
    /// The bytes on the wire.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut packet = ONES.to_vec();
        match self {
            Self::Info { token } => {
                packet.push(INFO_REQUEST);
                packet.extend(INFO_PHRASE);
                packet.extend(token.map(u32::to_le_bytes).into_iter().flatten());
            }
            Self::Players { token } => {
                packet.push(PLAYERS_REQUEST);
                packet.extend(token.to_le_bytes());
            }
            Self::Rules { token } => {
                packet.push(RULES_REQUEST);
                packet.extend(token.to_le_bytes());
            }
        }
        packet
    }

    /// Reads a request. The info request's phrase may be anything (Unity's Go SDK reads any text up to its zero), and a
    /// token of zero is none.
    ///
    /// # Errors
    /// Where it is none of the three.
    pub fn decode(packet: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        let ones = reader.bytes("the packet's head", ONES.len())?;
        if ones != ONES {
            return Err(Malformed::Unknown { what: "the packet's head", found: u32::from(ones[0]) });
        }
        match reader.u8("the packet's kind")? {
            INFO_REQUEST => {
                let token = reader.text_closed("the phrase").and_then(|_| reader.u32_le("the token"));
                Ok(Self::Info { token: token.ok().filter(|&token| token != 0) })
            }
            PLAYERS_REQUEST => Ok(Self::Players { token: reader.u32_le("the token")? }),
            RULES_REQUEST => Ok(Self::Rules { token: reader.u32_le("the token")? }),
            kind => Err(Malformed::Unknown { what: "the packet's kind", found: u32::from(kind) }),
        }
    }
}

/// What a server says of itself, as far as everyone sends it; the optional fields at the end are not read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Info {
    /// The server's name.
    pub name: String,
    /// The map.
    pub map: String,
    /// The game's folder.
    pub folder: String,
    /// The game.
    pub game: String,
    /// Steam's number for the game, its low 16 bits.
    pub app: u16,
    /// Players connected, bots too.
    pub players: u8,
    /// Players there is room for.
    pub max_players: u8,
    /// How many of the players are bots.
    pub bots: u8,
    /// The game's version.
    pub version: String,
}

const PROTOCOL: u8 = 1;
const DEDICATED: u8 = b'd';
const LINUX: u8 = b'l';

impl Info {
    /// Reads an info packet, from its four bytes of ones.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn decode(packet: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        reader.bytes("the packet's head", ONES.len())?;
        let kind = reader.u8("the packet's kind")?;
        if kind != INFO {
            return Err(Malformed::Unknown { what: "the packet's kind", found: u32::from(kind) });
        }
        reader.u8("the protocol")?;
        let mut info = Self {
            name: reader.text_closed("the server's name")?,
            map: reader.text_closed("the map")?,
            folder: reader.text_closed("the folder")?,
            game: reader.text_closed("the game")?,
            app: reader.u16_le("the app id")?,
            players: reader.u8("the player count")?,
            max_players: reader.u8("the player slots")?,
            bots: reader.u8("the bot count")?,
            version: String::new(),
        };
        reader.bytes("the server's kind, platform, lock and VAC", 4)?;
        info.version = reader.text_closed("the version")?;
        Ok(info)
    }

    /// The bytes on the wire: a dedicated server on Linux, open to all, without VAC. Texts are cut at 255 bytes and at a
    /// zero.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut packet = ONES.to_vec();
        packet.extend([INFO, PROTOCOL]);
        for text in [&self.name, &self.map, &self.folder, &self.game] {
            write_text(&mut packet, text);
        }
        packet.extend(self.app.to_le_bytes());
        packet.extend([self.players, self.max_players, self.bots, DEDICATED, LINUX, 0, 0]);
        write_text(&mut packet, &self.version);
        packet
    }
}

pub(crate) fn write_text(packet: &mut Vec<u8>, text: &str) {
    let end = text.find('\0').unwrap_or(text.len()).min(text.floor_char_boundary(TEXT_BYTES_MAX));
    packet.extend(&text.as_bytes()[..end]);
    packet.push(0);
}
