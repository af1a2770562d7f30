//! `queryType` and `query` of a build configuration.

use std::time::Duration;

use super::configurations::block;
use super::no_effect;
use crate::codes::Code;
use crate::limits::{PROBE_BYTES_MAX, QUERY_TIMEOUT};
use crate::model::{Query, QueryKind, QueryPort};
use crate::place::{Place, Sourced};
use crate::problem::Problem;
use crate::read::{Check, Fields, Keys};
use crate::scalar;

pub(super) const KEYS: Keys = Keys {
    known: &["request", "expect", "port", "timeout"],
    later: &[("every", "set how often a running server is asked")],
};

/// A server on the same machine answers in microseconds; a second covers a busy one.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The words of `queryType`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    None,
    Sqp,
    A2s,
    Quake3,
    Teeworlds,
    Tcp,
    Udp,
}

const WORDS: &[(&str, Word)] = &[
    ("sqp", Word::Sqp),
    ("a2s", Word::A2s),
    ("none", Word::None),
    ("quake3", Word::Quake3),
    ("teeworlds", Word::Teeworlds),
    ("tcp", Word::Tcp),
    ("udp", Word::Udp),
];

pub(crate) fn query(check: &mut Check<'_>, fields: &Fields<'_>) -> Query {
    let word = fields.one_of(check, "queryType", WORDS).unwrap_or(Sourced::default_of(Word::None));
    let query = block(check, fields, "query", KEYS);
    let request = bytes(check, &query, "request");
    let expect = bytes(check, &query, "expect");
    let ports = [("game", QueryPort::Game), ("query", QueryPort::Query)];
    let port = query.one_of(check, "port", &ports);
    let timeout = query.duration(check, "timeout", TIMEOUT, QUERY_TIMEOUT);
    let missing_type = fields.get("queryType").is_none() || word.place().is_some();
    if missing_type {
        fits(check, fields, &query, word.value);
    }
    let usual = match word.value {
        Word::None | Word::Sqp | Word::A2s => QueryPort::Query,
        Word::Quake3 | Word::Teeworlds | Word::Tcp | Word::Udp => QueryPort::Game,
    };
    let kind = word.map(|word| match word {
        Word::None => QueryKind::None,
        Word::Sqp => QueryKind::Sqp,
        Word::A2s => QueryKind::A2s,
        Word::Quake3 => QueryKind::Quake3,
        Word::Teeworlds => QueryKind::Teeworlds,
        Word::Tcp => QueryKind::Tcp,
        Word::Udp => {
            QueryKind::Udp { request: request.unwrap_or_default(), expect: expect.unwrap_or_default() }
        }
    });
    Query { kind, port: port.unwrap_or(Sourced::default_of(usual)), timeout }
}

fn bytes(check: &mut Check<'_>, query: &Fields<'_>, name: &str) -> Option<Vec<u8>> {
    let parse = |text: &str| scalar::hex(text).filter(|bytes| (1..=PROBE_BYTES_MAX).contains(&bytes.len()));
    let refuse = |problem: Problem| {
        problem
            .why(format!("bytes are pairs of hexadecimal digits, 1 to {PROBE_BYTES_MAX} bytes"))
            .fix(format!("for example {name}: \"4f45 7403\""))
    };
    query.parsed(check, name, parse, refuse, Code::BadHex).map(|bytes| bytes.value)
}

/// Whether the block fits the protocol.
fn fits(check: &mut Check<'_>, fields: &Fields<'_>, query: &Fields<'_>, word: Word) {
    let named = WORDS.iter().find(|(_, value)| *value == word).map_or("none", |&(name, _)| name);
    match word {
        Word::Udp => {
            if query.get("request").is_none() {
                let key = fields.get("query").or_else(|| fields.get("queryType"));
                let place = key.map_or(&fields.place, |(key, _)| &key.place);
                mismatch(
                    check,
                    format!("{} asks by udp, but says not with what", fields.owner),
                    place,
                    "request is missing",
                    "add query: { request: \"…\", expect: \"…\" } in hexadecimal",
                );
            }
        }
        Word::None => {
            if let Some((key, _)) = fields.get("query") {
                let what = format!("{} has no effect without a queryType", fields.named("query"));
                no_effect(check, what, &key.place, "queryType is none, so the server is not asked");
            }
        }
        Word::Sqp | Word::A2s | Word::Quake3 | Word::Teeworlds | Word::Tcp => {
            for name in ["request", "expect"] {
                if let Some((key, _)) = query.get(name) {
                    mismatch(
                        check,
                        format!("{} does not go with queryType {named}", query.named(name)),
                        &key.place,
                        "only udp takes it",
                        &format!("remove {name}, or write queryType: udp"),
                    );
                }
            }
        }
    }
}

fn mismatch(check: &mut Check<'_>, what: String, place: &Place, label: &str, fix: &str) {
    check.report(|sources| {
        Problem::new(Code::QueryMismatch, what)
            .at(sources, place, label)
            .why("request and expect are the bytes of the udp probe; the other protocols have their own")
            .fix(fix)
    });
}
