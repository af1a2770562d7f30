//! What happens in a session, as a C structure.

use std::ffi::c_char;
use std::ptr;

use mainstay_peer::migration::{Acting, Cause, Kind, Outcome, PeerId, Role, Stamp, StateError};
use mainstay_peer::{Event, Listing, NotCarried, NotSaid, code_of};

use crate::listener::MainstayStage;
use crate::memory::fixed;
use crate::status::MAINSTAY_CODE_LENGTH;
use crate::{MainstayChannel, MainstayId};

/// What happened. Which fields of a MainstayEvent hold something is said here; all others are zero, and what points to
/// nothing is null.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayEventKind {
    /// Nothing.
    Nothing = 0,
    /// This peer is a member.
    Entered = 1,
    /// It is the host, and goes on from `parts`, in their order; without parts from what it has. `epoch`, `fork`.
    Lead = 2,
    /// It obeys the host `peer`. `epoch`, `fork`.
    Follow = 3,
    /// As host: whether the game steps on is in `acts`.
    Act = 4,
    /// As host: the member `peer` is with it, on `channel`. `acts` says whether it plays something already, and `number` what: then no other
    /// actor is made for it.
    Connected = 5,
    /// As host: the member `peer` is none any more.
    Gone = 6,
    /// As host: the game up to `tick` is held by it and two others, or as many as can be host after it. Never at MAINSTAY_LEVEL_NONE.
    Durable = 7,
    /// As host: what `peer` did is in `bytes`; `number` counts that peer's. The next state has to hold it.
    Apply = 8,
    /// As host: what was given as state, or asked for as handover, was not taken, for events were not read yet that it has to hold. Only
    /// a snapshot is taken next.
    Behind = 9,
    /// As host: what was given as state is none; why is in `not_taken`, and as a text in `bytes`.
    NotTaken = 10,
    /// What this peer did as `number` is given up: too much waits.
    InputForgotten = 11,
    /// The host `peer` tells another past than was heard before.
    Rewritten = 12,
    /// A host that no majority had confirmed is confirmed now. `epoch`, `fork`.
    Confirmed = 13,
    /// A migration has ended: `peer` is host now, `epoch`, `fork`; `acts` says whether that is this peer; `number` is how many
    /// milliseconds it took, and `cause` why it began.
    Migrated = 14,
    /// A migration has failed, for a reason that is a text in `bytes` and has a `code`; `number` and `cause` as above.
    Terminated = 15,
    /// A console variable was not set; why is a text in `bytes`.
    NotSet = 16,
    /// The host says what is in `bytes`. `epoch`, `fork`.
    FromHost = 17,
    /// The member `peer` says what is in `bytes`.
    FromMember = 18,
    /// A migration is over and this peer is a client, or it was terminated: the entities in `entities` are not needed any more.
    Discard = 19,
    /// The session is over for this peer, for a reason that is a text in `bytes` and, but where the game left, has a `code`. Nothing comes
    /// after.
    Over = 20,
    /// As host: the game asked for a better one (mainstay_seat_hand_over), and nobody suits better; or whoever did
    /// (MAINSTAY_EVENT_KIND_SOMEBODY_BETTER) does no more, or has gone. What it gave is held, if it was taken, and it goes on.
    NobodyBetter = 21,
    /// How a migration goes on: told as each of its stages begins, and every second. `cause`; `acts` says whether listeners are called, and
    /// `stage` for what: otherwise it waits for a new host or for its game. `number` is how many milliseconds it has taken, `tick` how many
    /// it may take yet, and `bytes` are the names of the listeners that it waits for, a line each.
    Progress = 22,
    /// As host: what it says carries `epoch` and `fork` from now on, and what it gave before does not count as held any more. What waits for
    /// that waits for another piece: the game holds one at once, where it does not with every tick.
    StateWanted = 23,
    /// As host, while players gather: `peer` suits better, and the session goes to it. The game steps no further and answers with its last
    /// state (mainstay_seat_hand_over to that one, in the lobby). Where it has not within two seconds, what it held last goes along, and
    /// what it did since is lost.
    SomebodyBetter = 24,
    /// As host: `number` more of what the game said is told to nobody, for too much waited already; by which `code`, and why as a text in
    /// `bytes`. Told a few times a second at most.
    NotSaid = 25,
    /// As host of a session of a lobby: what the game said of it (`number`: 0 whether it is found, 1 whether newcomers are let in, 2 its
    /// phase) is not listed so, for the lobby refused it for ten seconds; by which `code`, and why as a text in `bytes`.
    NotListed = 26,
    /// `number` more messages that the game said by MAINSTAY_WAY_STREAM do not come to `peer`, whose link has no room, or which has none; by which
    /// `code`, and why as a text in `bytes`. Told once a second at most.
    NotCarried = 27,
}

