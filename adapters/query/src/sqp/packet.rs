//! SQP's packets: bytes to values and back. What stands within the tables of an answer is in `values`.

use std::ops::BitOr;

use crate::limits::{DATAGRAM_BYTES_MAX, METRICS_MAX};
use crate::malformed::Malformed;
use crate::reader::Reader;
use crate::sqp::VERSION;
use crate::sqp::values::{Rule, Table, read_rules, write_rules, write_text};

pub(crate) const CHALLENGE: u8 = 0;
pub(crate) const QUERY: u8 = 1;
/// Kind, token, version, two packet numbers, payload length.
const HEADER_BYTES: usize = 1 + 4 + 2 + 1 + 1 + 2;

/// A set of chunks to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chunks(u8);

impl Chunks {
    /// Players, name, map: the only chunk that every server has.
    pub const SERVER_INFO: Self = Self(0x01);
    /// Settings, as names and values.
    pub const RULES: Self = Self(0x02);
    /// One row a player.
    pub const PLAYERS: Self = Self(0x04);
    /// One row a team.
    pub const TEAMS: Self = Self(0x08);
    /// Numbers whose meaning the game defines.
    pub const METRICS: Self = Self(0x10);

    /// From the bits on the wire; unknown ones are kept and mean nothing.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The bits on the wire.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether every chunk of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Chunks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a prober sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// "Give me a token."
    Challenge,
    /// "Tell me these chunks."
    Query {
        /// The token of the challenge.
        token: u32,
        /// The protocol's version, 1 or 2.
        version: u16,
        /// What is asked for.
        chunks: Chunks,
    },
}

impl Request {
    /// The bytes on the wire.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::Challenge => vec![CHALLENGE; 5],
            Self::Query { token, version, chunks } => {
                let mut packet = vec![QUERY];
                packet.extend(token.to_be_bytes());
                packet.extend(version.to_be_bytes());
                packet.push(chunks.bits());
                packet
            }
        }
    }

    /// Reads a request as Unity's Go SDK does: a challenge request may be cut short, and whatever follows is ignored.
    ///
    /// # Errors
    /// Where it is neither a challenge request nor a query, or a query is too short.
    pub fn decode(packet: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        match reader.u8("the packet's kind")? {
            CHALLENGE => match packet.iter().take(5).find(|&&byte| byte != 0) {
                None => Ok(Self::Challenge),
                Some(&byte) => {
                    Err(Malformed::Unknown { what: "the challenge request's token", found: u32::from(byte) })
                }
            },
            QUERY => Ok(Self::Query {
                token: reader.u32_be("the token")?,
                version: reader.u16_be("the version")?,
                chunks: Chunks(reader.u8("the chunks asked for")?),
            }),
            kind => Err(Malformed::Unknown { what: "the packet's kind", found: u32::from(kind) }),
        }
    }
}

/// The chunk that every server has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerInfo {
    /// Players connected.
    pub players: u16,
    /// Players there is room for.
    pub max_players: u16,
    /// The server's name.
    pub name: String,
    /// The game or its mode.
    pub game_type: String,
    /// The build's name.
    pub build: String,
    /// The map.
    pub map: String,
    /// The game port.
    pub port: u16,
}

/// What a server answers to a query; a chunk is `None` where it was not asked for or is not there.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswer {
    /// The token of the query.
    pub token: u32,
    /// The server info chunk.
    pub info: Option<ServerInfo>,
    /// The rules chunk.
    pub rules: Option<Vec<Rule>>,
    /// The players chunk.
    pub players: Option<Table>,
    /// The teams chunk.
    pub teams: Option<Table>,
    /// The metrics chunk.
    pub metrics: Option<Vec<f32>>,
}

impl QueryAnswer {
    /// An answer without any chunk.
    #[must_use]
    pub const fn empty(token: u32) -> Self {
        Self { token, info: None, rules: None, players: None, teams: None, metrics: None }
    }

