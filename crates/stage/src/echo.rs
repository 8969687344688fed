//! Round trips of one TCP connection between a gateway and the internet, by timestamps (RFC 7323 section 3): from where a value
//! leaves the gateway's queue to where its echo comes back, so they hold the queues of both directions beyond the gateway
//! and none of its own. An echo waits for its sender to have something to say. Whoever sends all the time waits no longer than
//! from one packet to the next, and that much of the round trip is said to be slack.

use gamelane_core::{Duration, Instant};

use crate::autorate::Signal;
use crate::least::Least;

/// What a gateway remembers of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo {
    /// The newest value that has left.
    newest: Option<u32>,
    /// The value whose echo is awaited, and when it left.
    awaited: Option<(u32, Instant)>,
    /// When the last packet came from the internet.
    came: Option<Instant>,
    /// When the first echo came.
    first: Option<Instant>,
    least: Least,
}

impl Echo {
    /// A segment with this timestamp value has left the gateway's queue for the internet.
    pub fn left(&mut self, value: u32, now: Instant) {
        // Only the first packet of a value tells when that left. A value whose echo never comes was lost.
        let is_new = self.newest.replace(value) != Some(value);
        if is_new && self.awaited.is_none_or(|(_, left)| now.saturating_since(left) > PATIENCE) {
            self.awaited = Some((value, now));
        }
    }

    /// A segment with this timestamp echo has come from the internet. `memory` is how long the quickest round trip is known.
    pub fn came(&mut self, echoed: u32, memory: Duration, now: Instant) -> Option<Signal> {
        let before = self.came.replace(now);
        let (_, left) = self.awaited.take_if(|(value, _)| echoed.wrapping_sub(*value) as i32 >= 0)?;
        let seen = now.saturating_since(left);
        // A pause makes it longer, never shorter.
        let delay = self.least.above(seen, memory, now);
        let known = now.saturating_since(*self.first.get_or_insert(now));
        let slack = now.saturating_since(before?);
        (slack <= PAUSE && known >= KNOWN).then_some(Signal::TcpRoundTrip { seen, delay, slack })
    }
}

/// A longer silence of a connection than this is its own, not the link's.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a connection is listened to first: the quickest round trip of one that begins in a queue is no measure.
const KNOWN: Duration = Duration::from_secs(1);
/// An echo is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const MS: Duration = Duration::from_millis(1);
    const MEMORY: Duration = Duration::from_secs(60);

    /// A value each 100 ms, and what comes back each 5 ms says the newest value that is `rtt` old; what is told.
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
        assert_eq!(talk(&mut echo, 1000, 2000, 40), None, "it is listened to first");
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
        // Values of a new connection with the same ports, far below.
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
