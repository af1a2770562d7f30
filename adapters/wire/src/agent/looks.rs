//! What the plane asks about the files of one server, and what its machine finds. Bounded: a long file is read in parts, and
//! each question is one message and one answer.

use mainstay_core::ServerId;

use super::decode::{at_most, id, required, short};
use super::installs::of_stuck;
use super::{Malformed, proto};
use crate::builds::PATH_BYTES_MAX;

/// The version of looks that this program takes, said in the hello.
pub const LOOKS: u32 = 1;
/// The most bytes of a file in one answer.
pub const LOOK_BYTES_MAX: u32 = 256 << 10;
/// The most lines of each output in one answer.
pub const LOOK_LINES_MAX: u32 = 10_000;
/// The most files in one answer.
pub const LOOK_FILES_MAX: usize = 10_000;
/// The most bytes of a tail's text: what is read of each of two outputs, and some bytes a line that say which it is.
pub const TAIL_BYTES_MAX: usize = 4 << 20;

/// A question about a server's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The plane's number for it.
    pub id: u64,
    /// Whose files.
    pub server: ServerId,
    /// What is wanted.
    pub what: LookFor,
}

/// What is wanted of a server's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookFor {
    /// The last lines of its standard output and error.
    Tail {
        /// How many of each.
        lines: u32,
    },
    /// Which files there are.
    List,
    /// A part of one of them.
    Read {
        /// Its path within the slot, as the list says it.
        path: String,
        /// The first byte.
        from: u64,
        /// How many at most; more than [`LOOK_BYTES_MAX`] is never sent.
        bytes: u32,
    },
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The question's number.
    pub id: u64,
    /// What.
    pub seen: Seen,
}

/// What a machine finds at a server's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// There is no such server, or no such file.
    Nothing,
    /// The last lines.
    Tail(String),
    /// The files.
    Files(Vec<SeenFile>),
    /// A part of a file.
    Part {
        /// Its bytes; none at the file's end.
        data: Vec<u8>,
        /// How many the file has now.
        length: u64,
    },
    /// It could not be read.
    Failed {
        /// Why, as a code.
        code: String,
        /// Why.
        detail: String,
    },
}

/// A file of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Its path within the slot.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: u64,
}

impl From<Look> for proto::Look {
    fn from(look: Look) -> Self {
        use proto::look::What;
        let what = match look.what {
            LookFor::Tail { lines } => What::Tail(proto::TailLook { lines }),
            LookFor::List => What::List(proto::Nothing {}),
            LookFor::Read { path, from, bytes } => What::Read(proto::ReadLook { path, from, bytes }),
        };
        Self { id: look.id, server: look.server.number(), what: Some(what) }
    }
}

impl TryFrom<proto::Look> for Look {
    type Error = Malformed;

    fn try_from(look: proto::Look) -> Result<Self, Malformed> {
        use proto::look::What;
        let what = match required(look.what, "Look", "what")? {
            What::Tail(tail) => LookFor::Tail { lines: tail.lines.min(LOOK_LINES_MAX) },
            What::List(proto::Nothing {}) => LookFor::List,
            What::Read(read) => LookFor::Read {
                path: short(read.path, PATH_BYTES_MAX, "ReadLook", "path")?,
                from: read.from,
                bytes: read.bytes.min(LOOK_BYTES_MAX),
            },
        };
        Ok(Self { id: look.id, server: id(ServerId::from_number(look.server), "Look", "server")?, what })
    }
}

impl From<Looked> for proto::Looked {
    fn from(looked: Looked) -> Self {
        use proto::looked::Found;
        let file =
            |file: SeenFile| proto::SlotFile { path: file.path, size: file.size, modified: file.modified };
        let found = match looked.seen {
            Seen::Nothing => Found::Nothing(proto::Nothing {}),
            Seen::Tail(text) => Found::Tail(proto::Text { text }),
            Seen::Files(files) => {
                Found::Files(proto::SlotFiles { files: files.into_iter().map(file).collect() })
            }
            Seen::Part { data, length } => Found::Part(proto::FilePart { data, length }),
            Seen::Failed { code, detail } => Found::Failed(proto::Stuck { code, detail }),
        };
        Self { id: looked.id, found: Some(found) }
    }
}

impl TryFrom<proto::Looked> for Looked {
    type Error = Malformed;

    fn try_from(looked: proto::Looked) -> Result<Self, Malformed> {
        use proto::looked::Found;
        let seen = match required(looked.found, "Looked", "found")? {
            Found::Nothing(proto::Nothing {}) => Seen::Nothing,
            Found::Tail(tail) => Seen::Tail(short(tail.text, TAIL_BYTES_MAX, "Looked", "tail")?),
            Found::Files(files) => {
                let files = at_most(files.files, LOOK_FILES_MAX, "SlotFiles", "files")?;
                Seen::Files(files.into_iter().map(seen_file).collect::<Result<_, _>>()?)
            }
            Found::Part(part) => {
                let max = usize::try_from(LOOK_BYTES_MAX).unwrap_or(usize::MAX);
                let data = at_most(part.data, max, "FilePart", "data")?;
                Seen::Part { data, length: part.length }
            }
            Found::Failed(stuck) => {
                let (code, detail) = of_stuck(stuck)?;
                Seen::Failed { code, detail }
            }
        };
        Ok(Self { id: looked.id, seen })
    }
}

fn seen_file(file: proto::SlotFile) -> Result<SeenFile, Malformed> {
    let path = short(file.path, super::PATH_BYTES_MAX, "SlotFile", "path")?;
    Ok(SeenFile { path, size: file.size, modified: file.modified })
}
