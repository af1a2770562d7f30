//! Where the servers of a queue can be: the regions of its fleet, each by every name it has. Two names of one are one place, so players who
//! measured it by different names meet there; and who measured none of them could get no server anywhere, and is told so at the door.
//! What somebody measured besides is dropped before a rule reads it: a match that was formed for it would never get a server.
//!
//! A fleet changes without a word to its queues, so it is not part of a queue's rules: whoever asks a queue for something says what the
//! fleet has at that moment, and what is asked becomes durable by the names that count then. Who waits keeps
//! that name where the fleet's or the queue's names change: it meets those who come after only as far as the old name is one of the new ones.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::attribute::{AttributeFault, Attributes, Value};
use crate::backfill::ServerDetails;
use crate::command::Command;
use crate::rejection::Rejection;
use crate::spec::{QueueSpec, Rule, RuleKind};
use crate::ticket::Member;

/// The regions of a fleet at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// In which there are servers to be had.
    open: Vec<Place>,
    /// In which games go on, and no new one begins.
    closed: Vec<Place>,
}

/// A region.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// What it is told as.
    name: Arc<str>,
    /// Everything it is called, in lower case.
    called: Vec<String>,
}

impl Place {
    fn is_called(&self, name: &str) -> bool {
        self.called.contains(&name.to_lowercase())
    }

    /// Its name in a queue: the queue's own, where it names its regions.
    fn told<'a>(&'a self, spec: &'a QueueSpec) -> &'a Arc<str> {
        spec.regions.iter().find(|name| self.is_called(name)).unwrap_or(&self.name)
    }
}

impl Places {
    /// Of each region its name, and whatever else it is called: compared without regard to case. No server is to be had in those that are
    /// closed, so nobody is matched for them; games that go on there are where they are.
    pub fn new<A: IntoIterator<Item = Arc<str>>>(
        open: impl IntoIterator<Item = (Arc<str>, A)>,
        closed: impl IntoIterator<Item = (Arc<str>, A)>,
    ) -> Self {
        let place = |(name, aliases): (Arc<str>, A)| {
            let called =
                core::iter::once(name.clone()).chain(aliases).map(|name| name.to_lowercase()).collect();
            Place { name, called }
        };
        Self { open: open.into_iter().map(place).collect(), closed: closed.into_iter().map(place).collect() }
    }

    /// Whether a queue asks where its players are at all.
    #[must_use]
    pub fn count_in(spec: &QueueSpec) -> bool {
        selection(spec).is_some()
    }

    fn named(&self, name: &str) -> Option<&Place> {
        self.open.iter().find(|place| place.is_called(name))
    }

    /// A command with every region by the name that counts in the queue: what players measured, and where a game is. What players measured
    /// that is no open region of the fleet is dropped; what they sent is handed out as they sent it.
    ///
    /// # Errors
    /// [`AttributeFault::UnknownRegions`], where a player measured regions and none of the fleet's: no server could ever be found for
    /// its match. [`AttributeFault::ServerRegion`], where a game is in none of them: nobody could join it. Neither where the rule gives
    /// way: then whoever it is matched with may bring a region, and who has none plays anywhere.
    pub fn settle(&self, spec: &QueueSpec, mut command: Command) -> Result<Command, Rejection> {
        let Some((at, rule)) = selection(spec) else { return Ok(command) };
        match &mut command {
            Command::CreateTicket { creator: one, .. } | Command::JoinTicket { member: one, .. } => {
                self.arrives(spec, (at, rule), one)?;
            }
            Command::CreateServerTicket { members, .. } => {
                members.iter_mut().try_for_each(|member| self.arrives(spec, (at, rule), member))?;
            }
            // Who plays already is where the game is.
            Command::CreateBackfill { server, .. } | Command::KeepBackfill { server, .. } => {
                self.place(spec, rule, server)?;
            }
            Command::Configure(_)
            | Command::Close
            | Command::Pause
            | Command::Resume
            | Command::CancelTicket { .. }
            | Command::CancelAllTickets { .. }
            | Command::RenewBackfill { .. }
            | Command::TenureOver(_)
            | Command::CancelBackfill { .. }
            | Command::CancelAllBackfills { .. }
            | Command::Placement { .. }
            | Command::Due => {}
        }
        Ok(command)
    }

    /// What a player measured of the fleet's regions, by the names that count in the queue.
    pub fn name(&self, spec: &QueueSpec, attributes: &mut Attributes) {
        let Some((at, _)) = selection(spec) else { return };
        let Some(Some(Value::Latencies(measured))) = attributes.values.get(at) else { return };
        let told = |region: &Arc<str>| self.named(region).map(|place| place.told(spec));
        if measured.iter().all(|(region, _)| told(region) == Some(region)) {
            return;
        }
        let named =
            measured.iter().filter_map(|(region, latency)| Some((told(region)?.clone(), *latency))).collect();
        if let Some(value) = Arc::make_mut(&mut attributes.values).get_mut(at) {
            *value = Some(Value::Latencies(named));
        }
    }

    fn arrives(
        &self,
        spec: &QueueSpec,
        (at, rule): (usize, &Rule),
        member: &mut Member,
    ) -> Result<(), Rejection> {
        if let Some(Some(Value::Latencies(measured))) = member.attributes.values.get(at) {
            let is_nowhere =
                !measured.is_empty() && measured.iter().all(|(name, _)| self.named(name).is_none());
            if is_nowhere && rule.optional_after.is_none() {
                let path = rule.kind.attribute().map_or_else(|| "".into(), |attribute| attribute.path);
                let fault = AttributeFault::UnknownRegions { rule: rule.name.clone(), path };
                return Err(Rejection::AttributeInvalid(fault));
            }
        }
        self.name(spec, &mut member.attributes);
        Ok(())
    }

    fn place(&self, spec: &QueueSpec, rule: &Rule, server: &mut ServerDetails) -> Result<(), Rejection> {
        // One that says no region is told so by the rule.
        let Some(region) = server.region.as_deref() else { return Ok(()) };
        let closed = || self.closed.iter().find(|place| place.is_called(region));
        match self.named(region).or_else(closed).map(|place| place.told(spec)) {
            Some(told) => server.region = Some(told.clone()),
            None if rule.optional_after.is_some() => {}
            None => {
                let fault = AttributeFault::ServerRegion { rule: rule.name.clone() };
                return Err(Rejection::AttributeInvalid(fault));
            }
        }
        Ok(())
    }
}

/// The queue's rule of regions, and where its values are.
fn selection(spec: &QueueSpec) -> Option<(usize, &Rule)> {
    let is = |(_, rule): &(usize, &Rule)| match &rule.kind {
        RuleKind::RegionSelection { .. } => true,
        RuleKind::StringEquality { .. }
        | RuleKind::Difference { .. }
        | RuleKind::SetIntersection { .. }
        | RuleKind::MatchTotal { .. }
        | RuleKind::TeamDifference { .. }
        | RuleKind::TeamSizeBalance { .. }
        | RuleKind::TeamTicketSizeSimilarity => false,
    };
    spec.rules.iter().enumerate().find(is)
}
