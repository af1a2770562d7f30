//! A container image on this machine: unpacked once, run by runc(8) for every server, read-only.
//!
//! ```text
//! installs/MANIFEST/
//!     rootfs/       what its processes see as their root
//!     config.json   what the image says of its processes
//!     tree          every file, with its hash, as it was unpacked
//! ```
//!
//! A server's process runs in a mount namespace whose root is the image. Network, processes and users are the machine's: the
//! ports are the slot's, its user is the slot's own, and its control group the slot's. runc makes the process and ends, and
//! the holder is its parent from then on, as of any other game: pid, exit code, signal and oom kill are the kernel's words.
//! The slot's own folders lie at fixed places below `/mainstay`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::MultiGzDecoder;
use mainstay_holder::spec::ContainerStart;
use mainstay_wire::builds::{ContentHash, ImageConfig, ImageManifest, LayerForm};
use serde_json::json;

use super::cache::{self, Cache, Object};
use super::failure::BuildError;
use super::unpack::Unpacker;

/// Where a server finds its own folders.
pub(crate) const HOME: &str = "/mainstay/home";
pub(crate) const LOGS: &str = "/mainstay/logs";
pub(crate) const WORK: &str = "/mainstay/work";
/// The runtime.
const RUNC: [&str; 3] = ["/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc"];
/// The container's id within the slot's own folder of states.
const ID: &str = "game";
/// What a path search finds where the image says nothing.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How large `/tmp` and `/dev/shm` of a server may grow, in bytes: they are memory, which its checks count.
const SCRATCH_BYTES: u64 = 64 << 20;

/// Whether this machine runs images; else why not.
pub(crate) fn can_run() -> Result<PathBuf, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("its agent does not run as root".to_owned());
    }
    let found = RUNC.iter().map(PathBuf::from).find(|path| path.is_file());
    found.ok_or_else(|| format!("there is no runc, looked for as {}", RUNC.join(", ")))
}

/// What the processes of an installed image see as their root.
pub(super) fn root(cache: &Cache, hash: ContentHash) -> PathBuf {
    cache.install(hash).join("rootfs")
}

/// Unpacks an image whose layers are here.
pub(super) fn install(
    cache: &Cache,
    hash: ContentHash,
    manifest: &ImageManifest,
) -> Result<ImageConfig, BuildError> {
    let unfinished = cache.making(hash);
    cache::remove(&unfinished)?;
    let root = unfinished.join("rootfs");
    cache::make(&unfinished, 0o755)?;
    cache::make(&root, 0o755)?;
    let mut unpacker = Unpacker::into(&root).map_err(BuildError::files("open", &root))?;
    for layer in &manifest.layers {
        let path = cache.object(Object::list(layer.hash));
        let file = File::open(&path).map_err(BuildError::files("read", path))?;
        let unpacked = match layer.form {
            LayerForm::Tar => unpacker.layer(file),
            LayerForm::Gzip => unpacker.layer(MultiGzDecoder::new(file)),
        };
        unpacked.map_err(|error| BuildError::Layer(error.to_string()))?;
    }
    // Mounted upon: in a root that is read-only nobody could make them.
    for place in ["proc", "dev", "tmp", "sys", "mainstay/home", "mainstay/logs", "mainstay/work"] {
        mount_point(&root, place).map_err(BuildError::files("make", root.join(place)))?;
    }
    let config = cache.object(Object::list(manifest.config.0));
    let config = fs::read(&config).map_err(BuildError::files("read", config))?;
    let read = ImageConfig::read(&config)?;
    let tree = tree(&root).map_err(BuildError::files("read", &root))?;
    for (name, bytes) in [("config.json", &config), ("tree", &tree)] {
        let path = unfinished.join(name);
        let written =
            File::create(&path).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        written.map_err(BuildError::files("write", path))?;
    }
    // Some ten thousand files: one sync of the file system, and not one for each.
    let folder = File::open(&unfinished).map_err(BuildError::files("open", &unfinished))?;
    rustix::fs::syncfs(&folder).map_err(|errno| BuildError::files("sync", &unfinished)(errno.into()))?;
    cache.finish(hash)?;
    Ok(read)
}

/// A folder to mount upon; a link of the image in its place is taken away.
fn mount_point(root: &Path, place: &str) -> io::Result<()> {
    let mut at = root.to_owned();
    for part in place.split('/') {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => fs::remove_file(&at)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir(&at)?;
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// What an installed image says, if it is here and every byte is as it was unpacked. What is not is deleted.
pub(super) fn check(cache: &Cache, hash: ContentHash) -> Result<Option<ImageConfig>, BuildError> {
    let install = cache.install(hash);
    if !install.is_dir() {
        return Ok(None);
    }
    let root = install.join("rootfs");
    let read =
        |name: &str| fs::read(install.join(name)).map_err(BuildError::files("read", install.join(name)));
    let right = read("tree")? == tree(&root).map_err(BuildError::files("read", &root))?;
    if right {
        return Ok(Some(ImageConfig::read(&read("config.json")?)?));
    }
    cache.forget(hash)?;
    Err(BuildError::Damaged { path: "rootfs".to_owned() })
}

/// Every file below a folder, one a line, in an order that depends on nothing else.
fn tree(root: &Path) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    walk(root, root, &mut lines)?;
    lines.sort();
    Ok(lines.join("\n").into_bytes())
}

fn walk(root: &Path, folder: &Path, lines: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path)?;
        let below = path.strip_prefix(root).unwrap_or(&path).to_owned();
        let mode = found.mode();
        let what = if found.is_dir() {
            walk(root, &path, lines)?;
            "folder".to_owned()
        } else if found.is_symlink() {
            format!("link {:?}", fs::read_link(&path)?)
        } else {
            let (hash, size) = cache::hash_of(File::open(&path)?)?;
            let hash = ContentHash::of(sha2::Digest::finalize(hash).into());
            format!("file {size} {hash}")
        };
        lines.push(format!("{below:?} {mode:o} {what}"));
    }
    Ok(())
}

