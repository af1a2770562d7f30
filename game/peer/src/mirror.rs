//! How this peer is seen from outside, and how strictly its router translates: asked of a lobby's STUN responder when a session
//! of it is entered, and again and again from then on. That keeps the router's mapping, and notices that it has changed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_stun::{Classing, Reach};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{mpsc, oneshot, watch};

use crate::socket::{Socket, canonical};

/// How often it is asked again: routers keep what they have seen two packets of for two minutes (RFC 4787), and many what they
/// have seen one of for thirty seconds.
const AGAIN: Duration = Duration::from_secs(20);
/// How many threads wait for an answer at once: a game that enters more sessions at the same moment waits for its turn.
const WAITING_MAX: usize = 16;

/// The way to the task that asks.
#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    asks: mpsc::Sender<Ask>,
    shows: watch::Receiver<Reach>,
}

/// Somebody wants to know.
#[derive(Debug)]
struct Ask {
    responder: SocketAddr,
    answer: oneshot::Sender<Option<SocketAddr>>,
}

impl Mirror {
    /// Asks over that socket, whose STUN messages come out of `answers`, as long as anybody holds the mirror.
    pub(crate) fn start(socket: Arc<Socket>, answers: mpsc::Receiver<Vec<u8>>) -> Self {
        let (asks, asked) = mpsc::channel(WAITING_MAX);
        let (shown, shows) = watch::channel(Reach::UNKNOWN);
        let asking = Asking { socket, began: Instant::now(), stage: Stage::Idle, waiting: Vec::new(), shown };
        tokio::spawn(asking.run(asked, answers));
        Self { asks, shows }
    }

    /// How that responder sees this peer; waits for its answer, and gives up after [`mainstay_stun::GIVE_UP_AFTER`]. How strict
    /// the router is turns out later. For threads that may wait.
    pub(crate) fn look(&self, responder: SocketAddr) -> Option<SocketAddr> {
        let (answer, answered) = oneshot::channel();
        self.asks.blocking_send(Ask { responder, answer }).ok()?;
        answered.blocking_recv().ok().flatten()
    }

    /// What is known now.
    pub(crate) fn reach(&self) -> Reach {
        *self.shows.borrow()
    }

    /// Waits until something else is known than before, and where others see this peer then; `None` where nobody asks any more.
    pub(crate) async fn next(&mut self) -> Option<SocketAddr> {
        loop {
            self.shows.changed().await.ok()?;
            if let Some(seen_as) = self.shows.borrow_and_update().seen_as {
                return Some(seen_as);
            }
        }
    }
}

/// The task.
#[derive(Debug)]
struct Asking {
    socket: Arc<Socket>,
    began: Instant,
    stage: Stage,
    waiting: Vec<oneshot::Sender<Option<SocketAddr>>>,
    shown: watch::Sender<Reach>,
}

#[derive(Debug)]
enum Stage {
    /// No lobby has named a responder.
    Idle,
    /// It asks.
    Asks { responder: SocketAddr, classing: Classing },
    /// It knows, and asks again then.
    Knows { responder: SocketAddr, until: Duration },
}

