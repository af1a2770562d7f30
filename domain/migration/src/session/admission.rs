//! How a host lets somebody in, and what it gives whoever comes.
//!
//! Whoever asks is let in to play at once, by the host's word alone; so a side without a majority can be joined, too. What it is told of the hosts before may be
//! long, and goes to it once.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::lobby::Pass;
use crate::message::{Body, Closed, Welcome};
use crate::order::OrderName;
use crate::rhythm::BEAT;
use crate::session::words::Newcomers;
use crate::session::{Contact, Leadership, Session};
use crate::view::MEMBERS_MAX;
use crate::{ChannelId, Epoch, Guards, PeerId, Stamp};

/// A byte on a slow line: 1 Mbit/s, which is less than a line that loses one packet in a hundred carries.
const SLOW_LINE_PER_BYTE: Duration = Duration::from_micros(8);

/// How long a slow line has to carry so much.
pub(super) fn on_a_slow_line(bytes: usize) -> Duration {
    SLOW_LINE_PER_BYTE.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX))
}

impl<G: Guards> Session<G> {
    /// Somebody wants in.
    pub(super) fn let_in(
        &mut self,
        now: Timestamp,
        from: PeerId,
        stamp: Stamp,
        (pass, order): (Option<&Pass>, OrderName),
    ) {
        let leader = self.leader();
        let is_kicked = self.roster.kicked.contains(&from);
        let refusal = self.refusal(now, from, pass);
        let is_kept_out = self.is_kept_out(from, stamp);
        let knows_order = self.config.order.is_known_to(order);
        match &mut self.leadership {
            Leadership::Reigns(_) if is_kicked => self.send(from, Body::Refused(Closed::Kicked)),
            // Whoever would not be let in is not told where the host is, either.
            Leadership::Reigns(_) | Leadership::Follows if let Some(why) = refusal => {
                self.send(from, Body::Refused(why));
            }
            Leadership::Reigns(_) if is_kept_out => self.send(from, Body::Refused(Closed::ToNewcomers)),
            Leadership::Reigns(_) if !knows_order => self.send(from, Body::Refused(Closed::OtherOrder)),
            // Its question stands until this host has gathered; it asks again anyway.
            Leadership::Reigns(reign) if reign.joining.len() < MEMBERS_MAX => {
                reign.joining.insert(from);
                self.rise_above(now, from, stamp);
            }
            Leadership::Follows => self.send(from, Body::Redirect(leader)),
            Leadership::Reigns(_)
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => {}
        }
    }

    /// Whether nobody new is let in, and it is new. A lobby says so itself of whom it lets in.
    ///
    /// Who came in on another side, or by a host that did not live to tell it, was never met here, and asks under the stamp of the
    /// host that it obeys; who is nowhere in asks under [`Stamp::NOBODY`]. Nothing proves that stamp: without a lobby a closed session
    /// asks strangers to stay away, and only whoever was kicked is kept out whatever it says.
    fn is_kept_out(&self, from: PeerId, stamp: Stamp) -> bool {
        let is_new = stamp == Stamp::NOBODY && !self.has_met(from);
        self.newcomers == Newcomers::KeptOut && !self.has_lobby() && is_new
    }

    pub(super) fn admit(&mut self, now: Timestamp) {
        let stamp = self.stamp();
        let joining = self.as_host(|reign| core::mem::take(&mut reign.joining)).unwrap_or_default();
        let (mut come, mut welcome) = (Vec::new(), Vec::new());
        let before = self.roster.version;
        for peer in joining {
            if self.roster.kicked.contains(&peer) {
                self.send(peer, Body::Refused(Closed::Kicked));
                continue;
            }
            let is_new = !self.roster.members.contains_key(&peer);
            if is_new {
                if self.roster.members.len() >= self.config.size.min(MEMBERS_MAX) {
                    // Where somebody is just going, who asks again soon gets that seat.
                    if !self.is_anybody_going(now) {
                        self.send(peer, Body::Refused(Closed::Full));
                    }
                    continue;
                }
                let number = self.as_host(|reign| {
                    reign.next_channel += 1;
                    reign.next_channel - 1
                });
                let channel = ChannelId { stamp, number: number.unwrap_or_default() };
                self.roster.members.insert(peer, channel);
                self.roster.version += 1;
                come.push(peer);
            }
            welcome.push(peer);
        }
        if welcome.is_empty() {
            return;
        }
        if self.roster.version != before {
            self.meet_members(now);
            self.tell_roster(now);
        }
        // Who was here before was welcomed then, too.
        for peer in come {
            self.contacts.entry(peer).and_modify(|contact| contact.welcomed = None);
        }
        let weight = self.ballot.weight_after(Epoch::FIRST);
        welcome.retain(|peer| self.may_give(now, *peer, weight, |contact| &mut contact.welcomed));
        if welcome.is_empty() {
            return;
        }
        let (root, certificates) = self.ballot.history();
        for peer in welcome {
            let Some(channel) = self.roster.members.get(&peer).copied() else { continue };
            let welcome = Welcome {
                terms: self.config.terms(),
                root,
                certificates: certificates.clone(),
                view: self.view().clone(),
                roster: self.roster.clone(),
                hints: self.hints.clone(),
                channel,
                inputs: self.taken(peer),
            };
            self.send(peer, Body::Welcome(Box::new(welcome)));
        }
    }

    /// Whether a member is given what is large, of so many bytes, and not on its way to it already: asking for it costs a member nothing, and what is
    /// given once more comes late, with all that is said behind it. While a link stands nothing is lost on it.
    pub(super) fn may_give(
        &mut self,
        now: Timestamp,
        to: PeerId,
        bytes: usize,
        on_its_way_until: impl Fn(&mut Contact) -> &mut Option<Timestamp>,
    ) -> bool {
        let Some(until) = self.contacts.get_mut(&to).map(on_its_way_until) else { return true };
        let may = until.is_none_or(|until| now >= until);
        if may {
            *until = Some(now + on_a_slow_line(bytes).max(BEAT));
        }
        may
    }

    /// Whether a member has gone, or is missed, and is a member still.
    fn is_anybody_going(&self, now: Timestamp) -> bool {
        let members = self.roster.members.keys().filter(|peer| **peer != self.config.me);
        members.map(|peer| self.contacts.get(peer)).any(|it| it.is_none_or(|contact| contact.is_lost(now)))
    }
}
