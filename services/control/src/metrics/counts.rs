//! A histogram that was counted elsewhere: the client's own only counts what it observes itself.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use mainstay_core::Buckets;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Buckets as somebody counted them, in the unit of the metric.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    sum: f64,
    count: u64,
    buckets: Vec<(f64, u64)>,
}

impl Counts {
    /// Takes them over; `per` of their units are one of the metric's.
    pub(super) fn set<const N: usize>(&self, counted: &Buckets<N>, per: u32) {
        let unit = |value: u64| value as f64 / f64::from(per);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Told {
            sum: unit(counted.sum()),
            count: counted.count(),
            buckets: counted.counts().map(|(bound, count)| (bound.map_or(f64::MAX, unit), count)).collect(),
        };
    }
}

impl EncodeMetric for Counts {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        encoder.encode_histogram::<NoLabelSet>(told.sum, told.count, &told.buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Counts {
    const TYPE: MetricType = MetricType::Histogram;
}
