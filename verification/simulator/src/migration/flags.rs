//! Who would not go along where its session moves. A player's own flag of its lobby service is off, or its `net_automigrate_host` is: seed 000's
//! "an individual lobby service can be configured to not support host migration" and "whether automatic migration is attempted when
//! connection to the host is lost". Or the lobby's flag is, which its host tells the rest of.
//!
//! It draws from a chance of its own, so that a world is the same without it.

use mainstay_lobby::{Service, Support as LobbySupport};
use mainstay_migration::{Guards, Input, NAMES, PeerId, Support};

use super::scenario::{Faults, Flags};
use super::{Happening, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// Who of so many would not go along from the beginning, for either reason.
const STAYS_IN: u64 = 8;
/// Somebody changes its mind within so long, at most; one of so many times it is the lobby.
const PAUSE: Micros = 10_000_000;
const LOBBY_IN: u64 = 8;

/// What somebody says of moving, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flag {
    pub along: Along,
    pub since: Micros,
}

/// Whether it would go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Along {
    #[default]
    Goes,
    /// Its lobby service does not support it.
    NotByFlag,
    /// Its `net_automigrate_host` is off: it does where a host gives the session to another.
    NotByVariable,
}

impl Flag {
    pub(super) const fn support(self) -> Support {
        match self.along {
            Along::Goes | Along::NotByVariable => Support::Supported,
            Along::NotByFlag => Support::Unsupported,
        }
    }

    /// Whether it has not gone along at any time since then.
    pub(super) fn was_off_since(self, since: Micros) -> bool {
        self.along != Along::Goes || self.since > since
    }
}

impl<G: Guards> World<G> {
    /// What somebody says who starts. Whoever makes a session wants it to live.
    pub(super) fn new_flag(&mut self) -> Flag {
        let may = self.scenario.flags == Flags::Some && !self.peers.is_empty();
        let along = match may.then(|| self.flagging.below(STAYS_IN)) {
            Some(0) => Along::NotByFlag,
            Some(1) => Along::NotByVariable,
            Some(_) | None => Along::Goes,
        };
        Flag { along, since: self.now }
    }

    /// Its game does, once it is in; the flag it came with.
    pub(super) fn sets_variable(&mut self, id: PeerId) -> Option<Input> {
        let value = match self.peers[&id].flag.along {
            Along::Goes | Along::NotByFlag => return None,
            Along::NotByVariable => "0",
        };
        Some(automigrates(value))
    }

    /// Somebody would not go along any more, or would again; or the lobby says so.
    pub(super) fn turns_flags(&mut self) -> Result<(), Broken> {
        if !self.busy || !matches!(self.scenario.faults, Faults::Swarm | Faults::Sleepers) {
            return Ok(());
        }
        let pause = self.flagging.between(PAUSE / 10, PAUSE);
        self.after(pause, Happening::Flags);
        let is_off = self.lobby_flag.along != Along::Goes;
        if self.has_lobby() && (is_off || self.flagging.below(LOBBY_IN) == 0) {
            let along = if is_off { Along::Goes } else { Along::NotByFlag };
            return self.lobby_is_flagged(along);
        }
        let running = self.running();
        let Some(peer) = running.get(self.flagging.index(running.len())).copied() else { return Ok(()) };
        let along = match self.flagging.below(6) {
            0 => Along::NotByFlag,
            1 => Along::NotByVariable,
            _ => Along::Goes,
        };
        self.is_flagged(peer, along)
    }

    fn is_flagged(&mut self, peer: PeerId, along: Along) -> Result<(), Broken> {
        let before = self.peers[&peer].flag;
        if before.along == along {
            return Ok(());
        }
        let flag = Flag { along, since: self.now };
        self.peer(peer).flag = flag;
        self.counts.flagged += 1;
        self.say(peer, |_| format!("goes along: {along:?}"));
        self.give(peer, Input::OwnFlag(flag.support()))?;
        let value = if along == Along::NotByVariable { "0" } else { "1" };
        self.give(peer, automigrates(value))
    }

    fn lobby_is_flagged(&mut self, along: Along) -> Result<(), Broken> {
        let flag = Flag { along, since: self.now };
        let migration = match flag.support() {
            Support::Supported => LobbySupport::Supported,
            Support::Unsupported => LobbySupport::Unsupported,
        };
        self.lobby_flag = flag;
        self.counts.flagged += 1;
        self.say("lobby", |_| format!("moves sessions: {migration:?}"));
        self.configures(Service::Online, migration)
    }

    /// What the lobby says of its sessions comes with whatever it answers.
    pub(super) fn hears_of_flag(&mut self, peer: PeerId) -> Result<(), Broken> {
        match self.scenario.flags {
            Flags::On => Ok(()),
            Flags::Some => self.give(peer, Input::Supports(self.lobby_flag.support())),
        }
    }
}

fn automigrates(value: &str) -> Input {
    Input::Set { name: NAMES[1].to_owned(), value: value.to_owned() }
}
