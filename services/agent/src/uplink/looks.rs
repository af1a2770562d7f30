//! What the control plane asks about a server's files, answered from this machine's disk.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use mainstay_core::ServerId;
use mainstay_holder::output::tail;
use mainstay_holder::protocol::Stream;
use mainstay_runtime::slot_files::{self, SlotFile};
use mainstay_wire::agent::{LOOK_FILES_MAX, Look, LookFor, Looked, Seen, SeenFile, Up, proto};
use tokio::sync::mpsc;

use crate::slot::Context;

/// The most read of each output for a tail, in bytes: some 10,000 lines.
const TAIL_BYTES_MAX: usize = 1024 * 1024;

/// Answers on a task of its own: a slow disk keeps no order from being obeyed. How many there are at once is limited by the
/// control plane, and by the threads that may wait for the disk.
pub(super) fn answer(context: &Arc<Context>, up: mpsc::Sender<proto::Up>, look: Look) {
    let context = Arc::clone(context);
    tokio::spawn(async move {
        let Look { id, server, what } = look;
        // Only of servers that are this agent's: a number alone opens no folder.
        let seen = if context.facts(server).is_none() {
            Seen::Nothing
        } else {
            let ground = Arc::clone(&context);
            context.blocking(move || look_at(&ground.ground.slot_dir(server), &what, server)).await
        };
        // A stream that is gone waits for no answer.
        let _gone = up.send(Up::Looked(Looked { id, seen }).into()).await;
    });
}

fn look_at(slot: &Path, what: &LookFor, server: ServerId) -> Seen {
    let seen = match what {
        LookFor::Tail { lines } => last_lines(slot, usize::try_from(*lines).unwrap_or(usize::MAX)),
        LookFor::List => slot_files::list(slot).map(|files| files.map(listed)),
        LookFor::Read { path, from, bytes } => part(slot, path, *from, *bytes),
    };
    match seen {
        Ok(Some(seen)) => seen,
        Ok(None) => Seen::Nothing,
        Err(error) => {
            tracing::warn!(%server, %error, "a server's files could not be read for the control plane");
            Seen::Failed { code: "MS-S438".to_owned(), detail: format!("on its machine: {error}") }
        }
    }
}

fn last_lines(slot: &Path, lines: usize) -> std::io::Result<Option<Seen>> {
    let folder = slot.join("output");
    if !folder.is_dir() {
        return Ok(None);
    }
    let part = |name: &str, stream| -> std::io::Result<String> {
        let bytes = tail(&folder, stream, TAIL_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = text.lines().collect();
        let last = all.get(all.len().saturating_sub(lines)..).unwrap_or_default();
        Ok(last.iter().map(|line| format!("{name} {line}\n")).collect())
    };
    let mut text = part("out", Stream::Stdout)? + &part("err", Stream::Stderr)?;
    // A file of nothing but line ends grows by what is written before each.
    let mut start = text.len().saturating_sub(mainstay_wire::agent::TAIL_BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    Ok(Some(Seen::Tail(text.split_off(start))))
}

fn listed(files: Vec<SlotFile>) -> Seen {
    let seconds =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let file =
        |file: SlotFile| SeenFile { path: file.path, size: file.size, modified: seconds(file.modified) };
    Seen::Files(files.into_iter().take(LOOK_FILES_MAX).map(file).collect())
}

fn part(slot: &Path, path: &str, from: u64, bytes: u32) -> std::io::Result<Option<Seen>> {
    let Some(mut file) = slot_files::open(slot, path)? else { return Ok(None) };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from))?;
    let mut data = Vec::new();
    file.take(bytes.into()).read_to_end(&mut data)?;
    Ok(Some(Seen::Part { data, length }))
}
