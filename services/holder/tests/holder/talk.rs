//! The protocol with real holders: agents of other versions, nonsense, signals, input, output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use mainstay_holder::client::{self, ClientError, Connection, Found};
use mainstay_holder::process;
use mainstay_holder::protocol::{FailureCode, REQUEST_BYTES_MAX, Reply, Request, Stream, Target};
use mainstay_holder::record::Outcome;
use nix::libc;

use crate::common::{Slot, until};

#[test]
fn agents_of_other_versions_adopt_running_holders() {
    let slot = Slot::new();
    let status = slot.start(&slot.shell("exec sleep 1000"));
    for versions in [&[1][..], &[1, 2], &[7, 1, 2]] {
        let connection = client::connect_with(&slot.run_dir(), versions).unwrap();
        assert_eq!((connection.version, &connection.status), (1, &status), "{versions:?}");
    }
    for versions in [&[][..], &[2], &[2, 3]] {
        let refused = client::connect_with(&slot.run_dir(), versions);
        assert!(
            matches!(&refused, Err(ClientError::NoCommonVersion { theirs }) if theirs == &[1]),
            "{refused:?}"
        );
    }
}

fn raw(slot: &Slot) -> (UnixStream, BufReader<UnixStream>) {
    let stream = slot.connect().into_stream().0;
    let reader = BufReader::new(stream.try_clone().unwrap());
    (stream, reader)
}

fn answer(reader: &mut BufReader<UnixStream>) -> Reply {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_later_agents_unknown_fields_and_requests_do_no_harm() {
    let slot = Slot::new();
    let status = slot.start(&slot.shell("exec sleep 1000"));
    let (mut stream, mut reader) = raw(&slot);
    stream.write_all(b"{\"type\":\"freeze\",\"id\":1}\n").unwrap();
    let reply = answer(&mut reader);
    assert!(matches!(reply, Reply::Failed { code: FailureCode::UnknownRequest, .. }), "{reply:?}");
    stream.write_all(b"{\"type\":\"status\",\"id\":2,\"verbose\":true}\n").unwrap();
    assert_eq!(answer(&mut reader), Reply::Status { id: 2, status });
}

#[test]
fn nonsense_ends_at_most_its_own_connection() {
    let slot = Slot::new();
    slot.start(&slot.shell("exec sleep 1000"));
    let (mut stream, mut reader) = raw(&slot);
    stream.write_all(b"\xff\xfe\n[]\n\n").unwrap();
    for _ in 0..3 {
        assert!(matches!(answer(&mut reader), Reply::Failed { code: FailureCode::UnknownRequest, .. }));
    }
    // The holder may close before all is written.
    let _ = stream.write_all(&vec![b'x'; 2 * REQUEST_BYTES_MAX]);
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.is_empty(), "closed without an answer");
    assert!(matches!(client::adopt(&slot.run_dir()).unwrap(), Found::Running(_)));
}

#[test]
fn nothing_is_done_for_a_client_that_did_not_say_hello() {
    let slot = Slot::new();
    slot.start(&slot.shell("exec sleep 1000"));
    let path = slot.run_dir().join("holder.sock");
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(b"{\"type\":\"signal\",\"id\":1,\"number\":9,\"to\":\"game\"}\n").unwrap();
    let reply = answer(&mut BufReader::new(stream));
    assert!(matches!(reply, Reply::Failed { code: FailureCode::HelloFirst, .. }), "{reply:?}");
    assert!(process::is_alive(slot.connect().status.game));
}

#[test]
fn more_clients_than_served_at_once_wait_their_turn() {
    let slot = Slot::new();
    slot.start(&slot.shell("exec sleep 1000"));
    let mut first: Vec<Connection> = (0..8).map(|_| slot.connect()).collect();
    let run_dir = slot.run_dir();
    let ninth = std::thread::spawn(move || client::connect(&run_dir).map(|connection| connection.version));
    assert!(matches!(first[0].ask(|id| Request::Status { id }).unwrap(), Reply::Status { .. }));
    first.pop();
    assert_eq!(ninth.join().unwrap().unwrap(), 1);
}