    /// Reads an answer to a query for `asked`, chunk by chunk until the payload ends. Bytes after a chunk's known fields,
    /// and after the payload, are left alone: later versions may add some.
    ///
    /// # Errors
    /// Where the bytes are no such answer, or the answer is split over several datagrams.
    pub fn decode(packet: &[u8], asked: Chunks) -> Result<Self, Malformed> {
        if packet.len() > DATAGRAM_BYTES_MAX {
            return Err(Malformed::Oversize { bytes: packet.len(), max: DATAGRAM_BYTES_MAX });
        }
        let mut reader = Reader::new(packet);
        let kind = reader.u8("the packet's kind")?;
        if kind != QUERY {
            return Err(Malformed::Unknown { what: "the packet's kind", found: u32::from(kind) });
        }
        let mut answer = Self::empty(reader.u32_be("the token")?);
        let version = reader.u16_be("the version")?;
        if version != VERSION {
            return Err(Malformed::Unknown { what: "the version", found: u32::from(version) });
        }
        let number = reader.u8("the packet's number")?;
        if reader.u8("the last packet's number")? != 0 || number != 0 {
            return Err(Malformed::Split { number: u32::from(number) });
        }
        let length = usize::from(reader.u16_be("the payload's length")?);
        let mut payload = Reader::new(reader.bytes("the payload", length)?);
        for chunk in [Chunks::SERVER_INFO, Chunks::RULES, Chunks::PLAYERS, Chunks::TEAMS, Chunks::METRICS] {
            if asked.contains(chunk) && payload.left() > 0 {
                let length = payload.u32_be("a chunk's length")?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                answer.read_chunk(chunk, Reader::new(payload.bytes("a chunk", length)?))?;
            }
        }
        Ok(answer)
    }

    fn read_chunk(&mut self, chunk: Chunks, mut reader: Reader<'_>) -> Result<(), Malformed> {
        match chunk {
            Chunks::SERVER_INFO => self.info = Some(ServerInfo::read(&mut reader)?),
            Chunks::RULES => self.rules = Some(read_rules(&mut reader)?),
            Chunks::PLAYERS => self.players = Some(Table::read(&mut reader)?),
            Chunks::TEAMS => self.teams = Some(Table::read(&mut reader)?),
            Chunks::METRICS => self.metrics = Some(read_metrics(&mut reader)?),
            Chunks(_) => {}
        }
        Ok(())
    }

    /// The bytes on the wire. Texts are cut at 255 bytes, metrics and columns after 25 and 255 of them.
    ///
    /// # Errors
    /// [`Malformed::Oversize`] where they do not fit one datagram.
    pub fn encode(&self) -> Result<Vec<u8>, Malformed> {
        let mut payload = Vec::new();
        if let Some(info) = &self.info {
            write_chunk(&mut payload, |out| info.write(out));
        }
        if let Some(rules) = &self.rules {
            write_chunk(&mut payload, |out| write_rules(out, rules));
        }
        for table in [&self.players, &self.teams].into_iter().flatten() {
            write_chunk(&mut payload, |out| table.write(out));
        }
        if let Some(metrics) = &self.metrics {
            write_chunk(&mut payload, |out| write_metrics(out, metrics));
        }
        let bytes = HEADER_BYTES + payload.len();
        let length = u16::try_from(payload.len()).ok().filter(|_| bytes <= DATAGRAM_BYTES_MAX);
        let Some(length) = length else {
            return Err(Malformed::Oversize { bytes, max: DATAGRAM_BYTES_MAX });
        };
        let mut packet = vec![QUERY];
        packet.extend(self.token.to_be_bytes());
        packet.extend(VERSION.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(length.to_be_bytes());
        packet.extend(payload);
        Ok(packet)
    }
}

impl ServerInfo {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            players: reader.u16_be("the player count")?,
            max_players: reader.u16_be("the player slots")?,
            name: reader.text_counted("the server's name")?,
            game_type: reader.text_counted("the game type")?,
            build: reader.text_counted("the build's name")?,
            map: reader.text_counted("the map")?,
            port: reader.u16_be("the game port")?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.players.to_be_bytes());
        out.extend(self.max_players.to_be_bytes());
        for text in [&self.name, &self.game_type, &self.build, &self.map] {
            write_text(out, text);
        }
        out.extend(self.port.to_be_bytes());
    }
}

fn read_metrics(reader: &mut Reader<'_>) -> Result<Vec<f32>, Malformed> {
    let count = usize::from(reader.u8("the metric count")?);
    if count > METRICS_MAX {
        return Err(Malformed::TooMany { what: "metrics", found: count, max: METRICS_MAX });
    }
    (0..count).map(|_| reader.f32_be("a metric")).collect()
}

fn write_metrics(out: &mut Vec<u8>, metrics: &[f32]) {
    let count = u8::try_from(metrics.len().min(METRICS_MAX)).unwrap_or(u8::MAX);
    out.push(count);
    for metric in metrics.iter().take(usize::from(count)) {
        out.extend(metric.to_be_bytes());
    }
}

fn write_chunk(payload: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut chunk = Vec::new();
    write(&mut chunk);
    payload.extend(u32::try_from(chunk.len()).unwrap_or(u32::MAX).to_be_bytes());
    payload.extend(chunk);
}
