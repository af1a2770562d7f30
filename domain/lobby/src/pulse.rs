//! Who was heard, whose lease stands, and who misses whom: soft, and counted from the moment this leader began to listen.

use alloc::collections::{BTreeMap, BTreeSet};

use mainstay_core::{SessionId, Timestamp};

use crate::command::{Misses, Pace, Renewal};
use crate::id::{Epoch, PeerKey};
use crate::limits::{LATER, LEASE, REPORT_LIFE, SAY_SO, SILENCE};
use crate::session::{CanBeHost, Member, Session};
use crate::tally::{Cause, Tally};

/// How a host's lease stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// There is no host, or it has left.
    Vacant,
    /// It has not been renewed since it was granted, or since this leader listens.
    Awaited {
        /// When it runs out.
        until: Timestamp,
    },
    /// It is renewed.
    Held {
        /// When it runs out.
        until: Timestamp,
    },
    /// It has run out.
    Lost,
}

impl Lease {
    /// Whether it stands for as long as one that was renewed then: what was brought for a host that is no member any more, or
    /// as of a moment to come, did not count. What is over by now renewed nothing, whoever brought it: its host may be told the
    /// time for it.
    #[must_use]
    pub fn has_counted(self, renewed: Timestamp, now: Timestamp) -> bool {
        let until = match self {
            Self::Vacant | Self::Lost => now,
            Self::Awaited { until } | Self::Held { until } => until,
        };
        renewed + LEASE <= until
    }
}

/// How many members miss their host, the one who asks among them. Members that died with an earlier host, and are not lost
/// yet, are no reason to wait for the end of a lease; nor is that host itself, which was heard a moment ago when it was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// How many.
    pub reports: usize,
    /// How many are more than half of all that were heard within a lease.
    pub needed: usize,
}

/// The soft state of a lobby.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pulses {
    /// Since when silence counts.
    listening: Option<Timestamp>,
    sessions: BTreeMap<SessionId, Pulse>,
    /// Every member by the moment it was heard last.
    heard: BTreeSet<(Timestamp, SessionId, PeerKey)>,
    tally: Tally,
}

/// The last renewal.
#[derive(Debug, Clone, Copy)]
struct Renewed {
    epoch: Epoch,
    at: Timestamp,
    pace: Pace,
}

/// A member's last word that it misses the host of an epoch.
#[derive(Debug, Clone, Copy)]
struct Missed {
    epoch: Epoch,
    at: Timestamp,
    /// When it heard that host last, if it ever did.
    heard: Option<Timestamp>,
}

#[derive(Debug, Clone, Default)]
struct Pulse {
    renewed: Option<Renewed>,
    misses: BTreeMap<PeerKey, Missed>,
    heard: BTreeMap<PeerKey, Timestamp>,
    /// Hosts that more than half missed, and of whom nothing was heard since: when they were heard as hosts says nothing any more.
    deposed: BTreeSet<PeerKey>,
    /// Why it moved, until its new host is heard.
    moved: Option<Cause>,
}

impl Pulse {
    /// What a member says of the host of that epoch, if it misses it and that counts still.
    fn missed(&self, peer: &PeerKey, epoch: Epoch, now: Timestamp) -> Option<Missed> {
        let said = self.misses.get(peer).copied();
        said.filter(|said| said.epoch == epoch && now < said.at + REPORT_LIFE)
    }
}

impl Pulses {
    pub(crate) const fn listening(&self) -> Option<Timestamp> {
        self.listening
    }

    /// Silence counts from now on, of all these.
    pub(crate) fn listen(&mut self, now: Timestamp, members: impl Iterator<Item = (SessionId, PeerKey)>) {
        if self.listening.is_none() {
            self.listening = Some(now);
            members.for_each(|(session, peer)| self.hear(session, peer, now));
        }
    }

    /// Something was heard of a member.
    pub(crate) fn hear(&mut self, session: SessionId, peer: PeerKey, at: Timestamp) {
        let Pulse { heard, deposed, .. } = self.sessions.entry(session).or_default();
        let before = heard.get(&peer).copied();
        if before.is_some_and(|before| before >= at) {
            return;
        }
        deposed.remove(&peer);
        heard.insert(peer, at);
        if let Some(before) = before {
            self.heard.remove(&(before, session, peer));
        }
        self.heard.insert((at, session, peer));
    }

