//! The sending interval of a numbered stream: the median of several means over many packets. A growing queue makes one mean too
//! long, and a draining queue makes one too short. The bounds are our construction.

use gamelane_core::{Duration, Instant};

/// State of a stream's interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rhythm {
    /// First packet of the current period.
    began: Option<(u32, Instant)>,
    last: Option<(u32, Instant)>,
    /// Time between the last two packets, the sum of its changes, and the number of them.
    gap: Duration,
    varied: Duration,
    gaps: u32,
    means: [Duration; MEANS],
    /// Even periods in a row.
    known: usize,
}

impl Rhythm {
    /// Notes a packet that was not overtaken.
    pub(super) fn came(&mut self, number: u32, now: Instant) {
        let Some((before, at)) = self.last.replace((number, now)) else {
            self.began = self.last;
            return;
        };
        let gap = now.saturating_since(at) / u64::from(number.wrapping_sub(before).max(1));
        if self.gaps > 0 {
            self.varied += gap.max(self.gap) - gap.min(self.gap);
        }
        self.gap = gap;
        self.gaps += 1;
        if let Some((first, began)) = self.began
            && let numbers = number.wrapping_sub(first)
            && numbers >= PERIOD
        {
            let mean = now.saturating_since(began) / u64::from(numbers);
            if self.varied / u64::from(self.gaps) <= mean / UNEVEN {
                self.means[self.known % MEANS] = mean;
                self.known += 1;
            } else {
                self.known = 0;
            }
            self.restart();
            (self.began, self.last) = (Some((number, now)), Some((number, now)));
        }
    }

    /// Discards the current period after a pause.
    pub(super) fn restart(&mut self) {
        (self.began, self.last, self.varied, self.gaps) = (None, None, Duration::ZERO, 0);
    }

    /// Returns the interval, 0.1 % longer than measured, so that clock drift or a small error does not add up to an apparent queue.
    /// The longer interval hides 1 ms of lag per second. `None` for a stream that is not even, or not known yet.
    pub(super) fn interval(&self) -> Option<Duration> {
        let means = &mut { self.means }[..self.known.min(MEANS)];
        means.sort_unstable();
        (means.len() >= FEWEST).then(|| {
            let median = means[means.len() / 2];
            median + median / 1000
        })
    }
}

/// Numbers in a period.
const PERIOD: u32 = 128;
/// Most means that are kept.
const MEANS: usize = 5;
/// Fewest means for an interval.
const FEWEST: usize = 3;
/// In an even stream, the gap changes by less than the interval divided by this.
const UNEVEN: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;

    /// Interval found in a stream of 20 ms with jitter and loss, optionally behind a queue that builds up and drains.
    fn found(jitter_us: u64, queue: bool) -> Option<Duration> {
        let mut rhythm = Rhythm::default();
        let mut random = Seed(3).stream("jitter");
        let mut waits = 0;
        for number in 0..1500_u32 {
            if random.below(50) == 0 {
                continue;
            }
            waits = if queue && number % 400 > 300 { waits + 1000 } else { 0 };
            let at = u64::from(number) * 20_000 + random.below(jitter_us + 1) + waits;
            rhythm.came(number, Instant::from_micros(at));
        }
        rhythm.interval()
    }

    #[test]
    fn an_even_stream_is_found_within_a_thousandth_and_an_uneven_one_is_none() {
        for (jitter, queue) in [(0, false), (2000, false), (4000, false), (2000, true)] {
            let interval = found(jitter, queue).unwrap().as_nanos() as f64 / 20e6;
            assert!((1.0..1.002).contains(&interval), "{jitter} us, {queue}: {interval}");
        }
        assert_eq!(found(40_000, false), None);
    }
}
