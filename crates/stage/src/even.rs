//! Lateness of packets in a stream with even send times and numbered packets, such as game updates. A gap longer than
//! the send interval adds to the lag, a shorter one reduces it, and the lag is never below zero. So the lag is the
//! delay above that of the earliest packets.

use gamelane_core::{Duration, Instant};

use crate::autorate::Signal;

/// Lateness of one stream from the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvenStream {
    interval: Duration,
    /// Number and arrival time of the last packet.
    came: Option<(u32, Instant)>,
    lag: Duration,
}

impl EvenStream {
    /// Makes the measurement for a stream that sends one packet per `interval`.
    pub const fn new(interval: Duration) -> Self {
        Self { interval, came: None, lag: Duration::ZERO }
    }

    /// Time between packets.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Sets a better estimate of the time between packets.
    pub const fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// Takes the arrival of a packet and returns its lateness; `None` for the first packet and for packets that arrive
    /// out of order.
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

/// Largest gap and lag that are counted. Longer ones are a pause of the sender, not a queue.
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
        assert_eq!(came(9, 176), None, "a packet out of order gives no signal");
        assert_eq!([came(14, 255), came(15, 270), came(16, 280)], [lag(15), lag(10), lag(0)]);
    }
}