    /// As of when a renewal counts, where it does: not as of a moment to come, and not as of one that it was renewed at before. What is brought
    /// again says nothing new of its host, nor of whom that hears.
    pub(crate) fn renew(
        &mut self,
        session: SessionId,
        epoch: Epoch,
        now: Timestamp,
        renewal: Renewal,
    ) -> Option<Timestamp> {
        let (at, pace) = match renewal {
            Renewal::Now(pace) => (now, pace),
            Renewal::AsOf(at) if at > now => return None,
            Renewal::AsOf(at) => (at, Pace::Usual),
        };
        let Pulse { renewed, moved, .. } = self.sessions.entry(session).or_default();
        if let (Some(former), Some(cause)) = (renewed.filter(|before| before.epoch != epoch), moved.take()) {
            debug_assert!(former.epoch < epoch, "who is asked has made sure that it is the newest epoch");
            self.tally.took(cause, at.since(former.at));
        }
        let counts = renewed.is_none_or(|before| before.epoch != epoch || before.at < at);
        if counts {
            *renewed = Some(Renewed { epoch, at, pace });
        }
        counts.then_some(at)
    }

    /// A session gets another host than the one it has.
    pub(crate) fn moved(&mut self, session: SessionId, from: Option<PeerKey>, cause: Cause) {
        self.tally.moved(cause);
        let pulse = self.sessions.entry(session).or_default();
        pulse.moved = Some(cause);
        match cause {
            Cause::Catastrophic => pulse.deposed.extend(from.filter(|host| pulse.heard.contains_key(host))),
            Cause::Controlled => {}
        }
    }

    pub(crate) const fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn misses(
        &mut self,
        session: SessionId,
        epoch: Epoch,
        (peer, misses): (PeerKey, Misses),
        now: Timestamp,
    ) {
        let all = &mut self.sessions.entry(session).or_default().misses;
        match misses {
            Misses::Yes { silent } => {
                all.insert(peer, Missed { epoch, at: now, heard: silent.map(|silent| now.back(silent)) })
            }
            Misses::No => all.remove(&peer),
        };
    }

    /// A member is one no longer.
    pub(crate) fn forget(&mut self, session: SessionId, peer: &PeerKey) {
        let Some(pulse) = self.sessions.get_mut(&session) else { return };
        pulse.misses.remove(peer);
        pulse.deposed.remove(peer);
        if let Some(at) = pulse.heard.remove(peer) {
            self.heard.remove(&(at, session, *peer));
        }
    }

    /// A session is over.
    pub(crate) fn end(&mut self, session: SessionId) {
        let pulse = self.sessions.remove(&session).unwrap_or_default();
        for (peer, at) in pulse.heard {
            self.heard.remove(&(at, session, peer));
        }
    }

    /// Who was silent longest, and until when it may be.
    pub(crate) fn most_silent(&self) -> Option<(Timestamp, SessionId, PeerKey)> {
        self.heard.first().map(|(at, session, peer)| (*at + SILENCE, *session, *peer))
    }

    pub(crate) fn lease(&self, session: &Session, now: Timestamp) -> Lease {
        let Some(grant) = session.grant.filter(|_| !session.is_hostless() || session.waits_out()) else {
            return Lease::Vacant;
        };
        let renewed = self.renewed(session.id, grant.epoch);
        let until = self.counts_from(session, now) + LEASE;
        match renewed {
            _ if until <= now => Lease::Lost,
            Some(_) => Lease::Held { until },
            None => Lease::Awaited { until },
        }
    }

