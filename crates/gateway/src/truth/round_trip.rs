//! TCP's round trips as they pass, by time stamps (reference/measurement.md section 3.2, after pping): a value is stamped when
//! it is first seen, and the first echo of it ends the sample. What is measured in one direction of a stamp is the part of
//! the path beyond the gateway on that side.

use gamelane_capture::TcpFields;
use gamelane_core::{Direction, Duration, Instant};

/// Stamps that wait for their echo, and what came of others.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrips {
    /// By the direction the stamp went.
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

/// Stamps at a time: those of a round trip with a stamp each 10 ms.
const STAMPS: usize = 16;
/// A stamp older than this is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

impl RoundTrips {
    /// A segment passes.
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

    /// Latest and smallest round trip from the gateway through the internet (`Up`), or through the home (`Down`) and back.
    pub fn of(&self, direction: Direction) -> Option<(Duration, Duration)> {
        let way = &self.ways[direction.index()];
        way.latest.zip(way.smallest)
    }
}
