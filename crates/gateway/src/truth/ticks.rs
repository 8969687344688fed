//! The rhythm of a flow as it passes: time between packets, its variation, and gaps with missing packets. The variation is RFC 3550's
//! jitter (section 6.4.1) with the mean time between packets in place of the sender's timestamps.

use gamelane_core::{Duration, Instant};

/// Rhythm of one direction of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    last: Option<Instant>,
    /// Smoothed time between packets, in ns.
    mean: f64,
    /// Smoothed deviation from it, in ns.
    jitter: f64,
    longest: Duration,
    gaps: u32,
    count: u64,
}

/// A gap is longer than this many mean times between packets.
const GAP: f64 = 3.0;
/// Packets until gaps count.
const SETTLED: u64 = 16;

impl Ticks {
    /// Notes a packet that passes.
    pub fn record(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            let gap = now.saturating_since(last);
            let nanos = gap.as_nanos() as f64;
            self.count += 1;
            if self.count == 1 {
                self.mean = nanos;
            }
            if self.count > SETTLED {
                self.longest = self.longest.max(gap);
                self.gaps += u32::from(nanos > GAP * self.mean);
            }
            self.jitter += ((nanos - self.mean).abs() - self.jitter) / 16.0;
            self.mean += (nanos - self.mean) / 16.0;
        }
    }

    /// Smoothed time between packets.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.mean as u64)
    }

    /// Smoothed deviation from it.
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(self.jitter as u64)
    }

    /// Longest time between two packets, after the first sixteen.
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// Number of times between packets longer than three intervals.
    pub const fn gaps(&self) -> u32 {
        self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metronome_has_no_jitter_and_a_missing_tick_or_three_is_a_gap() {
        let mut ticks = Ticks::default();
        for tick in 0..40 {
            ticks.record(Instant::from_millis(50 * tick));
        }
        assert_eq!(
            (ticks.interval(), ticks.jitter(), ticks.gaps()),
            (Duration::from_millis(50), Duration::ZERO, 0)
        );
        ticks.record(Instant::from_millis(50 * 43));
        assert_eq!((ticks.longest(), ticks.gaps()), (Duration::from_millis(200), 1));
        assert!(ticks.jitter() > Duration::from_millis(9));
    }
}
