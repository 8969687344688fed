//! One-way delay with unsynchronised clocks. The difference of the times at two points is the delay plus an offset plus
//! drift. The line that is below all differences and as close as possible to them (Moon, Skelly and Towsley, INFOCOM
//! 1999) is the delay of the fastest packets. Anything above the line is queueing. Clocks that are stepped are left
//! out.

use super::matching::{Matched, Pair};
use crate::samples::Samples;

/// One-way delay of one direction between two points.
#[derive(Clone, Debug, Default)]
pub struct OneWay {
    /// Delay in nanoseconds beyond that of the fastest packets, with the drift removed.
    pub above_least: Samples,
    /// Receiver's time minus sender's time. It is the delay itself if the clocks agree.
    pub difference: Difference,
    /// Drift of the receiver's clock against the sender's.
    pub drift: Drift,
    /// Jitter of RFC 3550 section 6.4.1 at the end: smoothed difference of consecutive transit times.
    pub jitter_ns: f64,
    /// Sender's time and delay beyond the minimum of each packet, in nanoseconds.
    pub(super) delays: Vec<(u64, u64)>,
}

/// Differences of times in nanoseconds; may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Minimum.
    pub least_ns: i64,
    /// Median.
    pub median_ns: i64,
}

/// Drift between two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drift {
    /// Nanoseconds gained per second (parts per billion).
    pub ppb: f64,
    /// Difference at the first packet, on the line.
    pub(super) at_start_ns: f64,
    pub(super) start_ns: u64,
}

impl Drift {
    /// Difference of both clocks for the fastest packet that is sent at `sent_ns`.
    pub(super) fn least_at(&self, sent_ns: u64) -> f64 {
        self.at_start_ns + (sent_ns as f64 - self.start_ns as f64) * self.ppb / 1e9
    }
}

pub(super) fn one_way(matched: &Matched) -> OneWay {
    let Some(first) = matched.pairs.first() else { return OneWay::default() };
    let start_ns = first.first_ns;
    let difference = |pair: &Pair| pair.second_ns as i64 - pair.first_ns as i64;
    let points: Vec<(f64, f64)> = matched
        .pairs
        .iter()
        .map(|pair| ((pair.first_ns - start_ns.min(pair.first_ns)) as f64, difference(pair) as f64))
        .collect();
    let drift = Drift { start_ns, ..line_below(&points) };
    let mut one_way = OneWay { drift, ..OneWay::default() };
    let mut before: Option<f64> = None;
    for pair in &matched.pairs {
        let above = (difference(pair) as f64 - drift.least_at(pair.first_ns)).max(0.0);
        one_way.above_least.push(above as u64);
        one_way.delays.push((pair.first_ns, above as u64));
        if let Some(before) = before {
            one_way.jitter_ns += ((above - before).abs() - one_way.jitter_ns) / 16.0;
        }
        before = Some(above);
    }
    let mut differences: Vec<i64> = matched.pairs.iter().map(difference).collect();
    let middle = differences.len() / 2;
    let median_ns = *differences.select_nth_unstable(middle).1;
    let least_ns = differences.iter().copied().min().unwrap_or(0);
    one_way.difference = Difference { least_ns, median_ns };
    one_way
}

/// Returns the edge of the lower convex hull at the mean time: of all lines below the points, it is the closest one.
/// For few points or a short time no drift can be measured, and the line is level.
fn line_below(points: &[(f64, f64)]) -> Drift {
    let level = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let span = points.last().map_or(0.0, |last| last.0) - points[0].0;
    if points.len() < MIN_POINTS || span < MIN_SPAN_NS {
        return Drift { ppb: 0.0, at_start_ns: level, start_ns: 0 };
    }
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..]
            && (b.0 - a.0) * (point.1 - a.1) <= (b.1 - a.1) * (point.0 - a.0)
        {
            hull.pop();
        }
        hull.push(point);
    }
    let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
    let edge = hull.windows(2).find(|edge| edge[1].0 >= mean && edge[1].0 > edge[0].0);
    let Some(&[a, b]) = edge else { return Drift { ppb: 0.0, at_start_ns: level, start_ns: 0 } };
    let slope = (b.1 - a.1) / (b.0 - a.0);
    Drift { ppb: slope * 1e9, at_start_ns: a.1 - slope * a.0, start_ns: 0 }
}

const MIN_POINTS: usize = 50;
const MIN_SPAN_NS: f64 = 5e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drifting_clock_is_straightened() {
        // 20 ms of delay, up to 6 ms of queueing in a pattern, an offset of an hour, 50 ppm fast.
        let points: Vec<(f64, f64)> = (0..2000u64)
            .map(|n| {
                let t = n as f64 * 20e6;
                let queue = ((n * 7919) % 101) as f64 * 60e3;
                (t, 3600e9 + 20e6 + queue + t * 50e-6)
            })
            .collect();
        let line = line_below(&points);
        assert!((line.ppb - 50_000.0).abs() < 1.0, "{line:?}");
        assert!((line.at_start_ns - 3600e9 - 20e6).abs() < 1e3, "{line:?}");
    }
}
