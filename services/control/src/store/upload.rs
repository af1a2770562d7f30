//! Bytes that come in, in one piece or several, and are believed once they are whole, hashed and synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use mainstay_core::BuildId;
use mainstay_journal::durable::{self, make_folder, sync_folder};
use md5::Md5;
use sha2::{Digest as _, Sha256};

use super::{Content, Entry, FILE_BYTES_MAX, FOLDER_MODE, Store, StoreError, checked, hex};

/// How much is read at once when a file is hashed.
const HASH_STEP: usize = 256 * 1024;
/// Objects are read and run by every slot's user, and written by nobody.
const OBJECT_MODE: u32 = 0o555;

/// Where a piece belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    /// Where it begins.
    pub(crate) from: u64,
    /// How long the whole is; `None` where the piece is the whole.
    pub(crate) total: Option<u64>,
}

/// How far an upload is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// So many bytes have come.
    Part(u64),
    /// All of them.
    Whole(Entry),
}

/// A piece that is being written. Dropping it keeps what has come.
#[derive(Debug)]
pub(crate) struct Upload {
    store: Store,
    build: BuildId,
    path: String,
    part: PathBuf,
    file: File,
    at: u64,
    total: Option<u64>,
}

impl Store {
    /// How many bytes of a file have come; the upload goes on from there.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn come(&self, build: BuildId, path: &str) -> Result<u64, StoreError> {
        match fs::metadata(self.part(build, checked(path)?)) {
            Ok(found) => Ok(found.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// How many bytes of a file have come since it had the content of this SHA-256, or none: all of them where it is whole by now.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn come_since(
        &self,
        build: BuildId,
        path: &str,
        had: Option<&str>,
    ) -> Result<u64, StoreError> {
        let (come, known) = (self.come(build, path)?, self.entry(build, path)?);
        let whole = known.and_then(|entry| entry.content).filter(|content| Some(&*content.sha256) != had);
        Ok(if come > 0 { come } else { whole.map_or(0, |content| content.size) })
    }

    /// Begins a piece. One from 0 begins the file anew.
    ///
    /// # Errors
    /// A file that was not named, one that is too large, a piece from elsewhere, another writer, and the disk.
    pub(crate) fn begin(&self, build: BuildId, path: &str, offset: Offset) -> Result<Upload, StoreError> {
        let path = checked(path)?.to_owned();
        self.entry(build, &path)?.ok_or_else(|| StoreError::Unknown(path.clone()))?;
        if offset.total.is_some_and(|total| total > FILE_BYTES_MAX) {
            return Err(StoreError::TooLarge);
        }
        let have = self.come(build, &path)?;
        if offset.from != 0 && offset.from != have {
            return Err(StoreError::Elsewhere { have, sent: offset.from });
        }
        self.room(offset.total.map_or(0, |total| total.saturating_sub(offset.from)))?;
        let part = self.part(build, &path);
        if !self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(part.clone()) {
            return Err(StoreError::Busy);
        }
        let opened = if offset.from == 0 { anew(&part) } else { going_on(&part) };
        match opened {
            Ok(file) => Ok(Upload {
                store: self.clone(),
                build,
                path,
                part,
                file,
                at: offset.from,
                total: offset.total,
            }),
            Err(error) => {
                self.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&part);
                Err(error.into())
            }
        }
    }
}

impl Upload {
    /// Some more bytes.
    ///
    /// # Errors
    /// More than the file may have, and the disk.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.at = self.at.saturating_add(bytes.len() as u64);
        if self.at > self.total.unwrap_or(FILE_BYTES_MAX) {
            return Err(StoreError::TooLarge);
        }
        Ok(self.file.write_all(bytes)?)
    }

    /// The piece has ended. Where the file is whole it is hashed, compared with what its sender said, and made the build's.
    ///
    /// # Errors
    /// Bytes that differ from what was said, which are dropped; and the disk.
    pub(crate) fn end(
        self,
        said_sha256: Option<&str>,
        said_md5: Option<&str>,
    ) -> Result<Progress, StoreError> {
        if self.total.is_some_and(|total| self.at < total) {
            self.file.sync_all()?;
            // And its name, which is new with the first piece.
            self.part.parent().map_or(Ok(()), sync_folder)?;
            return Ok(Progress::Part(self.at));
        }
        let content = content(&self.part)?;
        let differs =
            |said: Option<&str>, found: &str| said.is_some_and(|said| !said.eq_ignore_ascii_case(found));
        let wrong = if differs(said_sha256, &content.sha256) {
            Some(("SHA-256", content.sha256.clone()))
        } else if differs(said_md5, &content.md5) {
            Some(("MD5", content.md5.clone()))
        } else {
            None
        };
        if let Some((kind, found)) = wrong {
            fs::remove_file(&self.part)?;
            return Err(StoreError::Differs { kind, found });
        }
        // What has come stays an upload until the build says that it has the file: wherever the power goes, it is one or the other.
        self.store.keep_also(&self.part, &content.sha256)?;
        let entry = Entry { path: self.path.clone(), content: Some(content) };
        self.store.write(self.build, &entry)?;
        fs::remove_file(&self.part)?;
        self.part.parent().map_or(Ok(()), sync_folder)?;
        Ok(Progress::Whole(entry))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.store.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.part);
    }
}

impl Store {
    /// A file becomes the object of its hash; where there is one already, it is the same bytes.
    pub(super) fn keep(&self, file: &Path, sha256: &str) -> io::Result<()> {
        let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        self.place(file, sha256)
    }

    /// As [`Store::keep`], and the file stays where it is.
    fn keep_also(&self, file: &Path, sha256: &str) -> io::Result<()> {
        let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let link = self.link(file, &format!("kept-{sha256}"))?;
        self.place(&link, sha256)
    }

    fn place(&self, file: &Path, sha256: &str) -> io::Result<()> {
        let object = self.object(sha256);
        let folder = object.parent().unwrap_or(&self.root);
        make_folder(folder, FOLDER_MODE)?;
        let bytes = File::open(file)?;
        bytes.set_permissions(fs::Permissions::from_mode(OBJECT_MODE))?;
        bytes.sync_all()?;
        durable::rename(file, &object)?;
        self.mend(sha256)
    }
}

/// The file of an upload that begins anew. What came before may be an object by now, so its bytes are left alone.
fn anew(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::create_new(part)
}

/// The file of an upload that goes on: of its own, where what has come was made an object and a cut came before the build had it.
fn going_on(part: &Path) -> io::Result<File> {
    if fs::metadata(part)?.permissions().readonly() {
        let copy = part.with_extension("copy");
        let mut bytes = anew(&copy)?;
        io::copy(&mut File::open(part)?, &mut bytes)?;
        bytes.sync_all()?;
        durable::rename(&copy, part)?;
    }
    OpenOptions::new().append(true).open(part)
}

/// What a file is, by its bytes.
fn content(file: &Path) -> io::Result<Content> {
    let mut file = File::open(file)?;
    let (mut sha256, mut md5, mut size) = (Sha256::new(), Md5::new(), 0_u64);
    let mut buffer = vec![0; HASH_STEP];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        sha256.update(bytes);
        md5.update(bytes);
        size += bytes.len() as u64;
    }
    Ok(Content { size, sha256: hex(&sha256.finalize()), md5: hex(&md5.finalize()) })
}
