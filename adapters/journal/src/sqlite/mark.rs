//! `journal.mark`: the last commit anyone was told of.
//!
//! SQLite drops a damaged tail of its log in silence. The mark is how a start knows: it is written after each commit and
//! before any answer leaves, so a journal that ends before its mark has lost acknowledged turns.
//!
//! It is not synced with every commit. The kernel keeps it when the process is killed, so damage to the files is always
//! seen. After a power cut it may lag, by at most the log since the last checkpoint, where it is synced; those turns were
//! synced themselves, and only a cut *and* damage to the log's last pages would pass unseen. It is never ahead by itself,
//! and it is smaller than a disk sector, so it is not torn.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::heads::{JournalId, Meta};
use crate::durable::sync_folder;
use crate::error::OpenError;

const MAGIC: &[u8; 8] = b"MSMARK01";
/// Magic, journal id, commits, sum of the heads, and the checksum of all that.
const BYTES: usize = 8 + 16 + 8 + 4 + 4;

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) journal: JournalId,
    pub(super) commits: u64,
    pub(super) heads: u32,
}

impl From<&Meta> for Marked {
    fn from(meta: &Meta) -> Self {
        Self { journal: meta.journal, commits: meta.commits, heads: meta.heads }
    }
}

impl Marked {
    fn encode(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&self.journal);
        bytes[24..32].copy_from_slice(&self.commits.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.heads.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..36]);
        bytes[36..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let bytes: &[u8; BYTES] = bytes.try_into().map_err(|_| "has the wrong length")?;
        let (head, sum) = bytes.split_at(36);
        if crc32fast::hash(head).to_le_bytes() != sum {
            return Err("is damaged");
        }
        let mut marked = Self { journal: [0; 16], commits: 0, heads: 0 };
        let (mut commits, mut heads) = ([0; 8], [0; 4]);
        if &head[..8] != MAGIC {
            return Err("is no mark of this program");
        }
        marked.journal.copy_from_slice(&head[8..24]);
        commits.copy_from_slice(&head[24..32]);
        heads.copy_from_slice(&head[32..36]);
        marked.commits = u64::from_le_bytes(commits);
        marked.heads = u32::from_le_bytes(heads);
        Ok(marked)
    }
}

/// The open mark.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
}

impl Mark {
    pub(super) fn path(dir: &Path) -> PathBuf {
        dir.join("journal.mark")
    }

    /// Reads the mark; `None` where there is none.
    pub(super) fn read(dir: &Path) -> Result<Option<Marked>, OpenError> {
        let file = Self::path(dir);
        let io = |cause: io::Error| OpenError::Io { place: file.display().to_string(), cause: cause.into() };
        let mut bytes = Vec::new();
        match File::open(&file) {
            // One byte more than a mark has shows a longer file without reading it.
            Ok(open) => open.take(BYTES as u64 + 1).read_to_end(&mut bytes).map_err(io)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        Marked::decode(&bytes).map(Some).map_err(|what| OpenError::Mark { file, what })
    }

    /// Opens the mark for writing, makes it where there is none, and syncs its present value with its name.
    pub(super) fn open(dir: &Path, marked: Marked) -> io::Result<Self> {
        let file =
            File::options().create(true).truncate(false).write(true).read(true).open(Self::path(dir))?;
        let mark = Self { file };
        mark.set(marked)?;
        mark.sync()?;
        sync_folder(dir)?;
        Ok(mark)
    }

    /// Writes the value; it outlives the process from here.
    pub(super) fn set(&self, marked: Marked) -> io::Result<()> {
        self.file.write_all_at(&marked.encode(), 0)
    }

    /// Makes the value outlive a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_any_flipped_bit_is_seen() {
        let marked = Marked { journal: [7; 16], commits: 1 << 40, heads: 0xDEAD_BEEF };
        let bytes = marked.encode();
        assert_eq!(Marked::decode(&bytes), Ok(marked));
        for bit in 0..BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Marked::decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..BYTES {
            assert!(Marked::decode(&bytes[..length]).is_err(), "length {length}");
        }
    }
}
