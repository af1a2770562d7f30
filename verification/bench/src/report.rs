//! Figures, and how they are said.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Failure;

/// What one run measured.
#[derive(Debug, Clone)]
pub struct Run {
    /// Operations finished.
    pub operations: u64,
    /// In how long.
    pub took: Duration,
    /// How long each took, in microseconds.
    pub latencies: Histogram<u64>,
}

/// Latencies up to a minute, to three digits.
pub fn histogram() -> Result<Histogram<u64>, Failure> {
    Ok(Histogram::new_with_bounds(1, 60_000_000, 3)?)
}

impl Run {
    /// Operations a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
        let operations = self.operations as f64;
        operations / self.took.as_secs_f64()
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:>9.0} op/s   p50 {:>7}   p99 {:>7}   p99.9 {:>7}   max {:>7}   ({} in {:.1} s)",
            self.rate(),
            micros(self.latencies.value_at_quantile(0.5)),
            micros(self.latencies.value_at_quantile(0.99)),
            micros(self.latencies.value_at_quantile(0.999)),
            micros(self.latencies.max()),
            self.operations,
            self.took.as_secs_f64(),
        )
    }
}

/// The middle of some figures.
#[must_use]
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median rate and the median p99 of several runs, in one line.
#[must_use]
pub fn summary(name: &str, runs: &[Run]) -> String {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a benchmark are far below 2^52")]
    let p99 = median(runs.iter().map(|run| run.latencies.value_at_quantile(0.99) as f64 / 1000.0));
    let rate = median(runs.iter().map(Run::rate));
    format!("{name}: median of {} runs: {rate:.0} op/s, p99 {p99:.2} ms", runs.len())
}

fn micros(micros: u64) -> String {
    if micros < 1_000 {
        format!("{micros} us")
    } else {
        format!("{}.{:02} ms", micros / 1000, micros % 1000 / 10)
    }
}

/// The 99th percentile, or the largest of fewer than a hundred.
pub fn worst(figures: &[f64]) -> f64 {
    percentile(figures, 99)
}

/// The least figure that so many percent of all do not exceed.
pub fn percentile(figures: &[f64], percent: usize) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let at = (figures.len() * percent).div_ceil(100).max(1) - 1;
    figures.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median([]).is_nan());
    }
}
