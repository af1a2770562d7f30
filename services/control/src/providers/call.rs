//! One call of a provider's program: a verb, facts in the environment and as JSON on its standard input, an answer as JSON on
//! its standard output, and an end in time.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::Program;

/// The longest answer read: a list of ten thousand machines, ten times over.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// How much of what the program says to people is kept for the log.
const TALK_BYTES_MAX: u64 = 4 * 1024;
/// How long the pipes of a program that has ended are read on: whoever holds them open was left behind by it, and is not
/// waited for.
const DREGS: Duration = Duration::from_millis(500);
/// The fact that is a secret.
pub(super) const JOIN_TOKEN: &str = "joinToken";
/// What stands in the place of a secret.
const BLOTTED: &str = "[join token]";
/// What of the control plane's own environment a program gets.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("the program {program} cannot be started (MS-S630)")]
    Start {
        program: String,
        #[source]
        cause: io::Error,
    },
    #[error("the program had not ended after {} s, and was killed with everything it started (MS-S631)", .0.as_secs_f32())]
    Late(Duration),
    #[error("the program ended with {status}: {talk} (MS-S632)")]
    Failed { status: ExitStatus, talk: String },
    #[error("the program's answer is over {ANSWER_BYTES_MAX} bytes (MS-S633)")]
    TooLong,
    #[error("the program's answer is not the JSON expected (MS-S633)")]
    Malformed(#[source] serde_json::Error),
    #[error("the program's pipes failed (MS-S630)")]
    Pipes(#[source] io::Error),
}

/// What a program is asked.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// `create`, `delete` or `list`.
    pub(super) verb: &'static str,
    /// What it is told, each also as `MAINSTAY_…` in its environment.
    pub(super) facts: Vec<(&'static str, Value)>,
    pub(super) program: &'a Program,
}

/// The answer to `list`.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    /// Machines by id, as `create` was given them.
    pub(super) machines: Vec<String>,
}

impl Call<'_> {
    /// Runs to the end, or until its time is over. What it said in the end is its answer.
    pub(super) async fn run(self) -> Result<Vec<u8>, CallError> {
        let within = self.program.call_timeout;
        let mut group = Group(self.start()?);
        let input = serde_json::to_vec(&Value::Object(
            self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ))
        .map_err(CallError::Malformed)?;
        let said = tokio::time::timeout(within, converse(&mut group.0, &input)).await;
        let (status, answer, talk) = said.map_err(|_elapsed| CallError::Late(within))??;
        if !status.success() {
            return Err(CallError::Failed { status, talk: last_words(&talk, &self.facts) });
        }
        Ok(answer)
    }

    fn start(&self) -> Result<Child, CallError> {
        let Program { command, arguments, env, .. } = self.program;
        let mut program = Command::new(command);
        program.args(arguments).arg(self.verb).env_clear();
        let inherited = INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        program.envs(inherited).envs(env.iter().map(|(name, value)| (name, value)));
        program.env("MAINSTAY_VERB", self.verb);
        for (name, value) in &self.facts {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Null => continue,
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
            };
            program.env(variable(name), text);
        }
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program.process_group(0).kill_on_drop(true);
        program.spawn().map_err(|cause| CallError::Start { program: command.display().to_string(), cause })
    }
}

/// `joinUrl` is `MAINSTAY_JOIN_URL`.
fn variable(fact: &str) -> String {
    let mut name = "MAINSTAY_".to_owned();
    for letter in fact.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

async fn converse(child: &mut Child, input: &[u8]) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), CallError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut answer, mut talk) = (Vec::new(), Vec::new());
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A program that reads nothing and ends well has all it needs from its environment.
            let _unread = stdin.write_all(input).await;
        }
        std::future::pending::<()>().await;
    };
    let hear = async {
        let read = tokio::join!(
            read(stdout, ANSWER_BYTES_MAX + 1, &mut answer),
            read(stderr, TALK_BYTES_MAX, &mut talk)
        );
        read.0.and(read.1)
    };
    let status = {
        let mut hear = std::pin::pin!(hear);
        let mut heard = None;
        let ended = async {
            let wait = child.wait();
            tokio::pin!(wait);
            loop {
                tokio::select! {
                    status = &mut wait => return status,
                    done = &mut hear, if heard.is_none() => heard = Some(done),
                }
            }
        };
        let status = tokio::select! {
            status = ended => status.map_err(CallError::Pipes)?,
            () = tell => unreachable!("telling goes on for ever"),
        };
        let heard = match heard {
            Some(heard) => heard,
            None => tokio::time::timeout(DREGS, &mut hear).await.unwrap_or(Ok(())),
        };
        heard.map_err(CallError::Pipes)?;
        status
    };
    if answer.len() as u64 > ANSWER_BYTES_MAX {
        return Err(CallError::TooLong);
    }
    Ok((status, answer, talk))
}

/// Reads up to a limit, and what is beyond it away, so that the writer does not stand still.
async fn read(pipe: Option<impl AsyncRead + Unpin>, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    (&mut pipe).take(most).read_to_end(into).await?;
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await.map(drop)
}

/// What it said to people, without the join token that it was given: programs echo their environment where they fail.
fn last_words(talk: &[u8], facts: &[(&str, Value)]) -> String {
    let text = String::from_utf8_lossy(talk);
    let secret = facts.iter().find(|(name, _)| *name == JOIN_TOKEN).and_then(|(_, token)| token.as_str());
    let secret = secret.and_then(|token| token.rsplit('.').next()).filter(|secret| !secret.is_empty());
    let text = secret.map_or_else(|| text.to_string(), |secret| text.replace(secret, BLOTTED));
    let text = blotted(text.trim());
    if text.is_empty() { "it said nothing on its standard error".to_owned() } else { text }
}

/// A text without whatever begins as a join token does: one that was cut, or that another call was given.
fn blotted(text: &str) -> String {
    let mut parts = text.split(mainstay_wire::join::JOIN_TOKEN_BEGINS);
    let mut blotted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        blotted.push_str(BLOTTED);
        let of_token = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        blotted.push_str(
            part.trim_start_matches(BLOTTED).trim_start_matches(of_token).trim_start_matches(BLOTTED),
        );
    }
    blotted
}

/// A program and everything it started, killed together where the program has not ended by itself. What one that has ended
/// left running is its own affair.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // One that has been waited for has no id any more.
        let group =
            self.0.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            // One that has just ended needs no signal.
            let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests;
