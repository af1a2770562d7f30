//! What a placement chose among: "says why the others lost", also of an allocation that got its server.
//!
//! Counted as an allocation gets its server, from indices that are there anyway, in time that grows with the region's build
//! configurations and not with its servers. Soft: a replay cannot know it, and it goes with the session.

use core::fmt;

use mainstay_core::slot::ConfigurationRef;
use mainstay_core::{AllocationId, RegionId, ServerId};

use crate::allocation::Allocation;
use crate::fleet::Fleet;
use crate::placement::Candidate;
use crate::server::ServerStatus;

/// What a server would have to do to take an allocation, the soonest first: the order in which placement looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Nothing: it runs the right build configuration, and answers.
    Running,
    /// Come up: it is being started with it.
    Starting,
    /// Start.
    Stopped,
    /// Be restarted, since it runs another one.
    Another,
    /// Start, after it had crashed too often.
    BackedOff,
    /// Be waited for: it is still stopping.
    Stopping,
}

impl Class {
    /// All of them, the best first.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Starting, Self::Stopped, Self::Another, Self::BackedOff, Self::Stopping];

    /// What such a server is, in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Running => "one that runs the right build configuration",
            Self::Starting => "one that is being started with it",
            Self::Stopped => "a stopped one",
            Self::Another => "one that runs another build configuration",
            Self::BackedOff => "one that is kept down after crashes",
            Self::Stopping => "one that is still stopping",
        }
    }

    pub(crate) fn of(candidate: Candidate, wanted: ConfigurationRef) -> Self {
        match candidate {
            Candidate::Online(runs) if runs == wanted => Self::Running,
            Candidate::Starting(runs) if runs == wanted => Self::Starting,
            Candidate::Online(_) | Candidate::Starting(_) => Self::Another,
            Candidate::Stopped => Self::Stopped,
            Candidate::BackedOff => Self::BackedOff,
            Candidate::Stopping => Self::Stopping,
        }
    }
}

/// What a placement chose among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What the chosen server had to do.
    pub class: Class,
    /// How many servers of its machine were allocated or reserved: the most of all machines with a server of its class.
    pub fullness: u32,
    /// How many machines had a free server of each class.
    pub machines: [u32; Class::ALL.len()],
    /// How many of the region's servers were allocated or reserved, and so took no part.
    pub claimed: u32,
    /// How many took none because nobody heard their agents.
    pub unreachable: u32,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, fullness, machines, claimed, unreachable } = self;
        let of_class = machines[*class as usize];
        write!(
            f,
            "{}, on the fullest ({fullness} taken) of {of_class} machines that had such",
            class.words()
        )?;
        let mut separator = "; passed over, as they could play later: machines with ";
        for (other, count) in Class::ALL.into_iter().zip(machines) {
            if other > *class && *count > 0 {
                write!(f, "{separator}{} ({count})", other.words())?;
                separator = ", ";
            }
        }
        write!(f, "; no candidates: {claimed} allocated or reserved, {unreachable} not heard")
    }
}

impl Fleet {
    /// What the placement of an allocation chose among; `None` where it has no server, is over, or was placed before this
    /// leader began to listen.
    #[must_use]
    pub fn choice(&self, id: AllocationId, allocation: &Allocation) -> Option<Choice> {
        let server = self.server(allocation.placed()?.server)?;
        server.choice.filter(|_| server.allocation() == Some(id))
    }

    /// What a server is about to be chosen among, for a build configuration.
    pub(crate) fn choosing(&self, server: ServerId, wanted: ConfigurationRef) -> Option<Choice> {
        let server = self.server(server)?;
        let machine = self.machine(server.machine)?;
        let class = Class::of(self.candidate(server)?, wanted);
        let mut machines = [0; Class::ALL.len()];
        for (candidate, count) in self.shelved(machine.region) {
            machines[Class::of(candidate, wanted) as usize] += count;
        }
        let counts = self.counts_in(machine.region);
        Some(Choice {
            class,
            fullness: machine.counts.claimed(),
            machines,
            claimed: counts.claimed(),
            unreachable: counts.of(ServerStatus::Unreachable),
        })
    }

    /// How many machines of a region have a free server of each kind.
    fn shelved(&self, region: RegionId) -> impl Iterator<Item = (Candidate, u32)> {
        let from = (region, Candidate::LOWEST);
        let of_region = self.shelf.range(from..).take_while(move |((of, _), _)| *of == region);
        of_region
            .map(|((_, candidate), machines)| (*candidate, u32::try_from(machines.len()).unwrap_or(u32::MAX)))
    }
}
