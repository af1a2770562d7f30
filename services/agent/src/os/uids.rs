//! One unprivileged user for each slot, where the agent is root.
//!
//! A data directory gets a block of [`SLOTS_MAX`] user ids; slot `index` has the id `first + index`. Blocks lie where
//! systemd's list of user ids (UIDS-GIDS, "unused") has nothing: from [`FIRST`] on; where a container maps only small
//! ids, in the gap from [`SMALL_FIRST`]. Two data directories on one machine must never share an id, for a slot is
//! emptied by its user's processes: the blocks are claimed in a directory that lives until the next boot (games do not
//! live longer), each file naming its owner; a block whose owner is gone is free again.
//!
//! Ids are not entered in `/etc/passwd`; one that is found there (or in another name service) is refused.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mainstay_holder::process;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::{Uid, User};
use serde::{Deserialize, Serialize};

use super::OsError;

/// First id of the first block.
pub const FIRST: u32 = 1_900_000_000;
/// Ids in a block: the most slots an agent can have.
pub const SLOTS_MAX: u32 = 4096;
/// Blocks from [`FIRST`] on: more data directories than one machine ever runs.
const BLOCKS: u32 = 1024;
/// First id of the one small block, for containers that map 65,536 ids (UIDS-GIDS: 60578 to 61183 are unused).
pub const SMALL_FIRST: u32 = 60_578;
/// Ids in the small block.
pub const SMALL_SLOTS_MAX: u32 = 606;
/// Where blocks are claimed; emptied by the boot.
pub const REGISTRY: &str = "/run/mainstay/uids";

/// A data directory's block of user ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UidBlock {
    first: u32,
    slots_max: u32,
}

/// The content of a claim: who has the block.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    data_dir: PathBuf,
    device: u64,
    inode: u64,
}

impl UidBlock {
    /// The block of this data directory: the one it has, or a free one.
    ///
    /// # Errors
    /// [`OsError::NoBlock`] when all are taken; the registry or the data directory cannot be read or written.
    pub fn claim(registry: &Path, data_dir: &Path) -> Result<Self, OsError> {
        let blocks = blocks(&mapped_ids(&read(Path::new("/proc/self/uid_map"))?));
        claim_one(registry, data_dir, &blocks)
    }

    /// The user of slot `index`.
    ///
    /// # Errors
    /// [`OsError::NoUser`] beyond the block, [`OsError::UserTaken`] if somebody has the id.
    pub fn of_slot(self, index: u32) -> Result<Uid, OsError> {
        if index >= self.slots_max {
            return Err(OsError::NoUser { index, slots_max: self.slots_max });
        }
        let uid = Uid::from_raw(self.first + index);
        match User::from_uid(uid) {
            Ok(None) => Ok(uid),
            Ok(Some(user)) => Err(OsError::UserTaken { uid, index, name: user.name }),
            // A name service that does not answer is no reason to keep games from starting.
            Err(_) => Ok(uid),
        }
    }
}

/// The users that may have a process: those that had one when the agent looked, and those it has started one for since.
///
/// The processes of all others need not be looked for before their first start. A thousand slots that start at once
/// would otherwise each read the whole of `/proc`.
#[derive(Debug)]
pub struct Inhabited(Mutex<BTreeSet<u32>>);

impl Inhabited {
    /// Looks at every process; after the block is claimed, for from then on nobody else starts any for its users.
    ///
    /// # Errors
    /// `/proc` is not readable.
    pub fn look() -> io::Result<Self> {
        process::users().map(|users| Self(Mutex::new(users)))
    }

    /// Whether a user may have a process already. It is about to be started one: from now on it may.
    pub fn enter(&self, uid: u32) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uid)
    }
}

/// The ranges of ids that exist in this user namespace: first and count of each line of `uid_map`.
fn mapped_ids(uid_map: &str) -> Vec<(u64, u64)> {
    let range = |line: &str| {
        let mut words = line.split_whitespace();
        let (first, _outside, count) = (words.next()?, words.next()?, words.next()?);
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    uid_map.lines().filter_map(range).collect()
}

/// The blocks that lie wholly in mapped ranges.
fn blocks(mapped: &[(u64, u64)]) -> Vec<UidBlock> {
    let large =
        (0..BLOCKS).map(|number| UidBlock { first: FIRST + number * SLOTS_MAX, slots_max: SLOTS_MAX });
    let small = UidBlock { first: SMALL_FIRST, slots_max: SMALL_SLOTS_MAX };
    let is_mapped = |block: &UidBlock| {
        let (first, end) = (u64::from(block.first), u64::from(block.first) + u64::from(block.slots_max));
        mapped.iter().any(|(start, count)| *start <= first && end <= start.saturating_add(*count))
    };
    large.filter(is_mapped).chain(Some(small).filter(is_mapped)).collect()
}

fn claim_one(registry: &Path, data_dir: &Path, blocks: &[UidBlock]) -> Result<UidBlock, OsError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |source| OsError::Files { what, path, source }
    };
    let mine = claim_of(data_dir).map_err(failed("look at", data_dir))?;
    DirBuilder::new().recursive(true).mode(0o700).create(registry).map_err(failed("make", registry))?;
    let _locked = lock(registry).map_err(failed("lock", registry))?;
    let mut free = None;
    for block in blocks {
        let path = registry.join(block.first.to_string());
        match owner(&path).map_err(failed("read", &path))? {
            Some(claim) if claim == mine => return Ok(*block),
            Some(claim) if is_alive(&claim) => {}
            Some(_) | None => free = free.or(Some((*block, path))),
        }
    }
    let count = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
    let (block, path) = free.ok_or(OsError::NoBlock { blocks: count })?;
    write(&path, &mine).map_err(failed("write", &path))?;
    Ok(block)
}

