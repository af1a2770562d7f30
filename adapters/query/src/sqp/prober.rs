//! SQP's asking side: challenge, then a query for the server info alone.

use crate::answer::Answer;
use crate::malformed::Malformed;
use crate::prober::Step;
use crate::reader::Reader;
use crate::sqp::VERSION;
use crate::sqp::packet::{CHALLENGE, Chunks, QUERY, QueryAnswer, Request};

/// One exchange.
#[derive(Debug, Clone)]
pub(crate) struct Prober {
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Challenging,
    Asked { token: u32 },
}

impl Prober {
    pub(crate) const fn new() -> Self {
        Self { state: State::Challenging }
    }

    pub(crate) fn start(&mut self) -> Vec<u8> {
        self.state = State::Challenging;
        Request::Challenge.encode()
    }

    pub(crate) fn receive(&mut self, packet: &[u8]) -> Step {
        let mut reader = Reader::new(packet);
        let head = reader.u8("the packet's kind").and_then(|kind| Ok((kind, reader.u32_be("the token")?)));
        match (&self.state, head) {
            (_, Err(malformed)) => Step::Refused(malformed),
            (State::Challenging, Ok((CHALLENGE, token))) => {
                self.state = State::Asked { token };
                Step::Send(Request::Query { token, version: VERSION, chunks: Chunks::SERVER_INFO }.encode())
            }
            (State::Asked { token }, Ok((QUERY, theirs))) if theirs == *token => answer(packet).into(),
            (State::Challenging | State::Asked { .. }, Ok((CHALLENGE | QUERY, _))) => Step::Wait,
            (_, Ok((kind, _))) => {
                Step::Refused(Malformed::Unknown { what: "the packet's kind", found: u32::from(kind) })
            }
        }
    }
}

fn answer(packet: &[u8]) -> Result<Step, Malformed> {
    let answer = QueryAnswer::decode(packet, Chunks::SERVER_INFO)?;
    Ok(Step::Done(answer.info.map_or_else(Answer::default, |info| Answer {
        players: Some(u32::from(info.players)),
        max_players: Some(u32::from(info.max_players)),
        name: Some(info.name),
        map: Some(info.map),
    })))
}
