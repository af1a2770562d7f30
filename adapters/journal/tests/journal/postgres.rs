//! The PostgreSQL store against the contract, really: a server of its own on a private socket.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Instant;

use mainstay_journal::postgres::{PostgresJournal, PostgresReader};
use mainstay_journal::{
    AppendError, Epoch, Journal, LEASE, LeaseError, OpenError, Reader, Seq, ShardName, TurnRecord,
};
use tempfile::TempDir;

use crate::contract::{contract, takeover};
use crate::fixture::{Nodes, Store, Teller, read_all, shard};

/// Where Debian keeps each version's programs.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A server with a data directory of its own, stopped when this goes.
struct Server {
    bin: PathBuf,
    dir: TempDir,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let bin = newest_programs();
        let dir = tempfile::tempdir().unwrap();
        own(dir.path());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { bin, dir, port };
        server.run(
            "initdb",
            &["-A", "trust", "-U", "mainstay", "--no-locale", "-E", "UTF8", "--no-sync", "-D"],
            &[],
        );
        server.up();
        server
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn up(&self) {
        let options =
            format!("-p {} -k {} -c listen_addresses=127.0.0.1", self.port, self.dir.path().display());
        let log = self.dir.path().join("log").display().to_string();
        self.run("pg_ctl", &["-w", "-l", &log, "-o", &options, "-D"], &["start"]);
    }

    fn down(&self) {
        self.run("pg_ctl", &["-w", "-m", "immediate", "-D"], &["stop"]);
    }

    /// Runs one of the server's programs on its data directory, as a user that it accepts: it refuses root.
    fn run(&self, program: &str, before: &[&str], after: &[&str]) {
        let mut command = Command::new(self.bin.join(program));
        command.args(before).arg(self.data()).args(after).current_dir(self.dir.path());
        if rustix::process::geteuid().is_root() {
            let (uid, gid) = postgres_user();
            command.uid(uid).gid(gid);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn url(&self, port: u16, database: &str) -> String {
        format!("host=127.0.0.1 port={port} user=mainstay dbname={database}")
    }

    /// Runs one statement outside the journal.
    fn sql(&self, database: &str, sql: &str) -> String {
        let mut command = Command::new(self.bin.join("psql"));
        command.args(["-X", "-A", "-t", "-q", "-d", &self.url(self.port, database), "-c", sql]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// An empty database.
    fn database(&self, name: &str) -> Postgres<'_> {
        let _done = self.sql("postgres", &format!("CREATE DATABASE {name}"));
        Postgres { server: self, name: name.to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be down already; what counts is that it is not up.
        let mut command = Command::new(self.bin.join("pg_ctl"));
        command.args(["-m", "immediate", "-D"]).arg(self.data()).arg("stop");
        if rustix::process::geteuid().is_root() {
            let (uid, gid) = postgres_user();
            command.uid(uid).gid(gid);
        }
        let _status = command.output();
    }
}

fn newest_programs() -> PathBuf {
    let versions =
        std::fs::read_dir(VERSIONS).into_iter().flatten().map(|entry| entry.unwrap().path().join("bin"));
    let newest = versions.filter(|bin| bin.join("initdb").exists()).max();
    newest.unwrap_or_else(|| {
        panic!("no PostgreSQL server under {VERSIONS}: apt-get install postgresql (./check does)")
    })
}

/// The user that Debian's package made.
fn postgres_user() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let user = users.lines().find_map(|line| line.strip_prefix("postgres:")).expect("a user named postgres");
    let mut fields = user.split(':').skip(1).map(|field| field.parse().unwrap());
    (fields.next().unwrap(), fields.next().unwrap())
}

fn own(dir: &Path) {
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = postgres_user();
        std::os::unix::fs::chown(dir, Some(uid), Some(gid)).unwrap();
    }
}

/// One database of a server.
struct Postgres<'a> {
    server: &'a Server,
    name: String,
}

impl Postgres<'_> {
    fn url(&self) -> String {
        self.server.url(self.server.port, &self.name)
    }
}

impl Store for Postgres<'_> {
    type Journal = PostgresJournal;
    type Reader = PostgresReader;

    fn open(&mut self) -> PostgresJournal {
        self.open_as("node")
    }

    fn reader(&mut self, journal: &PostgresJournal) -> PostgresReader {
        journal.reader().unwrap()
    }
}

impl Nodes for Postgres<'_> {
    fn open_as(&mut self, node: &str) -> PostgresJournal {
        PostgresJournal::open(&self.url(), node).unwrap()
    }

    fn outlast_lease(&mut self) {
        let begun = Instant::now();
        let over = "SELECT bool_and(lease_until < clock_timestamp()) FROM journal_nodes";
        while self.server.sql(&self.name, over) != "t" {
            assert!(begun.elapsed() < LEASE * 10, "leases run out");
        }
    }
}

/// One server for every promise: each has a database of its own.
#[test]
fn the_contract_holds() {
    let server = Server::start();
    contract!(run |name: &str| server.database(name));
    takeover!(run |name: &str| server.database(name));
}

/// What the proxy does with a commit that passes it.
const PASS: u8 = 0;
const CUT_BEFORE: u8 = 1;
const CUT_AFTER: u8 = 2;

/// Stands between journal and server, and cuts the connection at a commit when told.
struct Proxy {
    port: u16,
    mode: Arc<AtomicU8>,
}

