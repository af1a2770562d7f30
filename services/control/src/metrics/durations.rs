//! A histogram that was counted elsewhere: the client's own only counts what it observes itself.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use mainstay_fleet::Lasted;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// How long something lasted, as a fleet counted it.
#[derive(Debug, Default)]
pub(super) struct Durations(Mutex<Lasted>);

impl Durations {
    /// Adds what one fleet counted.
    pub(super) fn add(&self, more: &Lasted) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, more) in all.counts.iter_mut().zip(more.counts) {
            *count += more;
        }
        all.sum_ms = all.sum_ms.saturating_add(more.sum_ms);
    }
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let all = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bounds = Lasted::BOUNDS_S.iter().map(|bound| f64::from(*bound)).chain([f64::MAX]);
        let buckets: Vec<(f64, u64)> = bounds.zip(all.counts).collect();
        let sum = std::time::Duration::from_millis(all.sum_ms).as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(sum, all.counts.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}
