//! Teeworlds 0.7: a token request, then the server browser's `gie3` question and `inf3` answer.
//!
//! Layout, seen on the wire of Debian's `teeworlds-server` 0.7.5:
//!
//! | packet | bytes |
//! |---|---|
//! | token request | `04 00 00`, `ffffffff` (no token), `05`, our token, zeros up to 520 bytes in all, so that it never is shorter than what it asks for |
//! | token answer | `04 00 00`, our token, `05`, the server's token |
//! | question | `21`, the server's token, our token, `ffffffff` `gie3`, a packed number that the answer repeats |
//! | answer | `21`, our token, the server's token, `ffffffff` `inf3`, that number, five closed texts (version, name, host name, map, game type), then packed: flags, skill level, players, player slots, clients, client slots; then the players |

use crate::answer::Answer;
use crate::malformed::Malformed;
use crate::prober::Step;
use crate::reader::Reader;

const TOKEN_REQUEST_BYTES: usize = 520;
const TOKEN_NONE: [u8; 4] = [0xff; 4];
const CONTROL: u8 = 0x04;
const CONTROL_TOKEN: u8 = 0x05;
const CONNECTIONLESS: u8 = 0x21;
const QUESTION: &[u8] = b"\xff\xff\xff\xffgie3";
const ANSWER: &[u8] = b"\xff\xff\xff\xffinf3";
/// The number that the answer repeats. The tokens already mark the exchange, so it is always this one.
const BROWSER_NUMBER: u8 = 5;

/// One exchange.
#[derive(Debug, Clone)]
pub(crate) struct Prober {
    ours: [u8; 4],
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    WantsToken,
    Asked,
}

impl Prober {
    pub(crate) fn new(nonce: u32) -> Self {
        // All ones mean "no token", which would mark nothing.
        Self { ours: nonce.min(u32::MAX - 1).to_be_bytes(), state: State::WantsToken }
    }

    pub(crate) fn start(&mut self) -> Vec<u8> {
        self.state = State::WantsToken;
        let mut packet = vec![CONTROL, 0, 0];
        packet.extend(TOKEN_NONE);
        packet.push(CONTROL_TOKEN);
        packet.extend(self.ours);
        packet.resize(TOKEN_REQUEST_BYTES, 0);
        packet
    }

    pub(crate) fn receive(&mut self, packet: &[u8]) -> Step {
        match self.state {
            State::WantsToken => self.receive_token(packet).into(),
            State::Asked => self.receive_answer(packet).into(),
        }
    }

    fn receive_token(&mut self, packet: &[u8]) -> Result<Step, Malformed> {
        let mut reader = Reader::new(packet);
        if reader.u8("the packet's flags")? != CONTROL {
            return Ok(Step::Wait);
        }
        reader.bytes("the packet's header", 2)?;
        if reader.bytes("our token", 4)? != self.ours || reader.u8("the control message")? != CONTROL_TOKEN {
            return Ok(Step::Wait);
        }
        let theirs = reader.bytes("the server's token", 4)?;
        self.state = State::Asked;
        let mut question = vec![CONNECTIONLESS];
        question.extend(theirs);
        question.extend(self.ours);
        question.extend(QUESTION);
        question.push(BROWSER_NUMBER);
        Ok(Step::Send(question))
    }

    fn receive_answer(&self, packet: &[u8]) -> Result<Step, Malformed> {
        let mut reader = Reader::new(packet);
        if reader.u8("the packet's flags")? != CONNECTIONLESS || reader.bytes("our token", 4)? != self.ours {
            return Ok(Step::Wait);
        }
        reader.bytes("the server's token", 4)?;
        if reader.bytes("the kind of answer", ANSWER.len())? != ANSWER {
            return Ok(Step::Wait);
        }
        if packed(&mut reader, "the repeated number")? != i32::from(BROWSER_NUMBER) {
            return Ok(Step::Wait);
        }
        reader.text_closed("the version")?;
        let name = reader.text_closed("the server's name")?;
        reader.text_closed("the host name")?;
        let map = reader.text_closed("the map")?;
        reader.text_closed("the game type")?;
        for what in ["the flags", "the skill level", "the player count", "the player slots"] {
            packed(&mut reader, what)?;
        }
        let players = packed_count(&mut reader, "the client count")?;
        let max_players = packed_count(&mut reader, "the client slots")?;
        Ok(Step::Done(Answer {
            players: Some(players),
            max_players: Some(max_players),
            name: Some(name),
            map: Some(map),
        }))
    }
}

