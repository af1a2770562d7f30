//! What hands know of one session: how far this peer is with it, who is told of it beside its members, and what waits for its game.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Audience, CanBeHost, Config, Epoch, GamePhase, Input, Joining, NAMES, Newcomers, PeerId, Session,
    Settings, Speech,
};

use super::ahead::Ahead;
use super::command::Seated;
use super::links::Known;
use super::uncarried::Uncarried;
use super::unsaid::{Saying, Unsaid};
use crate::lan::Voice;
use crate::link::{Rank, Way};
use crate::lobby::{self, Line, Listing, Searchable};
use crate::relay::Moored;
use crate::seat::{Doors, To};
use crate::service::Service;

#[derive(Debug)]
pub(super) struct Place {
    pub(super) config: Config,
    pub(super) seated: Seated,
    pub(super) outside: Outside,
    pub(super) life: Life,
    pub(super) early: Early,
    /// What its game has said of it last.
    pub(super) said: Said,
    /// Of which epoch's host its lobby is told that, while this peer is the host.
    pub(super) listed: Option<Epoch>,
    /// What a host that it does not obey yet has said.
    pub(super) ahead: Ahead,
    /// Whom the lobby has named, and who is no member here yet.
    pub(super) expected: BTreeMap<PeerId, Instant>,
    /// To whom its rules were told that there is a link.
    pub(super) linked: BTreeSet<PeerId>,
    /// When the round trips of its links were measured last.
    pub(super) measured: Option<Instant>,
    /// What was told of where members are.
    pub(super) known: Option<Known>,
    /// How often the game was told what its next state has to hold: a deed, or the state that it is host from on.
    pub(super) told: u64,
    /// How many bytes of the game it has sent others to hold.
    pub(super) handed_on: u64,
    /// What its game said as host, and nobody is told yet.
    pub(super) unsaid: Unsaid,
    /// What its game said and no link carries, and it is not told yet.
    pub(super) uncarried: Uncarried,
    /// Where it was to come in, and whoever is there speaks otherwise than peers of this version do.
    pub(super) foreign: BTreeSet<SocketAddr>,
    /// What its game says to its host.
    pub(super) speech: Speech,
    /// What members say to it, as the host.
    pub(super) audience: Audience,
    pub(super) opening: Opening,
}

/// Whether members wait for what this peer's game says to them first as their host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Awaited,
    Said,
}

impl Opening {
    /// In which rank something goes that its game says. All wait for the first state of a new host, and the standbys of a large session, who are given
    /// its snapshot just then, would have it a round trip or two after everybody else.
    pub(super) fn rank(&mut self, saying: &Saying) -> Rank {
        match (*self, saying.to, saying.way) {
            (Self::Awaited, To::Members, Way::Datagram) => {
                *self = Self::Said;
                if saying.bytes.len() <= FIRST_STATE_BYTES_MAX { Rank::Rules } else { Rank::Game }
            }
            (
                Self::Awaited | Self::Said,
                To::Members | To::Member(_) | To::Host,
                Way::Datagram | Way::Stream,
            ) => Rank::Game,
        }
    }
}

/// How long the first state of a new host may be to go before its first snapshot: with the word that makes it host as much as a link may have under way
/// at first.
const FIRST_STATE_BYTES_MAX: usize = 8 * 1024;

/// Who is told of a session beside its members.
#[derive(Debug)]
pub(super) enum Outside {
    Nobody,
    /// Whoever listens on the LAN.
    Lan(Box<Voice>),
    Lobby {
        /// To whom questions go; `None` where the system gave no thread for them.
        line: Option<Line>,
        /// At its relay, where it has one.
        moored: Option<Moored>,
    },
}

impl Outside {
    /// Of which lobby service its session is.
    pub(super) const fn service(&self) -> Option<Service> {
        match self {
            Self::Nobody => None,
            Self::Lan(_) => Some(Service::Lan),
            Self::Lobby { .. } => Some(Service::Online),
        }
    }
}

impl Place {
    pub(super) fn new(config: Config, seated: Seated, outside: Outside, life: Life) -> Self {
        Self {
            config,
            seated,
            outside,
            life,
            early: Early {
                settings: Settings::DEFAULT,
                can_be_host: None,
                newcomers: None,
                upstream_bps: None,
            },
            said: Said::default(),
            listed: None,
            ahead: Ahead::default(),
            expected: BTreeMap::new(),
            linked: BTreeSet::new(),
            measured: None,
            known: None,
            told: 0,
            handed_on: 0,
            unsaid: Unsaid::default(),
            uncarried: Uncarried::default(),
            foreign: BTreeSet::new(),
            speech: Speech::default(),
            audience: Audience::default(),
            opening: Opening::Said,
        }
    }
}

