//! `HyStart`: the end of slow start before the first loss (Ha and Rhee 2008, as in Linux `hystart_update`). It watches
//! for a round trip that grows, and for a train of ACKs that lasts half of the shortest round trip: the window then
//! fills the path. Linux's `HYSTART_LOW_WINDOW` and its cushion for pacing and offloads (1 ms at any rate below 2 Gbit/s)
//! are included; paced senders are left out.

use super::AckSample;
use gamelane_core::{Duration, Instant};

/// Smallest window in segments.
const LOW_WINDOW: u64 = 16;
/// ACKs that are at most this far apart belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Time for which a large packet may wait in the sender or the receiver.
const CUSHION: Duration = Duration::from_millis(1);
/// Round-trip samples before their minimum counts.
const SAMPLES: u32 = 8;
/// Bounds of the growth of the round trip that ends slow start.
const GROWTH: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));

/// State of one round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    started: bool,
    /// The path is full; nothing more is measured until a timeout.
    found: bool,
    round_start: Instant,
    /// The round trip ends when more than this offset is acknowledged.
    round_end: u64,
    /// Last ACK of the train.
    train_end: Instant,
    shortest: Duration,
    samples: u32,
}

impl HyStart {
    pub(super) const fn new() -> Self {
        Self {
            started: false,
            found: false,
            round_start: Instant::ZERO,
            round_end: 0,
            train_end: Instant::ZERO,
            shortest: Duration::MAX,
            samples: 0,
        }
    }

    const fn begin_round(&mut self, next: u64, now: Instant) {
        *self = Self {
            started: true,
            found: self.found,
            round_start: now,
            round_end: next,
            train_end: now,
            shortest: Duration::MAX,
            samples: 0,
        };
    }

    /// Handles a round-trip sample in slow start. `shortest` is the shortest round trip of the connection, `cwnd` the
    /// window in segments. Returns true if slow start must end.
    pub(super) fn on_sample(
        &mut self,
        ack: &AckSample,
        rtt: Duration,
        shortest: Duration,
        cwnd: u64,
        now: Instant,
    ) -> bool {
        if self.found {
            return false;
        }
        if !self.started || ack.una > self.round_end {
            self.begin_round(ack.next, now);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        if now.saturating_since(self.train_end) <= TRAIN_GAP {
            self.train_end = now;
            self.found = now.saturating_since(self.round_start) > (shortest + CUSHION) / 2;
        }
        self.shortest = self.shortest.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.shortest > shortest + (shortest / 8).clamp(GROWTH.0, GROWTH.1);
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// Acknowledges with these gaps and round trips at a shortest round trip of 40 ms; returns the number of the ACK
    /// that ends slow start.
    fn ends_at(gap: Duration, rtt: fn(u64) -> Duration, cwnd: u64) -> Option<u64> {
        let mut hystart = HyStart::new();
        let mut now = Instant::from_secs(1);
        (1..100).find(|&number| {
            let ack = AckSample { una: number, next: 1000, ..AckSample::default() };
            let ended = hystart.on_sample(&ack, rtt(number), MS(40), cwnd, now);
            now = now.saturating_add(gap);
            ended
        })
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start() {
        // (40 + 1) / 2 = 20.5 ms: the 22nd ACK of a train comes 21 ms after the first.
        assert_eq!(ends_at(MS(1), |_| MS(40), 16), Some(22));
        assert_eq!(ends_at(MS(1), |_| MS(40), 15), None);
        assert_eq!(ends_at(MS(3), |_| MS(40), 100), None);
    }

    #[test]
    fn a_round_trip_that_grows_by_an_eighth_ends_slow_start_after_eight_samples() {
        assert_eq!(ends_at(MS(3), |_| MS(46), 100), Some(9));
        assert_eq!(ends_at(MS(3), |_| MS(45), 100), None);
        // One short sample is enough to go on.
        assert_eq!(ends_at(MS(3), |number| MS(if number == 5 { 44 } else { 60 }), 100), None);
    }
}
