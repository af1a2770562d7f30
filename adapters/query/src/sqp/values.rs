//! Typed values, and the rules and tables made of them, in SQP's answers.

use crate::limits::TEXT_BYTES_MAX;
use crate::malformed::Malformed;
use crate::reader::Reader;

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

impl Table {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
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

    pub(super) fn write(&self, out: &mut Vec<u8>) {
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

pub(super) fn read_rules(reader: &mut Reader<'_>) -> Result<Vec<Rule>, Malformed> {
    let mut rules = Vec::new();
    while reader.left() > 0 {
        let name = reader.text_counted("a rule's name")?;
        let kind = Kind::read(reader)?;
        rules.push(Rule { name, value: Value::read(kind, reader)? });
    }
    Ok(rules)
}

pub(super) fn write_rules(out: &mut Vec<u8>, rules: &[Rule]) {
    for rule in rules {
        write_text(out, &rule.name);
        out.push(rule.value.kind() as u8);
        rule.value.write(out);
    }
}

pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    let cut = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    out.push(u8::try_from(cut.len()).unwrap_or(u8::MAX));
    out.extend(cut.as_bytes());
}
