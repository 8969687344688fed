//! Round-trip times of one TCP connection between a gateway and the internet, measured by TCP timestamps (RFC 7323
//! section 3; the method of pping). A round trip begins when a timestamp leaves the gateway's queue and ends when its
//! echo arrives. So it includes the queues beyond the gateway in both directions, but not the gateway's own.
//!
//! The far end sends the echo with its next packet, so it may have waited. The wait was at most the time since its last
//! packet. This time is reported as slack.

use gamelane_core::{Duration, Instant};

use crate::autorate::Signal;
use crate::least::Least;

/// Round-trip measurement of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo {
    /// Newest timestamp that left.
    newest: Option<u32>,
    /// Timestamp whose echo is awaited, and the time at which it left.
    awaited: Option<(u32, Instant)>,
    /// Arrival time of the last packet from the internet.
    came: Option<Instant>,
    /// Arrival time of the first echo.
    first: Option<Instant>,
    least: Least,
}

impl Echo {
    /// Notes that a segment with this timestamp value left the gateway's queue for the internet.
    pub fn left(&mut self, value: u32, now: Instant) {
        // Only the first packet with a value counts. If its echo does not come in time, the packet or the echo was
        // lost.
        let is_new = self.newest.replace(value) != Some(value);
        if is_new && self.awaited.is_none_or(|(_, left)| now.saturating_since(left) > PATIENCE) {
            self.awaited = Some((value, now));
        }
    }

    /// Takes the timestamp echo of a segment from the internet and returns the round trip, if it is usable. `memory` is
    /// the time for which the lowest round trip is remembered.
    pub fn came(&mut self, echoed: u32, memory: Duration, now: Instant) -> Option<Signal> {
        let before = self.came.replace(now);
        let (_, left) = self.awaited.take_if(|(value, _)| echoed.wrapping_sub(*value) as i32 >= 0)?;
        let seen = now.saturating_since(left);
        // A round trip with a pause may still be used here: a pause makes it longer and so never lowers the minimum.
        let delay = self.least.above(seen, memory, now);
        let known = now.saturating_since(*self.first.get_or_insert(now));
        let slack = now.saturating_since(before?);
        (slack <= PAUSE && known >= KNOWN).then_some(Signal::TcpRoundTrip { seen, delay, slack })
    }
}

/// Longest slack of a usable round trip. A longer pause comes from the application, not from the link.
const PAUSE: Duration = Duration::from_millis(250);
/// Time after the first echo before round trips are used. A connection that starts while there is a queue needs this
/// time to see a low round trip.
const KNOWN: Duration = Duration::from_secs(1);
/// Longest wait for an echo.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const MS: Duration = Duration::from_millis(1);
    const MEMORY: Duration = Duration::from_secs(60);

    /// Sends a new timestamp each 100 ms. Packets arrive each 5 ms with the newest timestamp that is at least `rtt`
    /// old. Returns the last signal.
    fn talk(echo: &mut Echo, from_ms: u64, to_ms: u64, rtt: u64) -> Option<Signal> {
        let mut told = None;
        for ms in (from_ms..to_ms).step_by(5) {
            let now = Instant::from_millis(ms);
            if ms % 100 == 0 {
                echo.left(ms as u32, now);
            }
            let newest = (ms - rtt) / 100 * 100;
            told = echo.came(newest as u32, MEMORY, now).or(told);
        }
        told
    }

    #[test]
    fn a_round_trip_is_told_with_its_delay_above_the_quickest_and_its_slack() {
        let mut echo = Echo::default();
        assert_eq!(talk(&mut echo, 1000, 2000, 40), None, "no signal in the first second");
        let told = talk(&mut echo, 2000, 3000, 40);
        assert_eq!(told, Some(Signal::TcpRoundTrip { seen: MS * 40, delay: Duration::ZERO, slack: MS * 5 }));
        let told = talk(&mut echo, 3000, 4000, 65);
        assert_eq!(told, Some(Signal::TcpRoundTrip { seen: MS * 65, delay: MS * 25, slack: MS * 5 }));
    }

    #[test]
    fn what_comes_after_a_pause_tells_nothing_and_an_echo_that_never_came_is_given_up() {
        let mut echo = Echo::default();
        talk(&mut echo, 1000, 3000, 40);
        echo.left(5000, Instant::from_millis(5000));
        assert_eq!(echo.came(5000, MEMORY, Instant::from_millis(5300)), None);
        // A new connection with the same ports has much lower timestamps.
        echo.left(6000, Instant::from_millis(6000));
        let value = |ms: u64| (ms as u32).wrapping_sub(1 << 30);
        let mut told_at = Vec::new();
        for ms in (7000..20_000).step_by(10) {
            echo.left(value(ms), Instant::from_millis(ms));
            let told = echo.came(value(ms - 20), MEMORY, Instant::from_millis(ms + 5));
            told_at.extend(told.map(|_| ms));
        }
        assert!(told_at[0] > 16_000 && told_at[0] < 16_050 && told_at.len() > 100, "{told_at:?}");
    }
}