/// Why a migration began.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayCause {
    /// The host has found a better one before the game began.
    Lobby = 0,
    /// The host has quit.
    Controlled = 1,
    /// The host is lost.
    Catastrophic = 2,
    /// This peer was host, and another has been certified meanwhile.
    Fenced = 3,
    /// Two sides have met.
    Merge = 4,
}

/// Why what a host's game gave is no state.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayNotTaken {
    /// It was taken.
    Taken = 0,
    /// With it there would be more than 256 KiB, or more than 256 parts, since the snapshot: a snapshot is to be given.
    TooLong = 1,
    /// There is no snapshot before it.
    NoSnapshot = 2,
    /// This peer is no host whose game steps now: a snapshot is to be given when it steps again.
    NotNow = 3,
    /// The piece before it was not taken: a snapshot is to be given.
    Gap = 4,
    /// It is of an earlier tick than the piece before it.
    Earlier = 5,
}

impl From<&StateError> for MainstayNotTaken {
    fn from(why: &StateError) -> Self {
        match why {
            StateError::TooLong { .. } => Self::TooLong,
            StateError::NoSnapshot => Self::NoSnapshot,
            StateError::NotNow => Self::NotNow,
            StateError::Gap => Self::Gap,
            StateError::Earlier { .. } => Self::Earlier,
        }
    }
}

/// What a part of a game's state is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainstayKind {
    /// The whole game: nothing before it is needed.
    Snapshot = 0,
    /// What changed since the part before.
    Delta = 1,
    /// Something that must not be lost once it was shown.
    Event = 2,
}

/// One part of a game's state.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayPart {
    /// What it is.
    pub kind: MainstayKind,
    /// Of which tick.
    pub tick: u64,
    /// What the host gave.
    pub bytes: *const u8,
    /// How many.
    pub length: usize,
}

/// What happened. What it points to lasts until the next call of mainstay_seat_next or mainstay_seat_free with its seat.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MainstayEvent {
    /// What.
    pub kind: MainstayEventKind,
    /// See `kind`.
    pub peer: MainstayId,
    /// How many hosts the session has had.
    pub epoch: u32,
    /// How many since then without a majority; 0 of a certified host.
    pub fork: u32,
    /// See `kind`.
    pub acts: bool,
    /// See `kind`.
    pub cause: MainstayCause,
    /// See `kind`.
    pub stage: MainstayStage,
    /// See `kind`.
    pub not_taken: MainstayNotTaken,
    /// See `kind`: such as `MS-S230` (docs/reference/error-codes.md). Ends with a zero byte.
    pub code: [c_char; MAINSTAY_CODE_LENGTH],
    /// See `kind`.
    pub channel: MainstayChannel,
    /// See `kind`.
    pub number: u64,
    /// See `kind`.
    pub tick: u64,
    /// See `kind`.
    pub bytes: *const u8,
    /// How many.
    pub length: usize,
    /// See `kind`.
    pub parts: *const MainstayPart,
    /// How many.
    pub parts_length: usize,
    /// See `kind`.
    pub entities: *const u64,
    /// How many.
    pub entities_length: usize,
}

