//! Asks a game whether it lives: the hand that carries `adapters/query`'s datagrams.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use mainstay_query::{Answer, Malformed, Probe, Prober, Protocol, Step};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

/// How long to wait where nobody listens yet. The kernel answers for a closed port, so the game has not been asked: no
/// pacing is owed to it, and a restart is found answering within this of being so.
const REFUSED_PAUSE: Duration = Duration::from_millis(10);

/// Why a game gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// Nobody listens on the port.
    #[error("nobody listens on {at}")]
    Refused {
        /// The address asked.
        at: SocketAddr,
    },
    /// Nothing came.
    #[error("no answer from {at} within {} ms", within.as_millis())]
    Silent {
        /// The address asked.
        at: SocketAddr,
        /// The time given.
        within: Duration,
    },
    /// What came is no answer.
    #[error(transparent)]
    Nonsense(Nonsense),
    /// The machine's own trouble.
    #[error("failed to ask {at}")]
    Socket {
        /// The address asked.
        at: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// What came is no answer in the protocol it was asked by: as bad as none, and mended otherwise.
#[derive(Debug, thiserror::Error)]
#[error("what {at} answered within {} ms is no answer to a query by {protocol}", within.as_millis())]
pub(crate) struct Nonsense {
    /// The address asked.
    at: SocketAddr,
    /// What it was asked by.
    protocol: Protocol,
    /// The time given.
    within: Duration,
    /// What is wrong with the last that came.
    #[source]
    malformed: Malformed,
}

impl Nonsense {
    /// Whoever runs the machine sees why a game that runs counts as silent.
    pub(crate) fn tell(&self) {
        let code = self.malformed.code();
        tracing::warn!(code, error = %super::ended::in_full(self), "a wrong answer to a query");
    }
}

/// Asks until there is an answer, paced as the protocol wants it.
pub(crate) async fn until_answer(protocol: Protocol, port: u16, within: Duration) -> Answer {
    let mut is_told = false;
    loop {
        match once(&protocol, port, within).await {
            Ok(answer) => return answer,
            Err(NoAnswer::Refused { .. }) => sleep(REFUSED_PAUSE).await,
            // The silence itself was a wait of `within`; the rest of the protocol's pause follows.
            Err(NoAnswer::Silent { .. }) => sleep(protocol.interval_min().saturating_sub(within)).await,
            Err(NoAnswer::Nonsense(nonsense)) => {
                // It says the same each time.
                if !std::mem::replace(&mut is_told, true) {
                    nonsense.tell();
                }
                sleep(protocol.interval_min().saturating_sub(within)).await;
            }
            Err(error @ NoAnswer::Socket { .. }) => {
                tracing::warn!(error = %super::ended::in_full(&error), "a probe failed");
                sleep(protocol.interval_min()).await;
            }
        }
    }
}

/// Asks once. A game binds all addresses, so the machine's own is asked: of IPv4, and where nobody listens there, of IPv6, which
/// a game may have alone.
pub(crate) async fn once(protocol: &Protocol, port: u16, within: Duration) -> Result<Answer, NoAnswer> {
    let first = once_at(protocol, SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port), within).await;
    match first {
        Err(NoAnswer::Refused { .. }) => {
            let second =
                once_at(protocol, SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port), within).await;
            match second {
                // A machine without IPv6 has nobody listening there either.
                Err(NoAnswer::Refused { .. } | NoAnswer::Socket { .. }) => first,
                Ok(_) | Err(NoAnswer::Silent { .. } | NoAnswer::Nonsense(_)) => second,
            }
        }
        Ok(_) | Err(NoAnswer::Silent { .. } | NoAnswer::Nonsense(_) | NoAnswer::Socket { .. }) => first,
    }
}

async fn once_at(protocol: &Protocol, at: SocketAddr, within: Duration) -> Result<Answer, NoAnswer> {
    match protocol.probe(nonce()) {
        Probe::Nothing => Ok(Answer::default()),
        Probe::Connect => match timeout(within, TcpStream::connect(at)).await {
            Ok(Ok(_stream)) => Ok(Answer::default()),
            Ok(Err(source)) => Err(failed(at, source)),
            Err(_elapsed) => Err(NoAnswer::Silent { at, within }),
        },
        Probe::Datagrams(prober) => {
            let mut refused = None;
            match timeout(within, exchange(prober, at, &mut refused)).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(source)) => Err(failed(at, source)),
                Err(_elapsed) => Err(match refused {
                    Some(malformed) => {
                        NoAnswer::Nonsense(Nonsense { at, protocol: protocol.clone(), within, malformed })
                    }
                    None => NoAnswer::Silent { at, within },
                }),
            }
        }
    }
}

