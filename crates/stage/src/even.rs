//! Lateness of a stream that is sent at even times and numbers its packets: a packet that is late against the one before adds
//! to the lag, an early one takes from it, so what stands is the delay above that of the promptest.

use gamelane_core::{Duration, Instant};

use crate::autorate::Signal;

/// One stream from the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvenStream {
    interval: Duration,
    /// Number and arrival of the last packet.
    came: Option<(u32, Instant)>,
    lag: Duration,
}

impl EvenStream {
    /// One with so much time between packets, not heard yet.
    pub const fn new(interval: Duration) -> Self {
        Self { interval, came: None, lag: Duration::ZERO }
    }

    /// Time between packets.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// It is known better.
    pub const fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// A packet has come. One that was overtaken tells nothing, nor does the first.
    pub fn came(&mut self, number: u32, now: Instant) -> Option<Signal> {
        let Some((last, at)) = self.came else {
            self.came = Some((number, now));
            return None;
        };
        let missed = u64::try_from(number.wrapping_sub(last) as i32).ok().filter(|missed| *missed > 0)?;
        self.came = Some((number, now));
        let seen = now.saturating_since(at).min(LONGEST);
        self.lag = (self.lag.min(LONGEST) + seen).saturating_sub(self.interval.saturating_mul(missed));
        Some(Signal::GameLag(self.lag))
    }
}

/// Gaps and lags above this are a pause, not a queue.
const LONGEST: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_packets_add_up_and_lost_ones_do_not() {
        let mut stream = EvenStream::new(Duration::from_millis(20));
        let mut came = |number, ms| stream.came(number, Instant::from_millis(ms));
        let lag = |ms| Some(Signal::GameLag(Duration::from_millis(ms)));
        assert_eq!(came(7, 100), None);
        assert_eq!([came(8, 120), came(9, 145), came(10, 175)], [lag(0), lag(5), lag(15)]);
        assert_eq!(came(9, 176), None, "overtaken");
        assert_eq!([came(14, 255), came(15, 270), came(16, 280)], [lag(15), lag(10), lag(0)]);
    }
}
