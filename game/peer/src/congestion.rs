//! How much may be under way on a link before any of it is acknowledged.
//!
//! QUIC's own rule (CUBIC, RFC 9438) halves that with every packet that is lost, whatever it was lost for, and lets it grow again only while
//! it is what holds a sender up. A game says little at a time, so on a line that loses one packet in a hundred a link soon is down to
//! two packets, and stays there: then the word of a new host, ten packets for sixty-four players, took three round trips instead
//! of a half. So a link may always have as much under way as when it was made, the initial window of RFC 9002, section 7.2; only where
//! nothing at all gets through (its section 7.6, persistent congestion) that is taken back, until something does.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use quinn_proto::RttEstimator;

/// Makes the rule for each link.
#[derive(Debug, Default)]
pub(crate) struct Little {
    cubic: Arc<CubicConfig>,
}

impl ControllerFactory for Little {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let cubic = Arc::clone(&self.cubic).build(now, current_mtu);
        Box::new(Floored { cubic, way: Way::Open })
    }
}

/// Whether anything gets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    Shut,
}

struct Floored {
    cubic: Box<dyn Controller>,
    way: Way,
}

impl Controller for Floored {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.cubic.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.way = Way::Open;
        self.cubic.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.cubic.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        if is_persistent {
            self.way = Way::Shut;
        }
        self.cubic.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.cubic.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        match self.way {
            Way::Open => self.cubic.window().max(self.cubic.initial_window()),
            Way::Shut => self.cubic.window(),
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.cubic.metrics();
        metrics.congestion_window = self.window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { cubic: self.cubic.clone_box(), way: self.way })
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// As long as anything gets through a link has its first window; where nothing does, it has CUBIC's least.
    #[test]
    fn a_link_that_loses_packets_keeps_its_first_window() {
        let began = Instant::now();
        let mut link = Arc::new(Little::default()).build(began, 1_200);
        let first = link.initial_window();
        assert!(first >= 10 * 1_200);
        for loss in 1..=20 {
            let now = began + Duration::from_secs(loss);
            link.on_sent(now, 1_200, loss);
            link.on_congestion_event(now, now, false, 1_200);
            assert!(link.window() >= first, "after {loss} losses");
        }
        let shut = began + Duration::from_secs(30);
        link.on_congestion_event(shut, shut, true, 1_200);
        assert_eq!(link.window(), 2 * 1_200);
        assert_eq!(link.clone_box().window(), 2 * 1_200);
    }
}
