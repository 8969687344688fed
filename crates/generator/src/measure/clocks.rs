//! Compares the clocks of both ends by the packets that went both ways, as [`gamelane_capture::pair`] does for two captures.
//!
//! The least delays of both directions give the offset if they are equal. They need not be: half of the least round trip is the most
//! that the offset can be wrong by, and no measurement between two ends can tell more.

use std::collections::BTreeMap;

use gamelane_capture::pair::Clocks;
use gamelane_core::{Direction, Duration, Instant};

use crate::record::{Record, What};

/// How the server's clock runs against the client's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Largest error of a one-way delay: half of the least round trip.
    pub uncertainty: Duration,
    /// What the server's clock gains, in nanoseconds per second; `None` if no drift was found.
    pub drift_ppb: Option<f64>,
}

/// Fills in one-way delays at both ends, and moves the server's times to the client's clock. `None` if packets did not arrive both
/// ways; then nothing changes.
pub fn compare(client: &mut [Record], server: &mut [Record]) -> Option<Compared> {
    let (up, down) = (sent(client, Direction::Up), sent(server, Direction::Down));
    // Packets as (true if it went up, the client's time, the server's time).
    let mut pairs: Vec<(bool, u64, u64)> = Vec::new();
    pairs.extend(received(server, Direction::Up).filter_map(|(name, at)| Some((true, *up.get(&name)?, at))));
    pairs.extend(
        received(client, Direction::Down).filter_map(|(name, at)| Some((false, at, *down.get(&name)?))),
    );
    let clocks = Clocks::compare(|each| pairs.iter().for_each(|(up, here, there)| each(*up, *here, *there)));
    let delay = |up: bool, here: u64, there: u64| {
        if up { clocks.delay(here, there, true) } else { clocks.delay(there, here, false) }
    };
    let least = |way: bool| {
        pairs.iter().filter(|(up, ..)| *up == way).map(|(up, here, there)| delay(*up, *here, *there)).min()
    };
    let (least_up, least_down) = (least(true)?, least(false)?);
    let offset = least_up.saturating_sub(least_down) / 2;
    for record in &mut *client {
        let found = down.get(&name(record)).filter(|_| record.direction == Direction::Down);
        if let (What::Received { one_way }, Some(left)) = (&mut record.what, found) {
            *one_way = Some(nanos(delay(false, record.at.as_nanos(), *left).saturating_add(offset)));
        }
    }
    for record in server {
        let found = up.get(&name(record)).filter(|_| record.direction == Direction::Up);
        let there = record.at.as_nanos();
        if let (What::Received { one_way }, Some(left)) = (&mut record.what, found) {
            *one_way = Some(nanos(delay(true, *left, there).saturating_sub(offset)));
        }
        // A packet of no delay: when would the client's clock have shown its departure?
        let here = clocks.departure(there, offset, true);
        record.at = Instant::from_nanos(u64::try_from(here).unwrap_or(0));
    }
    let uncertainty = nanos(least_up.saturating_add(least_down) / 2);
    Some(Compared { uncertainty, drift_ppb: clocks.drift_ppb() })
}

/// Flow, session and number of a packet.
type Name = (u16, u64, u32);

const fn name(record: &Record) -> Name {
    (record.flow, record.session, record.number)
}

fn sent(records: &[Record], direction: Direction) -> BTreeMap<Name, u64> {
    let own = records.iter().filter(|record| record.direction == direction);
    own.filter(|record| matches!(record.what, What::Sent { .. }))
        .map(|record| (name(record), record.at.as_nanos()))
        .collect()
}

fn received(records: &[Record], direction: Direction) -> impl Iterator<Item = (Name, u64)> {
    let own = records.iter().filter(move |record| record.direction == direction);
    own.filter(|record| matches!(record.what, What::Received { .. }))
        .map(|record| (name(record), record.at.as_nanos()))
}

fn nanos(value: i64) -> Duration {
    Duration::from_nanos(u64::try_from(value).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets both ways every 20 ms for 30 s; each tenth finds an empty queue. The server's clock began earlier and gains 50 ppm.
    fn ends(one_way_ns: u64) -> (Vec<Record>, Vec<Record>) {
        let there = |at: u64| at + 77_000_000_000_000 + at / 20_000;
        let (mut client, mut server) = (Vec::new(), Vec::new());
        for number in 0..1500u32 {
            let at = 1_000_000_000_000 + u64::from(number) * 20_000_000;
            let arrives = at + one_way_ns + u64::from(number % 10) * 3_000_000;
            for direction in Direction::BOTH {
                let record = |what, at| Record {
                    what,
                    direction,
                    flow: 0,
                    payload: 100,
                    session: 7,
                    number,
                    at: Instant::from_nanos(at),
                };
                let (sent, received) =
                    (What::Sent { late: Duration::ZERO }, What::Received { one_way: None });
                if direction == Direction::Up {
                    client.push(record(sent, at));
                    server.push(record(received, there(arrives)));
                } else {
                    server.push(record(sent, there(at)));
                    client.push(record(received, arrives));
                }
            }
        }
        (client, server)
    }

    #[test]
    fn delays_are_found_between_clocks_that_differ_and_drift() {
        let (mut client, mut server) = ends(5_000_000);
        let compared = compare(&mut client, &mut server).unwrap();
        assert!((compared.drift_ppb.unwrap() - 50_000.0).abs() < 500.0, "{compared:?}");
        assert!(compared.uncertainty.as_nanos().abs_diff(5_000_000) < 20_000, "{compared:?}");
        for record in client.iter().chain(&server) {
            if let What::Received { one_way } = record.what {
                let true_ns = 5_000_000 + u64::from(record.number % 10) * 3_000_000;
                let off = one_way.unwrap().as_nanos().abs_diff(true_ns);
                assert!(off < 20_000, "{off} ns at packet {}", record.number);
            }
        }
        let first = server.iter().find(|record| record.direction == Direction::Up).unwrap();
        assert!(first.at.as_nanos().abs_diff(1_000_005_000_000) < 20_000, "{:?}", first.at);
    }

    #[test]
    fn one_direction_alone_tells_nothing() {
        let (mut client, _) = ends(5_000_000);
        assert_eq!(compare(&mut client, &mut []), None);
    }
}
