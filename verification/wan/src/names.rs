//! The names of a network's namespaces: they carry the process that made them, so that those of a killed one can be found.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Failure, ip};

const PREFIX: &str = "mswan-";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The names of one network; dropping them removes what has them.
#[derive(Debug)]
pub(crate) struct Names(String);

impl Names {
    /// Takes names that nobody has, and removes what killed processes left.
    pub(crate) fn claim() -> Result<Self, Failure> {
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::NotRoot);
        }
        for left in namespaces(PREFIX)? {
            let pid = left[PREFIX.len()..].split('-').next().and_then(|pid| pid.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                // Another network's start may have found it first.
                let _gone = ip(&format!("netns delete {left}"));
            }
        }
        Ok(Self(format!("{PREFIX}{}-{}-", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))))
    }

    /// The namespace of a host.
    pub(crate) fn host(&self, index: usize) -> String {
        format!("{}h{index}", self.0)
    }

    /// The namespace of a host's router.
    pub(crate) fn router(&self, index: usize) -> String {
        format!("{}r{index}", self.0)
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for name in namespaces(&self.0).unwrap_or_default() {
            if let Err(error) = ip(&format!("netns delete {name}")) {
                eprintln!("a namespace is left behind: {error}");
            }
        }
    }
}

fn namespaces(prefix: &str) -> Result<Vec<String>, Failure> {
    let all = ip("netns list")?;
    let names = all.lines().filter_map(|line| line.split(' ').next());
    Ok(names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect())
}
