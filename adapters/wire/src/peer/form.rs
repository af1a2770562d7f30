//! The format: which fields a value has, in which order, and which number stands for which variant. Numbers are never
//! used again for something else.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_migration::{
    ActorId, Ancestor, Announcement, Beat, Body, CanBeHost, Cause, Certificate, ChannelId, Claim, Closed,
    Descent, Entry, Epoch, Excerpt, Given, Handover, Hears, Hint, HintList, HintVersion, Kind, LINEAGE_MAX,
    Leads, Level, MEMBERS_MAX, Message, Migratable, NatType, OrderName, PARTS_MAX, PASS_PLAYER_BYTES_MAX,
    PLAYERS_MAX, Part, Pass, PeerId, Proof, Receipt, Refusal, Renewal, Root, Roster, SIGNATURE_BYTES_MAX,
    STATE_BYTES_MAX, SessionId, Side, Signature, Stamp, Standing, StateHash, StateId, Support, Terms, Tick,
    View, ViewId, Vote, Welcome, WithoutMajority,
};

use super::pack::{Listed, Packed, Reader, around, choice, put_bytes, record, take_bytes, take_map};
use super::{ADDRESSES_MAX, CARDS_MAX, Card, GAME_BYTES_MAX, Game, Malformed, Packet, Word};

choice!(Packet, "packet" { 1 = Protocol(message), 2 = Game(game), 3 = Book(cards), 4 = Word(word), 5 = Heard { session, stamp, given } });
record!(Card { peer, addresses });

impl Packed for Game {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { session, stamp, bytes } = self;
        session.put(out);
        stamp.put(out);
        put_bytes(bytes, out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (session, stamp) = (Packed::take(from)?, Packed::take(from)?);
        Ok(Self { session, stamp, bytes: take_bytes(from, GAME_BYTES_MAX)? })
    }
}

impl Packed for Word {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { session, stamp, number, bytes } = self;
        session.put(out);
        stamp.put(out);
        number.put(out);
        put_bytes(bytes, out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (session, stamp) = (Packed::take(from)?, Packed::take(from)?);
        Ok(Self { session, stamp, number: Packed::take(from)?, bytes: take_bytes(from, GAME_BYTES_MAX)? })
    }
}

impl Packed for Given {
    fn put(&self, out: &mut Vec<u8>) {
        self.newest.put(out);
        self.groups.iter().for_each(|group| group.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut given = Self { newest: Packed::take(from)?, ..Self::default() };
        for group in &mut given.groups {
            *group = Packed::take(from)?;
        }
        Ok(given)
    }
}

record!(Message { session, stamp, body });
choice!(Body, "body of a message" {
    1 = Beat(beat),
    2 = Ask,
    3 = Answer(hears),
    4 = Claim(claim),
    5 = Vote(vote),
    6 = Refusal { epoch, why },
    7 = Announce(word),
    8 = View(view),
    9 = Taken(id),
    10 = Roster(roster),
    11 = Hints(hints),
    12 = State(excerpt),
    13 = Holds(id),
    14 = Pull(id),
    15 = Play { oldest, number, bytes },
    16 = Join { hint, order },
    17 = Welcome(welcome),
    18 = Redirect(peer),
    19 = Leave,
    20 = Refused(why),
    21 = Present { pass, order },
    22 = Bring { renewal, hears },
    23 = Counted(receipt),
});
record!(Beat { sent, echo, leads, view, hints, hint, promised, roster, holds, applied, taken });
choice!(Leads, "kind of leading" { 1 = Obeys(host), 2 = Accedes, 3 = Yes(side), 4 = HandsOver { to, why, state, epoch } });
record!(Side { mandate, size, state, opened, channel });
choice!(Standing, "standing" { 1 = Unconfirmed, 2 = Confirmed });
choice!(Handover, "reason of a handover" { 1 = Lobby, 2 = Leaves, 3 = Merge });
choice!(Hears, "answer" { 1 = Yes, 2 = No });
choice!(Closed, "reason to be kept out" { 1 = Kicked, 2 = Full, 3 = NoPass, 4 = PassExpired, 5 = ToNewcomers, 6 = OtherOrder, 7 = Replaced });
choice!(Cause, "cause" { 1 = Lobby, 2 = Controlled, 3 = Catastrophic, 4 = Fenced, 5 = Merge });

record!(Claim { epoch, candidate, view });
record!(Vote { epoch, candidate, voter, electorate, signature });
choice!(Refusal, "refusal" {
    1 = Passed(certificates),
    2 = Promised(epoch),
    3 = NewerView(view),
    4 = NotMine,
    5 = HostLives,
    6 = Unsuitable,
});
record!(Certificate { epoch, host, proof });
choice!(Proof, "proof" { 1 = Majority { electorate, votes }, 2 = Lobby(signature) });
record!(View { id, host, members, signature });
record!(ViewId { epoch, version });
record!(Roster { stamp, version, members, kicked, actors, support });
record!(Root { epoch, host });
record!(Renewal { as_of, signature });
record!(Receipt { renewed, as_of, signature });
record!(Welcome { terms, root, certificates, view, roster, hints, channel, inputs });
record!(Terms { order, migratable, without_majority, level, size });
choice!(OrderName, "order" { 1 = Documented, 2 = CryEngine51, 3 = Game(number) });
choice!(Migratable, "answer whether it migrates" { 1 = Yes, 2 = No });
choice!(Support, "answer whether its lobby supports that" { 1 = Supported, 2 = Unsupported });
choice!(WithoutMajority, "policy without a majority" { 1 = Fork, 2 = End, 3 = Hold });
choice!(Level, "level" { 1 = None, 2 = Asynchronous, 3 = DurableEvents, 4 = Synchronous });
record!(Ancestor { epoch, number });
record!(StateId { stamp, number, tick, hash });
choice!(Kind, "kind of a part" { 1 = Snapshot, 2 = Delta, 3 = Event });

record!(HintList { version, entries });
record!(HintVersion { epoch, number });
record!(Entry { channel, hint });
record!(Hint { can_be_host, nat, connections, ping_ms, upstream_bps });
choice!(CanBeHost, "suitability" { 1 = Yes, 2 = NotYet });
choice!(NatType, "NAT type" { 1 = Open, 2 = Moderate, 3 = Strict, 4 = Unknown });

around!(SessionId, PeerId, Epoch, Tick, StateHash, ActorId);
record!(Stamp { epoch, fork });
record!(ChannelId { stamp, number });

impl Packed for Timestamp {
    fn put(&self, out: &mut Vec<u8>) {
        self.unix_ms().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self::from_unix_ms(u64::take(from)?))
    }
}

