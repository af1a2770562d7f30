//! The process: sockets, signals, the clock, and the one loop that sleeps until one of them has something to say.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mainstay_query::{DATAGRAM_BYTES_MAX, Status};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::desk::{Desk, OnAllocation, Places, Wish};
use crate::fault::{Fault, Plan};
use crate::game::{Game, Note, Output, TICK};
use crate::log::Log;
use crate::message::{Reason, Reply};
use crate::options::{Options, QueryKind};
use crate::query::Responder;

mod misbehave;

/// The port without `--port` and `server.json`.
const PORT_DEFAULT: u16 = 9000;
/// The most datagrams taken from one socket between two looks at everything else, so that a flood delays no tick.
const DATAGRAMS_PER_TURN_MAX: usize = 64;
/// The most ticks made up for after a delay; beyond, time is lost, as in any game that was stopped for a while.
const CATCH_UP_MAX: u32 = 5;

/// Why a server could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// A port is taken, or may not be used.
    #[error("failed to bind the {what} port, UDP {address}: choose another port, or stop who has it")]
    Bind {
        what: &'static str,
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// The log cannot be opened.
    #[error("failed to open the log {}: make its folder, and let this user write there", path.display())]
    Log {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The system refused something it has no reason to.
    #[error("failed to {what}")]
    System {
        what: &'static str,
        #[source]
        source: io::Error,
    },
}

impl ServerError {
    /// The code under which the manual explains this problem.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "MS-S211",
            Self::Log { .. } => "MS-S212",
            Self::System { .. } => "MS-S213",
        }
    }

    fn system(what: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::System { what, source: errno.into() }
    }
}

/// What a step of the loop came to.
enum Turn {
    Go,
    Exit(ExitCode),
}

/// Runs a server to its end.
pub(crate) fn run(options: Options) -> Result<ExitCode, ServerError> {
    let start = Instant::now();
    let signals = signals()?;
    let mut log = match Log::open(options.log.as_deref()) {
        Ok(log) => log,
        Err(source) => {
            return Err(ServerError::Log { path: options.log.unwrap_or_default(), source });
        }
    };
    for plan in &options.faults {
        if let Plan::SlowStart(time) = plan {
            log.line(start.elapsed(), format_args!("fault slow-start for {time:?}"));
            if let Turn::Exit(code) = dawdle(&signals, start + *time, &mut log, start)? {
                return Ok(code);
            }
        }
    }
    let mut server = Server::open(options, start, signals, log)?;
    loop {
        if let Turn::Exit(code) = server.turn()? {
            return Ok(code);
        }
    }
}

/// SIGTERM and SIGINT as a descriptor, so that the loop can wait for them along with everything else.
fn signals() -> Result<SignalFd, ServerError> {
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGTERM);
    wanted.add(Signal::SIGINT);
    wanted.thread_block().map_err(ServerError::system("block SIGTERM"))?;
    SignalFd::with_flags(&wanted, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
        .map_err(ServerError::system("read signals from a descriptor"))
}

/// Does nothing until then, except to heed a signal.
fn dawdle(signals: &SignalFd, until: Instant, log: &mut Log, start: Instant) -> Result<Turn, ServerError> {
    while Instant::now() < until {
        wait(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], until)?;
        if let Some(signal) = next_signal(signals)? {
            log.line(start.elapsed(), format_args!("stopped by {signal}"));
            return Ok(Turn::Exit(ExitCode::SUCCESS));
        }
    }
    Ok(Turn::Go)
}

