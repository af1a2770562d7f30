//! Layers of an image become a folder. What they say comes from strangers: every path is resolved by the kernel within the
//! folder (`openat2` with `RESOLVE_IN_ROOT`), so that no name, no link of an earlier layer and no mixture of both leads out.
//!
//! Owners, times, set-user-id bits and devices are not kept: the folder is read-only to every process, and belongs to root.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, linkat, mkdirat, openat, openat2, statat,
    symlinkat, unlinkat,
};
use rustix::io::Errno;

/// The most files, folders and links of all layers together: a whole distribution has some 100,000.
const ENTRIES_MAX: usize = 500_000;
/// The most bytes of all layers together, unpacked: a layer of some MB can be made to unpack to petabytes.
const BYTES_MAX: u64 = 64 << 30;
/// The deepest path.
const DEPTH_MAX: usize = 128;
/// A file that says that another, of a lower layer, is gone; and that all of a folder is.
const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// Unpacks layers, the lowest first.
pub(super) struct Unpacker {
    root: OwnedFd,
    entries: usize,
    bytes: u64,
}

/// What ends the unpacking.
fn refuse(why: impl Into<String>) -> io::Error {
    io::Error::other(why.into())
}

impl Unpacker {
    /// Into an empty folder.
    pub(super) fn into(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self { root: openat(CWD, root, flags, Mode::empty())?, entries: 0, bytes: 0 })
    }

    /// One layer, as tar has it.
    pub(super) fn layer(&mut self, tar: impl Read) -> io::Result<()> {
        let mut archive = tar::Archive::new(tar);
        // What this layer itself has put into an opaque folder stays, wherever the marker stands.
        let mut own = BTreeSet::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                return Err(refuse(format!("it has more than {ENTRIES_MAX} files")));
            }
            let path = clean(Path::new(std::ffi::OsStr::from_bytes(&entry.path_bytes())))?;
            let Some(name) = path.file_name().map(std::ffi::OsStr::to_owned) else { continue };
            let parent = path.parent().unwrap_or(Path::new("")).to_owned();
            let said =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            if name.as_bytes() == OPAQUE {
                self.clear(&parent, &own).map_err(said)?;
                continue;
            }
            if let Some(gone) = name.as_bytes().strip_prefix(WHITEOUT) {
                let gone = Path::new(std::ffi::OsStr::from_bytes(gone));
                if gone.components().count() == 1
                    && matches!(gone.components().next(), Some(Component::Normal(_)))
                {
                    let folder = self.folder(&parent).map_err(said)?;
                    remove(&folder, gone.as_os_str(), DEPTH_MAX).map_err(said)?;
                }
                continue;
            }
            self.place(&mut entry, &parent, &name).map_err(said)?;
            own.insert(path);
        }
        Ok(())
    }

    fn place(
        &mut self,
        entry: &mut tar::Entry<'_, impl Read>,
        parent: &Path,
        name: &std::ffi::OsStr,
    ) -> io::Result<()> {
        use tar::EntryType;
        let folder = self.folder(parent)?;
        let mode = entry.header().mode().unwrap_or(0o644);
        match entry.header().entry_type() {
            EntryType::Directory => self.make(&folder, name),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                remove(&folder, name, DEPTH_MAX)?;
                // For everybody: the owner is not kept, so what it alone might do nobody could.
                let mode = if mode & 0o111 != 0 { 0o555 } else { 0o444 };
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file: File = openat(&folder, name, flags, Mode::from_raw_mode(mode))?.into();
                let left = BYTES_MAX.saturating_sub(self.bytes);
                let written = io::copy(&mut entry.take(left.saturating_add(1)), &mut file)?;
                self.bytes = self.bytes.saturating_add(written);
                if self.bytes > BYTES_MAX {
                    return Err(refuse(format!("it unpacks to more than {BYTES_MAX} bytes")));
                }
                rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
                Ok(())
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().ok_or_else(|| refuse("a link without a target"))?;
                remove(&folder, name, DEPTH_MAX)?;
                Ok(symlinkat(std::ffi::OsStr::from_bytes(&target), &folder, name)?)
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().ok_or_else(|| refuse("a link without a target"))?;
                let target = clean(Path::new(std::ffi::OsStr::from_bytes(&target)))?;
                let there = target.file_name().ok_or_else(|| refuse("a link to the root"))?;
                let from = self.folder(target.parent().unwrap_or(Path::new("")))?;
                let found = statat(&from, there, AtFlags::SYMLINK_NOFOLLOW)?;
                if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
                    return Err(refuse("a hard link to what is no file"));
                }
                remove(&folder, name, DEPTH_MAX)?;
                Ok(linkat(&from, there, &folder, name, AtFlags::empty())?)
            }
            // Processes get devices of their own, and make their own pipes.
            EntryType::Char | EntryType::Block | EntryType::Fifo => Ok(()),
            // Read by the library for the entries they belong to.
            EntryType::XGlobalHeader
            | EntryType::XHeader
            | EntryType::GNULongName
            | EntryType::GNULongLink => Ok(()),
            other => Err(refuse(format!("an entry of an unknown kind: {other:?}"))),
        }
    }

    /// A folder of the root, with every folder above it, as a process would find it whose root it is.
    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.open(path) {
            Err(Errno::NOENT) => {}
            opened => return Ok(opened?),
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refuse("the root is gone"));
        };
        let parent = self.folder(parent)?;
        self.make(&parent, name)?;
        Ok(self.open(path)?)
    }

    fn open(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
    }

    /// A folder, in the place of whatever else is there; a link to one stays.
    fn make(&self, parent: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o755);
        match mkdirat(parent, name, mode) {
            Err(Errno::EXIST) => {
                let found = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
                    remove(parent, name, DEPTH_MAX)?;
                    mkdirat(parent, name, mode)?;
                }
                Ok(())
            }
            made => Ok(made?),
        }
    }

    /// Everything of lower layers in a folder goes.
    fn clear(&self, path: &Path, own: &BTreeSet<PathBuf>) -> io::Result<()> {
        let folder = self.folder(path)?;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            let is_own =
                own.range(path.join(name)..).next().is_some_and(|own| own.starts_with(path.join(name)));
            if name != "." && name != ".." && !is_own {
                remove(&folder, name, DEPTH_MAX)?;
            }
        }
        Ok(())
    }
}