impl MainstayEvent {
    const fn of(kind: MainstayEventKind) -> Self {
        Self {
            kind,
            peer: MainstayId { bytes: [0; 16] },
            epoch: 0,
            fork: 0,
            acts: false,
            cause: MainstayCause::Lobby,
            stage: MainstayStage::Initiate,
            not_taken: MainstayNotTaken::Taken,
            code: [0; MAINSTAY_CODE_LENGTH],
            channel: MainstayChannel { epoch: 0, fork: 0, number: 0 },
            number: 0,
            tick: 0,
            bytes: ptr::null(),
            length: 0,
            parts: ptr::null(),
            parts_length: 0,
            entities: ptr::null(),
            entities_length: 0,
        }
    }

    fn about(kind: MainstayEventKind, peer: PeerId) -> Self {
        Self { peer: peer.into(), ..Self::of(kind) }
    }

    const fn stamped(self, stamp: Stamp) -> Self {
        Self { epoch: stamp.epoch.0, fork: stamp.fork, ..self }
    }
}

/// Where they lie; null where there is none, for an empty list lies nowhere, and its address is not zero.
const fn place<T>(list: &[T]) -> *const T {
    if list.is_empty() { ptr::null() } else { list.as_ptr() }
}

/// What the last event of a seat points to.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    all_parts: Vec<Vec<u8>>,
    parts: Vec<MainstayPart>,
    entities: Vec<u64>,
}

impl Held {
    /// Keeps what the event brought, and tells it.
    pub(crate) fn tell(&mut self, event: Event) -> MainstayEvent {
        *self = Self::default();
        let told = self.take(event);
        MainstayEvent {
            bytes: place(&self.bytes),
            length: self.bytes.len(),
            parts: place(&self.parts),
            parts_length: self.parts.len(),
            entities: place(&self.entities),
            entities_length: self.entities.len(),
            ..told
        }
    }

    fn say(&mut self, kind: MainstayEventKind, why: &dyn std::fmt::Display) -> MainstayEvent {
        self.bytes = why.to_string().into_bytes();
        MainstayEvent::of(kind)
    }

