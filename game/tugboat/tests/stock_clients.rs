//! Other people's A2S clients read the game: PyPI's python-a2s and Debian's quakestat.
//!
//! `./check` installs both and says in `MAINSTAY_TEST_PYTHON` which interpreter has python-a2s; without it these tests
//! fail, because a test that did not run proves nothing.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "process/server.rs"]
#[expect(dead_code, reason = "shared with the tests of the process, which use more of it")]
mod server;

use std::env;
use std::process::Command;

use mainstay_tugboat::client::Client;
use mainstay_tugboat::world::Helm;
use server::{PATIENCE, Server};

const READ_WITH_PYTHON: &str = "
import sys, a2s
server = ('127.0.0.1', int(sys.argv[1]))
info = a2s.info(server)
print('info', info.server_name, info.map_name, info.game, info.player_count, info.max_players, sep='|')
print('players', *sorted(player.name for player in a2s.players(server)), sep='|')
print('rules', *sorted(a2s.rules(server)), sep='|')
";

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}: run ./check"));
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}:\n{said}{complained}", output.status);
    said.into_owned()
}

/// A server with two players aboard, who steer while `ask` asks it from outside.
fn with_two_players(ask: impl FnOnce(u16) -> String + Send) -> String {
    let mut server =
        Server::start(&["--port", "0", "--query", "a2s", "--name", "Tug of war", "--max-players", "6"]);
    let (game, query) = (server.game(), server.query());
    let mut players = ["ann", "bob"].map(|name| Client::join(game, name, PATIENCE).unwrap());
    for player in &mut players {
        player.steer_until_taken(Helm::default(), PATIENCE).unwrap();
    }
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(query.port()));
        while !asking.is_finished() {
            for player in &mut players {
                player.steer_until_taken(Helm::default(), PATIENCE).unwrap();
            }
        }
        asking.join().unwrap()
    })
}

#[test]
fn python_a2s_reads_info_players_and_rules() {
    let python = env::var_os("MAINSTAY_TEST_PYTHON")
        .expect("MAINSTAY_TEST_PYTHON names no Python with python-a2s: run ./check");
    let said = with_two_players(|port| {
        output(Command::new(python).args(["-c", READ_WITH_PYTHON, &port.to_string()]))
    });
    assert_eq!(said, "info|Tug of war|harbour|tugboat|2|6\nplayers|ann|bob\nrules|allocation|hash|tick\n");
}

#[test]
fn quakestat_reads_info_and_players() {
    let said = with_two_players(|port| {
        let server = format!("127.0.0.1:{port}");
        output(Command::new("quakestat").args(["-raw", "|", "-P", "-a2s", &server]))
    });
    let lines: Vec<&str> = said.lines().collect();
    let fields: Vec<&str> = lines[0].split('|').collect();
    assert_eq!(fields[0], "A2S", "{said}");
    assert_eq!(fields[2..6], ["Tug of war", "harbour", "6", "2"], "{said}");
    for name in ["ann", "bob"] {
        assert!(lines[1..].iter().any(|line| line.starts_with(name)), "{said}");
    }
}
