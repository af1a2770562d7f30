//! What a queue's events are made of, in formats 1 to 9: players, how tickets stand, how games are reached.

use std::sync::Arc;

use mainstay_core::{ClaimId, MatchId, ServerId, Tenure, Timestamp};
use mainstay_matchmaking::{self as domain, Amount, Entity};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct Member<'a> {
    entity: &'a str,
    raw: Option<&'a str>,
    #[serde(borrow)]
    values: Vec<Option<Value<'a>>>,
}

#[derive(Serialize, Deserialize)]
enum Value<'a> {
    Text(&'a str),
    /// In millionths.
    Number(i64),
    #[serde(borrow)]
    Texts(Vec<&'a str>),
    Latencies(Vec<(&'a str, u32)>),
    /// What no rule reads is not kept, only that it was there.
    Other,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Seated<'a> {
    #[serde(borrow)]
    member: Member<'a>,
    team: Option<&'a str>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Server<'a> {
    fqdn: Option<&'a str>,
    ipv4_address: Option<&'a str>,
    #[serde(borrow)]
    ports: Vec<Port<'a>>,
    region: Option<&'a str>,
    server_id: Option<&'a str>,
}

#[derive(Serialize, Deserialize)]
struct Port<'a> {
    name: &'a str,
    number: u16,
    protocol: Protocol,
}

#[derive(Serialize, Deserialize)]
enum Protocol {
    Tcp,
    Udp,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Cancellation {
    User,
    Server,
    Timeout,
    ServerAllocationFailed,
    TicketUnmatchable,
    RetryRequired,
    Internal,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Stage {
    Gathering,
    Searching {
        since: u64,
        arrival: u64,
    },
    Matched {
        id: MatchId,
        at: u64,
    },
    Canceled {
        reason: Cancellation,
        at: u64,
    },
    /// Since format 2.
    Back {
        since: u64,
        arrival: u64,
        back: u64,
    },
    Held {
        hold: MatchId,
        since: u64,
        arrival: u64,
        back: Option<u64>,
    },
    /// Since format 9: back for want of a server. Back otherwise is told as before.
    Unplaced {
        since: u64,
        arrival: u64,
        back: u64,
    },
    HeldUnplaced {
        hold: MatchId,
        since: u64,
        arrival: u64,
        back: u64,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) enum BackfillStage {
    Searching {
        since: u64,
        arrival: u64,
    },
    Matched {
        id: MatchId,
        at: u64,
    },
    Canceled {
        reason: Cancellation,
        at: u64,
    },
    /// Since format 3.
    Back {
        since: u64,
        arrival: u64,
        back: u64,
    },
}

/// Since format 3.
#[derive(Serialize, Deserialize)]
pub(super) struct Terms {
    lease: Lease,
    taken_out: TakenOut,
}

#[derive(Serialize, Deserialize)]
enum Lease {
    Free,
    Renewed { within: u32 },
    Hosted { server: ServerId, session: ClaimId, run: Option<u64> },
}

#[derive(Serialize, Deserialize)]
enum TakenOut {
    Ends,
    GoesOn,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Cursor {
    at: u64,
    kind: Kind,
    arrival: u64,
}

#[derive(Serialize, Deserialize)]
enum Kind {
    Backfill,
    Ordinary,
}

pub(super) fn texts(texts: &[Arc<str>]) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}

pub(super) fn shared(texts: &[&str]) -> Arc<[Arc<str>]> {
    texts.iter().copied().map(Arc::from).collect()
}

impl<'a> From<&'a domain::Member> for Member<'a> {
    fn from(domain::Member { entity, attributes }: &'a domain::Member) -> Self {
        let domain::Attributes { raw, values } = attributes;
        Self {
            entity: entity.as_str(),
            raw: raw.as_deref(),
            values: values.iter().map(|value| value.as_ref().map(Into::into)).collect(),
        }
    }
}

impl From<Member<'_>> for domain::Member {
    fn from(Member { entity, raw, values }: Member<'_>) -> Self {
        let values = values.into_iter().map(|value| value.map(Into::into)).collect();
        let attributes = domain::Attributes { raw: raw.map(Into::into), values };
        Self { entity: Entity::kept(entity), attributes }
    }
}

impl<'a> From<&'a domain::Value> for Value<'a> {
    fn from(value: &'a domain::Value) -> Self {
        match value {
            domain::Value::Text(text) => Self::Text(text),
            domain::Value::Number(number) => Self::Number(number.millionths()),
            domain::Value::Texts(all) => Self::Texts(texts(all)),
            domain::Value::Latencies(measured) => {
                Self::Latencies(measured.iter().map(|(region, latency)| (&**region, *latency)).collect())
            }
            domain::Value::Other(_) => Self::Other,
        }
    }
}

impl From<Value<'_>> for domain::Value {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Text(text) => Self::Text(text.into()),
            Value::Number(millionths) => Self::Number(Amount::from_millionths(millionths)),
            Value::Texts(texts) => Self::Texts(shared(&texts)),
            Value::Latencies(measured) => Self::Latencies(
                measured.into_iter().map(|(region, latency)| (region.into(), latency)).collect(),
            ),
            Value::Other => Self::Other("something else"),
        }
    }
}