    /// How many miss the host, beside the one who asks.
    pub(crate) fn doubt(&self, session: &Session, asks: PeerKey, now: Timestamp) -> Doubt {
        let pulse = self.sessions.get(&session.id);
        let epoch = session.epoch();
        let host = session.grant.map(|grant| grant.host);
        let says = |peer: &PeerKey| pulse.is_some_and(|pulse| pulse.missed(peer, epoch, now).is_some());
        let pace = self.renewed(session.id, epoch).map_or(Pace::Usual, |renewed| renewed.pace);
        let is_silent = self.counts_from(session, now) + pace.patience() <= now;
        let misses =
            |peer: &&PeerKey| **peer == asks || if Some(**peer) == host { is_silent } else { says(peer) };
        let is_here = |peer: &&PeerKey| {
            let heard = pulse.and_then(|pulse| pulse.heard.get(*peer));
            let is_deposed = pulse.is_some_and(|pulse| pulse.deposed.contains(*peer));
            // Whoever was heard by its joining alone was let in by nobody yet, and has no host to miss.
            let joined = session.members.get(*peer).map(|member| member.joined);
            let is_in = heard.copied() > joined;
            let is_heard = is_in && !is_deposed && heard.is_some_and(|at| now < *at + LEASE);
            **peer == asks || Some(**peer) == host || is_heard
        };
        Doubt {
            reports: session.members.keys().filter(misses).count(),
            needed: session.members.keys().filter(is_here).count() / 2 + 1,
        }
    }

    /// Until when others come before that one: of those who miss the host whoever heard it last holds what it wrote, and whoever was cut off from it before may never have obeyed
    /// it. They do as long as they say so and can be host, and for two leases at most: they may not want to be. No host plays on for more than a lease after its last renewal, so
    /// nobody has heard one later, whatever it says. Who was not with a host at its last renewal, and finds the next one overdue, leaves them a moment to say so.
    pub(crate) fn others_first(&self, session: &Session, asks: PeerKey, now: Timestamp) -> Option<Timestamp> {
        let pulse = self.sessions.get(&session.id)?;
        let missed = |peer: &PeerKey| pulse.missed(peer, session.epoch(), now);
        let own = missed(&asks).and_then(|said| said.heard);
        let came_later = |heard: Timestamp| own.is_none_or(|own| own + LATER < heard);
        let host = session.grant.map(|grant| grant.host);
        let last = self.counts_from(session, now) + LEASE;
        let others = || {
            let can_be = |(peer, member): &(&PeerKey, &Member)| {
                **peer != asks && Some(**peer) != host && member.can_be_host == CanBeHost::Yes
            };
            session.members.iter().filter(can_be).map(|(peer, _)| peer)
        };
        let first = others().filter_map(|peer| {
            let said = missed(peer)?;
            let heard = said.heard.filter(|heard| came_later(*heard))?;
            Some((said.at + REPORT_LIFE).min(heard.min(last) + 2 * LEASE))
        });
        let may_say_so = |peer: &PeerKey| {
            missed(peer).is_none() && pulse.heard.get(peer).is_some_and(|heard| now < *heard + LEASE)
        };
        let renewed = self.renewed(session.id, session.epoch());
        let overdue = renewed
            .filter(|renewed| came_later(renewed.at) && others().any(may_say_so))
            .map(|renewed| renewed.at + renewed.pace.every())
            .filter(|due| now >= *due);
        first.chain(overdue.map(|due| due + SAY_SO)).max().filter(|until| now < *until)
    }

    /// From when on a host's lease counts: its last renewal, its grant, or the moment this leader began to listen. One that does
    /// not listen yet knows nothing, and lets every lease count from now.
    fn counts_from(&self, session: &Session, now: Timestamp) -> Timestamp {
        let granted = session.grant.map_or(Timestamp::EPOCH, |grant| grant.at);
        let renewed =
            self.renewed(session.id, session.epoch()).map_or(Timestamp::EPOCH, |renewed| renewed.at);
        self.listening.unwrap_or(now).max(granted).max(renewed)
    }

    fn renewed(&self, session: SessionId, epoch: Epoch) -> Option<Renewed> {
        self.sessions.get(&session)?.renewed.filter(|renewed| renewed.epoch == epoch)
    }

    /// Everybody who is counted, in order of ids; for laws.
    pub(crate) fn counted(&self) -> BTreeSet<(SessionId, PeerKey)> {
        self.heard.iter().map(|(_, session, peer)| (*session, *peer)).collect()
    }
}