impl Packed for Signature {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(&self.0, out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        take_bytes(from, SIGNATURE_BYTES_MAX).map(Self)
    }
}

impl Packed for Pass {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { expires, player, signature } = self;
        expires.put(out);
        put_bytes(player, out);
        signature.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (expires, player) = (Packed::take(from)?, take_bytes(from, PASS_PLAYER_BYTES_MAX)?);
        Ok(Self { expires, player, signature: Packed::take(from)? })
    }
}

/// A new host opens with the members that elected it: they are not written twice, for all wait for this packet at once.
impl Packed for Announcement {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { certificates, view, cause } = self;
        certificates.put(out);
        view.id.put(out);
        view.host.put(out);
        match electorate(certificates) {
            Some(members) if *members == view.members => 1_u8.put(out),
            Some(_) | None => {
                2_u8.put(out);
                view.members.put(out);
            }
        }
        view.signature.put(out);
        cause.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let certificates: Vec<Certificate> = Packed::take(from)?;
        let (id, host) = (Packed::take(from)?, Packed::take(from)?);
        let members = match (u8::take(from)?, electorate(&certificates)) {
            (1, Some(members)) => members.clone(),
            (2, elected) => {
                let members = Packed::take(from)?;
                if elected == Some(&members) {
                    return Err(Malformed::Twice);
                }
                members
            }
            (number, _) => return Err(Malformed::Choice { of: "list of members", number }),
        };
        let view = View { id, host, members, signature: Packed::take(from)? };
        Ok(Self { certificates, view, cause: Packed::take(from)? })
    }
}

/// Who could vote for the newest host, where members did.
fn electorate(certificates: &[Certificate]) -> Option<&BTreeMap<PeerId, ChannelId>> {
    match &certificates.last()?.proof {
        Proof::Majority { electorate, .. } => Some(&electorate.members),
        Proof::Lobby(_) => None,
    }
}

/// What a certified host wrote goes back to itself.
impl Packed for Descent {
    fn put(&self, out: &mut Vec<u8>) {
        self.id().put(out);
        put_ancestor(self.id(), self.ancestor(), out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let id = Packed::take(from)?;
        Ok(Self::of(id, take_ancestor(id, from)?))
    }
}

/// Only a state of a side has one that is not itself.
fn put_ancestor(id: StateId, ancestor: Ancestor, out: &mut Vec<u8>) {
    if id.is_of_side() {
        ancestor.put(out);
    }
}

fn take_ancestor(id: StateId, from: &mut Reader<'_>) -> Result<Ancestor, Malformed> {
    if id.is_of_side() { Packed::take(from) } else { Ok(Ancestor::NONE) }
}

impl Packed for Part {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { id, ancestor, previous, kind, inputs, bytes } = self;
        id.put(out);
        put_ancestor(*id, *ancestor, out);
        previous.put(out);
        kind.put(out);
        inputs.put(out);
        put_bytes(bytes, out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let id = Packed::take(from)?;
        Ok(Self {
            id,
            ancestor: take_ancestor(id, from)?,
            previous: Packed::take(from)?,
            kind: Packed::take(from)?,
            inputs: take_map(from, PLAYERS_MAX)?.into(),
            bytes: take_bytes(from, STATE_BYTES_MAX)?,
        })
    }
}

record!(Excerpt { parts, seal });

impl Listed for Arc<Part> {
    const MAX: usize = PARTS_MAX;
}

impl Listed for u8 {
    const MAX: usize = GAME_BYTES_MAX;
}

impl Listed for Certificate {
    const MAX: usize = LINEAGE_MAX;
}

impl Listed for PeerId {
    const MAX: usize = MEMBERS_MAX;
}

impl Listed for Card {
    const MAX: usize = CARDS_MAX;
}

impl Listed for std::net::SocketAddr {
    const MAX: usize = ADDRESSES_MAX;
}
