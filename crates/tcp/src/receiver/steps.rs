//! The receive buffer of FreeBSD 10 (`tcp_do_segment` of 10.2, header prediction): 64 KiB, and 16 KiB more for each round
//! trip in which at least 7/8 of it arrived in order. Any other segment starts the measurement again. It needs timestamps.

use gamelane_core::{Duration, Instant};

/// First buffer (`tcp_recvspace`) and step (`recvbuf_inc`).
const FIRST: u64 = 65_536;
const STEP: u64 = 16_384;
/// A measurement that lasts longer counts nothing (`hz`).
const LONGEST: Duration = Duration::from_secs(1);

/// State of the buffer.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    largest: u64,
    buffer: u64,
    /// Time of the first segment sent since the measurement began, and the bytes received since.
    since: Option<Instant>,
    bytes: u64,
}

impl Steps {
    /// The first buffer is rounded up to full segments (`tcp_mss`).
    pub(super) fn new(mss: u64, largest: u64) -> Self {
        Self { largest, buffer: FIRST.div_ceil(mss) * mss, since: None, bytes: 0 }
    }

    pub(super) const fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Notes a sent segment, whose timestamp the peer will echo.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Counts `len` bytes that arrived in order and echo a timestamp of this age.
    pub(super) fn on_in_order(&mut self, len: u64, echo: Option<Duration>, now: Instant) {
        let (Some(age), Some(since)) = (echo, self.since) else { return };
        let newer = now.saturating_since(since).saturating_sub(age);
        if newer > Duration::ZERO && newer < LONGEST {
            if self.bytes > self.buffer / 8 * 7 {
                self.buffer = (self.buffer + STEP).min(self.largest);
            }
            (self.since, self.bytes) = (None, 0);
        } else {
            self.bytes += len;
        }
    }

    /// A segment out of order, or with a FIN.
    pub(super) const fn on_irregular(&mut self) {
        (self.since, self.bytes) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_round_trip_adds_16_kib() {
        let ms = Instant::from_millis;
        let age = Some(Duration::from_millis(40));
        let mut steps = Steps::new(1448, 2 << 20);
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
