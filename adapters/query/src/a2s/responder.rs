//! A2S's answering side. The info exchange is byte for byte that of Unity's Go SDK 0.5.4, silences too; players and
//! rules, which that SDK leaves out, are as Valve's page has them, so that stock clients' other questions work as well.

use std::net::SocketAddr;
use std::time::Duration;

use crate::a2s::packet::{CHALLENGE, Info, ONES, PLAYERS, RULES, Request, write_text};
use crate::limits::DATAGRAM_BYTES_MAX;
use crate::status::{Player, Status};
use crate::tokens::Tokens;

/// What Unity's Go SDK says for a field it has no value for.
const NOT_AVAILABLE: &str = "n/a";

/// Answers A2S: challenges anyone, tells the rest to whoever brings the token back.
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
    /// Silence meets an info request with a token that is wrong (all ones too), spent, older than a minute or another
    /// address's, and rubbish. The other two requests meet such a token with a new challenge.
    pub fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        packet: &[u8],
        status: &Status,
    ) -> Option<Vec<u8>> {
        match Request::decode(packet).ok()? {
            Request::Info { token: None } => Some(self.challenge(now, from)),
            Request::Info { token: Some(token) } => {
                self.tokens.spend(now, from, token).ok()?;
                Some(info(status).encode())
            }
            Request::Players { token } => Some(match self.tokens.spend(now, from, token) {
                Ok(()) => players(&status.players),
                Err(_) => self.challenge(now, from),
            }),
            Request::Rules { token } => Some(match self.tokens.spend(now, from, token) {
                Ok(()) => rules(&status.rules),
                Err(_) => self.challenge(now, from),
            }),
        }
    }

    fn challenge(&mut self, now: Duration, from: SocketAddr) -> Vec<u8> {
        let mut packet = ONES.to_vec();
        packet.push(CHALLENGE);
        packet.extend(self.tokens.give(now, from).to_le_bytes());
        packet
    }
}

fn info(status: &Status) -> Info {
    Info {
        name: status.name.clone(),
        map: status.map.clone(),
        folder: NOT_AVAILABLE.to_owned(),
        game: status.game.clone(),
        app: 0,
        players: u8::try_from(status.players.len()).unwrap_or(u8::MAX),
        max_players: u8::try_from(status.max_players).unwrap_or(u8::MAX),
        bots: 0,
        version: status.version.clone(),
    }
}

/// As many players as one byte can count and one datagram hold.
fn players(players: &[Player]) -> Vec<u8> {
    let mut rows = Vec::new();
    let mut count = 0_u8;
    for player in players.iter().take(usize::from(u8::MAX)) {
        let mut row = vec![count];
        write_text(&mut row, &player.name);
        row.extend(player.score.to_le_bytes());
        row.extend(player.connected.as_secs_f32().to_le_bytes());
        if ONES.len() + 2 + rows.len() + row.len() > DATAGRAM_BYTES_MAX {
            break;
        }
        rows.extend(row);
        count += 1;
    }
    let mut packet = ONES.to_vec();
    packet.extend([PLAYERS, count]);
    packet.extend(rows);
    packet
}

/// As many rules as one datagram holds.
fn rules(rules: &[(String, String)]) -> Vec<u8> {
    let mut rows = Vec::new();
    let mut count = 0_u16;
    for (name, value) in rules.iter().take(usize::from(u16::MAX)) {
        let mut row = Vec::new();
        write_text(&mut row, name);
        write_text(&mut row, value);
        if ONES.len() + 3 + rows.len() + row.len() > DATAGRAM_BYTES_MAX {
            break;
        }
        rows.extend(row);
        count += 1;
    }
    let mut packet = ONES.to_vec();
    packet.push(RULES);
    packet.extend(count.to_le_bytes());
    packet.extend(rows);
    packet
}