impl Asking {
    async fn run(mut self, mut asked: mpsc::Receiver<Ask>, mut answers: mpsc::Receiver<Vec<u8>>) {
        loop {
            let due = self.due();
            let wake = tokio::time::Instant::from_std(self.began + due.unwrap_or_default());
            tokio::select! {
                Some(bytes) = answers.recv() => self.receive(&bytes),
                ask = asked.recv() => match ask {
                    Some(ask) => self.ask(ask),
                    None => return,
                },
                () = tokio::time::sleep_until(wake), if due.is_some() => {}
            }
            self.go_on();
        }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn due(&self) -> Option<Duration> {
        match &self.stage {
            Stage::Idle => None,
            Stage::Asks { classing, .. } => classing.next_deadline(),
            Stage::Knows { until, .. } => Some(*until),
        }
    }

    fn ask(&mut self, Ask { responder, answer }: Ask) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(answer);
        }
        let is_known = self.shown.borrow().seen_as.is_some();
        match &self.stage {
            Stage::Asks { responder: asked, .. } if *asked == responder => {}
            Stage::Knows { responder: asked, .. } if *asked == responder && is_known => {}
            Stage::Idle | Stage::Asks { .. } | Stage::Knows { .. } => {
                self.begin(responder, Reach::UNKNOWN);
            }
        }
    }

    fn begin(&mut self, responder: SocketAddr, before: Reach) {
        let mut random = [0; 16];
        self.stage = if SystemRandom::new().fill(&mut random).is_ok() {
            let classing = Classing::again(responder, u128::from_be_bytes(random), self.now(), before);
            Stage::Asks { responder, classing }
        } else {
            // Nobody may foresee what is asked with.
            tracing::warn!("the system gives no random bytes to ask how this peer is seen");
            Stage::Knows { responder, until: self.now() + AGAIN }
        };
    }

    fn receive(&mut self, bytes: &[u8]) {
        let now = self.now();
        if let Stage::Asks { classing, .. } = &mut self.stage {
            classing.receive(now, bytes);
        }
    }

    /// Sends what is to be sent, and tells what has been found.
    fn go_on(&mut self) {
        let now = self.now();
        match &mut self.stage {
            Stage::Idle => {}
            Stage::Knows { responder, until } => {
                if now >= *until {
                    let (responder, before) = (*responder, *self.shown.borrow());
                    self.begin(responder, before);
                    return self.go_on();
                }
                let known = self.shown.borrow().seen_as;
                self.tell(known);
            }
            Stage::Asks { responder, classing } => {
                while let Some((to, bytes)) = classing.send(now) {
                    self.socket.send(to, &bytes);
                }
                let responder = *responder;
                let (seen_as, reach) = (classing.seen_as(), classing.reach());
                if let Some(reach) = reach {
                    self.stage = Stage::Knows { responder, until: now + AGAIN };
                    self.show(reach);
                }
                if seen_as.is_some() || reach.is_some() {
                    self.tell(seen_as.map(canonical));
                }
            }
        }
    }

    fn tell(&mut self, seen_as: Option<SocketAddr>) {
        for waits in self.waiting.drain(..) {
            // Whoever asked may have gone.
            let _gone = waits.send(seen_as);
        }
    }

    /// A responder that does not answer any more makes nothing untrue.
    fn show(&self, reach: Reach) {
        if let Some(seen_as) = reach.seen_as.map(canonical) {
            let reach = Reach { seen_as: Some(seen_as), ..reach };
            self.shown.send_if_modified(|shown| std::mem::replace(shown, reach) != reach);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_migration::NatType;
    use mainstay_stun::{Addresses, Corner, Responder};
    use tokio::net::UdpSocket;

    async fn look(mirror: &Mirror, responder: SocketAddr) -> Option<SocketAddr> {
        let mirror = mirror.clone();
        tokio::task::spawn_blocking(move || mirror.look(responder)).await.unwrap()
    }

    /// Issue 5: "one UDP socket a peer (STUN and QUIC told apart on it)"; "with one address it reports Unknown rather than guess".
    #[tokio::test]
    async fn it_is_asked_from_the_socket_that_plays_and_once() {
        let at_loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = UdpSocket::bind(at_loopback).await.unwrap();
        let at = server.local_addr().unwrap();
        // It answers a single request.
        let answers = tokio::spawn(async move {
            let mut buffer = [0; 600];
            let (length, from) = server.recv_from(&mut buffer).await.unwrap();
            let reply = Responder::new(Addresses::One(at)).receive(Corner::SAME, from, &buffer[..length]);
            server.send_to(&reply.unwrap().bytes, from).await.unwrap();
        });
        let key = crate::key::Key::new().unwrap();
        let (arrivals, _arrived) = mpsc::channel(1);
        let quic = crate::quic::Quic::bind(at_loopback, &key, arrivals).unwrap();
        let mut mirror = quic.mirror().clone();
        let own = quic.local_address().unwrap();
        assert_eq!(look(&mirror, at).await, Some(own), "as the socket that QUIC plays over");
        answers.await.unwrap();
        assert_eq!(look(&mirror, at).await, Some(own), "known already");
        assert_eq!(mirror.reach(), Reach { nat: NatType::Unknown, seen_as: Some(own) });
        assert_eq!(mirror.next().await, Some(own));
    }

    #[tokio::test]
    async fn a_responder_that_does_not_answer_holds_nobody_up_for_long() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (socket, heard) = Socket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let mirror = Mirror::start(socket, heard.stun);
        assert_eq!(look(&mirror, silent.local_addr().unwrap()).await, None);
        assert_eq!(mirror.reach(), Reach::UNKNOWN);
    }
}
