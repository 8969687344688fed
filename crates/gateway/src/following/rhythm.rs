//! The interval a numbered stream is sent at: the mean of many packets, the median of several means, since a queue that grows makes
//! one too long and a queue that drains one too short. The bounds are our construction.

use gamelane_core::{Duration, Instant};

/// What is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rhythm {
    /// First and last packet of the period under way.
    began: Option<(u32, Instant)>,
    last: Option<(u32, Instant)>,
    /// Time between the last two, and how much it varied from one to the next, in sum and of so many.
    gap: Duration,
    varied: Duration,
    gaps: u32,
    means: [Duration; MEANS],
    /// Periods in a row that were even.
    known: usize,
}

impl Rhythm {
    /// A packet has come, none of which was overtaken.
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

    /// It paused: the period under way tells nothing.
    pub(super) fn restart(&mut self) {
        (self.began, self.last, self.varied, self.gaps) = (None, None, Duration::ZERO, 0);
    }

    /// The interval, a thousandth longer than measured: a clock that drifts, or a mean that is a little off, is not to add up to a
    /// queue, and the lag a longer interval forgets is 1 ms a second. `None` for what is not even, or not known yet.
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
/// Periods whose means are remembered, and how many are needed.
const MEANS: usize = 5;
const FEWEST: usize = 3;
/// From one gap to the next an even stream varies by less than this part of its interval.
const UNEVEN: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;

    /// The interval found in a stream of 20 ms with so much jitter, some of it lost, behind a queue that comes and goes.
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
