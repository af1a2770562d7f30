//! A host whose own way to the lobby is cut, while members reach both: they bring its renewals.
//!
//! The host signs that it goes on as of a moment of the lobby's clock, a member brings that, and the lobby's receipt names the
//! moment it was counted at, which the next renewal is as of. What comes by way of a member is believed for the
//! lobby's signature alone. Nobody's clock is compared with another's: a receipt for a renewal is later than its host first
//! signed it, so the host knows a moment of its own clock that is no later than the one the lobby named.

use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::lobby::{Question, Receipt, Renewal};
use crate::message::Body;
use crate::session::words::Output;
use crate::session::{Leadership, Session};
use crate::{Guards, PeerId};

/// How long the lobby may leave a host without an answer before members are asked: one question may be lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often they are asked. Two in a row renew a lease, and the patience and three of these end before it does. It makes 86
/// calls a minute of the 120 that the lobby takes of a member.
const BEAR_EVERY: Duration = Duration::from_millis(700);
/// How often a member brings something, however often its host asks for it.
const BRING_EVERY: Duration = Duration::from_millis(500);
/// How many are asked in turn, besides the one who brought a renewal last: in a session of four, all of them.
const TURN: usize = 3;

/// How far this peer is with it, as a host and as a member.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bearing {
    moment: Option<Moment>,
    /// When members were asked last.
    asked: Option<Timestamp>,
    /// Who has brought a renewal that was counted.
    last: Option<PeerId>,
    /// Whose turn it was last.
    turn: Option<PeerId>,
    /// When this peer brought one for its host.
    brought: Option<Timestamp>,
}

/// A moment of the lobby's clock.
#[derive(Debug, Clone, Copy)]
struct Moment {
    as_of: Timestamp,
    /// By this host's own clock that was then, or before.
    at: Timestamp,
    /// When it first signed a renewal as of it.
    signed: Option<Timestamp>,
}

impl<G: Guards> Session<G> {
    /// As a host that has a certificate.
    pub(super) fn keep_bearers(&mut self, now: Timestamp) {
        let is_early = self.line.bearing.asked.is_some_and(|asked| now < asked + BEAR_EVERY);
        if is_early || self.line.silence(now) < PATIENCE {
            return;
        }
        let admitted = self.config.admission.as_ref();
        let first = || admitted.map(|it| Moment { as_of: it.as_of, at: it.at, signed: None });
        let Some(moment) = self.line.bearing.moment.or_else(first) else { return };
        let hears = self.heard(now);
        let bearers = self.bearers(&hears);
        let Some(turn) = bearers.last().copied() else { return };
        let signed = moment.signed.or(Some(now));
        let bearing = &mut self.line.bearing;
        bearing.moment = Some(Moment { signed, ..moment });
        (bearing.asked, bearing.turn) = (Some(now), Some(turn));
        let (session, epoch) = (self.config.session, self.ballot.epoch());
        let renewal = Renewal::signed(session, epoch, moment.as_of, self.config.keys.as_ref());
        for peer in bearers {
            self.send(peer, Body::Bring { renewal: renewal.clone(), hears: hears.clone() });
        }
    }

    /// Who is asked now: who brought the last one, and whose turn it is. Which members reach the lobby nobody tells.
    fn bearers(&self, heard: &[PeerId]) -> Vec<PeerId> {
        let Bearing { last, turn, .. } = self.line.bearing;
        let last = last.filter(|last| heard.contains(last));
        let others: Vec<PeerId> = heard.iter().copied().filter(|peer| Some(*peer) != last).collect();
        let begin = turn.map_or(0, |turn| others.partition_point(|peer| *peer <= turn));
        let turn = others[begin..].iter().chain(&others[..begin]).take(TURN).copied();
        last.into_iter().chain(turn).collect()
    }

    /// As a member: its host asks for it.
    pub(super) fn bring(&mut self, now: Timestamp, renewal: Renewal, hears: Vec<PeerId>) {
        let is_early = self.line.bearing.brought.is_some_and(|brought| now < brought + BRING_EVERY);
        if is_early || !self.has_lobby() || !matches!(self.leadership, Leadership::Follows) {
            return;
        }
        self.line.bearing.brought = Some(now);
        let question = Question::Bring { epoch: self.ballot.epoch(), renewal, hears };
        // What is not answered is the host's matter: for this peer the lobby has gone no more silent by it.
        self.outputs.push(Output::AskLobby { asked: now, question });
    }

    /// The lobby has counted it.
    pub(super) fn bring_back(&mut self, receipt: Receipt) {
        if matches!(self.leadership, Leadership::Follows) {
            self.send(self.leader(), Body::Counted(receipt));
        }
    }

    /// As the host: a member has brought one, as far as the lobby's signature says so. Only the newest counts: what it
    /// has received for an earlier one was received before.
    pub(super) fn be_counted(&mut self, from: PeerId, receipt: &Receipt) {
        let Some(moment @ Moment { signed: Some(signed), .. }) = self.line.bearing.moment else { return };
        let (session, epoch) = (self.config.session, self.ballot.epoch());
        if !matches!(self.leadership, Leadership::Reigns(_))
            || receipt.renewed != moment.as_of
            || !receipt.is_genuine(session, epoch, self.config.keys.as_ref())
        {
            return;
        }
        self.line.lease_from(moment.at);
        self.line.bearing.last = Some(from);
        // One as of the same moment, or an earlier one, may have been signed before.
        if receipt.as_of > moment.as_of {
            self.line.bearing.moment = Some(Moment { as_of: receipt.as_of, at: signed, signed: None });
        }
    }
}