/// What a session is like, as its game says: said to its lobby anew whenever this peer is certified.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Each peer's game says it, whoever is host.
    pub(super) phase: Option<GamePhase>,
    searchable: Option<Searchable>,
    joining: Option<lobby::Joining>,
}

impl Said {
    /// The newest of each kind counts.
    pub(super) fn note(&mut self, listing: Listing) {
        match listing {
            Listing::Searchable(searchable) => self.searchable = Some(searchable),
            Listing::Joining(joining) => self.joining = Some(joining),
            Listing::Phase(phase) => self.phase = Some(phase),
        }
    }

    /// Another is host, and says these.
    pub(super) fn yield_to_another(&mut self) {
        (self.searchable, self.joining) = (None, None);
    }

    /// A game that has said nothing of its phase has begun, and a lobby makes sessions as of players who gather.
    pub(super) fn listings(&self) -> Vec<Listing> {
        let phase = Some(Listing::Phase(self.phase.unwrap_or(GamePhase::Started)));
        let searchable = self.searchable.map(Listing::Searchable);
        let joining = self.joining.map(Listing::Joining);
        [phase, searchable, joining].into_iter().flatten().collect()
    }

    /// Whether its game said nothing of it, and need not hear what became of it.
    pub(super) const fn is_assumed(&self, listing: Listing) -> bool {
        match listing {
            Listing::Phase(_) => self.phase.is_none(),
            Listing::Searchable(_) | Listing::Joining(_) => false,
        }
    }
}

/// What a game has said before it was in.
#[derive(Debug)]
pub(super) struct Early {
    pub(super) settings: Settings,
    pub(super) can_be_host: Option<CanBeHost>,
    pub(super) newcomers: Option<Newcomers>,
    pub(super) upstream_bps: Option<u32>,
}

impl Early {
    /// As it is said to its session.
    pub(super) fn inputs(&self, phase: Option<GamePhase>) -> Vec<Input> {
        let set = |name: &str| {
            let (value, default) = (self.settings.get(name).ok()?, Settings::DEFAULT.get(name).ok()?);
            (value != default).then(|| Input::Set { name: name.to_owned(), value })
        };
        let suitable = self.can_be_host.map(Input::Suitable);
        let phase = phase.map(Input::Phase);
        let newcomers = self.newcomers.map(Input::Newcomers);
        let upstream = self.upstream_bps.map(Input::Upstream);
        let said = [suitable, phase, newcomers, upstream].into_iter().flatten();
        NAMES.into_iter().filter_map(set).chain(said).collect()
    }
}

#[derive(Debug)]
pub(super) enum Life {
    /// It dials whoever may know the session.
    Seeks { doors: Doors, until: Timestamp, dialed: Option<Timestamp> },
    /// It asks to be let in.
    Joins(Box<Joining>),
    /// It is a member.
    In(Box<Session>),
}

#[cfg(test)]
mod tests {
    use mainstay_migration::StateId;

    use super::*;

    /// Of what a new host's game says the first state goes before its snapshot, and nothing else; nor one that would hold up what the rules say.
    #[test]
    fn the_first_state_of_a_new_host_goes_first() {
        let said = |opening: &mut Opening, to, way, length| {
            opening.rank(&Saying { after: StateId::NONE, to, way, bytes: vec![0; length] })
        };
        let mut opening = Opening::Awaited;
        assert_eq!(said(&mut opening, To::Members, Way::Stream, 8), Rank::Game);
        assert_eq!(said(&mut opening, To::Member(PeerId(2)), Way::Datagram, 8), Rank::Game);
        assert_eq!(said(&mut opening, To::Members, Way::Datagram, FIRST_STATE_BYTES_MAX), Rank::Rules);
        assert_eq!(said(&mut opening, To::Members, Way::Datagram, 8), Rank::Game);
        assert_eq!(
            said(&mut Opening::Awaited, To::Members, Way::Datagram, FIRST_STATE_BYTES_MAX + 1),
            Rank::Game
        );
    }
}