/// Held while claims are looked at; released when dropped.
fn lock(registry: &Path) -> io::Result<Flock<File>> {
    let path = registry.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno.into())
}

fn claim_of(data_dir: &Path) -> io::Result<Claim> {
    let data_dir = data_dir.canonicalize()?;
    let found = std::fs::metadata(&data_dir)?;
    Ok(Claim { device: found.dev(), inode: found.ino(), data_dir })
}

/// A claim whose directory is gone or another one is nobody's.
fn is_alive(claim: &Claim) -> bool {
    std::fs::metadata(&claim.data_dir)
        .is_ok_and(|found| found.dev() == claim.device && found.ino() == claim.inode)
}

/// Who has the block of this file; nobody if the file is missing or was cut off while being written.
fn owner(path: &Path) -> io::Result<Option<Claim>> {
    match std::fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, claim: &Claim) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(&serde_json::to_vec(claim)?)
}

fn read(path: &Path) -> Result<String, OsError> {
    let failed = |source| OsError::Files { what: "read", path: path.to_owned(), source };
    std::fs::read_to_string(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_the_namespace_maps() {
        let whole = mapped_ids("         0          0 4294967295\n");
        assert_eq!(whole, [(0, 4_294_967_295)]);
        let all = blocks(&whole);
        assert_eq!(all.len(), 1025);
        assert_eq!(all[1], UidBlock { first: FIRST + SLOTS_MAX, slots_max: SLOTS_MAX });
        let last = all[1023];
        assert!(last.first + last.slots_max < i32::MAX.cast_unsigned(), "some programs take ids for signed");
        let container = mapped_ids("0 100000 65536\n");
        let small = UidBlock { first: SMALL_FIRST, slots_max: SMALL_SLOTS_MAX };
        assert_eq!(blocks(&container), [small]);
        let rootless = mapped_ids("0 1000 1\n1 100000 60000\n");
        assert_eq!(blocks(&rootless), []);
        assert_eq!(mapped_ids("torn 1\n"), []);
    }

    #[test]
    fn a_data_directory_keeps_its_block_and_shares_it_with_nobody() {
        let registry = tempfile::tempdir().unwrap();
        let two: Vec<UidBlock> = blocks(&[(0, u64::from(FIRST + 2 * SLOTS_MAX))])[..2].to_vec();
        let (a, b, c) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let claim = |dir: &tempfile::TempDir| claim_one(registry.path(), dir.path(), &two);
        assert_eq!(claim(&a).unwrap(), two[0]);
        assert_eq!(claim(&b).unwrap(), two[1]);
        assert_eq!(claim(&a).unwrap(), two[0]);
        assert_eq!(claim(&c).unwrap_err().code(), "MS-S506");
        drop(a);
        assert_eq!(claim(&c).unwrap(), two[0], "the block of a removed directory is free");
        std::fs::write(registry.path().join(two[0].first.to_string()), "{\"data").unwrap();
        assert_eq!(claim(&b).unwrap(), two[1]);
        assert_eq!(claim(&c).unwrap(), two[0], "a claim cut off while being written is nobody's");
    }

    #[test]
    fn a_user_without_a_process_is_looked_for_from_its_first_start_on() {
        let inhabited = Inhabited::look().unwrap();
        let own = nix::unistd::getuid().as_raw();
        assert!(inhabited.enter(own), "this test is a process of its user");
        let nobodys = FIRST + BLOCKS * SLOTS_MAX;
        assert!(!inhabited.enter(nobodys));
        assert!(inhabited.enter(nobodys));
    }

    #[test]
    fn a_slot_beyond_the_block_or_of_somebody_else_has_no_user() {
        let root = UidBlock { first: 0, slots_max: 1 };
        assert_eq!(root.of_slot(0).unwrap_err().code(), "MS-S505");
        assert_eq!(root.of_slot(1).unwrap_err().code(), "MS-S504");
        let free = UidBlock { first: FIRST, slots_max: SLOTS_MAX };
        assert_eq!(free.of_slot(3).unwrap().as_raw(), FIRST + 3);
    }
}
