//! SQP's answering side, byte for byte as Unity's Go SDK 0.5.4 answers.

use std::net::SocketAddr;
use std::time::Duration;

use crate::limits::METRICS_SENT_MAX;
use crate::sqp::VERSION_WITH_METRICS;
use crate::sqp::packet::{CHALLENGE, Chunks, QueryAnswer, Request, ServerInfo};
use crate::status::Status;
use crate::tokens::Tokens;

/// Answers SQP: challenges anyone, tells the server info and (from version 2) metrics to whoever brings the token back.
#[derive(Debug)]
pub struct Responder {
    tokens: Tokens,
}

impl Responder {
    /// A responder that takes its tokens from `draw`: random numbers that nobody can foresee.
    pub fn new(draw: impl FnMut() -> u32 + Send + 'static) -> Self {
        Self { tokens: Tokens::new(Box::new(draw)) }
    }

    /// The answer to one datagram, if it deserves one. `now` is time since any fixed moment, and never goes back.
    ///
    /// Silence meets: a token that is wrong, spent, older than a minute or another address's; a version above 2; rubbish.
    pub fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        packet: &[u8],
        status: &Status,
    ) -> Option<Vec<u8>> {
        match Request::decode(packet).ok()? {
            Request::Challenge => {
                let mut answer = vec![CHALLENGE];
                answer.extend(self.tokens.give(now, from).to_be_bytes());
                Some(answer)
            }
            Request::Query { token, version, chunks } => {
                self.tokens.spend(now, from, token).ok()?;
                if version > VERSION_WITH_METRICS {
                    return None;
                }
                let mut answer = QueryAnswer::empty(token);
                if chunks.contains(Chunks::SERVER_INFO) {
                    answer.info = Some(server_info(status));
                }
                if chunks.contains(Chunks::METRICS) && version >= VERSION_WITH_METRICS {
                    answer.metrics = Some(status.metrics.iter().take(METRICS_SENT_MAX).copied().collect());
                }
                answer.encode().ok()
            }
        }
    }
}

fn server_info(status: &Status) -> ServerInfo {
    ServerInfo {
        players: u16::try_from(status.players.len()).unwrap_or(u16::MAX),
        max_players: status.max_players,
        name: status.name.clone(),
        game_type: status.game.clone(),
        build: status.build.clone(),
        map: status.map.clone(),
        port: status.port,
    }
}
