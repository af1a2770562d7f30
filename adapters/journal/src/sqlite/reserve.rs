//! `journal.reserve`: room on the disk that is the journal's when there is none left.
//!
//! The file is given back to the filesystem in small pieces as commits meet a full disk, so that another program that
//! fills the disk takes little of it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::port::Space;

/// How much is kept. Meeting a full disk, the log is copied and written over, so the disk need only hold what the
/// database grows by; and where readers prevent that, a commit of one small turn takes about 20 KiB. So this is thousands
/// of commits, at the very least 500, and it holds the turns that are decided but unsynced ([`crate::Limits`]) several
/// times over.
pub(super) const RESERVE_BYTES: u64 = 16 * 1024 * 1024;
/// How much is given back at a time, besides the size of the batch: the pages of a commit, and little for others to take.
const PIECE_BYTES: u64 = 64 * 1024;
/// How much more than the missing part must be free before the reserve is made whole: so it does not flap.
const HEADROOM_BYTES: u64 = 4 * 1024 * 1024;

/// The open reserve.
#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    left: u64,
}

impl Reserve {
    /// Opens the reserve and makes it whole where the disk has room.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join("journal.reserve");
        let file = File::options().create(true).truncate(false).write(true).read(true).open(path)?;
        let mut reserve = Self { file, left: 0 };
        reserve.measure()?;
        let _space = reserve.refill()?;
        Ok(reserve)
    }

    pub(super) const fn space(&self) -> Space {
        if self.left >= RESERVE_BYTES { Space::Ample } else { Space::Reserve { left_bytes: self.left } }
    }

    /// Gives back to the disk what a commit of `bytes` of turns needs; `false` where nothing is left.
    pub(super) fn give_back(&mut self, bytes: u64) -> io::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        let left = self.left.saturating_sub(PIECE_BYTES + bytes + bytes / 4);
        self.file.set_len(left)?;
        self.left = left;
        Ok(true)
    }

    /// Makes the reserve whole where the disk has room for it and some more.
    pub(super) fn refill(&mut self) -> io::Result<Space> {
        let missing = RESERVE_BYTES.saturating_sub(self.left);
        if missing == 0 {
            return Ok(Space::Ample);
        }
        let disk = rustix::fs::fstatvfs(&self.file)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < missing + HEADROOM_BYTES {
            return Ok(self.space());
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
            Ok(()) => self.file.sync_all()?,
            // Someone else was quicker: what is there is what is left.
            Err(Errno::NOSPC | Errno::DQUOT) => {}
            Err(Errno::OPNOTSUPP) => self.fill_with_zeros()?,
            Err(error) => return Err(error.into()),
        }
        self.measure()?;
        Ok(self.space())
    }

    /// For filesystems that cannot reserve: written blocks are the next best.
    fn fill_with_zeros(&self) -> io::Result<()> {
        let piece = vec![0_u8; 64 * 1024];
        let mut at = 0;
        while at < RESERVE_BYTES {
            match self.file.write_at(&piece, at) {
                Ok(0) => break,
                Ok(written) => at += written as u64,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
                {
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.file.sync_all()
    }

    /// What the disk really holds for the file: a length alone may be a hole.
    fn measure(&mut self) -> io::Result<()> {
        let found = self.file.metadata()?;
        self.left = found.len().min(found.blocks() * 512).min(RESERVE_BYTES);
        Ok(())
    }
}
