//! The game as it goes along: the chain of states that a host writes, who holds how much of it, and whose it is.
//!
//! The host signs the name of each part that it writes, and whoever takes a state from anybody asks for that signature: the
//! parts are chained, so it stands for all that lies before. Who was to write a state, its stamp says: the host that was
//! certified for that epoch, or of a side without a majority the one that this peer obeyed on it. Where this peer knows neither,
//! a state is good whose name a host told it in its beats. Under a lobby certificates stand for themselves, and whoever was away
//! missed some: whoever gives a state tells with it by which its writer was host.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::descent::Descent;
use crate::lobby::LOBBY_LEASE;
use crate::message::{Announcement, Beat, Body, Leads};
use crate::session::reign::{Chain, Mandate, Phase, Reign};
use crate::session::words::Output;
use crate::session::{Leadership, STANDBYS, Session};
use crate::state::{Excerpt, Kind, Level, PARTS_MAX, PLAYERS_MAX, Piece, State, StateError, StateId, Taken};
use crate::{Guard, Guards, PeerId, Signature, Stamp};

/// How long a standby may hold an older state before it is sent what it lacks: three beats, for what was sent may be on its way.
const LACKING: Duration = Duration::from_millis(300);
/// After so long without being kept up a copy of the game is old: longer than a list takes to be the same for all again that makes another a standby for a moment.
const OLD_AFTER: Duration = Duration::from_secs(10);

/// What a host's game says to its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// Something that happened: who was told of it must never be told otherwise.
    Events,
    /// How things stand: it is told again anyway, as it is then.
    Standing,
}

impl<G: Guards> Session<G> {
    /// The host's game is so far: the best two standbys are sent what changed.
    pub(super) fn write_state(&mut self, now: Timestamp, piece: Piece) {
        // Who stood still may be asked by its game before anything else: what that did by then nobody was to see, and it would outrank all that
        // others have played meanwhile.
        self.keep_mandate(now);
        let stands = |reign: &mut Reign| reign.phase == Phase::Reigning && reign.mandate != Mandate::Lapsed;
        if self.as_host(stands) != Some(true) {
            return self.refuse_piece(StateError::NotNow);
        }
        if self.append(piece) && self.hands_on() {
            let newest = self.held.newest();
            let standbys: Vec<PeerId> = self.successors(now).take(STANDBYS).collect();
            for standby in standbys {
                self.send(standby, Body::State(newest.clone()));
            }
        }
        self.count_durable(now);
    }

    /// Whether anything of the game goes along. Where nothing does, a host keeps what its game gave for itself, for as long as it is one: what it
    /// gave as an earlier host is older than what it has as a client.
    pub(super) fn hands_on(&self) -> bool {
        self.config.level != Level::None
    }

    /// What the next host goes on from: this one's last state.
    pub(super) fn handed_on(&self) -> StateId {
        if self.hands_on() { self.held.id() } else { StateId::NONE }
    }

    /// What the game gives next does not follow on what is held.
    pub(super) fn miss_piece(&mut self) {
        self.as_host(|reign| reign.chain = Chain::Broken);
    }

    pub(super) fn refuse_piece(&mut self, why: StateError) {
        self.miss_piece();
        self.outputs.push(Output::NotTaken(why));
    }

    /// This host goes on under another stamp, and what others hold of it counts again with the next piece. A game that gives none is
    /// not asked.
    pub(super) fn want_state(&mut self) {
        let (stamp, held) = (self.stamp(), self.held.id());
        let reigns = self.as_host(|reign| reign.phase == Phase::Reigning) == Some(true);
        if reigns && held != StateId::NONE && held.stamp != stamp {
            self.outputs.push(Output::StateWanted(stamp));
        }
    }

