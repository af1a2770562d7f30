//! A2S's asking side: the info question, again with a token where the server asks for one.

use crate::a2s::packet::{CHALLENGE, INFO, Info, ONES, Request, SPLIT};
use crate::answer::Answer;
use crate::limits::CHALLENGES_MAX;
use crate::malformed::Malformed;
use crate::prober::Step;
use crate::reader::Reader;

/// One exchange.
#[derive(Debug, Clone)]
pub(crate) struct Prober {
    challenges: u8,
}

impl Prober {
    pub(crate) const fn new() -> Self {
        Self { challenges: 0 }
    }

    pub(crate) fn start(&mut self) -> Vec<u8> {
        self.challenges = 0;
        Request::Info { token: None }.encode()
    }

    pub(crate) fn receive(&mut self, packet: &[u8]) -> Step {
        self.read(packet).into()
    }

    fn read(&mut self, packet: &[u8]) -> Result<Step, Malformed> {
        let mut reader = Reader::new(packet);
        let head = reader.bytes("the packet's head", ONES.len())?;
        if head == SPLIT {
            return Err(Malformed::Split { number: 0 });
        }
        if head != ONES {
            return Err(Malformed::Unknown { what: "the packet's head", found: u32::from(head[0]) });
        }
        match reader.u8("the packet's kind")? {
            CHALLENGE => {
                let token = reader.u32_le("the token")?;
                if self.challenges == CHALLENGES_MAX {
                    let (found, max) = (usize::from(CHALLENGES_MAX) + 1, usize::from(CHALLENGES_MAX));
                    return Err(Malformed::TooMany { what: "challenges", found, max });
                }
                self.challenges += 1;
                Ok(Step::Send(Request::Info { token: Some(token) }.encode()))
            }
            INFO => {
                let info = Info::decode(packet)?;
                Ok(Step::Done(Answer {
                    players: Some(u32::from(info.players)),
                    max_players: Some(u32::from(info.max_players)),
                    name: Some(info.name),
                    map: Some(info.map),
                }))
            }
            kind => Err(Malformed::Unknown { what: "the packet's kind", found: u32::from(kind) }),
        }
    }
}
