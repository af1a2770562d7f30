//! A stock SDK behind a pipe: a call a line, its outcome a line.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};

use super::results;
use crate::product::{LIMIT, lines_of};

/// One of the SDKs.
pub struct Sdk {
    /// Which.
    pub name: &'static str,
    child: Child,
    lines: mpsc::Receiver<String>,
    done: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Sdk {
    #[track_caller]
    pub fn start(name: &'static str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let lines = lines_of(child.stdout.take().unwrap());
        Self { name, child, lines, done: BTreeSet::new(), refused: BTreeSet::new() }
    }

    /// What a call comes to, whatever that is.
    #[track_caller]
    pub fn call(&mut self, who: &Value, call: &str, request: &Value) -> Value {
        let (module, call) = call.split_once('.').unwrap_or(("Multiplayer", call));
        let asked = json!({ "as": who, "module": module, "call": call, "request": request });
        writeln!(self.child.stdin.as_mut().unwrap(), "{asked}").unwrap();
        let line = self.lines.recv_timeout(LIMIT).unwrap_or_else(|e| panic!("{}: {call}: {e}", self.name));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{}: {error} in {line}", self.name))
    }

    /// What a call comes to, which is as the specification says.
    #[track_caller]
    pub fn ok(&mut self, who: &Value, call: &str, request: Value) -> Value {
        let outcome = self.call(who, call, &request);
        let data = &outcome["data"];
        assert!(!data.is_null(), "{}: {call} {request}: {outcome}", self.name);
        let call = call.rsplit('.').next().unwrap();
        if let Err(wrong) = results::judge(call, data) {
            panic!("{}: {call}: {wrong} in {data}", self.name);
        }
        self.done.insert(call.to_owned());
        data.clone()
    }

    /// How a call is refused, in the published form.
    #[track_caller]
    pub fn no(&mut self, who: &Value, call: &str, request: Value, (name, number): (&str, u32)) -> Value {
        let outcome = self.call(who, call, &request);
        let error = &outcome["error"];
        assert_eq!(
            (error["error"].as_str(), error["errorCode"].as_u64()),
            (Some(name), Some(number.into())),
            "{}: {call} {request}: {outcome}",
            self.name
        );
        if let Err(wrong) = results::judge_error(error) {
            panic!("{}: {call}: {wrong} in {error}", self.name);
        }
        self.refused.insert(call.rsplit('.').next().unwrap().to_owned());
        error.clone()
    }

    /// A call that may be made so often a minute, until it may not.
    #[track_caller]
    pub fn no_more(&mut self, who: &Value, call: &str, request: &Value, (name, number): (&str, u32)) {
        /// More often than any limit that is tried, also where a busy machine gives some back meanwhile.
        const TRIES_MAX: usize = 50;
        for _ in 0..TRIES_MAX {
            if self.call(who, call, request)["error"]["error"] == name {
                self.no(who, call, request.clone(), (name, number));
                return;
            }
        }
        panic!("{}: {call} is never refused with {name}", self.name);
    }

    /// Ends it. Every call of matching was made, done and refused.
    #[track_caller]
    pub fn end(mut self) {
        for (what, made) in [("done", &self.done), ("refused", &self.refused)] {
            let missing: Vec<&str> =
                results::MATCH_CALLS.into_iter().filter(|call| !made.contains(*call)).collect();
            assert!(missing.is_empty(), "{}: {missing:?} were never {what}", self.name);
        }
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        // Gone already where it ended in order.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