/// A connected socket of its own for each probe: the kernel checks the source, and no server mixes up two tokens.
/// `refused` is the last that came and was no answer.
async fn exchange(mut prober: Prober, at: SocketAddr, refused: &mut Option<Malformed>) -> io::Result<Answer> {
    let any = match at.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(at).await?;
    socket.send(&prober.start()).await?;
    let mut buffer = vec![0; prober.receive_bytes_max() + 1];
    loop {
        let length = socket.recv(&mut buffer).await?;
        match prober.receive(&buffer[..length]) {
            Step::Send(packet) => {
                socket.send(&packet).await?;
            }
            Step::Done(answer) => return Ok(answer),
            Step::Wait => {}
            Step::Refused(malformed) => *refused = Some(malformed),
        }
    }
}

fn failed(at: SocketAddr, source: io::Error) -> NoAnswer {
    if source.kind() == io::ErrorKind::ConnectionRefused {
        NoAnswer::Refused { at }
    } else {
        NoAnswer::Socket { at, source }
    }
}

/// Marks a probe's answers. Not a secret: a stranger on this machine could read it anyway, so a failing source of
/// randomness is no reason to stop asking.
fn nonce() -> u32 {
    getrandom::u32().unwrap_or(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_port_refuses_and_a_mute_one_is_silent() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let within = Duration::from_millis(50);
        for protocol in [Protocol::Sqp, Protocol::A2s, Protocol::Quake3, Protocol::Teeworlds] {
            let error = once(&protocol, port, within).await.unwrap_err();
            assert!(matches!(error, NoAnswer::Silent { .. }), "{protocol}: {error}");
        }
        drop(socket);
        for protocol in [Protocol::Sqp, Protocol::Tcp] {
            let error = once(&protocol, port, within).await.unwrap_err();
            assert!(matches!(error, NoAnswer::Refused { .. }), "{protocol}: {error}");
        }
    }

    /// An operator has to see that a game answers, and by another protocol than it is asked by.
    #[tokio::test]
    async fn what_is_no_answer_is_told_as_such() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        tokio::spawn(async move {
            let mut buffer = [0; 64];
            while let Ok((_, from)) = socket.recv_from(&mut buffer).await {
                socket.send_to(b"hello", from).await.unwrap();
            }
        });
        let nonsense = loop {
            match once(&Protocol::Sqp, port, Duration::from_millis(50)).await {
                Err(NoAnswer::Nonsense(nonsense)) => break nonsense,
                Err(NoAnswer::Silent { .. }) => {}
                other => panic!("{other:?}"),
            }
        };
        let told = super::super::ended::in_full(&nonsense);
        assert!(told.contains("no answer to a query by sqp: "), "{told}");
    }

    #[tokio::test]
    async fn an_answer_is_found_once_there_is_one() {
        let reserved = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = reserved.local_addr().unwrap().port();
        drop(reserved);
        let asking = tokio::spawn(until_answer("udp:70:71".parse().unwrap(), port, Duration::from_secs(1)));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let mut buffer = [0; 16];
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"p");
        socket.send_to(b"q", from).await.unwrap();
        asking.await.unwrap();
    }

    /// "everything listens dual-stack" (issue 3, point 4), and a game may listen on IPv6 alone.
    #[tokio::test]
    async fn a_game_on_ipv6_alone_is_asked_there() {
        let Ok(socket) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await else {
            eprintln!("SKIPPED without IPv6: a game on IPv6 alone");
            return;
        };
        let port = socket.local_addr().unwrap().port();
        let within = Duration::from_secs(10);
        let asking = tokio::spawn(async move { once(&"udp:70:71".parse().unwrap(), port, within).await });
        let mut buffer = [0; 16];
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"p");
        socket.send_to(b"q", from).await.unwrap();
        asking.await.unwrap().unwrap();
        drop(socket);
        let listener = tokio::net::TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.unwrap();
        once(&Protocol::Tcp, port, within).await.unwrap();
        drop(listener);
    }
}
