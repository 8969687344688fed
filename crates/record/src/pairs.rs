//! Round trips from packet pairs: a packet up, and the first packet down that its server sent after the arrival. The round
//! trip is the sum of both one-way delays, so the time between the two packets at the server does not count. All engines use this
//! definition. The simulator pairs packets when they arrive; this function pairs those of a finished recording.

use gamelane_core::{Duration, Instant};

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossed {
    /// When it was sent.
    pub sent_at: Instant,
    /// When it arrived.
    pub arrived_at: Instant,
}

impl Crossed {
    fn one_way(self) -> Duration {
        self.arrived_at.saturating_since(self.sent_at)
    }
}

/// Calls `pair` with the arrival time of each packet down that closes a pair, and the round trip. A packet up closes at most
/// one pair. Sorts `ups` by arrival and `downs` by departure.
pub fn round_trips(ups: &mut [Crossed], downs: &mut [Crossed], mut pair: impl FnMut(Instant, Duration)) {
    ups.sort_by_key(|packet| packet.arrived_at);
    downs.sort_by_key(|packet| packet.sent_at);
    let (mut arrived, mut paired) = (0, 0);
    for down in downs {
        arrived += ups[arrived..].iter().take_while(|up| up.arrived_at <= down.sent_at).count();
        if arrived > paired {
            paired = arrived;
            pair(down.arrived_at, ups[arrived - 1].one_way() + down.one_way());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn an_answer_pairs_with_the_latest_packet_before_it() {
        let crossed = |(sent, arrived)| Crossed {
            sent_at: Instant::from_millis(sent),
            arrived_at: Instant::from_millis(arrived),
        };
        let mut ups = [(0, 25), (10, 30), (50, 70)].map(crossed);
        // The second answer has nothing new to answer.
        let mut downs = [(40, 62), (45, 67), (90, 112)].map(crossed);
        let mut found = Vec::new();
        round_trips(&mut ups, &mut downs, |at, rtt| found.push((at, rtt)));
        let trip = (Duration::from_millis(20 + 22), Duration::from_millis(20 + 22));
        assert_eq!(found, [(Instant::from_millis(62), trip.0), (Instant::from_millis(112), trip.1)]);
    }
}
