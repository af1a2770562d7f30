//! Servers hosted beside the queue: processes that are replaced, sessions that end, and whoever watches them, late and at any pace.

use mainstay_core::{ClaimId, FleetNumber, ServerId, Tenure};
use mainstay_matchmaking::{BackfillStage, Command};
use uuid::Uuid;

use super::{Bug, Happening, World};
use crate::laws::{Broken, ensure};
use crate::random::Random;

/// The longest between two looks of whoever watches, in microseconds: the control plane looks once a second.
const LOOK_MAX: u64 = 3_000_000;

/// A server of this world.
#[derive(Debug)]
pub(super) struct Host {
    session: u128,
    run: u64,
    plays: bool,
}

/// As many as a world has.
pub(super) fn all() -> Vec<Host> {
    (0..2).map(|session| Host { session, run: 1, plays: true }).collect()
}

impl World {
    /// The tenure of some server's process; now and then one that is over, as that of an ask which took its time.
    pub(super) fn tenure(&mut self) -> Tenure {
        let place = self.random.index(self.hosts.len());
        let late = u64::from(self.random.chance(100_000));
        let host = &self.hosts[place];
        tenure(place, host.session, host.run.saturating_sub(late))
    }

    fn is_over(&self, it: &Tenure) -> bool {
        let plays =
            |(place, host): (usize, &Host)| host.plays && tenure(place, host.session, host.run) == *it;
        !self.hosts.iter().enumerate().any(plays)
    }

    /// A process is replaced, or its session ends, or nothing happens.
    pub(super) fn hosts_change(&mut self) {
        if self.random.chance(60_000) {
            self.counts.processes += 1;
            let place = self.random.index(self.hosts.len());
            change(&mut self.hosts[place], &mut self.random);
            self.say("host", |world| format!("{place} is {:?} now", world.hosts[place]));
        }
    }

    /// No server plays any more.
    pub(super) fn hosts_stop(&mut self) {
        self.hosts.iter_mut().for_each(|host| host.plays = false);
    }

    /// Whoever watches looks at what the queue's tickets hang on, and tells it of each that is over.
    pub(super) fn watches(&mut self) -> Result<(), Broken> {
        let hanging: Vec<Tenure> =
            self.seat.as_ref().map(|seat| seat.state.tenures().copied().collect()).unwrap_or_default();
        let told = self.bug != Some(Bug::ServersUnwatched);
        for over in hanging.iter().filter(|_| told).filter(|it| self.is_over(it)).copied().collect::<Vec<_>>()
        {
            self.counts.withdrawn += 1;
            self.turn(&Command::TenureOver(over))?;
        }
        if self.busy || self.seat.is_none() || self.decided.tenures().next().is_some() {
            let pause = self.random.between(1, LOOK_MAX);
            self.after(pause, Happening::Watches);
        }
        Ok(())
    }

    /// "no backfill ticket outlives its server".
    pub(super) fn none_outlives_its_server(&self) -> Result<(), Broken> {
        let open = self.decided.backfills().find(|it| {
            let hangs = it.terms.lease.tenure().is_some_and(|tenure| self.is_over(&tenure));
            hangs && matches!(it.stage, BackfillStage::Searching(_))
        });
        ensure(open.is_none(), "no backfill ticket outlives its server", || format!("{open:?}"))
    }
}

fn change(host: &mut Host, random: &mut Random) {
    host.run += 1;
    if random.chance(300_000) {
        host.session += 2;
    }
}

fn tenure(place: usize, session: u128, run: u64) -> Tenure {
    let fleet = FleetNumber::new(1).expect("1 is below the limit");
    let server = ServerId::of(fleet, u32::try_from(place).unwrap_or(u32::MAX));
    Tenure { server, session: ClaimId(Uuid::from_u128(session)), run: Some(run) }
}
