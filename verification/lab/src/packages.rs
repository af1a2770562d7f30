//! A kernel and a tree of files from the packages that this host's own apt gives: its sources, its settings, its release.
//!
//! Kept under the folder that the caller names, by the hash of what went into it, so that it is made once.

#![expect(clippy::disallowed_methods, reason = "the base is made again where a power cut took it")]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use crate::failure::{LabError, files, run};

/// What the machine is made of, with all that these depend on: systemd as its first process, a shell, a library that
/// swallows syncs, and what runs containers.
const PACKAGES: [&str; 5] = ["systemd", "busybox-static", "libgcc-s1", "libeatmydata1", "runc"];
/// Names the newest kernel for virtual machines by what it depends on.
const KERNEL: &str = "linux-image-cloud-amd64";
/// Counted up whenever this module makes another tree of the same packages.
const RECIPE: &str = "2";
/// What no scenario reads: half of the tree.
const LEFT_OUT: [&str; 3] = ["./usr/share/doc", "./usr/share/man", "./usr/share/locale"];
/// Busybox's names that would stand in for systemd's.
const NOT_BUSYBOX: [&str; 5] = ["init", "linuxrc", "halt", "poweroff", "reboot"];
/// Units that set up what no scenario uses: half of a start.
const MASKED: [&str; 14] = [
    "systemd-sysusers.service",
    "systemd-tmpfiles-setup.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-update-utmp.service",
    "systemd-journal-flush.service",
    "systemd-random-seed.service",
    "systemd-modules-load.service",
    "systemd-sysctl.service",
    "systemd-remount-fs.service",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
];

/// A machine without anything of ours.
#[derive(Debug, Clone)]
pub struct Base {
    /// Its files.
    pub tree: PathBuf,
    /// Its kernel, which is not among them.
    pub kernel: PathBuf,
}

/// Finds the base in `lab`, or makes it, one process at a time.
///
/// # Errors
/// A program failed, or the disk is full.
pub fn base(lab: &Path) -> Result<Base, LabError> {
    fs::create_dir_all(lab).map_err(files("make", lab))?;
    let lock = lab.join("lock");
    let guard = File::create(&lock).map_err(files("make", &lock))?;
    guard.lock().map_err(files("lock", &lock))?;
    let dir = lab.join(key()?);
    let base = Base { tree: dir.join("tree"), kernel: dir.join("vmlinuz") };
    if !dir.exists() {
        let unfinished = lab.join("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(files("remove", &unfinished))?;
        }
        make(&unfinished)?;
        fs::rename(&unfinished, &dir).map_err(files("rename", &unfinished))?;
    }
    Ok(base)
}

/// Another release, another recipe: another base.
fn key() -> Result<String, LabError> {
    let release = Path::new("/etc/os-release");
    let release = fs::read_to_string(release).map_err(files("read", release))?;
    let hash = Sha256::digest([&[RECIPE, KERNEL, &release], PACKAGES.as_slice()].concat().join("\n"));
    Ok(hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn make(dir: &Path) -> Result<(), LabError> {
    let debs = dir.join("debs");
    let kernel = download(dir, &debs)?;
    let tree = dir.join("tree");
    // Debian's folders are one since release 12: /bin is /usr/bin.
    for name in ["bin", "sbin", "lib", "lib64"] {
        let real = tree.join("usr").join(name);
        fs::create_dir_all(&real).map_err(files("make", &real))?;
        let link = tree.join(name);
        symlink(format!("usr/{name}"), &link).map_err(files("make", &link))?;
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&debs).map_err(files("list", &debs))? {
        found.push(entry.map_err(files("list", &debs))?.path());
    }
    found.sort();
    for deb in found.iter().filter(|path| path.extension().is_some_and(|it| it == "deb")) {
        if deb.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&kernel)) {
            let boot = dir.join("boot");
            fs::create_dir_all(&boot).map_err(files("make", &boot))?;
            unpack(deb, &boot, &["./boot"])?;
            let image = boot.join("boot").join(kernel.replacen("linux-image", "vmlinuz", 1));
            fs::rename(&image, dir.join("vmlinuz")).map_err(files("move", &image))?;
            fs::remove_dir_all(&boot).map_err(files("remove", &boot))?;
        } else {
            unpack(deb, &tree, &[])?;
        }
    }
    fs::remove_dir_all(&debs).map_err(files("remove", &debs))?;
    fill(&tree)
}