impl Proxy {
    fn before(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mode = Arc::new(AtomicU8::new(PASS));
        let told = Arc::clone(&mode);
        let _accepting = thread::spawn(move || {
            for client in listener.incoming() {
                let (client, mode) = (client.unwrap(), Arc::clone(&told));
                let server = TcpStream::connect(("127.0.0.1", server_port)).unwrap();
                let (to_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let _up = thread::spawn(move || forward_up(client, to_server, &mode));
                let _down = thread::spawn(move || forward(server, to_client));
            }
        });
        Self { port, mode }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    // Either end may be cut at any moment: then the other is too.
    let _ended = std::io::copy(&mut from, &mut to);
    let _closed = to.shutdown(std::net::Shutdown::Both);
}

fn forward_up(mut client: TcpStream, mut server: TcpStream, mode: &AtomicU8) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        let commits = bytes[..read].windows(6).any(|window| window == b"COMMIT");
        let mode = if commits { mode.load(Ordering::SeqCst) } else { PASS };
        if mode == CUT_AFTER {
            // Before the commit is passed on, so that no answer can come back.
            client.shutdown(std::net::Shutdown::Both).unwrap();
        }
        if mode != CUT_BEFORE && server.write_all(&bytes[..read]).is_err() {
            break;
        }
        if mode != PASS {
            break;
        }
    }
    let _closed = client.shutdown(std::net::Shutdown::Both);
    let _closed = server.shutdown(std::net::Shutdown::Write);
}

/// Reads until the server is done with every transaction of other connections.
fn settle(server: &Server, database: &str) {
    let begun = Instant::now();
    let busy =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND state <> 'idle'";
    while server.sql(database, busy) != "0" {
        assert!(begun.elapsed().as_secs() < 10, "transactions end");
    }
}

#[test]
fn a_cut_at_the_commit_is_an_unknown_outcome_either_way() {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    for (mode, name, durable) in [(CUT_BEFORE, "lost", 1), (CUT_AFTER, "landed", 2)] {
        let database = server.database(name);
        let mut journal = PostgresJournal::open(&server.url(proxy.port, name), "node").unwrap();
        let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
        let _space = journal.append(&teller.turns(&[1])).unwrap();
        proxy.mode.store(mode, Ordering::SeqCst);
        let outcome = journal.append(&teller.turns(&[1]));
        assert!(matches!(outcome, Err(AppendError::UnknownOutcome { .. })), "{name}: {outcome:?}");
        proxy.mode.store(PASS, Ordering::SeqCst);
        settle(&server, name);
        let mut reader = PostgresReader::open(&database.url()).unwrap();
        assert_eq!(read_all(&mut reader, &teller.shard, Seq::FIRST, 10).len(), durable, "{name}");

        let ended = journal.append(&teller.turns(&[1]));
        assert!(matches!(ended, Err(AppendError::Fenced { .. })), "the leadership has ended: {ended:?}");
        let mut teller = Teller::of(&journal.lead(&teller.shard).unwrap());
        assert_eq!((teller.epoch, teller.next), (Epoch(2), Seq(durable as u64 + 1)));
        let _space = journal.append(&teller.turns(&[1])).unwrap();
    }
}

#[test]
fn a_server_that_is_away_loses_nothing_and_ends_nothing() {
    let server = Server::start();
    let mut database = server.database("away");
    let mut journal = database.open();
    let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
    let mut turns = teller.turns(&[1]);
    let _space = journal.append(&turns).unwrap();
    server.down();
    let next = teller.turn(1);
    let away = journal.append(std::slice::from_ref(&next));
    assert!(matches!(away, Err(AppendError::Unavailable { .. })), "{away:?}");
    assert!(matches!(journal.renew(), Err(LeaseError::Unavailable { .. })));
    assert!(journal.read(&teller.shard, Seq::FIRST, 1).is_err());
    server.up();
    let _space = journal.append(std::slice::from_ref(&next)).unwrap();
    let _lease = journal.renew().unwrap();
    turns.push(next);
    assert_eq!(read_all(&mut journal, &teller.shard, Seq::FIRST, 10), turns);
}

#[test]
fn what_was_changed_behind_our_back_is_refused() {
    let server = Server::start();
    let mut database = server.database("changed");
    let mut journal = database.open();
    let name: ShardName = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns: Vec<TurnRecord> = teller.turns(&[1, 1, 1]);
    let _space = journal.append(&turns).unwrap();
    for (change, undo) in [
        ("UPDATE journal_turns SET bytes = 'x' WHERE first = 2", None),
        (
            "UPDATE journal_turns SET at = at + 1 WHERE first = 3",
            Some("UPDATE journal_turns SET at = at - 1 WHERE first = 3"),
        ),
        ("DELETE FROM journal_turns WHERE first = 3", None),
    ] {
        let _done = server.sql("changed", change);
        let read = journal.read(&name, Seq::FIRST, 10);
        assert!(matches!(read, Err(mainstay_journal::ReadError::Damaged { .. })), "{change}: {read:?}");
        if let Some(undo) = undo {
            let _done = server.sql("changed", undo);
        }
    }
    let _done = server.sql("changed", "UPDATE journal_meta SET format = 99");
    let newer = PostgresJournal::open(&database.url(), "node");
    assert!(matches!(newer, Err(OpenError::Format { found: 99, known: 1, .. })), "{newer:?}");
}
