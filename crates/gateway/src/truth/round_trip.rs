//! Round trips of passing TCP, by timestamps (RFC 7323), as Pollere's pping measures them: the time when a value is first seen is
//! kept, and its first echo ends the sample. A value that went up measures the path between the gateway and the internet; a value
//! that went down measures the path between the gateway and the home.

use gamelane_capture::TcpFields;
use gamelane_core::{Direction, Duration, Instant};

/// Timestamps that wait for their echo, and the samples so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrips {
    /// By the direction in which the timestamp went.
    ways: [Way; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Way {
    waiting: [Option<(u32, Instant)>; STAMPS],
    next: usize,
    newest: Option<u32>,
    smallest: Option<Duration>,
    latest: Option<Duration>,
}

/// Most timestamps that wait at once.
const STAMPS: usize = 16;
/// A longer sample is discarded.
const PATIENCE: Duration = Duration::from_secs(10);

impl RoundTrips {
    /// Notes a segment that passes.
    pub fn record(&mut self, tcp: &TcpFields, direction: Direction, now: Instant) {
        let Some((value, echo)) = tcp.timestamps else { return };
        let way = &mut self.ways[direction.index()];
        if way.newest.is_none_or(|newest| value.wrapping_sub(newest) as i32 > 0) {
            way.newest = Some(value);
            way.waiting[way.next] = Some((value, now));
            way.next = (way.next + 1) % STAMPS;
        }
        if !tcp.flags.ack {
            return;
        }
        let way = &mut self.ways[direction.reverse().index()];
        let place = way.waiting.iter_mut().find(|place| place.is_some_and(|(value, _)| value == echo));
        if let Some((_, at)) = place.and_then(Option::take) {
            let sample = now.saturating_since(at);
            if sample <= PATIENCE {
                way.latest = Some(sample);
                way.smallest = Some(way.smallest.map_or(sample, |smallest| smallest.min(sample)));
            }
        }
    }

    /// Latest and smallest round trip between the gateway and the internet (`Up`) or the home (`Down`).
    pub fn of(&self, direction: Direction) -> Option<(Duration, Duration)> {
        let way = &self.ways[direction.index()];
        way.latest.zip(way.smallest)
    }
}
