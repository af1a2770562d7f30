//! Build configurations since format 3 of fleets and the catalog: format 2's, and whether allocations wait for the ready call.
//! Agents are not told that, and keep what they are told in format 2.

use mainstay_core::slot;
use serde::{Deserialize, Serialize};

use super::slot_v2;

#[derive(Serialize, Deserialize)]
pub(super) struct Spec<'a> {
    #[serde(borrow)]
    since_2: slot_v2::Spec<'a>,
    ready_signal: ReadySignal,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(super) enum ReadySignal {
    NotAwaited,
    Awaited,
}

impl<'a> From<&'a slot::Spec> for Spec<'a> {
    fn from(spec: &'a slot::Spec) -> Self {
        Self { since_2: spec.into(), ready_signal: spec.ready_signal.into() }
    }
}

impl From<Spec<'_>> for slot::Spec {
    fn from(Spec { since_2, ready_signal }: Spec<'_>) -> Self {
        Self { ready_signal: ready_signal.into(), ..since_2.into() }
    }
}

impl From<slot::ReadySignal> for ReadySignal {
    fn from(signal: slot::ReadySignal) -> Self {
        match signal {
            slot::ReadySignal::NotAwaited => Self::NotAwaited,
            slot::ReadySignal::Awaited => Self::Awaited,
        }
    }
}

impl From<ReadySignal> for slot::ReadySignal {
    fn from(signal: ReadySignal) -> Self {
        match signal {
            ReadySignal::NotAwaited => Self::NotAwaited,
            ReadySignal::Awaited => Self::Awaited,
        }
    }
}