/// Downloads everything into `debs`, as onto a machine that has nothing, and gives the kernel package's name.
fn download(dir: &Path, debs: &Path) -> Result<String, LabError> {
    let status = dir.join("status");
    for path in [debs.join("partial"), dir.join("lists/partial")] {
        fs::create_dir_all(&path).map_err(files("make", &path))?;
    }
    File::create(&status).map_err(files("make", &status))?;
    let apt = |program: &str| {
        let mut command = Command::new(program);
        for option in [
            format!("Dir::State::status={}", status.display()),
            format!("Dir::State::lists={}", dir.join("lists").display()),
            format!("Dir::Cache={}", dir.display()),
            format!("Dir::Cache::archives={}", debs.display()),
            "Debug::NoLocking=true".to_owned(),
            "APT::Install-Recommends=false".to_owned(),
            // Apt's own user cannot write here.
            format!("APT::Sandbox::User={}", std::env::var("USER").unwrap_or_else(|_| "root".to_owned())),
        ] {
            command.args(["-o", &option]);
        }
        command.env("LC_ALL", "C").current_dir(debs);
        command
    };
    run(apt("apt-get").args(["--quiet", "update"]))?;
    let depends = run(apt("apt-cache").args(["depends", KERNEL]))?;
    let kernel = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .ok_or_else(|| LabError::Missing(format!("apt knows no kernel behind {KERNEL}")))?
        .to_owned();
    run(apt("apt-get").args(["--quiet", "--yes", "--download-only", "install"]).args(PACKAGES))?;
    // Without what it depends on: there is no initramfs to make.
    run(apt("apt-get").args(["--quiet", "download", &kernel]))?;
    Ok(kernel)
}

/// Unpacks a package's files, links of the tree kept.
fn unpack(deb: &Path, into: &Path, only: &[&str]) -> Result<(), LabError> {
    let failed = |how: String| LabError::Program { program: "dpkg-deb".to_owned(), how };
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("does not run: {error}")))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--no-same-owner", "--keep-directory-symlink", "--directory"]).arg(into);
    tar.args(LEFT_OUT.map(|path| format!("--exclude={path}"))).args(only);
    if let Some(files) = archive.stdout.take() {
        tar.stdin(files);
    }
    let unpacked = tar.output().map_err(|error| failed(format!("has no tar: {error}")))?;
    let read = archive.wait().map_err(|error| failed(format!("was lost: {error}")))?;
    if unpacked.status.success() && read.success() {
        return Ok(());
    }
    Err(failed(format!("{}: {}", deb.display(), String::from_utf8_lossy(&unpacked.stderr))))
}

/// What the packages' scripts would have made: the least that systemd and a shell want.
fn fill(tree: &Path) -> Result<(), LabError> {
    for name in ["dev", "proc", "sys", "run", "tmp", "srv", "etc/systemd/system", "var/lib", "var/log"] {
        let path = tree.join(name);
        fs::create_dir_all(&path).map_err(files("make", &path))?;
    }
    let write = |name: &str, text: &str| {
        let path = tree.join(name);
        fs::write(&path, text).map_err(files("write", &path))
    };
    for unit in MASKED {
        let link = tree.join("etc/systemd/system").join(unit);
        symlink("/dev/null", &link).map_err(files("make", &link))?;
    }
    write("etc/passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n")?;
    write("etc/group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n")?;
    write("etc/hostname", "lab\n")?;
    write("etc/hosts", "127.0.0.1 localhost lab\n")?;
    // A machine that knows its id is not set up again at each boot.
    write("etc/machine-id", "6c61626f7261746f72796f666d61696e\n")?;
    let busybox = tree.join("usr/bin/busybox");
    for name in run(Command::new(&busybox).arg("--list"))?.lines() {
        let places = ["usr/bin", "usr/sbin"].map(|dir| tree.join(dir).join(name));
        if places.iter().any(|path| path.symlink_metadata().is_ok()) || NOT_BUSYBOX.contains(&name) {
            continue;
        }
        symlink("busybox", &places[0]).map_err(files("make", &places[0]))?;
    }
    Ok(())
}