    fn take(&mut self, event: Event) -> MainstayEvent {
        use MainstayEventKind as Of;
        match event {
            Event::Entered => MainstayEvent::of(Of::Entered),
            Event::Lead { stamp, state } => {
                // The bytes first, so that none of them moves once it is pointed to.
                self.all_parts = state.parts().iter().map(|part| part.bytes.clone()).collect();
                let with_bytes = state.parts().iter().zip(&self.all_parts);
                self.parts = with_bytes
                    .map(|(part, bytes)| MainstayPart {
                        kind: part.kind.into(),
                        tick: part.id.tick.0,
                        bytes: place(bytes),
                        length: bytes.len(),
                    })
                    .collect();
                MainstayEvent::of(Of::Lead).stamped(stamp)
            }
            Event::Follow { leader, stamp } => MainstayEvent::about(Of::Follow, leader).stamped(stamp),
            Event::Act(acting) => MainstayEvent { acts: acting == Acting::Yes, ..MainstayEvent::of(Of::Act) },
            Event::Connected { peer, channel, actor } => MainstayEvent {
                channel: channel.into(),
                acts: actor.is_some(),
                number: actor.map_or(0, |actor| actor.0),
                ..MainstayEvent::about(Of::Connected, peer)
            },
            Event::Gone(peer) => MainstayEvent::about(Of::Gone, peer),
            Event::Durable(state) => MainstayEvent { tick: state.tick.0, ..MainstayEvent::of(Of::Durable) },
            Event::Apply { from, number, bytes } => {
                self.bytes = bytes;
                MainstayEvent { number, ..MainstayEvent::about(Of::Apply, from) }
            }
            Event::Behind => MainstayEvent::of(Of::Behind),
            Event::NotTaken(why) => {
                MainstayEvent { not_taken: (&why).into(), ..self.say(Of::NotTaken, &why) }
            }
            Event::SomebodyBetter(better) => MainstayEvent::about(Of::SomebodyBetter, better),
            Event::NobodyBetter => MainstayEvent::of(Of::NobodyBetter),
            Event::Progress(progress) => {
                self.bytes = progress.waits_for.join("\n").into_bytes();
                MainstayEvent {
                    cause: progress.of.cause.into(),
                    acts: progress.stage.is_some(),
                    stage: progress.stage.map_or(MainstayStage::Initiate, MainstayStage::from),
                    number: progress.took_ms,
                    tick: progress.left_ms,
                    ..MainstayEvent::of(Of::Progress)
                }
            }
            Event::NotListed(why) => MainstayEvent {
                number: match why.listing {
                    Listing::Searchable(_) => 0,
                    Listing::Joining(_) => 1,
                    Listing::Phase(_) => 2,
                },
                code: fixed(&why.code),
                ..self.say(Of::NotListed, &why)
            },
            Event::NotSaid(why) => {
                MainstayEvent { number: why.count, code: fixed(NotSaid::CODE), ..self.say(Of::NotSaid, &why) }
            }
            Event::NotCarried(why) => MainstayEvent {
                number: why.count,
                peer: why.peer.into(),
                code: fixed(NotCarried::CODE),
                ..self.say(Of::NotCarried, &why)
            },
            Event::InputForgotten { number } => {
                MainstayEvent { number, ..MainstayEvent::of(Of::InputForgotten) }
            }
            Event::Rewritten { host, .. } => MainstayEvent::about(Of::Rewritten, host),
            Event::Confirmed(stamp) => MainstayEvent::of(Of::Confirmed).stamped(stamp),
            Event::StateWanted(stamp) => MainstayEvent::of(Of::StateWanted).stamped(stamp),
            Event::Migrated(report) => {
                let told = match report.outcome {
                    Outcome::Moved { host, stamp, role } => MainstayEvent {
                        acts: role == Role::Host,
                        ..MainstayEvent::about(Of::Migrated, host).stamped(stamp)
                    },
                    Outcome::Terminated(why) => MainstayEvent {
                        code: fixed(code_of(&why)),
                        ..self.say(Of::Terminated, &why.to_string())
                    },
                };
                MainstayEvent { number: report.took_ms, cause: report.cause.into(), ..told }
            }
            Event::NotSet(why) => self.say(Of::NotSet, &why),
            Event::FromHost { stamp, bytes } => {
                self.bytes = bytes;
                MainstayEvent::of(Of::FromHost).stamped(stamp)
            }
            Event::FromMember { peer, bytes } => {
                self.bytes = bytes;
                MainstayEvent::about(Of::FromMember, peer)
            }
            Event::Discard(entities) => {
                self.entities = entities.iter().map(|entity| entity.0).collect();
                MainstayEvent::of(Of::Discard)
            }
            Event::Over(why) => MainstayEvent {
                code: fixed(why.code().unwrap_or_default()),
                ..self.say(Of::Over, &why.to_string())
            },
        }
    }
}

impl From<Cause> for MainstayCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Lobby => Self::Lobby,
            Cause::Controlled => Self::Controlled,
            Cause::Catastrophic => Self::Catastrophic,
            Cause::Fenced => Self::Fenced,
            Cause::Merge => Self::Merge,
        }
    }
}

