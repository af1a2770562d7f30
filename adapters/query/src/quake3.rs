//! Quake 3's `getstatus`, spoken by ioquake3, OpenArena, DarkPlaces and many more: text behind four bytes of ones.
//!
//! `getstatus` rather than `getinfo`, because it lists players one a line, bots too. Servers answer it about once a
//! second for each address: Debian's ioquake3 1.36 answered 14 of 20 sent back to back.

use crate::answer::Answer;
use crate::malformed::Malformed;
use crate::prober::Step;
use crate::reader::text;

const REQUEST: &[u8] = b"\xff\xff\xff\xffgetstatus ";
const ANSWER: &[u8] = b"\xff\xff\xff\xffstatusResponse\n";

/// One exchange: one question, whose challenge the server repeats.
#[derive(Debug, Clone)]
pub(crate) struct Prober {
    challenge: String,
}

impl Prober {
    pub(crate) fn new(nonce: u32) -> Self {
        Self { challenge: format!("{nonce:08x}") }
    }

    pub(crate) fn start(&self) -> Vec<u8> {
        [REQUEST, self.challenge.as_bytes(), b"\n"].concat()
    }

    pub(crate) fn receive(&self, packet: &[u8]) -> Step {
        let Some(body) = packet.strip_prefix(ANSWER) else { return Step::Wait };
        self.status(body).into()
    }

    fn status(&self, body: &[u8]) -> Result<Step, Malformed> {
        let mut lines = body.split(|&byte| byte == b'\n');
        let settings = lines.next().unwrap_or_default();
        let mut answer = Answer::default();
        let mut words = settings.strip_prefix(b"\\").unwrap_or(settings).split(|&byte| byte == b'\\');
        while let (Some(key), Some(value)) = (words.next(), words.next()) {
            match key.to_ascii_lowercase().as_slice() {
                b"challenge" if value != self.challenge.as_bytes() => return Ok(Step::Wait),
                b"sv_maxclients" => answer.max_players = Some(number("sv_maxclients", value)?),
                b"sv_hostname" | b"hostname" => answer.name = Some(text(value)),
                b"mapname" => answer.map = Some(text(value)),
                _ => {}
            }
        }
        let players = lines.filter(|line| !line.iter().all(|&byte| byte == 0)).count();
        answer.players = Some(u32::try_from(players).unwrap_or(u32::MAX));
        Ok(Step::Done(answer))
    }
}

fn number(what: &'static str, value: &[u8]) -> Result<u32, Malformed> {
    str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).ok_or(Malformed::NotANumber { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prober() -> Prober {
        Prober::new(0x1234_abcd)
    }

    #[test]
    fn the_request_carries_the_challenge() {
        assert_eq!(prober().start(), b"\xff\xff\xff\xffgetstatus 1234abcd\n");
    }

    #[test]
    fn players_are_lines() {
        let packet =
            b"\xff\xff\xff\xffstatusResponse\n\\challenge\\1234abcd\\sv_maxclients\\8\\mapname\\oa_dm1\
            \\sv_hostname\\noname\n0 0 \"Grism\"\n-1 48 \"a b\"\n";
        assert_eq!(
            prober().receive(packet),
            Step::Done(Answer {
                players: Some(2),
                max_players: Some(8),
                name: Some("noname".into()),
                map: Some("oa_dm1".into()),
            })
        );
    }

    #[test]
    fn an_answer_to_another_challenge_is_not_ours() {
        let packet = b"\xff\xff\xff\xffstatusResponse\n\\challenge\\00000000\\sv_maxclients\\8\n";
        assert_eq!(prober().receive(packet), Step::Wait);
        assert_eq!(prober().receive(b"\xff\xff\xff\xffinfoResponse\n"), Step::Wait);
        assert_eq!(prober().receive(b""), Step::Wait);
    }

    #[test]
    fn odd_answers() {
        let bare = prober().receive(b"\xff\xff\xff\xffstatusResponse\n");
        assert_eq!(bare, Step::Done(Answer { players: Some(0), ..Answer::default() }));
        let bad = prober().receive(b"\xff\xff\xff\xffstatusResponse\n\\sv_maxclients\\-3\n");
        assert_eq!(bad, Step::Refused(Malformed::NotANumber { what: "sv_maxclients" }));
    }
}
