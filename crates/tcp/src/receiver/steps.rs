//! The receive buffer of FreeBSD. It begins with 64 KiB, and grows when enough of it arrived in order within a time. Any
//! other segment starts the measurement again. It needs timestamps.

use super::Times;
use gamelane_core::{Duration, Instant};

/// How the buffer grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// By 16 KiB for each round trip in which at least 7/8 of it arrived (`tcp_do_segment` of 10.2, header prediction).
    Even,
    /// By half for each half of a round trip in which more than 3/8 of it arrived (`tcp_autorcvbuf` of 14). A buffer that
    /// would exceed the largest does not grow any more.
    ByHalf,
}

/// First buffer (`tcp_recvspace`) and even step (`recvbuf_inc`).
const FIRST: u64 = 65_536;
const STEP: u64 = 16_384;
/// An even measurement that lasts longer counts nothing (`hz`).
const LONGEST: Duration = Duration::from_secs(1);

/// State of the buffer.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    growth: Growth,
    largest: u64,
    buffer: u64,
    /// Time of the first segment sent since the measurement began, and the bytes received since.
    since: Option<Instant>,
    bytes: u64,
}

impl Steps {
    /// The first buffer is rounded up to full segments (`tcp_mss`).
    pub(super) fn new(mss: u64, largest: u64, growth: Growth) -> Self {
        Self { growth, largest, buffer: FIRST.div_ceil(mss) * mss, since: None, bytes: 0 }
    }

    pub(super) const fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Notes a sent segment, whose timestamp the peer will echo.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Counts `len` bytes that arrived in order.
    pub(super) fn on_in_order(&mut self, len: u64, times: &Times, now: Instant) {
        let Some(since) = self.since else { return };
        let (ends, enough, next) = match self.growth {
            Growth::Even => {
                let Some(age) = times.echo else { return };
                let newer = now.saturating_since(since).saturating_sub(age);
                (newer > Duration::ZERO && newer < LONGEST, self.buffer / 8 * 7, self.buffer + STEP)
            }
            Growth::ByHalf => {
                let Some(srtt) = times.srtt else { return };
                (now.saturating_since(since) > srtt / 2, self.buffer / 8 * 3, self.buffer + self.buffer / 2)
            }
        };
        if !ends {
            self.bytes += len;
            return;
        }
        if self.bytes > enough {
            self.buffer = match self.growth {
                Growth::Even => next.min(self.largest),
                Growth::ByHalf if next <= self.largest => next,
                Growth::ByHalf => self.buffer,
            };
        }
        (self.since, self.bytes) = (None, 0);
    }

    /// A segment out of order, or with a FIN.
    pub(super) const fn on_irregular(&mut self) {
        (self.since, self.bytes) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of `millis`, to the sender and by timestamps.
    fn times(millis: u64) -> Times {
        let rtt = Some(Duration::from_millis(millis));
        Times { rto: Duration::from_secs(1), srtt: rtt, echo: rtt }
    }

    #[test]
    fn a_half_round_trip_that_brings_three_eighths_adds_a_half() {
        let ms = Instant::from_millis;
        let mut steps = Steps::new(1448, 150_000, Growth::ByHalf);
        let mut half = |begin: u64, segments: usize| {
            steps.on_sent(ms(begin));
            (0..segments).for_each(|_| steps.on_in_order(1448, &times(40), ms(begin + 20)));
            steps.on_in_order(1448, &times(40), ms(begin + 21));
            steps.buffer()
        };
        // 3/8 of 66608 are 24978: 17 segments are less, 18 more.
        assert_eq!(half(100, 17), 66_608);
        assert_eq!(half(121, 18), 99_912);
        // 149868, and then no more than the largest.
        assert_eq!(half(142, 30), 149_868);
        assert_eq!(half(163, 50), 149_868);
    }

    #[test]
    fn a_full_round_trip_adds_16_kib() {
        let ms = Instant::from_millis;
        let age = &times(40);
        let mut steps = Steps::new(1448, 2 << 20, Growth::Even);
        assert_eq!(steps.buffer(), 66_608);
        steps.on_sent(ms(100));
        // Data up to the echo of the timestamp of 100 ms belongs to this round trip.
        for at in 101..=140 {
            steps.on_in_order(1448, age, ms(at));
        }
        // 40 x 1448 = 57920 B are less than 7/8 of the buffer: 58282 B.
        steps.on_in_order(1448, age, ms(141));
        assert_eq!(steps.buffer(), 66_608);
        steps.on_sent(ms(141));
        for _ in 0..41 {
            steps.on_in_order(1448, age, ms(160));
        }
        steps.on_in_order(1448, age, ms(182));
        assert_eq!(steps.buffer(), 66_608 + 16_384);
        // A gap in the sequence starts the measurement again.
        steps.on_sent(ms(182));
        (0..60).for_each(|_| steps.on_in_order(1448, age, ms(200)));
        steps.on_irregular();
        steps.on_in_order(1448, age, ms(300));
        assert_eq!(steps.buffer(), 66_608 + 16_384);
    }
}
