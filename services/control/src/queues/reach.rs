//! Whether players can be anywhere that the fleet of their queue is: where none of the regions they measured is one of its own, no server
//! could ever be found for their match, and they are told so at the door; but not where the rule of regions becomes optional.
//!
//! A queue that names its regions judges that by itself. One that does not takes what its fleet has at this moment: a region that is
//! added to the fleet needs no word to the queue.

use mainstay_matchmaking::spec::{QueueSpec, Rule, RuleKind, Venue};
use mainstay_matchmaking::{AttributeFault, Command, Member, Rejection, Value};

use super::placement::Placement;

impl Placement {
    /// Refuses whoever brings regions, and none of the fleet's.
    pub(super) fn reaches(&self, spec: &QueueSpec, command: &Command) -> Result<(), Rejection> {
        let Some(Venue::Server(of)) = &spec.venue else { return Ok(()) };
        if !spec.regions.is_empty() {
            return Ok(());
        }
        let region = |(at, rule): (usize, &Rule)| match &rule.kind {
            // Once that gives way, whoever it is matched with may bring a region of the fleet's.
            RuleKind::RegionSelection { .. } if rule.optional_after.is_some() => None,
            RuleKind::RegionSelection { path, .. } => Some((at, rule.name.clone(), path.clone())),
            RuleKind::StringEquality { .. }
            | RuleKind::Difference { .. }
            | RuleKind::SetIntersection { .. }
            | RuleKind::MatchTotal { .. }
            | RuleKind::TeamDifference { .. }
            | RuleKind::TeamSizeBalance { .. }
            | RuleKind::TeamTicketSizeSimilarity => None,
        };
        let Some((at, rule, path)) = spec.rules.iter().enumerate().find_map(region) else { return Ok(()) };
        // A fleet that is gone tells so where its servers are asked for.
        let Some(fleet) = self.fleets().now().named(&of.fleet).cloned() else { return Ok(()) };
        let nowhere = |member: &Member| match member.attributes.values.get(at) {
            Some(Some(Value::Latencies(measured))) => {
                !measured.is_empty() && measured.iter().all(|(region, _)| fleet.region(region).is_none())
            }
            Some(_) | None => false,
        };
        if arriving(command).iter().any(nowhere) {
            return Err(Rejection::AttributeInvalid(AttributeFault::UnknownRegions { rule, path }));
        }
        Ok(())
    }
}

/// The players who come with what they measured; those of a game that goes on are where it is.
const fn arriving(command: &Command) -> &[Member] {
    match command {
        Command::CreateTicket { creator: one, .. } | Command::JoinTicket { member: one, .. } => {
            std::slice::from_ref(one)
        }
        Command::CreateServerTicket { members, .. } => members.as_slice(),
        Command::Configure(_)
        | Command::Close
        | Command::Pause
        | Command::Resume
        | Command::CancelTicket { .. }
        | Command::CancelAllTickets { .. }
        | Command::CreateBackfill { .. }
        | Command::KeepBackfill { .. }
        | Command::RenewBackfill { .. }
        | Command::TenureOver(_)
        | Command::CancelBackfill { .. }
        | Command::CancelAllBackfills { .. }
        | Command::Placement { .. }
        | Command::Due => &[],
    }
}
