//! The query port: which protocol it speaks, and what it tells.

use std::net::SocketAddr;
use std::time::Duration;

use mainstay_query::{Status, a2s, sqp};

use crate::options::QueryKind;

/// The server's answering side.
#[derive(Debug)]
pub(crate) enum Responder {
    /// Unity's protocol.
    Sqp(sqp::Responder),
    /// Valve's protocol.
    A2s(a2s::Responder),
    /// Silence: as started, or by fault.
    Mute,
}

impl Responder {
    pub(crate) fn new(kind: QueryKind, draw: impl FnMut() -> u32 + Send + 'static) -> Self {
        match kind {
            QueryKind::Sqp => Self::Sqp(sqp::Responder::new(draw)),
            QueryKind::A2s => Self::A2s(a2s::Responder::new(draw)),
            QueryKind::None => Self::Mute,
        }
    }

    pub(crate) fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        packet: &[u8],
        status: &Status,
    ) -> Option<Vec<u8>> {
        match self {
            Self::Sqp(responder) => responder.handle(now, from, packet, status),
            Self::A2s(responder) => responder.handle(now, from, packet, status),
            Self::Mute => None,
        }
    }
}