fn wait(descriptors: &mut [PollFd<'_>], until: Instant) -> Result<(), ServerError> {
    // Rounded up to a whole millisecond: rounded down, the last one would be spent in a spin.
    let left = until.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
    match poll(descriptors, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(ServerError::system("wait for packets")(errno)),
    }
}

fn next_signal(signals: &SignalFd) -> Result<Option<Signal>, ServerError> {
    let info = signals.read_signal().map_err(ServerError::system("read a signal"))?;
    Ok(info.and_then(|info| Signal::try_from(info.ssi_signo.cast_signed()).ok()))
}

struct Server {
    start: Instant,
    options: Options,
    log: Log,
    signals: SignalFd,
    game_socket: UdpSocket,
    game_port: u16,
    query_socket: Option<UdpSocket>,
    responder: Responder,
    game: Game,
    desk: Desk,
    ticked: Instant,
    /// Faults to come, the soonest last.
    faults: Vec<(Duration, Fault)>,
    termination: Termination,
    /// Memory eaten by faults.
    eaten: Vec<Vec<u8>>,
}

/// What SIGTERM and SIGINT do.
#[derive(Clone, Copy)]
enum Termination {
    Stops,
    Ignored,
}

impl Server {
    fn open(options: Options, start: Instant, signals: SignalFd, log: Log) -> Result<Self, ServerError> {
        let on_allocation = if options.ready { OnAllocation::SayReady } else { OnAllocation::Silent };
        let places = if options.backfill { Places::Kept } else { Places::Left };
        let desk = Desk::open(std::env::var_os("HOME"), on_allocation, places);
        let known = desk.known();
        let port = options.port.or(known.port()).unwrap_or(PORT_DEFAULT);
        let game_socket = bind("game", options.bind, port)?;
        let game_port = local_port(&game_socket)?;
        let kind = options.query.unwrap_or(match known.query_type() {
            Some("a2s") => QueryKind::A2s,
            Some("none") => QueryKind::None,
            Some(_) | None => QueryKind::Sqp,
        });
        let query_port = options.query_port.or(known.query_port());
        let query_socket = match kind {
            QueryKind::None => None,
            QueryKind::Sqp | QueryKind::A2s => {
                let port = query_port.unwrap_or(if port == 0 { 0 } else { port.wrapping_add(1) });
                Some(bind("query", options.bind, port)?)
            }
        };
        let mut faults: Vec<(Duration, Fault)> = options
            .faults
            .iter()
            .filter_map(|plan| match plan {
                Plan::At(after, fault) => Some((*after, *fault)),
                Plan::SlowStart(_) => None,
            })
            .collect();
        faults.sort_by_key(|(after, _)| std::cmp::Reverse(*after));
        let now = Instant::now();
        let mut server = Self {
            start,
            game: Game::new(options.seed, usize::from(options.max_players), draw()),
            responder: Responder::new(kind, draw()),
            options,
            log,
            signals,
            game_socket,
            game_port,
            query_socket,
            desk,
            ticked: now,
            faults,
            termination: Termination::Stops,
            eaten: Vec::new(),
        };
        server.note_ready()?;
        Ok(server)
    }

    fn note_ready(&mut self) -> Result<(), ServerError> {
        let query_port = match &self.query_socket {
            Some(socket) => local_port(socket)?.to_string(),
            None => "none".to_owned(),
        };
        let line =
            format!("ready pid={} port={} query-port={query_port}", std::process::id(), self.game_port);
        self.note(line);
        self.note_allocation();
        Ok(())
    }

    fn note_allocation(&mut self) {
        let line = match self.desk.allocation() {
            Some(id) => format!("allocation id={id}"),
            None => "allocation none".to_owned(),
        };
        self.note(line);
    }

    fn note(&mut self, text: impl std::fmt::Display) {
        self.log.line(self.start.elapsed(), text);
    }

    /// Sleeps until something is due or comes, and does it.
    fn turn(&mut self) -> Result<Turn, ServerError> {
        self.sleep()?;
        while let Some(signal) = next_signal(&self.signals)? {
            match self.termination {
                Termination::Stops => {
                    self.note(format_args!("stopped by {signal}"));
                    return Ok(Turn::Exit(ExitCode::SUCCESS));
                }
                Termination::Ignored => self.note(format_args!("ignored {signal}")),
            }
        }
        self.answer_queries();
        if let Turn::Exit(code) = self.play() {
            return Ok(Turn::Exit(code));
        }
        while let Some((_, fault)) = self.faults.pop_if(|(after, _)| *after <= self.start.elapsed()) {
            if let Turn::Exit(code) = self.misbehave(fault) {
                return Ok(Turn::Exit(code));
            }
        }
        self.tick();
        Ok(Turn::Go)
    }

    fn sleep(&self) -> Result<(), ServerError> {
        let mut until = self.ticked + self.game.pace();
        if let Some((after, _)) = self.faults.last() {
            until = until.min(self.start + *after);
        }
        let mut descriptors = vec![
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.game_socket.as_fd(), PollFlags::POLLIN),
        ];
        if let Some(socket) = &self.query_socket {
            descriptors.push(PollFd::new(socket.as_fd(), PollFlags::POLLIN));
        }
        wait(&mut descriptors, until)
    }

    fn answer_queries(&mut self) {
        let Some(socket) = &self.query_socket else { return };
        let now = self.start.elapsed();
        let mut status = None;
        let mut buffer = [0; DATAGRAM_BYTES_MAX + 1];
        for _ in 0..DATAGRAMS_PER_TURN_MAX {
            let Some((length, from)) = receive(socket, &mut buffer) else { break };
            let status = status.get_or_insert_with(|| self.status(now));
            if let Some(answer) = self.responder.handle(now, from, &buffer[..length], status) {
                send(socket, from, &answer);
            }
        }
    }

    fn status(&self, now: Duration) -> Status {
        let allocation = self.desk.allocation().unwrap_or("none").to_owned();
        let world = self.game.world();
        Status {
            name: self.options.name.clone(),
            game: "tugboat".to_owned(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
            map: "harbour".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            port: self.game_port,
            players: self.game.players(now),
            max_players: u16::try_from(self.game.players_max()).unwrap_or(u16::MAX),
            metrics: Vec::new(),
            rules: vec![
                ("allocation".to_owned(), allocation),
                ("tick".to_owned(), world.tick().to_string()),
                ("hash".to_owned(), format!("{:016x}", world.hash())),
            ],
        }
    }

    fn play(&mut self) -> Turn {
        let mut buffer = [0; DATAGRAM_BYTES_MAX + 1];
        for _ in 0..DATAGRAMS_PER_TURN_MAX {
            let Some((length, from)) = receive(&self.game_socket, &mut buffer) else { break };
            let now = self.start.elapsed();
            let allocation = self.desk.allocation();
            let outputs = self.game.receive(now, from, &buffer[..length], allocation);
            if let Turn::Exit(code) = self.carry_out(outputs) {
                return Turn::Exit(code);
            }
        }
        Turn::Go
    }

    fn tick(&mut self) {
        let now = Instant::now();
        for note in self.desk.poll() {
            self.note(note);
        }
        let pace = self.game.pace();
        if now.saturating_duration_since(self.ticked) > pace + TICK * CATCH_UP_MAX {
            self.ticked = now - pace;
        }
        while now >= self.ticked + pace {
            self.ticked += pace;
            let allocation = self.desk.allocation();
            let outputs = self.game.tick(self.start.elapsed(), allocation);
            // A tick asks for no faults.
            let _go = self.carry_out(outputs);
        }
    }

    fn carry_out(&mut self, outputs: Vec<Output>) -> Turn {
        for output in outputs {
            match output {
                Output::Send(to, bytes) => send(&self.game_socket, to, &bytes),
                Output::Note(note) => {
                    match &note {
                        Note::Joined { name, .. } => self.desk.joined(name),
                        Note::Left { name, .. } => self.desk.left(name),
                    }
                    self.note(note);
                }
                Output::Control { from, nonce, token, command } => {
                    if let Turn::Exit(code) = self.control(from, nonce, &token, &command) {
                        return Turn::Exit(code);
                    }
                }
            }
        }
        Turn::Go
    }

    /// Obeys a command from this machine that shows the right token; is silent to any other.
    fn control(&mut self, from: SocketAddr, nonce: u32, token: &str, command: &str) -> Turn {
        if !from.ip().to_canonical().is_loopback() || self.options.control_token.as_deref() != Some(token) {
            return Turn::Go;
        }
        if let Ok(wish) = command.parse::<Wish>() {
            send(&self.game_socket, from, &Reply::Obeyed { nonce }.encode());
            self.desk.ask(wish);
            return Turn::Go;
        }
        let Ok(fault) = command.parse::<Fault>() else {
            send(&self.game_socket, from, &Reply::Refused { nonce, reason: Reason::Command }.encode());
            return Turn::Go;
        };
        send(&self.game_socket, from, &Reply::Obeyed { nonce }.encode());
        self.misbehave(fault)
    }
}

/// A socket on `ip`; without one on every address, of IPv4 alone where the host has no IPv6.
fn bind(what: &'static str, ip: Option<IpAddr>, port: u16) -> Result<UdpSocket, ServerError> {
    let on = |ip: IpAddr| {
        let address = SocketAddr::new(ip, port);
        UdpSocket::bind(address)
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|source| ServerError::Bind { what, address, source })
    };
    match ip {
        Some(ip) => on(ip),
        None => match on(Ipv6Addr::UNSPECIFIED.into()) {
            Err(ServerError::Bind { source, .. })
                if source.raw_os_error() == Some(Errno::EAFNOSUPPORT as i32) =>
            {
                on(Ipv4Addr::UNSPECIFIED.into())
            }
            bound => bound,
        },
    }
}

fn local_port(socket: &UdpSocket) -> Result<u16, ServerError> {
    match socket.local_addr() {
        Ok(address) => Ok(address.port()),
        Err(source) => Err(ServerError::System { what: "read a socket's own address", source }),
    }
}

/// The next datagram, if one is there. An error on a UDP socket tells of an earlier datagram that did not arrive (its
/// receiver is gone), and the next call goes on; both are "none just now".
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    socket.recv_from(buffer).ok()
}

/// Sends a datagram. One that cannot be sent is one that was lost, which both ends expect.
fn send(socket: &UdpSocket, to: SocketAddr, bytes: &[u8]) {
    let _lost = socket.send_to(bytes, to);
}

/// Random numbers nobody can foresee: SipHash over a counter, with keys that the standard library draws from the system.
fn draw() -> impl FnMut() -> u32 + Send {
    let keys = RandomState::new();
    let mut count = 0_u64;
    move || {
        count += 1;
        u32::try_from(keys.hash_one(count) >> 32).unwrap_or(u32::MAX)
    }
}