    /// Puts a piece at the end of the chain. `false` where it does not fit.
    pub(super) fn append(&mut self, piece: Piece) -> bool {
        let (is_snapshot, is_event) = (piece.kind == Kind::Snapshot, piece.kind == Kind::Event);
        if !is_snapshot && self.as_host(|reign| reign.chain) == Some(Chain::Broken) {
            self.refuse_piece(StateError::Gap);
            return false;
        }
        let stamp = self.stamp();
        if self.applied.len() > PLAYERS_MAX {
            self.forget_players();
        }
        let inputs = Arc::clone(&self.applied);
        let before = self.certified_before(stamp);
        match self.held.write(stamp, piece, Arc::clone(&inputs)).map(|part| part.id) {
            Ok(id) => {
                self.keep_certified_state(before);
                if is_event {
                    self.newest_event = id;
                }
                self.held.sign(self.config.keys.sign(&id.words(self.config.session)));
                self.as_host(|reign| {
                    reign.chain = Chain::Whole;
                    reign.safe_inputs.push_back((id, inputs));
                    if reign.safe_inputs.len() > PARTS_MAX {
                        reign.safe_inputs.pop_front();
                    }
                });
                true
            }
            Err(why) => {
                self.refuse_piece(why);
                false
            }
        }
    }

    /// Who left the longest ago is forgotten first. Whoever has just been lost may be on another side, or cut off, and come back; what it did
    /// is in the game, and it says it again. A side's host meets such a one on, and has not noted yet that
    /// it left.
    fn forget_players(&mut self) {
        let members = &self.roster.members;
        let gone = self.applied.keys().copied().filter(|peer| !members.contains_key(peer));
        let mut gone: Vec<PeerId> = gone.collect();
        gone.sort_by_key(|peer| (self.contacts.contains_key(peer), self.former.place(*peer)));
        gone.truncate(self.applied.len().saturating_sub(PLAYERS_MAX));
        Arc::make_mut(&mut self.applied).retain(|peer, _| !gone.contains(peer));
        let applied = &self.applied;
        if let Leadership::Reigns(reign) = &mut self.leadership {
            reign.intake.retain(|peer| members.contains_key(&peer) || applied.contains_key(&peer));
        }
    }

    /// A standby that lacks something for a while is sent it.
    pub(super) fn send_lacking(&mut self, now: Timestamp, to: PeerId, beat: &Beat) {
        let is_standby = self.hands_on() && self.successors(now).take(STANDBYS).any(|standby| standby == to);
        let newest = self.held.id();
        let Some(contact) = self.contacts.get_mut(&to) else { return };
        let holds = beat.holds.id();
        if !is_standby || holds == newest {
            contact.lacks = None;
            return;
        }
        let (held, since) = *contact.lacks.get_or_insert((holds, now));
        if held != holds {
            contact.lacks = Some((holds, now));
        } else if now >= since + LACKING {
            contact.lacks = Some((holds, now));
            self.send(to, Body::State(self.held.after(holds)));
        }
    }

