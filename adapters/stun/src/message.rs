//! The two messages that are exchanged, and their bytes.

use std::net::SocketAddr;

use stun_types::attribute::{
    Attribute as _, AttributeType, MappedSocketAddr, RawAttribute, XorMappedAddress,
};
use stun_types::message::{
    BINDING, Message, MessageClass, MessageType, MessageWrite as _, MessageWriteExt as _, MessageWriteVec,
    TransactionId,
};
use tracing::subscriber::{NoSubscriber, with_default};

use crate::responder::{Corner, Side};

/// The most bytes of a message that is looked at: every path carries so many (RFC 8489, section 6.1), and ours have at most 128.
pub const MESSAGE_BYTES_MAX: usize = 548;

const MAPPED_ADDRESS: AttributeType = AttributeType::new(0x0001);
const CHANGE_REQUEST: AttributeType = AttributeType::new(0x0003);
const RESPONSE_ORIGIN: AttributeType = AttributeType::new(0x802b);
const OTHER_ADDRESS: AttributeType = AttributeType::new(0x802c);

/// "change IP" of CHANGE-REQUEST.
const CHANGE_IP: u32 = 0x4;
/// "change port" of CHANGE-REQUEST.
const CHANGE_PORT: u32 = 0x2;

/// Whether a datagram is STUN's and not QUIC's: STUN's first two bits are zero (RFC 9443), and its cookie is at its place.
#[must_use]
pub fn is_stun(datagram: &[u8]) -> bool {
    const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
    datagram.first().is_some_and(|first| first & 0xc0 == 0) && datagram.get(4..8) == Some(&COOKIE)
}

/// The number of a request and its response: 96 bits, so that nobody who does not see the request can answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transaction(pub(crate) u128);

impl Transaction {
    pub(crate) const fn new(number: u128) -> Self {
        Self(number & ((1 << 96) - 1))
    }
}

/// A Binding request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) transaction: Transaction,
    /// From where the response is wanted, seen from the socket that is asked.
    pub(crate) from: Corner,
}

/// A Binding response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) transaction: Transaction,
    /// Where the request came from.
    pub(crate) mapped: SocketAddr,
    /// Where the response is sent from; `None` with a responder that does not say.
    pub(crate) origin: Option<SocketAddr>,
    /// The responder's other address and port; `None` where it has one address.
    pub(crate) other: Option<SocketAddr>,
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let kind = MessageType::from_class_method(MessageClass::Request, BINDING);
        let mut message = Message::builder(kind, self.transaction.0.into(), MessageWriteVec::new());
        let flag = |side, flag| if side == Side::Other { flag } else { 0 };
        let flags = (flag(self.from.address, CHANGE_IP) | flag(self.from.port, CHANGE_PORT)).to_be_bytes();
        if self.from != Corner::SAME {
            add(&mut message, &RawAttribute::new(CHANGE_REQUEST, &flags));
        }
        message.finish()
    }
}

/// What a responder makes of bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is to be answered.
    Request(Request),
    /// It asks for what this responder does not have: these bytes say so.
    Refused(Vec<u8>),
    /// No request.
    Nothing,
}

/// Reads a request, for a responder that can answer from another place than it was asked at, or one that cannot.
pub(crate) fn asked(bytes: &[u8], others: &Option<SocketAddr>) -> Asked {
    quietly(|| {
        let Ok(message) = Message::from_bytes(bytes) else { return Asked::Nothing };
        if !message.has_class(MessageClass::Request) || !message.has_method(BINDING) {
            return Asked::Nothing;
        }
        let known: &[AttributeType] = if others.is_some() { &[CHANGE_REQUEST] } else { &[] };
        let unknown: Vec<AttributeType> = message
            .iter_attributes()
            .map(|(_, attribute)| attribute.get_type())
            .filter(|kind| kind.comprehension_required() && !known.contains(kind))
            .take(UNKNOWN_MAX)
            .collect();
        if !unknown.is_empty() {
            let refused = Message::unknown_attributes(&message, &unknown, MessageWriteVec::new());
            return Asked::Refused(refused.finish());
        }
        let flags = message.raw_attribute(CHANGE_REQUEST).and_then(|it| it.value.as_ref().try_into().ok());
        let flags = flags.map_or(0, u32::from_be_bytes);
        let side = |flag| if flags & flag == 0 { Side::Same } else { Side::Other };
        let from = Corner { address: side(CHANGE_IP), port: side(CHANGE_PORT) };
        Asked::Request(Request { transaction: Transaction(message.transaction_id().into()), from })
    })
}

/// The most unknown attributes that a refusal names: an answer must not be much larger than what asked for it.
const UNKNOWN_MAX: usize = 4;

impl Response {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let kind = MessageType::from_class_method(MessageClass::Success, BINDING);
        let transaction = TransactionId::from(self.transaction.0);
        let mut message = Message::builder(kind, transaction, MessageWriteVec::new());
        add(&mut message, &MappedSocketAddr::new(self.mapped).to_raw(MAPPED_ADDRESS));
        // It passes routers that look for addresses to translate in what they carry.
        add(&mut message, &XorMappedAddress::new(self.mapped, transaction));
        for (kind, address) in [(RESPONSE_ORIGIN, self.origin), (OTHER_ADDRESS, self.other)] {
            if let Some(address) = address {
                add(&mut message, &MappedSocketAddr::new(address).to_raw(kind));
            }
        }
        message.finish()
    }

    /// `None` for anything but a successful response that says where the request came from.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        quietly(|| {
            let message = Message::from_bytes(bytes).ok()?;
            if !message.has_class(MessageClass::Success) || !message.has_method(BINDING) {
                return None;
            }
            let transaction = message.transaction_id();
            let plain = |kind| {
                let raw = message.raw_attribute(kind)?;
                MappedSocketAddr::from_raw(&raw).ok().map(|address| address.addr())
            };
            let hidden = message.attribute::<XorMappedAddress>().ok().map(|it| it.addr(transaction));
            Some(Self {
                transaction: Transaction(transaction.into()),
                mapped: hidden.or_else(|| plain(MAPPED_ADDRESS))?,
                origin: plain(RESPONSE_ORIGIN),
                other: plain(OTHER_ADDRESS),
            })
        })
    }
}

/// Neither integrity nor a fingerprint is ever added, after which the library would refuse more, and no attribute twice.
fn add(message: &mut MessageWriteVec, attribute: &dyn stun_types::attribute::AttributeWrite) {
    let added = message.add_attribute(attribute);
    debug_assert!(added.is_ok(), "{added:?}");
}

/// The library warns of each malformed message; strangers' bytes are no news, and must not fill our logs.
fn quietly<T>(read: impl FnOnce() -> T) -> T {
    with_default(NoSubscriber::default(), read)
}
