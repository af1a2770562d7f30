//! What a holder does for its clients.

use std::io::{self, Write as _};

use rustix::process::Signal;

use super::Holder;
use crate::peers::{Heard, Peer, failed};
use crate::protocol::{FailureCode, Reply, Request, Stream, TAIL_BYTES_MAX, Target, VERSIONS, agree};
use crate::{output, process};

/// Standard input not yet taken by the game, in bytes: a console line or two thousand; beyond it the game is deaf.
const INPUT_BYTES_MAX: usize = 64 * 1024;

impl Holder {
    pub(super) fn serve(&mut self, index: usize) {
        let Some(peer) = self.peers.get_mut(index) else { return };
        let heard = if peer.flush() { peer.hear() } else { Heard::Gone };
        let keep = match heard {
            Heard::Gone => false,
            Heard::Requests(requests) => requests.into_iter().all(|request| self.answer(index, request)),
        };
        if !keep {
            self.peers.remove(index);
        }
    }

    /// Answers one line; false if the client is to be dropped.
    fn answer(&mut self, index: usize, request: Result<Request, String>) -> bool {
        let greeted = self.peers.get(index).is_some_and(Peer::is_greeted);
        let reply = match request {
            Err(why) => failed(None, FailureCode::UnknownRequest, why),
            Ok(Request::Hello { versions }) => return self.hello(index, &versions),
            Ok(_) if !greeted => failed(None, FailureCode::HelloFirst, "the first line must be hello"),
            Ok(Request::Status { id }) => Reply::Status { id, status: self.status() },
            Ok(Request::Signal { id, number, to }) => self.signal(id, number, to),
            Ok(Request::Input { id, line }) => self.input(id, &line),
            Ok(Request::Tail { id, stream, bytes }) => self.tail(id, stream, bytes),
        };
        self.peers.get_mut(index).is_some_and(|peer| peer.say(&reply))
    }

    fn hello(&mut self, index: usize, versions: &[u32]) -> bool {
        let status = self.status();
        let Some(peer) = self.peers.get_mut(index) else { return false };
        match agree(versions, VERSIONS) {
            Some(version) => {
                peer.greet();
                peer.say(&Reply::Welcome { version, status })
            }
            None => {
                peer.say(&Reply::Refused { versions: VERSIONS.to_vec() });
                false
            }
        }
    }

    fn signal(&mut self, id: u64, number: i32, to: Target) -> Reply {
        let Some(signal) = Signal::from_named_raw(number) else {
            return failed(Some(id), FailureCode::UnknownSignal, format!("no signal has number {number}"));
        };
        self.last_signal_asked = Some(number);
        let sent = match to {
            Target::Game => process::send(self.game.pid, signal),
            Target::Tree => process::descendants(self.prepared.holder.pid)
                .and_then(|tree| tree.into_iter().try_for_each(|pid| process::send(pid, signal))),
        };
        match sent {
            Ok(()) => Reply::Done { id },
            Err(error) => failed(Some(id), FailureCode::System, error.to_string()),
        }
    }

    fn input(&mut self, id: u64, line: &str) -> Reply {
        if self.stdin.is_none() {
            return failed(Some(id), FailureCode::InputClosed, "the game closed its standard input");
        }
        if self.input.len() + line.len() > INPUT_BYTES_MAX {
            let why = format!("{} bytes wait unread, at most {INPUT_BYTES_MAX} may", self.input.len());
            return failed(Some(id), FailureCode::InputClosed, why);
        }
        self.input.extend_from_slice(line.as_bytes());
        self.input.push(b'\n');
        self.feed();
        match self.stdin {
            Some(_) => Reply::Done { id },
            None => failed(Some(id), FailureCode::InputClosed, "the game closed its standard input"),
        }
    }

    pub(super) fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        while !self.input.is_empty() {
            match stdin.write(&self.input) {
                Ok(written) if written > 0 => drop(self.input.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => {
                    self.stdin = None;
                    self.input = Vec::new();
                    return;
                }
            }
        }
    }

    fn tail(&self, id: u64, stream: Stream, bytes: usize) -> Reply {
        match output::tail(&self.prepared.spec.output.dir, stream, bytes.min(TAIL_BYTES_MAX)) {
            Ok(text) => Reply::Tail { id, text: String::from_utf8_lossy(&text).into_owned() },
            Err(error) => failed(Some(id), FailureCode::System, error.to_string()),
        }
    }
}
