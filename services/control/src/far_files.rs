//! Servers' files, wherever their machine is: on this disk where they are here, and through their agent's stream else.
//!
//! Whoever reads them runs on a thread that may wait, so a file far away is read like one that is here, part by part.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mainstay_core::ServerId;
use mainstay_fleet::{Link, StreamId};
use mainstay_wire::agent::{LOOK_BYTES_MAX, LookFor, Seen};
use tokio::runtime::Handle;

use crate::config::{LogTail, OpenFile};
use crate::shards::Fleets;
use crate::slot_files::SlotFile;
use crate::streams::{Looking, Unseen};

/// The files of all servers.
pub(crate) struct FarFiles {
    here: Arc<dyn LogTail>,
    far: Far,
}

#[derive(Clone)]
struct Far {
    fleets: Fleets,
    looking: Looking,
    runtime: Handle,
}

/// Why it is not seen, where a machine is the reason.
pub(crate) fn unseen(error: &io::Error) -> Option<&Unseen> {
    error.get_ref()?.downcast_ref()
}

impl FarFiles {
    /// To be made within the runtime whose streams are asked.
    pub(crate) fn new(here: Arc<dyn LogTail>, fleets: Fleets, looking: Looking) -> Self {
        Self { here, far: Far { fleets, looking, runtime: Handle::current() } }
    }
}

impl LogTail for FarFiles {
    fn tail(&self, server: ServerId, lines: usize) -> io::Result<Option<String>> {
        if let Some(text) = self.here.tail(server, lines)? {
            return Ok(Some(text));
        }
        let lines = u32::try_from(lines).unwrap_or(u32::MAX);
        match self.far.ask(server, LookFor::Tail { lines })? {
            Some(Seen::Tail(text)) => Ok(Some(text)),
            Some(Seen::Nothing) | None => Ok(None),
            Some(Seen::Files(_) | Seen::Part { .. } | Seen::Failed { .. }) => Err(other()),
        }
    }

    fn files(&self, server: ServerId) -> io::Result<Option<Vec<SlotFile>>> {
        if let Some(files) = self.here.files(server)? {
            return Ok(Some(files));
        }
        let file = |file: mainstay_wire::agent::SeenFile| SlotFile {
            path: file.path,
            size: file.size,
            modified: SystemTime::UNIX_EPOCH
                .checked_add(Duration::from_secs(file.modified))
                .unwrap_or(SystemTime::UNIX_EPOCH),
        };
        match self.far.ask(server, LookFor::List)? {
            Some(Seen::Files(files)) => Ok(Some(files.into_iter().map(file).collect())),
            Some(Seen::Nothing) | None => Ok(None),
            Some(Seen::Tail(_) | Seen::Part { .. } | Seen::Failed { .. }) => Err(other()),
        }
    }

    fn open(&self, server: ServerId, path: &str) -> io::Result<Option<OpenFile>> {
        if let Some(file) = self.here.open(server, path)? {
            return Ok(Some(file));
        }
        if self.here.files(server)?.is_some() {
            // The server is on this machine, and has no such file.
            return Ok(None);
        }
        let mut file = FarFile {
            far: self.far.clone(),
            server,
            path: path.to_owned(),
            at: 0,
            length: 0,
            part: Vec::new(),
        };
        // Of no byte: it says whether the file is there, and how long it is.
        Ok(file.look(0)?.map(|_none| OpenFile { length: file.length, bytes: Box::new(file) }))
    }

    fn free(&self) -> io::Result<u64> {
        self.here.free()
    }
}

impl Far {
    /// Asks the machine of a server; `None` where there is no such server, or its machine has the control plane's own disk and
    /// no such file on it.
    fn ask(&self, server: ServerId, what: LookFor) -> io::Result<Option<Seen>> {
        let asked = async {
            let Some(fleet) = self.fleets.now().number(server.fleet()).cloned() else { return Ok(None) };
            let stream = fleet.read(move |state, _| {
                let machine = state.machine(state.server(server)?.machine)?;
                Some(match machine.link() {
                    Link::Up { stream, .. } => Some(stream),
                    Link::Silent => None,
                })
            });
            let stream: Option<Option<StreamId>> = stream.await.map_err(io::Error::other)?;
            let Some(stream) = stream else { return Ok(None) };
            let stream = stream.ok_or(Unseen::Unheard).map_err(io::Error::other)?;
            self.looking.ask(stream, server, what).await.map(Some).map_err(io::Error::other)
        };
        self.runtime.block_on(asked)
    }
}

fn other() -> io::Error {
    io::Error::other(Unseen::Failed("the machine answered something else".to_owned()))
}

/// A file on another machine.
struct FarFile {
    far: Far,
    server: ServerId,
    path: String,
    /// Where the next byte is read that is not in `part`.
    at: u64,
    length: u64,
    /// What has come and was not read yet, the next byte last.
    part: Vec<u8>,
}

impl FarFile {
    /// Asks for at most so many bytes; `None` where the file is gone.
    fn look(&mut self, bytes: u32) -> io::Result<Option<Vec<u8>>> {
        let what = LookFor::Read { path: self.path.clone(), from: self.at, bytes };
        match self.far.ask(self.server, what)? {
            Some(Seen::Part { data, length }) => {
                self.length = length;
                Ok(Some(data))
            }
            Some(Seen::Nothing) | None => Ok(None),
            Some(Seen::Tail(_) | Seen::Files(_) | Seen::Failed { .. }) => Err(other()),
        }
    }
}

impl Read for FarFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() {
            let mut data = self.look(LOOK_BYTES_MAX)?.unwrap_or_default();
            self.at += data.len() as u64;
            data.reverse();
            self.part = data;
        }
        let mut read = 0;
        for place in buffer {
            let Some(byte) = self.part.pop() else { break };
            *place = byte;
            read += 1;
        }
        Ok(read)
    }
}

impl Seek for FarFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let here = self.at.saturating_sub(self.part.len() as u64);
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => here.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.part.clear();
        Ok(self.at)
    }
}
