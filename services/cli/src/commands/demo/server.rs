//! The server that a demo's match is played on, and the end of its process.

use std::fs;
use std::net::SocketAddr;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::play::text;
use crate::client::Client;
use crate::failure::{Exit, Failure};

/// Where a match is played.
pub struct Server {
    pub path: String,
    pub name: String,
    pub allocation: String,
    pub address: SocketAddr,
    pub pid: i64,
}

impl Server {
    pub fn of(client: &Client, formed: &Value) -> Result<Self, Failure> {
        let allocation = text(&formed["id"]).to_owned();
        let allocated = client.get(&format!("/v1/allocations/{allocation}"))?;
        let path = format!("/v1/servers/{}", allocated["serverId"]);
        let server = client.get(&path)?;
        let told = &formed["server"];
        let address = format!("{}:{}", text(&told["ipv4Address"]), told["ports"][0]["number"]);
        let address = address.parse().map_err(|error| {
            Failure::new(Exit::Failed, "MS-U041", format!("{address} is no address of a game server"))
                .why(error)
        })?;
        let pid = server["pid"].as_i64().unwrap_or_default();
        Ok(Self { path, name: text(&server["display"]).to_owned(), allocation, address, pid })
    }

    /// Kills its process, if that is a game of this host: the number alone may be another process's here.
    pub fn kill(&self) -> Result<(), Failure> {
        let failed = |why: String| {
            let what = format!("cannot kill process {} of server {}", self.pid, self.name);
            let fix = "run the demo as the user, and on the host, that mainstay up runs as";
            Failure::new(Exit::Denied, "MS-U041", what).why(why).fix(fix)
        };
        let pid = i32::try_from(self.pid).ok().filter(|pid| *pid > 1);
        let pid = pid.ok_or_else(|| failed("it has none".to_owned()))?;
        let words = fs::read(format!("/proc/{pid}/cmdline")).map_err(|error| failed(error.to_string()))?;
        if !plays(&words, self.address.port()) {
            return Err(failed(format!("process {pid} of this host is not the demo's game")));
        }
        kill(Pid::from_raw(pid), Signal::SIGKILL).map_err(|errno| failed(errno.to_string()))
    }
}

/// Whether a command line, its words ended by zeros, is that of the demo's game on this port.
fn plays(words: &[u8], port: u16) -> bool {
    let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
    let port = port.to_string();
    let has = |run: [&[u8]; 2]| words.windows(2).any(|pair| pair == run);
    has([b"demo", b"server"]) && has([b"--port", port.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demos_game_is_told_by_its_command_line_and_port() {
        let game = b"/builds/mainstay\0demo\0server\0--port\09000\0--query\0sqp\0";
        assert!(plays(game, 9000));
        assert!(!plays(game, 900));
        for other in [&b""[..], b"vim\0", b"mainstay\0up\0--demo\0", b"mainstay\0demo\0play\0--port\09000\0"]
        {
            assert!(!plays(other, 9000), "{other:?}");
        }
    }
}
