//! Format 2 of the reasons in a fleet's events: why an order was given, why a hold or a reservation ended.

use mainstay_fleet::{
    Cause as DomainCause, Fit as DomainFit, HoldEnd as DomainHoldEnd, ReservationEnd as DomainReservationEnd,
};
use serde::{Deserialize, Serialize};

/// Why a server got an order.
#[derive(Serialize, Deserialize)]
pub(super) enum Cause {
    Unrecorded,
    Provisioned,
    Allocated(Fit),
    Deallocated,
    TimedToLive,
    Exited,
    Failed,
    Lost,
    FoundDown,
    StartedByHand,
    StoppedByHand,
    RestartedByHand,
    ConfigurationChanged,
    RolledOut,
    Restored,
    // Since format 3.
    Drained,
    Woken,
    MachineLost,
    Returned,
}

impl From<DomainCause> for Cause {
    fn from(cause: DomainCause) -> Self {
        match cause {
            DomainCause::Unrecorded => Self::Unrecorded,
            DomainCause::Provisioned => Self::Provisioned,
            DomainCause::Allocated(fit) => Self::Allocated(fit.into()),
            DomainCause::Deallocated => Self::Deallocated,
            DomainCause::TimedToLive => Self::TimedToLive,
            DomainCause::Exited => Self::Exited,
            DomainCause::Failed => Self::Failed,
            DomainCause::Lost => Self::Lost,
            DomainCause::FoundDown => Self::FoundDown,
            DomainCause::StartedByHand => Self::StartedByHand,
            DomainCause::StoppedByHand => Self::StoppedByHand,
            DomainCause::RestartedByHand => Self::RestartedByHand,
            DomainCause::ConfigurationChanged => Self::ConfigurationChanged,
            DomainCause::RolledOut => Self::RolledOut,
            DomainCause::Restored => Self::Restored,
            DomainCause::Drained => Self::Drained,
            DomainCause::Woken => Self::Woken,
            DomainCause::MachineLost => Self::MachineLost,
            DomainCause::Returned => Self::Returned,
        }
    }
}

impl From<Cause> for DomainCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Unrecorded => Self::Unrecorded,
            Cause::Provisioned => Self::Provisioned,
            Cause::Allocated(fit) => Self::Allocated(fit.into()),
            Cause::Deallocated => Self::Deallocated,
            Cause::TimedToLive => Self::TimedToLive,
            Cause::Exited => Self::Exited,
            Cause::Failed => Self::Failed,
            Cause::Lost => Self::Lost,
            Cause::FoundDown => Self::FoundDown,
            Cause::StartedByHand => Self::StartedByHand,
            Cause::StoppedByHand => Self::StoppedByHand,
            Cause::RestartedByHand => Self::RestartedByHand,
            Cause::ConfigurationChanged => Self::ConfigurationChanged,
            Cause::RolledOut => Self::RolledOut,
            Cause::Restored => Self::Restored,
            Cause::Drained => Self::Drained,
            Cause::Woken => Self::Woken,
            Cause::MachineLost => Self::MachineLost,
            Cause::Returned => Self::Returned,
        }
    }
}

/// What a slot had to do to take an allocation.
#[derive(Serialize, Deserialize)]
pub(super) enum Fit {
    Running,
    Starting,
    Stopped,
    OtherConfiguration,
    OtherBuild,
    RestartAsked,
    KeptDown,
    Stopping,
}

impl From<DomainFit> for Fit {
    fn from(fit: DomainFit) -> Self {
        match fit {
            DomainFit::Running => Self::Running,
            DomainFit::Starting => Self::Starting,
            DomainFit::Stopped => Self::Stopped,
            DomainFit::OtherConfiguration => Self::OtherConfiguration,
            DomainFit::OtherBuild => Self::OtherBuild,
            DomainFit::RestartAsked => Self::RestartAsked,
            DomainFit::KeptDown => Self::KeptDown,
            DomainFit::Stopping => Self::Stopping,
        }
    }
}

impl From<Fit> for DomainFit {
    fn from(fit: Fit) -> Self {
        match fit {
            Fit::Running => Self::Running,
            Fit::Starting => Self::Starting,
            Fit::Stopped => Self::Stopped,
            Fit::OtherConfiguration => Self::OtherConfiguration,
            Fit::OtherBuild => Self::OtherBuild,
            Fit::RestartAsked => Self::RestartAsked,
            Fit::KeptDown => Self::KeptDown,
            Fit::Stopping => Self::Stopping,
        }
    }
}

/// Why a hold ended.
#[derive(Serialize, Deserialize)]
pub(super) enum HoldEnd {
    Released,
    TimedOut,
    Allocated,
    Reserved,
    StoppedByHand,
    RestartedByHand,
    ConfigurationChanged,
}

impl From<DomainHoldEnd> for HoldEnd {
    fn from(end: DomainHoldEnd) -> Self {
        match end {
            DomainHoldEnd::Released => Self::Released,
            DomainHoldEnd::TimedOut => Self::TimedOut,
            DomainHoldEnd::Allocated => Self::Allocated,
            DomainHoldEnd::Reserved => Self::Reserved,
            DomainHoldEnd::StoppedByHand => Self::StoppedByHand,
            DomainHoldEnd::RestartedByHand => Self::RestartedByHand,
            DomainHoldEnd::ConfigurationChanged => Self::ConfigurationChanged,
        }
    }
}

impl From<HoldEnd> for DomainHoldEnd {
    fn from(end: HoldEnd) -> Self {
        match end {
            HoldEnd::Released => Self::Released,
            HoldEnd::TimedOut => Self::TimedOut,
            HoldEnd::Allocated => Self::Allocated,
            HoldEnd::Reserved => Self::Reserved,
            HoldEnd::StoppedByHand => Self::StoppedByHand,
            HoldEnd::RestartedByHand => Self::RestartedByHand,
            HoldEnd::ConfigurationChanged => Self::ConfigurationChanged,
        }
    }
}

/// Why a reservation ended.
#[derive(Serialize, Deserialize)]
pub(super) enum ReservationEnd {
    Released,
    ReleasedByHand,
    Completed,
    Failed,
    Lost,
    RolledOut,
    /// Since format 3.
    MachineLost,
}

impl From<DomainReservationEnd> for ReservationEnd {
    fn from(end: DomainReservationEnd) -> Self {
        match end {
            DomainReservationEnd::Released => Self::Released,
            DomainReservationEnd::ReleasedByHand => Self::ReleasedByHand,
            DomainReservationEnd::Completed => Self::Completed,
            DomainReservationEnd::Failed => Self::Failed,
            DomainReservationEnd::Lost => Self::Lost,
            DomainReservationEnd::RolledOut => Self::RolledOut,
            DomainReservationEnd::MachineLost => Self::MachineLost,
        }
    }
}

impl From<ReservationEnd> for DomainReservationEnd {
    fn from(end: ReservationEnd) -> Self {
        match end {
            ReservationEnd::Released => Self::Released,
            ReservationEnd::ReleasedByHand => Self::ReleasedByHand,
            ReservationEnd::Completed => Self::Completed,
            ReservationEnd::Failed => Self::Failed,
            ReservationEnd::Lost => Self::Lost,
            ReservationEnd::RolledOut => Self::RolledOut,
            ReservationEnd::MachineLost => Self::MachineLost,
        }
    }
}
