//! Observation of one direction of a flow during one window: packet rate, bit rate, packet lengths, and how regular the
//! gaps between packets are.

use gamelane_core::{Bitrate, Duration, Instant, IpLen};

/// Sums over the packets of one direction in the open window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    packets: u32,
    bytes: u64,
    largest: u32,
    gaps: u32,
    gap_sum_s: f64,
    gap_square_sum_s2: f64,
    last: Option<Instant>,
}

/// Figures of one direction of a flow over one finished window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rhythm {
    /// Packets per second, rounded down.
    pub packets_per_second: u32,
    /// Bit rate, counted over IP lengths.
    pub rate: Bitrate,
    /// Mean length of the packets, rounded down.
    pub mean_len: IpLen,
    /// Length of the largest packet.
    pub largest: IpLen,
    /// Standard deviation of the gaps between packets, in per cent of their mean. `u32::MAX` with fewer than two gaps.
    pub gap_deviation_percent: u32,
}

impl Tally {
    pub(crate) fn add(&mut self, len: IpLen, now: Instant) {
        self.packets += 1;
        self.bytes += len.bytes();
        self.largest = self.largest.max(len.0);
        if let Some(last) = self.last {
            let gap = now.saturating_since(last).as_secs_f64();
            self.gaps += 1;
            self.gap_sum_s += gap;
            self.gap_square_sum_s2 += gap * gap;
        }
        self.last = Some(now);
    }

    /// Ends the window, which was open for `open`, and starts the next. The first gap of the next window begins at the
    /// last packet of this one.
    pub(crate) fn close(&mut self, open: Duration) -> Rhythm {
        let seconds = open.as_secs_f64();
        let packets = self.packets;
        let rhythm = Rhythm {
            packets_per_second: (f64::from(packets) / seconds) as u32,
            rate: Bitrate::from_bps((self.bytes as f64 * 8.0 / seconds) as u64),
            mean_len: IpLen(self.bytes.checked_div(u64::from(packets)).unwrap_or(0) as u32),
            largest: IpLen(self.largest),
            gap_deviation_percent: self.gap_deviation_percent(),
        };
        *self = Self { last: self.last, ..Self::default() };
        rhythm
    }

    fn gap_deviation_percent(&self) -> u32 {
        if self.gaps < 2 || self.gap_sum_s <= 0.0 {
            return u32::MAX;
        }
        let mean = self.gap_sum_s / f64::from(self.gaps);
        let variance = (self.gap_square_sum_s2 / f64::from(self.gaps) - mean * mean).max(0.0);
        (100.0 * libm::sqrt(variance) / mean + 0.5) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metronome_deviates_by_nothing_and_alternation_by_half() {
        let mut tally = Tally::default();
        for n in 0..50 {
            tally.add(IpLen(100), Instant::from_millis(20 * n));
        }
        let rhythm = tally.close(Duration::from_secs(1));
        assert_eq!((rhythm.packets_per_second, rhythm.rate), (50, Bitrate::from_bps(40_000)));
        assert_eq!((rhythm.mean_len, rhythm.gap_deviation_percent), (IpLen(100), 0));
        // Gaps of 10 and 30 ms: mean 20 ms, standard deviation 10 ms.
        let mut tally = Tally::default();
        let mut at = Instant::ZERO;
        for n in 0..51 {
            tally.add(IpLen(100 + n), at);
            at += Duration::from_millis(if n % 2 == 0 { 10 } else { 30 });
        }
        let rhythm = tally.close(Duration::from_secs(1));
        assert_eq!((rhythm.gap_deviation_percent, rhythm.largest), (50, IpLen(150)));
        // The next window keeps the time of the last packet and nothing else, so it has no gaps.
        assert_eq!(tally.close(Duration::from_secs(1)).gap_deviation_percent, u32::MAX);
    }
}
