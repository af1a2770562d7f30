//! The clocks of hosts: a boot clock that only a reboot sets, a wall clock that anybody sets, and the production clock that
//! processes read, with the mark it leaves for the next start.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_runtime::{Anchor, MARK_INTERVAL, OneClock, Past, Readings, Wall};

use super::{BEGIN_MS, World};
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::message::Host;

/// A hardware clock that keeps local time is ahead by so much at most (UTC+14).
const LOCAL_TIME_MS: u64 = 14 * 3_600 * 1_000;
/// How far a wall clock that is set is off at most: 400 days.
const FAR_MS: u64 = 400 * 86_400 * 1_000;

/// One host's clocks.
#[derive(Debug)]
pub(crate) struct HostClock {
    /// How far its wall clock has been off from the first: what its processes took for the time.
    skew_ms: i64,
    /// How far its wall clock is off beyond that.
    off_ms: i64,
    /// Whether anybody vouches for it.
    wall: Wall,
    /// When it booted last.
    booted: Micros,
    /// The clock of its process, and what that told last.
    clock: OneClock,
    told: Timestamp,
    /// When it told that.
    told_at: Micros,
    /// What its data directory holds of the time.
    mark: Option<Marked>,
}

#[derive(Debug, Clone, Copy)]
struct Marked {
    anchor: Anchor,
    booted: Micros,
    at: Micros,
}

/// What a wrong clock does to a start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallAtStart {
    off_ms: i64,
    wall: Wall,
}

impl HostClock {
    pub(crate) fn new(skew_ms: i64) -> Self {
        let shown = Duration::from_millis(BEGIN_MS.saturating_add_signed(skew_ms));
        let readings = Readings { wall: shown, boot: Duration::ZERO };
        let (clock, _) = OneClock::start(readings, Wall::Alone, Past::Unknown);
        let told = Timestamp::from_unix_ms(BEGIN_MS.saturating_add_signed(skew_ms));
        Self { skew_ms, off_ms: 0, wall: Wall::Alone, booted: 0, clock, told, told_at: 0, mark: None }
    }

    /// What was told last.
    pub(crate) const fn told(&self) -> Timestamp {
        self.told
    }

    fn readings(&self, now: Micros) -> Readings {
        let off = self.skew_ms.saturating_add(self.off_ms);
        let wall = Duration::from_millis(BEGIN_MS.saturating_add_signed(off)) + Duration::from_micros(now);
        Readings { wall, boot: Duration::from_micros(now.saturating_sub(self.booted)) }
    }

    /// The time as the host's process reads it, and whether it noticed that the wall clock was set. The mark is kept as the
    /// production clock's thread keeps it.
    pub(crate) fn read(&mut self, now: Micros) -> (Timestamp, bool) {
        let (told, jump) = self.clock.read(self.readings(now));
        (self.told, self.told_at) = (told, now);
        if self.mark.is_none_or(|mark| Duration::from_micros(now - mark.at) >= MARK_INTERVAL) {
            self.mark = Some(Marked { anchor: self.clock.anchor(self.wall), booted: self.booted, at: now });
        }
        (told, jump.is_some())
    }

    /// A process begins to tell the time, not below what its journal has; and how much further that is than the time that passed,
    /// where it may be (decision 0022). With a planted mistake it believes the wall clock.
    pub(crate) fn starts(
        &mut self,
        now: Micros,
        shown: WallAtStart,
        floor: Timestamp,
        bug: Option<Bug>,
    ) -> Duration {
        let (before, passed) = (self.told, Duration::from_micros(now - self.told_at));
        (self.off_ms, self.wall) = (shown.off_ms, shown.wall);
        let past = match self.mark {
            None => Past::Unknown,
            Some(_) if bug == Some(Bug::WallBelieved) => Past::Unknown,
            Some(mark) if mark.booted == self.booted => Past::ThisBoot(mark.anchor),
            Some(mark) => Past::EarlierBoot(mark.anchor),
        };
        (self.clock, _) = OneClock::start(self.readings(now), shown.wall, past);
        self.clock.not_below(floor);
        let (told, _jump) = self.read(now);
        let world = Duration::from_millis(BEGIN_MS.saturating_add_signed(self.skew_ms));
        let world = world + Duration::from_micros(now);
        let made_up = told.since(before).saturating_sub(passed);
        // What was steered away since the last mark comes back, wherever the clock is; the rest is no excuse for one that is ahead.
        let is_behind = u128::from(told.unix_ms()) <= world.as_millis();
        if is_behind { made_up } else { made_up.min(MARK_INTERVAL / 10) }
    }