impl From<Kind> for MainstayKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Snapshot => Self::Snapshot,
            Kind::Delta => Self::Delta,
            Kind::Event => Self::Event,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mainstay_peer::Over;
    use mainstay_peer::link::Obstacle;
    use mainstay_peer::migration::{Closed, End, EntityId, Failure, Forged, Report};

    use super::*;

    fn code(event: &MainstayEvent) -> String {
        event
            .code
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| char::from(byte.to_ne_bytes()[0]))
            .collect()
    }

    /// The header: what an event's kind does not name is zero; also what an event before it held.
    #[test]
    fn what_an_event_does_not_hold_is_null() {
        let mut held = Held::default();
        let nowhere =
            |told: &MainstayEvent| [told.bytes.is_null(), told.parts.is_null(), told.entities.is_null()];
        let told = held.tell(Event::FromMember { peer: PeerId(9), bytes: vec![7] });
        assert_eq!((nowhere(&told), told.length), ([false, true, true], 1));
        let told = held.tell(Event::Discard(vec![EntityId(3)]));
        assert_eq!((nowhere(&told), told.entities_length), ([true, true, false], 1));
        for event in [Event::Entered, Event::FromMember { peer: PeerId(9), bytes: Vec::new() }] {
            let told = held.tell(event);
            assert_eq!((nowhere(&told), told.length, told.entities_length), ([true; 3], 0, 0));
        }
    }

    #[test]
    fn what_is_told_to_nobody_has_its_numbers_and_a_code() {
        let mut held = Held::default();
        let told = held.tell(Event::NotSaid(NotSaid { count: 3, messages: 4_096, bytes: 70 }));
        assert_eq!(
            (told.kind, told.number, code(&told)),
            (MainstayEventKind::NotSaid, 3, "MS-S230".to_owned())
        );
        let why = String::from_utf8(held.bytes.clone()).unwrap();
        assert!(why.contains("4096 messages of 70 bytes"), "{why}");
    }

    #[test]
    fn what_no_link_carries_names_the_peer_and_the_count() {
        let mut held = Held::default();
        let first = Obstacle::NoLink;
        let told = held.tell(Event::NotCarried(NotCarried { peer: PeerId(9), count: 3, first }));
        assert_eq!((told.kind, told.number), (MainstayEventKind::NotCarried, 3));
        assert_eq!((told.peer.peer(), code(&told)), (PeerId(9), "MS-S247".to_owned()));
    }

    /// Each reason its own, but for the reasons that a member and a newcomer share; and none where the game left.
    #[test]
    fn who_is_told_that_it_is_over_is_told_by_which_code() {
        let failures = [
            Failure::TimeLimit,
            Failure::Vetoed("game".to_owned()),
            Failure::NoMajority,
            Failure::CutOff,
            Failure::Left,
        ];
        let closed = [
            Closed::Kicked,
            Closed::Full,
            Closed::NoPass,
            Closed::PassExpired,
            Closed::ToNewcomers,
            Closed::OtherOrder,
            Closed::Replaced,
        ];
        let ends = failures.iter().cloned().map(End::Failed).chain(closed.map(End::Refused));
        let others = [
            Over::Ended(End::HostLost),
            Over::Ended(End::Closed),
            Over::NoAnswer,
            Over::OtherProtocol,
            Over::Forged(Forged::Sender),
            Over::GameHung,
            Over::Panicked,
        ];
        let mut held = Held::default();
        let mut tell = |why: Over| code(&held.tell(Event::Over(why)));
        let codes: BTreeSet<String> = ends.map(Over::Ended).chain(others).map(&mut tell).collect();
        assert_eq!(codes.len(), 19, "{codes:?}");
        assert!(codes.iter().all(|code| code.len() == 7 && code.starts_with("MS-S2")), "{codes:?}");
        assert_eq!(tell(Over::Refused(Closed::Full)), tell(Over::Ended(End::Refused(Closed::Full))));
        assert_eq!(tell(Over::Ended(End::Left)), "");
        let terminated = |failure: Failure| Report {
            cause: Cause::Catastrophic,
            outcome: Outcome::Terminated(failure),
            resets: 0,
            took_ms: 30_000,
        };
        for failure in failures {
            let over = tell(Over::Ended(End::Failed(failure.clone())));
            let told = Held::default().tell(Event::Migrated(terminated(failure)));
            assert_eq!((told.kind, code(&told)), (MainstayEventKind::Terminated, over));
        }
    }
}