    /// A standby takes what its host sends; a new host what it asked for.
    pub(super) fn take_state(&mut self, now: Timestamp, from: PeerId, stamp: Stamp, sent: &Excerpt) {
        if !self.hands_on() {
            return;
        }
        let from_host = from == self.leader() && stamp == self.stamp();
        let asked = self.as_host(|reign| reign.phase == Phase::Accession) == Some(true);
        // A new host goes on from what another held, and that is of an earlier host: nobody has written anything of its own time yet.
        let is_possible = sent.parts.iter().all(|part| part.id.stamp < self.stamp()) && self.is_member(from);
        let (theirs, own) = (sent.descent(), self.held.descent());
        let (newest, mine, outranks) = (theirs.id(), own.id(), theirs > own);
        let seeks = outranks && newest < mine && self.leads_a_side();
        let is_wanted = is_possible && (asked && (outranks || newest <= mine) || seeks);
        if !from_host {
            self.find_out(from, theirs);
        }
        if !from_host && !is_wanted {
            return;
        }
        if from_host && own > theirs && self.keeps_what_outranks(now) {
            return;
        }
        // What shows whose it is may come after it: it is asked for again, and nobody has lied.
        if G::stands(Guard::Seal) && is_wanted && self.has_missed(newest.stamp) && !self.names.knows(newest) {
            return;
        }
        // Under a lower name it can only be taken instead of what is held.
        let is_instead = is_wanted && outranks && newest < mine;
        let before = self.certified_before(newest.stamp);
        let mut held = if is_instead { State::default() } else { core::mem::take(&mut self.held) };
        let taken = held.take(sent, |id, seal| !G::stands(Guard::Seal) || self.is_by_its_writer(id, seal));
        if !is_instead || taken == Taken::Newer {
            self.held = held;
        }
        if taken == Taken::Forged && is_wanted {
            let is_unknown = self.is_of_unknown_side(theirs);
            self.as_host(|reign| {
                if is_unknown { reign.gathering.pass_over(from) } else { reign.gathering.distrust(from) }
            });
        }
        let newer = taken == Taken::Newer;
        if newer {
            self.keep_certified_state(before);
        }
        if from_host && taken == Taken::Early {
            self.early.keep(from, stamp, sent);
        }
        if newer && from_host {
            self.kept_up = now;
            self.take_early(from, stamp);
            self.send(from, Body::Holds(self.held.id()));
        }
        // The last state of a host that hands over may come after its word that it does.
        let beat = self.contacts.get(&from).and_then(|contact| contact.beat).filter(|_| newer && from_host);
        if let Some(Beat { leads: leads @ Leads::HandsOver { state, .. }, .. }) = beat
            && state == self.held.id()
        {
            self.be_handed_over(now, &leads);
        }
        if asked {
            self.gather(now);
        } else if newer && seeks {
            self.go_on_from_certified(now);
        }
    }

    /// What overtook the part that has come now follows on it.
    fn take_early(&mut self, host: PeerId, stamp: Stamp) {
        while let Some(sent) = self.early.next(host, stamp, &self.held) {
            let mut held = core::mem::take(&mut self.held);
            held.take(&sent, |id, seal| !G::stands(Guard::Seal) || self.is_by_its_writer(id, seal));
            self.held = held;
        }
    }

    /// Whoever plays or votes: a host of another side is met, and is neither.
    pub(super) fn is_member(&self, peer: PeerId) -> bool {
        self.is_voter(peer) || self.roster.members.contains_key(&peer)
    }

    /// A new host asks for what it lacks, and may have missed who wrote that.
    pub(super) fn be_asked(&mut self, to: PeerId, from: StateId) {
        let newest = self.held.id().stamp;
        if self.has_lobby()
            && self.is_member(to)
            && newest.epoch > from.stamp.epoch
            && let Some(certificate) = self.ballot.certificate_of(newest.epoch)
        {
            let (certificates, view) = ([certificate.clone()].into(), self.view().clone());
            self.send(to, Body::Announce(Announcement { certificates, view, cause: self.moved_by }));
        }
        // Who was never on this side knows nobody who wrote its states, and can go on from what they go back to. So can another side's host, though its own are the later by name.
        let kept = self.certified.id();
        if self.may_be_given(to) && kept != StateId::NONE && (kept > from || from.is_of_side()) {
            self.send(to, Body::State(self.certified.after(from)));
        }
        self.give_state(to, from);
    }

    /// Whoever was never let in is given nothing. That its host was let in this peer need not have heard.
    pub(super) fn give_state(&mut self, to: PeerId, from: StateId) {
        if !self.may_be_given(to) {
            return;
        }
        let sent = self.held.after(from);
        if !sent.parts.is_empty() {
            self.send(to, Body::State(sent));
        }
    }

    fn may_be_given(&self, to: PeerId) -> bool {
        self.hands_on() && (self.is_member(to) || to == self.leader())
    }

    /// What is held, where that is a certified host's and a state of a side is to follow.
    fn certified_before(&self, next: Stamp) -> Option<State> {
        let held = self.held.id();
        (next.fork > 0 && held != StateId::NONE && !held.is_of_side()).then(|| self.held.clone())
    }