/// A path without `.`, `..` and a leading `/`.
fn clean(path: &Path) -> io::Result<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(refuse(format!("`{}` leaves the image", path.display())));
            }
        }
    }
    if clean.components().count() > DEPTH_MAX {
        return Err(refuse(format!("a path is deeper than {DEPTH_MAX} folders")));
    }
    Ok(clean)
}

/// Removes whatever has a name, with all below it, and follows no link.
fn remove(parent: impl AsFd, name: &std::ffi::OsStr, deeper: usize) -> io::Result<()> {
    match unlinkat(&parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) if deeper > 0 => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(&parent, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let below = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
        if below != "." && below != ".." {
            remove(&folder, below, deeper - 1)?;
        }
    }
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    enum Put<'a> {
        File(&'a str, &'a str),
        Folder(&'a str),
        Symlink(&'a str, &'a str),
        Link(&'a str, &'a str),
        Kind(&'a str, tar::EntryType),
    }

    fn layer(entries: &[Put<'_>]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for put in entries {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o4755);
            let raw = |header: &mut tar::Header, path: &str| {
                let name = &mut header.as_old_mut().name;
                name[..path.len()].copy_from_slice(path.as_bytes());
            };
            let (path, kind, target, bytes) = match *put {
                Put::File(path, text) => (path, tar::EntryType::Regular, "", text),
                Put::Folder(path) => (path, tar::EntryType::Directory, "", ""),
                Put::Symlink(path, target) => (path, tar::EntryType::Symlink, target, ""),
                Put::Link(path, target) => (path, tar::EntryType::Link, target, ""),
                Put::Kind(path, kind) => (path, kind, "", ""),
            };
            header.set_entry_type(kind);
            header.set_size(bytes.len() as u64);
            raw(&mut header, path);
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
            header.set_cksum();
            tar.append(&header, bytes.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    fn unpack(root: &Path, layers: &[&[Put<'_>]]) -> io::Result<()> {
        let mut unpacker = Unpacker::into(root)?;
        layers.iter().try_for_each(|entries| unpacker.layer(&*layer(entries)))
    }

    #[test]
    fn layers_lie_on_each_other_and_whiteouts_take_away() {
        let root = tempfile::tempdir().unwrap();
        let lower = [
            Put::File("bin/game", "one"),
            Put::File("etc/gone", "x"),
            Put::File("opaque/old", "x"),
            Put::File("tree/deep/file", "x"),
            Put::Symlink("lib", "usr/lib"),
            Put::Folder("usr/lib"),
        ];
        let upper = [
            Put::File("./bin/game", "two"),
            Put::File("etc/.wh.gone", ""),
            Put::File("opaque/new", "y"),
            Put::File("opaque/.wh..wh..opq", ""),
            Put::File(".wh.tree", ""),
            Put::File("lib/so", "library"),
            Put::Link("bin/same", "bin/game"),
        ];
        unpack(root.path(), &[&lower, &upper]).unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert_eq!(
            (read("bin/game"), read("bin/same"), read("opaque/new")),
            ("two".into(), "two".into(), "y".into())
        );
        assert_eq!(read("usr/lib/so"), "library", "through the link, as a process would find it");
        for gone in ["etc/gone", "opaque/old", "tree", "etc/.wh.gone", "opaque/.wh..wh..opq"] {
            assert!(fs::symlink_metadata(root.path().join(gone)).is_err(), "{gone}");
        }
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(root.path().join("bin/game")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o7777, 0o555, "no set-user-id");
    }

    /// What hostile layers try: none of it touches anything outside.
    #[test]
    fn nothing_leads_out() {
        let top = tempfile::tempdir().unwrap();
        let outside = top.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let out = outside.to_str().unwrap();
        let secret = format!("{out}/secret");
        let hostile: Vec<(Vec<Vec<Put<'_>>>, bool)> = vec![
            (vec![vec![Put::File("../outside/secret", "x")]], false),
            (vec![vec![Put::File("a/../../outside/secret", "x")]], false),
            (vec![vec![Put::File(&secret, "x")]], true),
            (vec![vec![Put::Symlink("away", out)], vec![Put::File("away/secret", "x")]], true),
            (vec![vec![Put::Symlink("away", "../outside")], vec![Put::File("away/secret", "x")]], true),
            (vec![vec![Put::Symlink("away", out)], vec![Put::File("away/.wh.secret", "")]], true),
            (vec![vec![Put::Symlink("away", out)], vec![Put::File("away/.wh..wh..opq", "")]], true),
            (vec![vec![Put::Symlink("f", &secret), Put::File("f", "x")]], true),
            (vec![vec![Put::Link("l", "../outside/secret")]], false),
            (vec![vec![Put::Symlink("away", out), Put::Link("l", "away/secret")]], false),
            (vec![vec![Put::File(".wh...", "")]], true),
            (vec![vec![Put::File(".wh.", "")]], true),
            (vec![vec![Put::Kind("tty", tar::EntryType::Char), Put::Kind("p", tar::EntryType::Fifo)]], true),
            (vec![vec![Put::Symlink("loop", "loop"), Put::File("loop/x", "x")]], false),
        ];
        for (n, (layers, taken)) in hostile.iter().enumerate() {
            let root = top.path().join(format!("root{n}"));
            fs::create_dir(&root).unwrap();
            let layers: Vec<&[Put<'_>]> = layers.iter().map(Vec::as_slice).collect();
            let done = unpack(&root, &layers);
            assert_eq!(done.is_ok(), *taken, "{n}: {done:?}");
            assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret", "{n}");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{n}");
            for kind in ["tty", "p"] {
                assert!(!root.join(kind).exists());
            }
        }
    }

    #[test]
    fn bytes_that_are_no_layer_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let whole = layer(&[Put::File("a", "some bytes"), Put::File("b", "more")]);
        for cut in (0..whole.len()).step_by(97) {
            let mut damaged = whole.clone();
            damaged[cut] ^= 0x55;
            let _done_or_refused = Unpacker::into(root.path()).unwrap().layer(&*damaged);
            let _done_or_refused = Unpacker::into(root.path()).unwrap().layer(&whole[..cut]);
        }
        assert!(Unpacker::into(root.path()).unwrap().layer(&[7_u8; 2048][..]).is_err());
    }
}
