//! Tells game peers how they are seen, and how strictly their routers translate: the hand of `adapters/stun`.
//!
//! It is open to all, since whoever has not joined anything yet asks too. What it says is the asker's own address, an answer is at
//! most 128 bytes, and each address gets only so many: as a means to flood somebody else it is a bad one.

use std::net::SocketAddr;
use std::sync::Arc;

use mainstay_runtime::Clock;
use mainstay_stun::{Addresses, Corner, MESSAGE_BYTES_MAX, Responder};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::{Offered, as_told};
use crate::error::StartError;
use crate::http::raised;
use crate::limiter::Limiter;
use crate::metrics::Metrics;

/// The most answers an address gets in a minute: a classing needs at most nine, and sixty players may be behind one router.
const ANSWERS_A_MINUTE: u32 = 600;

/// The sockets of a responder, each with its corner.
pub(crate) struct Stun {
    told: Addresses,
    responder: Responder,
    sockets: Vec<(Corner, UdpSocket)>,
    limiter: Limiter,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
}

impl Stun {
    /// Takes the sockets.
    ///
    /// # Errors
    /// Where one is taken.
    pub(crate) async fn bind(
        offered: Offered<Addresses>,
        clock: &Arc<dyn Clock>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, StartError> {
        let mut sockets = Vec::new();
        let Offered { bind, told } = offered;
        for &corner in bind.corners() {
            let Some(address) = bind.at(corner) else { continue };
            let bound = UdpSocket::bind(address).await;
            sockets.push((corner, bound.map_err(|cause| StartError::Listen { address, cause })?));
        }
        let told = match (told, sockets.first()) {
            (Addresses::One(address), Some((_, socket))) => Addresses::One(as_told(address, socket)),
            (Addresses::One(_), None) | (Addresses::Two { .. }, _) => told,
        };
        let limiter = Limiter::new(ANSWERS_A_MINUTE);
        Ok(Self {
            told,
            responder: Responder::new(told),
            sockets,
            limiter,
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
        })
    }

    /// Where peers ask first.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.told.at(Corner::SAME)
    }

    /// Answers until `closed`.
    pub(crate) async fn serve(self, mut closed: watch::Receiver<bool>) {
        let this = Arc::new(self);
        let mut listening = JoinSet::new();
        for index in 0..this.sockets.len() {
            let this = Arc::clone(&this);
            listening.spawn(async move { this.listen(index).await });
        }
        raised(&mut closed).await;
        listening.shutdown().await;
    }

    async fn listen(&self, index: usize) {
        let Some((corner, socket)) = self.sockets.get(index) else { return };
        // One more than is looked at: a longer datagram is told from one that just fits.
        let mut buffer = [0; MESSAGE_BYTES_MAX + 1];
        loop {
            match socket.recv_from(&mut buffer).await {
                Ok((length, from)) => self.answer(*corner, from, &buffer[..length]).await,
                // Of one datagram; the socket stays.
                Err(error) => tracing::debug!(%error, "a STUN request was not received"),
            }
        }
    }

    async fn answer(&self, at: Corner, from: SocketAddr, bytes: &[u8]) {
        let result = self.answered(at, from, bytes).await;
        self.metrics.stun_asked(result);
    }

    /// What became of a datagram, in a word.
    async fn answered(&self, at: Corner, from: SocketAddr, bytes: &[u8]) -> &'static str {
        if self.limiter.charge([from.ip().to_canonical()], self.clock.now()).is_err() {
            return "limited";
        }
        let Some(reply) = self.responder.receive(at, from, bytes) else { return "ignored" };
        let socket = self.sockets.iter().find(|(corner, _)| *corner == reply.from);
        let Some((_, socket)) = socket else { return "ignored" };
        match socket.send_to(&reply.bytes, from).await {
            Ok(_) => "answered",
            Err(error) => {
                tracing::debug!(%error, %from, "a STUN answer was not sent");
                "failed"
            }
        }
    }
}