    /// What was held before the newest state is kept while that is of a side.
    fn keep_certified_state(&mut self, before: Option<State>) {
        if let Some(before) = before {
            self.certified = before;
        } else if !self.held.id().is_of_side() {
            self.certified = State::default();
        }
    }

    /// Whether that is of a side that this peer was never on: it knows nobody who is to have sealed it, and nobody has lied.
    fn is_of_unknown_side(&self, state: Descent) -> bool {
        let id = state.id();
        id.is_of_side() && self.writer(id.stamp).is_none() && !self.names.knows(id)
    }

    /// What a new host can take of whoever says that it holds that: of an unknown side the state that it goes back to.
    pub(super) fn offered(&self, holds: Descent) -> Descent {
        if self.is_of_unknown_side(holds) { holds.root() } else { holds }
    }

    /// Whether who holds that has it from a side that its host, who is at `at`, did not go on from: names rise along a chain, and whatever
    /// comes after `at` is of that host's own time.
    pub(super) fn is_beside(&self, held: StateId, at: StateId) -> bool {
        at != StateId::NONE && held > at && held.stamp < self.stamp()
    }

    /// A certified host says where its game is. Whoever holds another side's state forgets it: its name may be the higher one, and the side that
    /// gave way would come back with the next host.
    pub(super) fn forget_other_side(&mut self, at: StateId) {
        if self.fork.is_none() && self.is_beside(self.held.id(), at) {
            self.held = State::default();
        }
    }

    /// Who was to write under that stamp, as far as this peer knows.
    fn writer(&self, stamp: Stamp) -> Option<PeerId> {
        if stamp.fork == 0 { self.ballot.host_of(stamp.epoch) } else { self.heads.of(stamp) }
    }

    fn is_by_its_writer(&self, id: StateId, seal: &Signature) -> bool {
        let (session, keys) = (self.config.session, self.config.keys.as_ref());
        let is_sealed = |writer| id.is_sealed(seal, writer, session, keys);
        // Of two sides with one stamp this peer knows one head, and has heard the other's names. Where its side gave way to the other, that one's head led it later.
        self.names.knows(id)
            || self.writer(id.stamp).is_some_and(is_sealed)
            || id.is_of_side() && self.heads.after(id.stamp).any(is_sealed)
    }

    /// Whether that state could be taken from another, whatever its seal is.
    pub(super) fn is_believable(&self, state: Descent) -> bool {
        let id = state.id();
        let is_known = self.writer(id.stamp).is_some() || self.names.knows(id);
        // A state of this host's own time there cannot be, and what this peer holds is not given up for a side that branched off before it.
        let is_outranked = self.held.descent() > state;
        self.hands_on() && id.stamp < self.stamp() && !is_outranked && (is_known || self.has_missed(id.stamp))
    }

    /// Whether that may be of a host whom this peer has missed, and whose certificate others have.
    fn has_missed(&self, stamp: Stamp) -> bool {
        self.has_lobby() && stamp.fork == 0 && self.ballot.host_of(stamp.epoch).is_none()
    }

    /// A member holds so much of this host's state.
    pub(super) fn note_held(&mut self, now: Timestamp, from: PeerId, id: StateId) {
        let ancestor = self.held.descent().ancestor();
        if let Some(contact) = self.contacts.get_mut(&from)
            && contact.holds.id() < id
        {
            contact.holds = Descent::of(id, ancestor);
        }
        self.count_durable(now);
    }

    /// A copy of the game that its host does not keep up any more grows old: when all are lost who hold a newer one, it would take the game back by as much as it
    /// is old, where what this peer has seen of it since is the better one. On a side what was acknowledged before may be held by this peer alone.
    pub(super) fn forget_old_copy(&mut self, now: Timestamp) {
        let is_kept_up = !matches!(self.leadership, Leadership::Follows) || self.is_standby();
        if is_kept_up || self.fork.is_some() {
            self.kept_up = now;
        } else if now >= self.kept_up + OLD_AFTER {
            self.held = State::default();
        }
    }

