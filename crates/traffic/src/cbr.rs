//! UDP at a constant rate in one direction. The rate counts whole IPv4 packets, so a rate equal to that of a link fills
//! the link exactly. Only the phase of the first packet is random.

use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{Direction, Duration};

use crate::app::Transport;
use crate::config::{CbrConfig, Schedule};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::paced::{Paced, Pattern};
use crate::streams::Streams;

/// UDP in the catalogue.
pub const UDP: AppDescriptor = AppDescriptor {
    word: "udp",
    label: "UDP",
    about: "UDP packets at a constant rate.",
    keys: &["direction", "rate", "size"],
    page: "traffic",
    facts: AppFacts { group: Group::Other, transport: Transport::Udp, server_port: 5001 },
};

/// The client and the server, as far as they send.
pub(crate) fn build(
    config: CbrConfig,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (Option<Paced<Fixed>>, Option<Paced<Fixed>>) {
    let Some(interval) = interval(config) else { return (None, None) };
    let fixed = Fixed { interval, payload: config.payload };
    match config.direction {
        Direction::Up => (Some(Paced::new(fixed, schedule, streams.of("client/phase"))), None),
        Direction::Down => (None, Some(Paced::new(fixed, schedule, streams.of("server/phase")))),
    }
}

/// Time between two packets; `None` for a rate of zero.
pub fn interval(config: CbrConfig) -> Option<Duration> {
    let bits = (u64::from(config.payload) + HEADERS) * 8;
    let rate = u128::from(config.rate.bps());
    let nanos = (u128::from(bits) * 1_000_000_000 + rate.saturating_sub(1)).checked_div(rate)?;
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// The same datagram at equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Time between two packets.
    pub interval: Duration,
    /// UDP payload in bytes.
    pub payload: u32,
}

impl Pattern for Fixed {
    const LEAST: Duration = Duration::from_nanos(1);

    fn mean_interval_s(&self) -> f64 {
        self.interval.as_secs_f64()
    }

    fn interval(&mut self) -> Duration {
        self.interval
    }

    fn payload(&mut self) -> u32 {
        self.payload
    }
}

/// Bytes of IPv4 and UDP headers.
const HEADERS: u64 = (IPV4_HEADER + UDP_HEADER) as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, TrafficSource};
    use gamelane_core::{Bitrate, Seed};

    const SCHEDULE: Schedule = Schedule { start: Duration::from_secs(1), stop: Some(Duration::from_secs(2)) };

    #[test]
    fn a_fast_stream_has_its_rate() {
        // 1 Gbit/s in packets of 1000 B: 125,000 in the second of the schedule.
        let config =
            CbrConfig { direction: Direction::Up, rate: Bitrate::from_bps(1_000_000_000), payload: 972 };
        let (client, _) = build(config, SCHEDULE, Streams { seed: Seed(1), path: "flow/fast" });
        let mut client = client.expect("it sends");
        let mut sent = 0;
        while let Some(now) = client.poll_timeout() {
            client.handle_timeout(now);
            sent += core::iter::from_fn(|| client.poll_action(now)).count();
        }
        assert!((124_999..=125_000).contains(&sent), "{sent}");
    }

    #[test]
    fn full_packets_at_twelve_megabits_leave_every_millisecond() {
        let config =
            CbrConfig { direction: Direction::Up, rate: Bitrate::from_bps(12_000_000), payload: 1472 };
        let (client, server) = build(config, SCHEDULE, Streams::for_test(1, "cbr"));
        assert!(server.is_none());
        let mut client = client.unwrap();
        let mut sent = 0;
        while let Some(now) = client.poll_timeout() {
            client.handle_timeout(now);
            while let Some(action) = client.poll_action(now) {
                assert_eq!(action, AppAction::SendDatagram { payload: 1472 });
                sent += 1;
            }
        }
        assert_eq!(sent, 1000);
    }

    #[test]
    fn no_rate_is_silence() {
        let config = CbrConfig { direction: Direction::Down, rate: Bitrate::from_bps(0), payload: 100 };
        let (client, server) = build(config, SCHEDULE, Streams::for_test(1, "cbr"));
        assert!(client.is_none() && server.is_none());
    }
}
