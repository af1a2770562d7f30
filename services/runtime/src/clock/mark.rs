//! `clock.mark`: what the clock told last, and in which boot, so that a start need not believe the wall clock.
//!
//! It is written in place every [`MARK_INTERVAL`], and never synced: the kernel keeps it when the process is killed, and writes
//! it to the disk within about half a minute. What a power cut takes of it is time that counts as not passed yet. It is
//! smaller than a sector, so it is not torn; a mark that is damaged is told and passed over.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainstay_core::{BootId, Timestamp};

use super::one::{Anchor, Past, Wall};

/// How often the mark is written. Within one boot its age costs nothing; after a reboot so much of the time before it may count
/// as not passed.
pub const MARK_INTERVAL: Duration = Duration::from_secs(10);

const MAGIC: &[u8; 8] = b"MSCLOCK1";
/// Magic, boot id, milliseconds since boot, told, and of the wall clock, whether NTP kept that, and the checksum of all that.
const BYTES: usize = 8 + 16 + 3 * 8 + 1 + 4;
const HEAD: usize = BYTES - 4;

/// Why the clock's mark cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// The machine does not say which boot this is.
    #[error("cannot read {BOOT_ID}")]
    Boot(#[source] io::Error),
    /// What the machine says is no boot id.
    #[error("{BOOT_ID} holds no boot id")]
    NoBoot,
    /// The system gives no thread to write the mark.
    #[error("the system gives no thread to keep the clock's mark")]
    Thread(#[source] io::Error),
    /// The mark cannot be read or written.
    #[error("cannot read or write {}", file.display())]
    File {
        /// The mark.
        file: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The open mark of a data directory.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    boot: BootId,
}

impl Mark {
    /// Opens the mark of a data directory, making it where there is none, with what it said.
    pub(super) fn open(dir: &Path) -> Result<(Self, Past), MarkError> {
        let boot = this_boot()?;
        let path = dir.join("clock.mark");
        let fault = |cause| MarkError::File { file: path.clone(), cause };
        let file =
            File::options().create(true).truncate(false).read(true).write(true).open(&path).map_err(fault)?;
        let mut bytes = Vec::new();
        // One byte more than a mark has shows a longer file without reading it.
        (&file).take(BYTES as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
        let past = match decode(&bytes) {
            Some((of, anchor)) if of == boot => Past::ThisBoot(anchor),
            Some((_, anchor)) => Past::EarlierBoot(anchor),
            None => {
                if !bytes.is_empty() {
                    tracing::warn!(file = %path.display(), "the clock's mark is damaged: the wall clock is believed");
                    file.set_len(0).map_err(fault)?;
                }
                Past::Unknown
            }
        };
        Ok((Self { file, boot }, past))
    }

    /// Writes what the clock told; it outlives the process from here.
    pub(super) fn set(&self, anchor: Anchor) -> io::Result<()> {
        self.file.write_all_at(&encode(self.boot, anchor), 0)
    }
}

fn this_boot() -> Result<BootId, MarkError> {
    fs::read_to_string(BOOT_ID).map_err(MarkError::Boot)?.trim().parse().map_err(|_| MarkError::NoBoot)
}

fn encode(boot: BootId, anchor: Anchor) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let boot_ms = u64::try_from(anchor.boot.as_millis()).unwrap_or(u64::MAX);
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..24].copy_from_slice(boot.0.as_bytes());
    bytes[24..32].copy_from_slice(&boot_ms.to_le_bytes());
    bytes[32..40].copy_from_slice(&anchor.told.unix_ms().to_le_bytes());
    let (wall, kept) = anchor.shown;
    let wall_ms = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    bytes[40..48].copy_from_slice(&wall_ms.to_le_bytes());
    bytes[48] = match kept {
        Wall::Alone => 0,
        Wall::Kept => 1,
    };
    let sum = crc32fast::hash(&bytes[..HEAD]);
    bytes[HEAD..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<(BootId, Anchor)> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let (head, sum) = bytes.split_at(HEAD);
    if crc32fast::hash(head).to_le_bytes() != sum || &head[..8] != MAGIC {
        return None;
    }
    let number = |range: std::ops::Range<usize>| Some(u64::from_le_bytes(head[range].try_into().ok()?));
    let boot = BootId(uuid::Uuid::from_bytes(head[8..24].try_into().ok()?));
    let told = Timestamp::from_unix_ms(number(32..40)?);
    let kept = match head[48] {
        0 => Wall::Alone,
        1 => Wall::Kept,
        _ => return None,
    };
    let shown = (Duration::from_millis(number(40..48)?), kept);
    Some((boot, Anchor { boot: Duration::from_millis(number(24..32)?), told, shown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANCHOR: Anchor = Anchor {
        boot: Duration::from_secs(70),
        told: Timestamp::from_unix_ms(1_700_000_000_123),
        shown: (Duration::from_secs(1_700_000_007), Wall::Kept),
    };

    #[test]
    fn a_mark_reads_back_and_any_flipped_bit_is_seen() {
        let bytes = encode(BootId(uuid::Uuid::from_u128(9)), ANCHOR);
        assert_eq!(decode(&bytes), Some((BootId(uuid::Uuid::from_u128(9)), ANCHOR)));
        for bit in 0..BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped), None, "bit {bit}");
        }
        for length in 0..BYTES {
            assert_eq!(decode(&bytes[..length]), None, "length {length}");
        }
    }

    #[test]
    fn a_start_is_told_which_boot_the_mark_is_of() {
        let dir = tempfile::tempdir().unwrap();
        let (mark, past) = Mark::open(dir.path()).unwrap();
        assert_eq!(past, Past::Unknown);
        mark.set(ANCHOR).unwrap();
        assert_eq!(Mark::open(dir.path()).unwrap().1, Past::ThisBoot(ANCHOR));
        let other = Mark { file: mark.file, boot: BootId(uuid::Uuid::from_u128(9)) };
        other.set(ANCHOR).unwrap();
        assert_eq!(Mark::open(dir.path()).unwrap().1, Past::EarlierBoot(ANCHOR));
        fs::write(dir.path().join("clock.mark"), b"MSCLOCK1 and more than a mark ever holds, by far")
            .unwrap();
        assert_eq!(Mark::open(dir.path()).unwrap().1, Past::Unknown);
        assert_eq!(Mark::open(dir.path()).unwrap().1, Past::Unknown);
    }
}