impl<'a> From<&'a domain::Seated> for Seated<'a> {
    fn from(domain::Seated { member, team }: &'a domain::Seated) -> Self {
        Self { member: member.into(), team: team.as_deref() }
    }
}

impl From<Seated<'_>> for domain::Seated {
    fn from(Seated { member, team }: Seated<'_>) -> Self {
        Self { member: member.into(), team: team.map(Into::into) }
    }
}

impl<'a> From<&'a domain::ServerDetails> for Server<'a> {
    fn from(details: &'a domain::ServerDetails) -> Self {
        let domain::ServerDetails { fqdn, ipv4_address, ports, region, server_id } = details;
        let port = |port: &'a domain::Port| Port {
            name: &port.name,
            number: port.number,
            protocol: match port.protocol {
                domain::Protocol::Tcp => Protocol::Tcp,
                domain::Protocol::Udp => Protocol::Udp,
            },
        };
        Self {
            fqdn: fqdn.as_deref(),
            ipv4_address: ipv4_address.as_deref(),
            ports: ports.iter().map(port).collect(),
            region: region.as_deref(),
            server_id: server_id.as_deref(),
        }
    }
}

impl From<Server<'_>> for domain::ServerDetails {
    fn from(Server { fqdn, ipv4_address, ports, region, server_id }: Server<'_>) -> Self {
        let port = |Port { name, number, protocol }: Port<'_>| domain::Port {
            name: name.into(),
            number,
            protocol: match protocol {
                Protocol::Tcp => domain::Protocol::Tcp,
                Protocol::Udp => domain::Protocol::Udp,
            },
        };
        Self {
            fqdn: fqdn.map(Into::into),
            ipv4_address: ipv4_address.map(Into::into),
            ports: ports.into_iter().map(port).collect(),
            region: region.map(Into::into),
            server_id: server_id.map(Into::into),
        }
    }
}

super::alike! {
    Cancellation = domain::Cancellation {
        User, Server, Timeout, ServerAllocationFailed, TicketUnmatchable, RetryRequired, Internal
    };
    Kind = domain::Kind { Backfill, Ordinary };
    TakenOut = domain::TakenOut { Ends, GoesOn };
}

impl From<domain::Stage> for Stage {
    fn from(stage: domain::Stage) -> Self {
        match stage {
            domain::Stage::Gathering => Self::Gathering,
            domain::Stage::Searching(domain::Searching { since, arrival, back: None }) => {
                Self::Searching { since: since.unix_ms(), arrival }
            }
            domain::Stage::Searching(domain::Searching { since, arrival, back: Some(back) }) => {
                let (since, at) = (since.unix_ms(), back.at.unix_ms());
                match back.why {
                    domain::LetGo::Changed => Self::Back { since, arrival, back: at },
                    domain::LetGo::NoServer => Self::Unplaced { since, arrival, back: at },
                }
            }
            domain::Stage::Held { hold, searching: domain::Searching { since, arrival, back } } => {
                let since = since.unix_ms();
                match back {
                    Some(domain::Back { at, why: domain::LetGo::NoServer }) => {
                        Self::HeldUnplaced { hold, since, arrival, back: at.unix_ms() }
                    }
                    Some(domain::Back { at, why: domain::LetGo::Changed }) => {
                        Self::Held { hold, since, arrival, back: Some(at.unix_ms()) }
                    }
                    None => Self::Held { hold, since, arrival, back: None },
                }
            }
            domain::Stage::Matched { id, at } => Self::Matched { id, at: at.unix_ms() },
            domain::Stage::Canceled { reason, at } => {
                Self::Canceled { reason: reason.into(), at: at.unix_ms() }
            }
        }
    }
}

