//! SQP's packets: bytes to values and back.

use std::ops::BitOr;

use crate::limits::{DATAGRAM_BYTES_MAX, METRICS_MAX, TEXT_BYTES_MAX};
use crate::malformed::Malformed;
use crate::reader::Reader;
use crate::sqp::VERSION;

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

/// A value of a rule, or of a field of a player or team.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Type 0.
    U8(u8),
    /// Type 1.
    U16(u16),
    /// Type 2.
    U32(u32),
    /// Type 3.
    U64(u64),
    /// Type 4.
    Text(String),
    /// Type 5.
    F32(f32),
}

/// The type of a [`Value`], as the wire numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// An 8-bit number.
    U8 = 0,
    /// A 16-bit number.
    U16 = 1,
    /// A 32-bit number.
    U32 = 2,
    /// A 64-bit number.
    U64 = 3,
    /// A text.
    Text = 4,
    /// A floating-point number.
    F32 = 5,
}

impl Kind {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.u8("a value's type")? {
            0 => Ok(Self::U8),
            1 => Ok(Self::U16),
            2 => Ok(Self::U32),
            3 => Ok(Self::U64),
            4 => Ok(Self::Text),
            5 => Ok(Self::F32),
            other => Err(Malformed::Unknown { what: "a value's type", found: u32::from(other) }),
        }
    }
}

impl Value {
    /// The value's type.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::U8(_) => Kind::U8,
            Self::U16(_) => Kind::U16,
            Self::U32(_) => Kind::U32,
            Self::U64(_) => Kind::U64,
            Self::Text(_) => Kind::Text,
            Self::F32(_) => Kind::F32,
        }
    }

    fn read(kind: Kind, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let what = "a value";
        Ok(match kind {
            Kind::U8 => Self::U8(reader.u8(what)?),
            Kind::U16 => Self::U16(reader.u16_be(what)?),
            Kind::U32 => Self::U32(reader.u32_be(what)?),
            Kind::U64 => Self::U64(reader.u64_be(what)?),
            Kind::Text => Self::Text(reader.text_counted(what)?),
            Kind::F32 => Self::F32(reader.f32_be(what)?),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::U8(value) => out.push(*value),
            Self::U16(value) => out.extend(value.to_be_bytes()),
            Self::U32(value) => out.extend(value.to_be_bytes()),
            Self::U64(value) => out.extend(value.to_be_bytes()),
            Self::Text(value) => write_text(out, value),
            Self::F32(value) => out.extend(value.to_be_bytes()),
        }
    }
}

/// One setting of the rules chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// The players or the teams: named, typed columns and rows of values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Each column's name and type; empty where there are no rows.
    pub columns: Vec<(String, Kind)>,
    /// The rows, each with a value for every column.
    pub rows: Vec<Vec<Value>>,
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
            write_chunk(&mut payload, |out| {
                for rule in rules {
                    write_text(out, &rule.name);
                    out.push(rule.value.kind() as u8);
                    rule.value.write(out);
                }
            });
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

impl Table {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let rows = usize::from(reader.u16_be("the row count")?);
        if rows == 0 {
            return Ok(Self::default());
        }
        let count = usize::from(reader.u8("the column count")?);
        if count == 0 {
            // Rows of nothing would take no bytes, and so could not be bounded by the datagram.
            return Err(Malformed::TooMany { what: "rows without columns", found: rows, max: 0 });
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push((reader.text_counted("a column's name")?, Kind::read(reader)?));
        }
        let mut table = Self { columns, rows: Vec::new() };
        for _ in 0..rows {
            let row = table.columns.iter().map(|(_, kind)| Value::read(*kind, reader));
            table.rows.push(row.collect::<Result<_, _>>()?);
        }
        Ok(table)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let rows = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        out.extend(rows.to_be_bytes());
        let columns = u8::try_from(self.columns.len()).unwrap_or(u8::MAX);
        out.push(columns);
        for (name, kind) in self.columns.iter().take(usize::from(columns)) {
            write_text(out, name);
            out.push(*kind as u8);
        }
        for value in self.rows.iter().take(usize::from(rows)).flatten() {
            value.write(out);
        }
    }
}

fn read_rules(reader: &mut Reader<'_>) -> Result<Vec<Rule>, Malformed> {
    let mut rules = Vec::new();
    while reader.left() > 0 {
        let name = reader.text_counted("a rule's name")?;
        let kind = Kind::read(reader)?;
        rules.push(Rule { name, value: Value::read(kind, reader)? });
    }
    Ok(rules)
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

fn write_text(out: &mut Vec<u8>, text: &str) {
    let cut = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    out.push(u8::try_from(cut.len()).unwrap_or(u8::MAX));
    out.extend(cut.as_bytes());
}

fn write_chunk(payload: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut chunk = Vec::new();
    write(&mut chunk);
    payload.extend(u32::try_from(chunk.len()).unwrap_or(u32::MAX).to_be_bytes());
    payload.extend(chunk);
}