#[test]
fn signals_reach_the_game_alone_or_its_whole_tree() {
    let script = "trap 'echo game' USR1; \
        setsid sh -c 'trap \"echo child\" USR1; echo up; while :; do sleep 0.01; done' & \
        while :; do sleep 0.01; done";
    let slot = Slot::new();
    slot.start(&slot.shell(script));
    until("the child is up", || slot.stdout().contains("up").then_some(()));
    let mut connection = slot.connect();
    for (to, expected) in [(Target::Game, ["game", "up"]), (Target::Tree, ["child", "game"])] {
        let reply = connection.ask(|id| Request::Signal { id, number: libc::SIGUSR1, to }).unwrap();
        assert!(matches!(reply, Reply::Done { .. }), "{reply:?}");
        until("the signal is heard", || {
            expected.iter().all(|word| slot.stdout().contains(word)).then_some(())
        });
    }
    until("the game heard both", || (slot.stdout().matches("game").count() == 2).then_some(()));
    assert_eq!(slot.stdout().matches("child").count(), 1, "the child heard only the second");
}

#[test]
fn every_way_to_die_is_told_apart() {
    for signal in [libc::SIGTERM, libc::SIGSEGV, libc::SIGKILL] {
        let slot = Slot::new();
        slot.start(&slot.shell("exec sleep 1000"));
        let mut connection = slot.connect();
        let reply = connection.ask(|id| Request::Signal { id, number: signal, to: Target::Game }).unwrap();
        assert!(matches!(reply, Reply::Done { id: 1 }), "{reply:?}");
        let record = connection.wait_exit(30_000).unwrap();
        assert!(
            matches!(record.outcome, Outcome::Killed { signal: found, .. } if found == signal),
            "{record:?}"
        );
        assert_eq!(record.last_signal_asked, Some(signal));
        assert!(!record.out_of_memory());
    }
}

#[test]
fn a_signal_without_a_name_is_refused() {
    let slot = Slot::new();
    slot.start(&slot.shell("exec sleep 1000"));
    let mut connection = slot.connect();
    for number in [0, -9, 65, 1 << 20] {
        let reply = connection.ask(|id| Request::Signal { id, number, to: Target::Game }).unwrap();
        assert!(matches!(reply, Reply::Failed { code: FailureCode::UnknownSignal, .. }), "{reply:?}");
    }
    assert!(process::is_alive(connection.status.game));
}

#[test]
fn a_real_time_signals_death_is_kept_too() {
    let slot = Slot::new();
    slot.start(&slot.shell("kill -40 $$"));
    assert!(matches!(slot.exit().outcome, Outcome::Killed { signal: 40, .. }));
}

#[test]
fn input_to_a_deaf_game_is_refused_and_never_blocks_the_holder() {
    let slot = Slot::new();
    slot.start(&slot.shell("exec sleep 1000"));
    let mut connection = slot.connect();
    let line = "x".repeat(8000);
    let refused = (0..100)
        .map(|_| connection.ask(|id| Request::Input { id, line: line.clone() }).unwrap())
        .find(|reply| !matches!(reply, Reply::Done { .. }));
    assert!(matches!(refused, Some(Reply::Failed { code: FailureCode::InputClosed, .. })), "{refused:?}");

    let closed = Slot::new();
    closed.start(&closed.shell("exec 0<&-; echo closed; exec sleep 1000"));
    until("stdin is closed", || closed.stdout().contains("closed").then_some(()));
    let reply = closed.connect().ask(|id| Request::Input { id, line: "x".to_owned() }).unwrap();
    assert!(matches!(reply, Reply::Failed { code: FailureCode::InputClosed, .. }), "{reply:?}");
}

#[test]
fn the_newest_output_can_be_asked_for() {
    let slot = Slot::new();
    slot.start(&slot.shell("printf 'one\\ntwo\\n'; printf 'err\\377\\n' >&2; exec sleep 1000"));
    let mut connection = slot.connect();
    let cases = [
        (Stream::Stdout, 100, "one\ntwo\n"),
        (Stream::Stdout, 4, "two\n"),
        (Stream::Stderr, usize::MAX, "err\u{fffd}\n"),
    ];
    for (stream, bytes, expected) in cases {
        until("the output is there", || {
            let reply = connection.ask(|id| Request::Tail { id, stream, bytes }).unwrap();
            let Reply::Tail { text, .. } = reply else { panic!("{reply:?}") };
            (text == expected).then_some(())
        });
    }
}

#[test]
fn every_connected_client_is_told_the_exit() {
    let slot = Slot::new();
    slot.start(&slot.shell("read line; exit 6"));
    let mut clients: Vec<Connection> = (0..4).map(|_| slot.connect()).collect();
    clients[0].send(|id| Request::Input { id, line: String::new() }).unwrap();
    for client in &mut clients {
        assert_eq!(client.wait_exit(30_000).unwrap().outcome, Outcome::Exited { code: 6 });
    }
}
