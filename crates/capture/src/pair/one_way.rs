//! One-way delay between two points. Their clocks may differ by any offset, so the delay is counted from the least one.

use super::Way;
use crate::samples::Samples;

/// One-way delay of one direction between two points.
#[derive(Clone, Debug, Default)]
pub struct OneWay {
    /// Delay in nanoseconds beyond that of the fastest packet; without the drift of the clocks, if it was measured.
    pub above_least: Samples,
    /// Receiver's time minus sender's time. It is the delay itself if the clocks agree. `None` without packets.
    pub difference: Option<Difference>,
    /// Drift of the receiver's clock against the sender's in nanoseconds per second (parts per billion). `None` if it
    /// was not measured; then it was not removed.
    pub drift_ppb: Option<f64>,
    /// Jitter of RFC 3550 section 6.4.1 at the end: smoothed difference of consecutive transit times.
    pub jitter_ns: f64,
}

/// Differences of times in nanoseconds; may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Minimum.
    pub least_ns: i64,
    /// Median.
    pub median_ns: i64,
}

pub(super) fn one_way(way: &Way<'_>) -> OneWay {
    let mut one_way = OneWay { drift_ppb: way.drift_ppb(), ..OneWay::default() };
    let Some(least) = way.delays().min() else { return one_way };
    let mut before: Option<u64> = None;
    for delay in way.delays() {
        let above = delay.abs_diff(least);
        one_way.above_least.push(above);
        if let Some(before) = before {
            one_way.jitter_ns += (above.abs_diff(before) as f64 - one_way.jitter_ns) / 16.0;
        }
        before = Some(above);
    }
    let mut differences: Vec<i64> =
        way.times().map(|(sent_ns, received_ns)| received_ns.wrapping_sub(sent_ns) as i64).collect();
    let middle = differences.len() / 2;
    let median_ns = *differences.select_nth_unstable(middle).1;
    let least_ns = differences.iter().copied().min().unwrap_or(0);
    one_way.difference = Some(Difference { least_ns, median_ns });
    one_way
}