/// A number as Teeworlds packs it: first byte `ESDDDDDD`, up to four more `EDDDDDDD`, least significant first; `E` says
/// that more follow, `S` that all bits are inverted.
fn packed(reader: &mut Reader<'_>, what: &'static str) -> Result<i32, Malformed> {
    const BYTES_MAX: u32 = 5;
    let first = reader.u8(what)?;
    let mut value = u32::from(first & 0x3f);
    let mut more = first & 0x80 != 0;
    for place in 0..BYTES_MAX - 1 {
        if !more {
            break;
        }
        let byte = reader.u8(what)?;
        // The fifth byte holds the last five bits of 32; shifting the rest out is what the game does too.
        value |= u32::from(byte & 0x7f) << (6 + 7 * place);
        more = byte & 0x80 != 0;
    }
    let sign = if first & 0x40 == 0 { 0 } else { u32::MAX };
    Ok((value ^ sign).cast_signed())
}

fn packed_count(reader: &mut Reader<'_>, what: &'static str) -> Result<u32, Malformed> {
    let value = packed(reader, what)?;
    u32::try_from(value).map_err(|_| Malformed::Unknown { what, found: value.cast_unsigned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    /// Recorded from Debian's `teeworlds-server` 0.7.5-2 with `sv_name probe; sv_map dm1`.
    const TOKEN: &str = "04000001020304051e3b9b2e";
    const INFO: &str = concat!(
        "21010203041e3b9b2effffffff696e663305302e372e350070726f6265",
        "0000646d3100444d00000100080008"
    );

    #[test]
    fn golden_exchange() {
        let mut prober = Prober::new(0x0102_0304);
        let request = prober.start();
        assert_eq!(request.len(), 520);
        assert_eq!(request[..12], bytes("040000ffffffff0501020304"));
        assert!(request[12..].iter().all(|&byte| byte == 0));
        let question = Step::Send(bytes("211e3b9b2e01020304ffffffff6769653305"));
        assert_eq!(prober.receive(&bytes(TOKEN)), question);
        assert_eq!(
            prober.receive(&bytes(INFO)),
            Step::Done(Answer {
                players: Some(0),
                max_players: Some(8),
                name: Some("probe".into()),
                map: Some("dm1".into()),
            })
        );
    }

    #[test]
    fn what_is_not_ours_is_waited_out() {
        let mut prober = Prober::new(7);
        prober.start();
        assert_eq!(prober.receive(&bytes(TOKEN)), Step::Wait, "a token for someone else");
        assert_eq!(prober.receive(&bytes(INFO)), Step::Wait, "an answer before the question");
        let mut prober = Prober::new(0x0102_0304);
        prober.start();
        prober.receive(&bytes(TOKEN));
        assert_eq!(prober.receive(&bytes(TOKEN)), Step::Wait, "a token that came twice");
    }

    #[test]
    fn every_cut_is_refused() {
        let info = bytes(INFO);
        for end in 0..info.len() {
            let mut prober = Prober::new(0x0102_0304);
            prober.start();
            prober.receive(&bytes(TOKEN));
            assert!(matches!(prober.receive(&info[..end]), Step::Refused(_)), "cut at {end}");
        }
    }

    #[test]
    fn packed_numbers() {
        for (hex, value) in [
            ("00", 0),
            ("3f", 63),
            ("8001", 64),
            ("40", -1),
            ("bfffffff0f", i32::MAX),
            ("ffffffff0f", i32::MIN),
        ] {
            let packet = bytes(hex);
            let mut reader = Reader::new(&packet);
            assert_eq!(packed(&mut reader, "a number"), Ok(value), "{hex}");
            assert_eq!(reader.left(), 0);
        }
        let endless = bytes("ffffffffffffff");
        let mut reader = Reader::new(&endless);
        assert!(packed(&mut reader, "a number").is_ok());
        assert_eq!(reader.left(), 2, "never more than five bytes");
        assert_eq!(
            packed_count(&mut Reader::new(&[0x40]), "the client count"),
            Err(Malformed::Unknown { what: "the client count", found: u32::MAX })
        );
    }
}
