//! How a peer comes into a session: it founds one, or enters one that it was let in to.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use mainstay_core::Timestamp;

use crate::ballot::{Ballot, Root};
use crate::certificate::{Certificate, Forged};
use crate::hint::{Hint, HintList};
use crate::message::Welcome;
use crate::session::early::Early;
use crate::session::fork::{Fork, Heads};
use crate::session::former::Former;
use crate::session::hints::Counted;
use crate::session::line::Line;
use crate::session::outbox::Outbox;
use crate::session::play::{Inputs, Names};
use crate::session::reign::Reign;
use crate::session::rewritten::Rewritten;
use crate::session::speakers::{Speaker, Speakers};
use crate::session::suitable::Better;
use crate::session::{Acting, Cause, Config, GamePhase, Leadership, Newcomers, Output, Session};
use crate::state::{State, StateId};
use crate::view::{Roster, View, ViewId};
use crate::{Arbiter, ChannelId, Epoch, Guards, PeerId, Settings, Signature, Stamp};

impl Session {
    /// Founds a session: this peer is its first host and only member.
    #[must_use]
    pub fn found(now: Timestamp, config: Config) -> Self {
        Self::found_by(now, config)
    }
}

impl<G: Guards> Session<G> {
    /// [`Session::found`], with the guards of its type.
    #[must_use]
    pub fn found_by(now: Timestamp, config: Config) -> Self {
        let config = Config { arbiter: Arbiter::Majority, admission: None, ..config };
        Self::founded(now, config, Epoch::FIRST, &[]).expect("a founder's own view is his")
    }

    /// Founds a session that this peer has made in a lobby, which certified it at once.
    ///
    /// # Errors
    /// A certificate of somebody else, or that no lobby of this session has signed.
    pub fn found_certified(
        now: Timestamp,
        config: Config,
        certificate: &Certificate,
    ) -> Result<Self, Forged> {
        let config = Config { arbiter: Arbiter::Lobby, ..config };
        if certificate.host != config.me || !certificate.is_genuine(config.session, config.keys.as_ref()) {
            return Err(Forged::Arbiter);
        }
        Self::founded(now, config, certificate.epoch, core::slice::from_ref(certificate))
    }

    fn founded(
        now: Timestamp,
        config: Config,
        epoch: Epoch,
        certificates: &[Certificate],
    ) -> Result<Self, Forged> {
        let me = config.me;
        let stamp = Stamp::certified(epoch);
        let members = BTreeMap::from([(me, ChannelId { stamp, number: 0 })]);
        let id = ViewId { epoch, version: 0 };
        let view = View { id, host: me, members: members.clone(), signature: Signature::default() };
        let ballot = Ballot::new(config.arbiter, me, Root { epoch, host: me }, view, certificates)?;
        let roster = Roster {
            stamp,
            version: 1,
            members,
            kicked: BTreeSet::new(),
            actors: BTreeMap::new(),
            support: config.support,
        };
        let mut session = Self::with(now, config, ballot, roster, HintList::empty(epoch));
        session.sign_view();
        session.leadership = Leadership::Reigns(Reign::founded(now));
        session.outputs.push(Output::Lead { stamp, state: State::default() });
        session.pass(now);
        Ok(session)
    }

    /// Enters a session that it has been let in to by its host, over whose link the welcome came.
    ///
    /// # Errors
    /// A welcome that proves another host, or does not name this peer.
    pub fn enter(
        now: Timestamp,
        config: Config,
        host: PeerId,
        stamp: Stamp,
        welcome: &Welcome,
    ) -> Result<Self, Forged> {
        let me = config.me;
        let view = welcome.view.clone();
        let ballot = Ballot::new(config.arbiter, me, welcome.root, view, &welcome.certificates)?;
        let fork = (stamp.fork > 0).then_some(Fork { number: stamp.fork, head: host });
        if stamp.epoch != ballot.epoch() || (fork.is_none() && ballot.host() != host) {
            return Err(Forged::Sender);
        }
        let roster = welcome.roster.clone();
        if roster.stamp != stamp || !roster.members.contains_key(&me) {
            return Err(Forged::Outsider);
        }
        let mut session = Self::with(now, config, ballot, roster, welcome.hints.clone());
        if let Some(fork) = fork {
            session.be_on_side(fork);
            session.pass_word(Cause::Fenced);
        }
        session.inputs = Inputs::after(welcome.inputs);
        session.outputs.push(Output::Follow { leader: host, stamp });
        session.pass(now);
        Ok(session)
    }

    fn with(now: Timestamp, config: Config, ballot: Ballot<G>, roster: Roster, hints: HintList) -> Self {
        let (seen, played_under) = (ballot.epoch(), ballot.host());
        let mut session = Self {
            settings: Settings::DEFAULT,
            ballot,
            roster,
            fork: None,
            heads: Heads::default(),
            leadership: Leadership::Follows,
            line: Line::beginning(now),
            contacts: BTreeMap::new(),
            former: Former::default(),
            guests: BTreeSet::new(),
            linked: BTreeSet::new(),
            hint: Hint::UNSUITABLE,
            hints,
            list_changed: None,
            counted: Counted::default(),
            held: State::default(),
            certified: State::default(),
            early: Early::default(),
            opened: StateId::NONE,
            newest_event: StateId::NONE,
            applied: Arc::default(),
            safe: Arc::default(),
            inputs: Inputs::default(),
            names: Names::default(),
            rewritten: Rewritten::default(),
            listeners: BTreeMap::new(),
            event: None,
            closing: None,
            replaced: BTreeSet::new(),
            lost: BTreeSet::new(),
            game: GamePhase::Started,
            newcomers: Newcomers::LetIn,
            better: Better::default(),
            moved: None,
            keeps_until: now,
            kept_up: now,
            departs: None,
            acting: Acting::No,
            moved_by: Cause::Catastrophic,
            played_under,
            speakers: Speakers::beginning(Speaker { host: played_under, stamp: Stamp::certified(seen) }),
            seen,
            beat_at: now,
            due: now,
            outputs: Outbox::default(),
            config,
        };
        session.meet_members(now);
        session
    }
}