impl From<Stage> for domain::Stage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Gathering => Self::Gathering,
            Stage::Searching { since, arrival } => Self::Searching(searching(since, arrival, None)),
            Stage::Back { since, arrival, back } => Self::Searching(searching(since, arrival, Some(back))),
            Stage::Held { hold, since, arrival, back } => {
                Self::Held { hold, searching: searching(since, arrival, back) }
            }
            Stage::Unplaced { since, arrival, back } => Self::Searching(unplaced(since, arrival, back)),
            Stage::HeldUnplaced { hold, since, arrival, back } => {
                Self::Held { hold, searching: unplaced(since, arrival, back) }
            }
            Stage::Matched { id, at } => Self::Matched { id, at: Timestamp::from_unix_ms(at) },
            Stage::Canceled { reason, at } => {
                Self::Canceled { reason: reason.into(), at: Timestamp::from_unix_ms(at) }
            }
        }
    }
}

impl From<domain::BackfillStage> for BackfillStage {
    fn from(stage: domain::BackfillStage) -> Self {
        match stage {
            domain::BackfillStage::Searching(domain::Searching { since, arrival, back: None }) => {
                Self::Searching { since: since.unix_ms(), arrival }
            }
            domain::BackfillStage::Searching(domain::Searching { since, arrival, back: Some(back) }) => {
                // A game is never let go for want of a server.
                Self::Back { since: since.unix_ms(), arrival, back: back.at.unix_ms() }
            }
            domain::BackfillStage::Matched { id, at } => Self::Matched { id, at: at.unix_ms() },
            domain::BackfillStage::Canceled { reason, at } => {
                Self::Canceled { reason: reason.into(), at: at.unix_ms() }
            }
        }
    }
}

impl From<BackfillStage> for domain::BackfillStage {
    fn from(stage: BackfillStage) -> Self {
        match stage {
            BackfillStage::Searching { since, arrival } => Self::Searching(searching(since, arrival, None)),
            BackfillStage::Back { since, arrival, back } => {
                Self::Searching(searching(since, arrival, Some(back)))
            }
            BackfillStage::Matched { id, at } => Self::Matched { id, at: Timestamp::from_unix_ms(at) },
            BackfillStage::Canceled { reason, at } => {
                Self::Canceled { reason: reason.into(), at: Timestamp::from_unix_ms(at) }
            }
        }
    }
}

impl Terms {
    /// `None` for the terms that all tickets had before format 3.
    pub(super) fn told(terms: &domain::Terms) -> Option<Self> {
        let lease = match terms.lease {
            domain::Lease::Free => Lease::Free,
            domain::Lease::Renewed { within } => Lease::Renewed { within },
            domain::Lease::Hosted(Tenure { server, session, run }) => Lease::Hosted { server, session, run },
        };
        (*terms != domain::Terms::default()).then(|| Self { lease, taken_out: terms.taken_out.into() })
    }
}

impl From<Terms> for domain::Terms {
    fn from(Terms { lease, taken_out }: Terms) -> Self {
        let lease = match lease {
            Lease::Free => domain::Lease::Free,
            Lease::Renewed { within } => domain::Lease::Renewed { within },
            Lease::Hosted { server, session, run } => domain::Lease::Hosted(Tenure { server, session, run }),
        };
        Self { lease, taken_out: taken_out.into() }
    }
}

fn searching(since: u64, arrival: u64, back: Option<u64>) -> domain::Searching {
    let back = back.map(|at| domain::Back { at: Timestamp::from_unix_ms(at), why: domain::LetGo::Changed });
    domain::Searching { since: Timestamp::from_unix_ms(since), arrival, back }
}

fn unplaced(since: u64, arrival: u64, back: u64) -> domain::Searching {
    let back = domain::Back { at: Timestamp::from_unix_ms(back), why: domain::LetGo::NoServer };
    domain::Searching { since: Timestamp::from_unix_ms(since), arrival, back: Some(back) }
}

impl From<domain::Cursor> for Cursor {
    fn from(domain::Cursor { at, kind, arrival }: domain::Cursor) -> Self {
        Self { at: at.unix_ms(), kind: kind.into(), arrival }
    }
}

impl From<Cursor> for domain::Cursor {
    fn from(Cursor { at, kind, arrival }: Cursor) -> Self {
        Self { at: Timestamp::from_unix_ms(at), kind: kind.into(), arrival }
    }
}
