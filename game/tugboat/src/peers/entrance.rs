//! How one player's process comes into a session: by its lobby, on its LAN, through a door, or by founding one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use mainstay_peer::lan;
use mainstay_peer::migration::Migratable;
use mainstay_peer::{
    Authorities, Joining, NewSession, Online, Peer, Registered, Seat, Service, SessionOptions, Token, Trust,
};
use serde_json::json;

use crate::peers::options::Options;
use crate::peers::process::{ProcessError, name, write_line};

/// What sessions of this game are called.
const NAME: &str = "tugboat";
/// How long somebody looks around on a LAN: who hears the first question answers it at once, and the second one comes after a second.
const LOOKS_FOR: Duration = Duration::from_secs(2);
/// How long a session is looked for that should be there: three questions.
pub(super) const FINDS_WITHIN: Duration = Duration::from_secs(6);

/// Says what is hosted on this LAN, a line a session.
pub(super) fn look() -> Result<ExitCode, ProcessError> {
    for found in lan::search(LOOKS_FOR)? {
        write_line(&json!({
            "session": format!("{:032x}", found.session.0), "name": found.name, "members": found.members, "size": found.size,
            "open": found.joining == Joining::Open,
            "migrates": found.migratable == Migratable::Yes, "host": name(found.host), "epoch": found.stamp.epoch.0,
            "fork": found.stamp.fork, "doors": found.doors,
        }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session of this LAN: a new one, the one that is named, or any with room.
fn on_lan(
    options: &Options,
    peer: &Peer,
    settings: SessionOptions,
    listeners: Vec<Registered>,
) -> Result<Seat, ProcessError> {
    peer.set_support(Service::Lan, options.lan_host_migration.into());
    let named = options.session.map(|session| session.0);
    if named.is_none() && !options.find {
        return Ok(peer.found_lan(NAME, settings, listeners)?);
    }
    let is_meant = |found: &lan::FoundSession| match named {
        Some(session) => found.session == session,
        None => found.name == NAME && found.members < found.size && found.joining == Joining::Open,
    };
    let found = lan::Search::start()?.find(FINDS_WITHIN, is_meant).ok_or(ProcessError::Unfound)?;
    Ok(peer.join_lan(&found, settings, listeners)?)
}

pub(super) fn take_seat(
    options: &Options,
    peer: &Peer,
    listeners: Vec<Registered>,
) -> Result<Seat, ProcessError> {
    let own = mainstay_peer::migration::SessionId(peer.id().0.rotate_left(64));
    let settings = settings(options, options.session.map_or(own, |session| session.0));
    if options.lan || options.find {
        return on_lan(options, peer, settings, listeners);
    }
    let seat = match (online(options)?, options.session) {
        (None, None) => peer.found(settings, listeners),
        (None, Some(_)) => peer.join(settings, options.via.clone(), listeners),
        (Some(online), None) => {
            let new = NewSession { name: NAME.to_owned(), ..NewSession::default() };
            peer.found_online(&online, &new, settings, listeners)
        }
        (Some(online), Some(session)) => peer.join_online(&online, session.0, settings, listeners),
    };
    Ok(seat?)
}

/// By which options another player comes into the session; none that would lead nowhere.
pub(super) fn way_in(options: &Options, session: u128, address: SocketAddr) -> String {
    if let Some(url) = &options.lobby {
        return format!("--lobby {url} --session {session:032x}");
    }
    if options.lan || options.find {
        return format!("--lan --session {session:032x}");
    }
    format!("--session {session:032x} --via {address}")
}

/// Where others reach a socket that is bound to every address: where this host's packets to them come from, if it has a network.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    // Nothing is sent: the system only chooses a way to an address that is nobody's (RFC 5737).
    let outward = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    });
    let ip = outward.map_or(Ipv4Addr::LOCALHOST.into(), |outward| outward.ip());
    SocketAddr::new(ip, address.port())
}

/// The lobby, and as whom this process comes to it.
fn online(options: &Options) -> Result<Option<Online>, ProcessError> {
    let Some(url) = options.lobby.clone() else { return Ok(None) };
    let trust = match &options.lobby_ca {
        None => Trust::System,
        Some(path) => {
            let pem = fs::read(path).map_err(unreadable("read the authorities' certificates"))?;
            Trust::Only(Authorities::from_pem(&pem)?)
        }
    };
    let token = |file: &Option<PathBuf>, what| {
        let read = file.as_ref().map(fs::read_to_string).transpose().map_err(unreadable(what));
        Ok::<_, ProcessError>(read?.map(|token| Token::from(token.trim())))
    };
    Ok(Some(Online {
        url,
        trust,
        entity_token: token(&options.entity_token_file, "read the entity token")?,
        seat_token: token(&options.seat_token_file, "read the seat's token")?,
        player: options.player.clone(),
        addresses: Vec::new(),
    }))
}

fn unreadable(what: &'static str) -> impl Fn(io::Error) -> ProcessError {
    move |source| ProcessError::System { what, source }
}

fn settings(options: &Options, session: mainstay_peer::migration::SessionId) -> SessionOptions {
    SessionOptions {
        without_majority: options.without_majority.into(),
        level: options.level.into(),
        ..SessionOptions::new(session)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// Who is told a way that leads nowhere tries it.
    #[test]
    fn the_way_in_is_one() {
        let way = |words: &str, address: &str| {
            let options = Options::try_parse_from(format!("peer {words}").split_whitespace()).unwrap();
            way_in(&options, 7, address.parse().unwrap())
        };
        let session = "--session 00000000000000000000000000000007";
        assert_eq!(way("", "192.0.2.7:5"), format!("{session} --via 192.0.2.7:5"));
        assert_eq!(way("", "127.0.0.1:5"), format!("{session} --via 127.0.0.1:5"), "options alone");
        assert_eq!(way("--lan", "127.0.0.1:5"), format!("--lan {session}"));
        let lobby = "http://127.0.0.1:7700";
        assert_eq!(way(&format!("--lobby {lobby}"), "127.0.0.1:5"), format!("--lobby {lobby} {session}"));
        let (bound, any) = ("127.0.0.1:5".parse().unwrap(), "0.0.0.0:5".parse().unwrap());
        assert_eq!(reachable(bound), bound);
        assert!(!reachable(any).ip().is_unspecified() && reachable(any).port() == 5);
    }
}
