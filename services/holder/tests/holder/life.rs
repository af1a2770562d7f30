//! Real games under real holders: the exit of a game is never lost, whoever is killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use mainstay_holder::client::{self, Found};
use mainstay_holder::process;
use mainstay_holder::protocol::Request;
use mainstay_holder::record::Outcome;

use crate::common::{Slot, program, until};

#[test]
fn a_game_and_its_exit_code_survive_the_sigkill_of_whoever_started_it() {
    let slot = Slot::new();
    let spec = slot.shell("read line; echo \"heard $line\"; exit 42");
    let spec_file = slot.dir.path().join("wish.json");
    std::fs::write(&spec_file, serde_json::to_vec(&spec).unwrap()).unwrap();
    let mut starter = Command::new(program("starter"))
        .args([&program("holder"), &slot.run_dir(), &spec_file])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(starter.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let game: i32 = line.trim().parse().unwrap();
    starter.kill().unwrap();
    starter.wait().unwrap();

    let Found::Running(mut connection) = client::adopt(&slot.run_dir()).unwrap() else {
        panic!("not running")
    };
    assert_eq!(connection.status.game.pid, game);
    assert!(process::is_alive(connection.status.game));
    assert!(process::is_alive(connection.status.holder));
    assert_eq!((connection.status.generation, connection.status.run), (7, 1));
    assert_eq!(connection.status.boot_id, process::boot_id().unwrap());

    connection.send(|id| Request::Input { id, line: "hello".to_owned() }).unwrap();
    let told = connection.wait_exit(30_000).unwrap();
    assert_eq!(told.outcome, Outcome::Exited { code: 42 });
    assert_eq!(slot.exit(), told, "the file is the truth");
    assert_eq!(slot.stdout(), "heard hello\n");
    until("the holder is gone", || (!process::is_alive(connection.status.holder)).then_some(()));
}