    pub(crate) const fn reboots(&mut self, at: Micros) {
        self.booted = at;
    }

    /// When a deadline of its process's rules comes, as the runtime sleeps for it; not before now.
    pub(crate) fn moment(&self, now: Micros, due: Timestamp) -> Micros {
        let remains = u64::try_from(due.since(self.told).as_micros()).unwrap_or(Micros::MAX);
        now.saturating_add(remains)
    }
}

impl World {
    /// The time that the plane's rules are told: by the production clock, which a wall clock that is set steers by a tenth.
    pub(crate) const fn at(&self) -> Timestamp {
        self.plane.clock.told()
    }

    /// What a machine's own clock says.
    pub(crate) fn at_of(&mut self, host: Host) -> Timestamp {
        self.machines[host].clock.read(self.now).0
    }

    /// The wall clock of the plane's host, or of a machine, is set.
    pub(crate) fn wall_clock_is_set(&mut self, host: Host) {
        let off_ms = self.either_way(FAR_MS);
        if self.random.chance(500_000) {
            (self.plane.clock.off_ms, self.plane.clock.wall) = (off_ms, Wall::Alone);
            self.say("plane", || format!("has its wall clock set {off_ms} ms off"));
        } else {
            let clock = &mut self.machines[host].clock;
            (clock.off_ms, clock.wall) = (off_ms, Wall::Alone);
            self.say_of(host, || format!("has its wall clock set {off_ms} ms off"));
        }
    }

    /// The plane's process begins to tell the time.
    pub(crate) fn plane_clock_starts(&mut self) {
        let shown = self.wall_at_start(self.plane.clock.mark, self.plane.clock.booted);
        let (now, bug, floor) = (self.now, self.bug, self.plane.disk.last_at());
        let made_up = self.plane.clock.starts(now, shown, floor, bug);
        self.begun.made_up(made_up);
        self.say("plane", || format!("begins to tell the time: {shown:?}"));
    }

    /// An agent's process does.
    pub(crate) fn agent_clock_starts(&mut self, host: Host) {
        let shown = self.wall_at_start(self.machines[host].clock.mark, self.machines[host].clock.booted);
        let (now, bug) = (self.now, self.bug);
        let machine = &mut self.machines[host];
        let _made_up = machine.clock.starts(now, shown, machine.disk.last_at(), bug);
        self.say_of(host, || format!("begins to tell the time: {shown:?}"));
    }

    /// What the wall clock shows at a start. The first of all believes it; what it is off by then is the host's skew. Within one boot it may have been set to anything. After a reboot it may be a
    /// hardware clock that lost its battery or keeps local time: that one which is ahead by days tells of an outage is what
    /// the production clock says itself.
    fn wall_at_start(&mut self, mark: Option<Marked>, booted: Micros) -> WallAtStart {
        let wrong = mark.is_some() && self.struck(self.scenario.crashes.wrong_start);
        if !wrong {
            let wall = if self.random.chance(500_000) { Wall::Kept } else { Wall::Alone };
            return WallAtStart { off_ms: 0, wall };
        }
        let rebooted = mark.is_some_and(|mark| mark.booted != booted);
        let off_ms = if !rebooted {
            self.either_way(FAR_MS)
        } else if self.random.chance(500_000) {
            self.either_way(LOCAL_TIME_MS)
        } else {
            -self.either_way(FAR_MS).abs()
        };
        WallAtStart { off_ms, wall: Wall::Alone }
    }

    /// A number of milliseconds, in either direction.
    pub(crate) fn either_way(&mut self, most: u64) -> i64 {
        let drawn = i64::try_from(self.random.below(2 * most + 1)).unwrap_or(0);
        drawn - i64::try_from(most).unwrap_or(0)
    }
}