/// One server's container.
pub(crate) struct Container<'a> {
    /// The image's root on this machine.
    pub(crate) root: &'a Path,
    pub(crate) image: &'a ImageConfig,
    /// The slot's folder of the holder, where the bundle goes.
    pub(crate) run_dir: &'a Path,
    pub(crate) home: &'a Path,
    pub(crate) logs: &'a Path,
    pub(crate) work: &'a Path,
    /// The user and group of the slot.
    pub(crate) uid: u32,
    /// The slot's control group, below the root of each hierarchy; none where there are none.
    pub(crate) group: Option<&'a str>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) core_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) processes: u64,
}

/// How runc is started for a server.
pub(crate) struct Started {
    pub(crate) executable: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) bundle: PathBuf,
    pub(crate) then: ContainerStart,
}

/// Clears away what runc keeps of a slot's container whose process has ended; nothing where there is none. A process that
/// still lives in it is killed.
pub(crate) fn clear(run_dir: &Path) -> io::Result<()> {
    let states = run_dir.join("runc");
    if !states.join(ID).exists() {
        return Ok(());
    }
    let executable = can_run().map_err(io::Error::other)?;
    let states = states.to_string_lossy().into_owned();
    let cleared = Command::new(&executable).args(["--root", &states, "delete", "--force", ID]).output()?;
    if cleared.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&cleared.stderr);
    Err(io::Error::other(format!("runc delete: {}", said.trim())))
}

impl Container<'_> {
    /// Writes the bundle. What an earlier container of the slot left has been cleared away: see [`clear`].
    pub(crate) fn prepare(&self) -> io::Result<Started> {
        let executable = can_run().map_err(io::Error::other)?;
        let (bundle, states) = (self.run_dir.join("bundle"), self.run_dir.join("runc"));
        fs::create_dir_all(&bundle)?;
        let config = serde_json::to_vec_pretty(&self.config())?;
        fs::write(bundle.join("config.json"), config)?;
        let states = states.to_string_lossy().into_owned();
        let pid_file = self.run_dir.join("container.pid");
        match fs::remove_file(&pid_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (bundle_text, pid_text) = (text(&bundle), text(&pid_file));
        let words = ["--root", &states, "create", "--bundle", &bundle_text, "--pid-file", &pid_text, ID];
        let start = ["--root", &states, "start", ID].map(str::to_owned).to_vec();
        let then = ContainerStart { pid_file, start };
        Ok(Started { executable, arguments: words.map(str::to_owned).to_vec(), bundle, then })
    }

    /// The OCI runtime's configuration.
    fn config(&self) -> serde_json::Value {
        let mut environment: BTreeMap<&str, &str> = BTreeMap::from([("PATH", PATH)]);
        environment
            .extend(self.image.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        environment.extend(self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let environment: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let limit = |kind: &str, most: u64| json!({ "type": kind, "soft": most, "hard": most });
        let tmpfs = |place: &str, mode: &str| {
            let options = ["nosuid", "nodev", &format!("mode={mode}"), &format!("size={SCRATCH_BYTES}")]
                .map(str::to_owned);
            json!({ "destination": place, "type": "tmpfs", "source": "tmpfs", "options": options })
        };
        let bind = |place: &str, from: &Path| {
            let options = ["bind", "rw", "nosuid", "nodev"];
            json!({ "destination": place, "type": "bind", "source": from, "options": options })
        };
        let none: [&str; 0] = [];
        let mut config = json!({
            "ociVersion": "1.0.2",
            "root": { "path": self.root, "readonly": true },
            "process": {
                "terminal": false,
                "user": { "uid": self.uid, "gid": self.uid },
                "args": self.arguments,
                "env": environment,
                "cwd": self.image.working_dir,
                "noNewPrivileges": true,
                "capabilities": {
                    "bounding": none, "effective": none, "inheritable": none, "permitted": none, "ambient": none,
                },
                "rlimits": [
                    limit("RLIMIT_CORE", self.core_bytes),
                    limit("RLIMIT_NOFILE", self.open_files),
                    limit("RLIMIT_NPROC", self.processes),
                ],
            },
            "mounts": [
                { "destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev", "hidepid=2"] },
                { "destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=64k"] },
                tmpfs("/dev/shm", "1777"),
                tmpfs("/tmp", "1777"),
                bind(HOME, self.home),
                bind(LOGS, self.logs),
                bind(WORK, self.work),
            ],
            // Network, processes and users are the machine's own: see the head of this module.
            "linux": {
                "namespaces": [{ "type": "mount" }, { "type": "ipc" }],
                "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"],
                "readonlyPaths": ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"],
            },
        });
        if let (Some(group), Some(linux)) = (self.group, config.get_mut("linux")) {
            // From the root of the hierarchies: else runc makes a group of its own, and under version 2 one beside the slot's.
            linux["cgroupsPath"] = json!(format!("/{group}"));
        }
        config
    }
}