    /// *Acknowledged* is what the host holds and min(2, standbys) others. Where nothing of the game goes along nothing ever is; but what its host's
    /// game has done of its members' deeds they keep no longer there either: the next one has seen what came of them, or never will.
    fn count_durable(&mut self, now: Timestamp) {
        // What comes late to a host that stood still is no acknowledgement (I5): whether it still is one is looked at first.
        self.keep_mandate(now);
        let stamp = self.stamp();
        let newest = self.held.id();
        let copies = if self.hands_on() { STANDBYS } else { 0 };
        let standbys = self.successors(now).take(copies);
        let held = standbys.map(|peer| {
            // What others say that they hold was never sent to them. And who has been on a side that went on from before holds what is newer by its name, and
            // nothing of this.
            let holds = self.contacts.get(&peer).map(|it| it.holds.id());
            holds.filter(|holds| holds.stamp <= stamp).unwrap_or(StateId::NONE)
        });
        let held_by_enough = held.min().unwrap_or(newest).min(newest);
        let goes_along = self.hands_on();
        // Whoever is silent may be about to have another host, under a lobby while this one's lease lasts, or has it as this one begins: there are others who hold
        // nothing of this as soon as most of them are. Whom it has put out it counts no more, though its lobby may just be about to hear them: of a deaf host so much was lost.
        let is_sure = self.line.parted.is_none_or(|parted| now >= parted + LOBBY_LEASE);
        let is_heard_by_most = self.has_majority(now) && is_sure;
        let safe = self.as_host(|reign| {
            // What came while it had no majority counts once it has one.
            let rose = held_by_enough > reign.durable
                && held_by_enough.stamp == stamp
                && match reign.mandate {
                    Mandate::Confirmed => is_heard_by_most,
                    Mandate::Lapsed => false,
                    Mandate::Unconfirmed => true,
                };
            if rose {
                reign.durable = held_by_enough;
            }
            let mut safe = None;
            while reign.safe_inputs.front().is_some_and(|(id, _)| *id <= reign.durable) {
                safe = reign.safe_inputs.pop_front().map(|(_, inputs)| inputs);
            }
            let is_acknowledged = goes_along && rose && reign.mandate == Mandate::Confirmed;
            if is_acknowledged {
                reign.acknowledged = held_by_enough;
            }
            (is_acknowledged, safe)
        });
        let Some((rose, safe)) = safe else { return };
        if let Some(safe) = safe {
            self.safe = safe;
        }
        if rose {
            self.outputs.push(Output::Durable(held_by_enough));
        }
    }

    /// Until which state is held what the host's game says now has to wait, by the session's [`Level`]. `None`: it goes at once.
    #[must_use]
    pub fn waits_for(&self, telling: Telling) -> Option<StateId> {
        let Leadership::Reigns(reign) = &self.leadership else { return None };
        let newest = match (self.config.level, telling) {
            (Level::None | Level::Asynchronous, Telling::Events | Telling::Standing)
            | (Level::DurableEvents, Telling::Standing) => return None,
            (Level::DurableEvents, Telling::Events) => self.newest_event,
            (Level::Synchronous, Telling::Events | Telling::Standing) => self.held.id(),
        };
        // A piece that was not taken is held by nobody: what tells of it waits for the next one.
        let newest = match reign.chain {
            Chain::Whole => newest,
            Chain::Broken => self.held.id().before_next(self.stamp()),
        };
        // And without its majority it tells nothing, or it would come before what waits already.
        Some(newest).filter(|newest| *newest > reign.durable || reign.mandate == Mandate::Lapsed)
    }

    /// Whether what waited for that may be told now: it is held, and this host has not lost its majority meanwhile.
    #[must_use]
    pub fn may_tell(&self, state: StateId) -> bool {
        match &self.leadership {
            Leadership::Reigns(reign) => state <= reign.durable && reign.mandate != Mandate::Lapsed,
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => false,
        }
    }

    /// The state that it holds: as host its own, as a standby its host's.
    #[must_use]
    pub const fn held(&self) -> &State {
        &self.held
    }
}
