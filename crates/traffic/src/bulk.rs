//! One long TCP transfer, like one of iperf: a cloud upload, a download, a backup (collom2016 section III.B). Requests
//! of the client are left out; data starts when the connection opens.

use gamelane_core::Direction;

use crate::app::Transport;
use crate::config::{BulkConfig, Schedule};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::streams::Streams;
use crate::transfer::{Half, Load, TransferClient, TransferServer};

/// Transfer in the catalogue.
pub const BULK: AppDescriptor = AppDescriptor {
    word: "bulk",
    label: "transfer",
    about: "One long TCP transfer.",
    keys: &["direction", "size", "tcp"],
    page: "traffic",
    facts: AppFacts { group: Group::Transfer, transport: Transport::Tcp, server_port: 443 },
};

pub(crate) fn build(
    config: BulkConfig,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (TransferClient, TransferServer) {
    let load = config.size.map_or(Load::Endless, Load::Bytes);
    let writer = Half::writer(load, streams.of("size"), schedule);
    let (client, server) = match config.direction {
        Direction::Up => (writer, Half::reader(load)),
        Direction::Down => (Half::reader(load), writer),
    };
    (TransferClient::new(schedule, None, client), TransferServer(server))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, AppEvent, TrafficSource};
    use gamelane_core::{ByteCount, Duration, Instant};
    use std::vec::Vec;

    const SCHEDULE: Schedule =
        Schedule { start: Duration::from_secs(10), stop: Some(Duration::from_secs(60)) };

    fn actions(source: &mut impl TrafficSource, now: Instant) -> Vec<AppAction> {
        core::iter::from_fn(|| source.poll_action(now)).collect()
    }

    #[test]
    fn an_upload_connects_at_its_start_writes_once_open_and_closes_at_its_stop() {
        let config = BulkConfig { direction: Direction::Up, size: None };
        let (mut client, mut server) = build(config, SCHEDULE, Streams::for_test(1, "bulk"));
        let at = Instant::from_secs;
        client.handle_timeout(at(9));
        assert_eq!(actions(&mut client, at(9)), []);
        assert_eq!(client.poll_timeout(), Some(at(10)));
        client.handle_timeout(at(10));
        assert_eq!(actions(&mut client, at(10)), [AppAction::Connect]);
        assert_eq!(client.poll_timeout(), None);

        client.handle_event(&AppEvent::Connected, at(11));
        server.handle_event(&AppEvent::Connected, at(11));
        assert_eq!(actions(&mut client, at(11)), [AppAction::WriteForever]);
        assert_eq!(actions(&mut server, at(11)), []);
        assert_eq!(client.poll_timeout(), Some(at(60)));
        client.handle_timeout(at(60));
        assert_eq!(actions(&mut client, at(60)), [AppAction::Close]);
        assert_eq!(client.poll_timeout(), None);

        server.handle_event(&AppEvent::PeerClosed, at(61));
        assert_eq!(actions(&mut server, at(61)), [AppAction::Close]);
    }

    #[test]
    fn a_sized_download_is_written_by_the_server_in_one_piece() {
        let bytes = ByteCount(1_000_000);
        let config = BulkConfig { direction: Direction::Down, size: Some(bytes) };
        let (mut client, mut server) = build(config, SCHEDULE, Streams::for_test(1, "bulk"));
        let at = Instant::from_secs;
        for side in [&mut client as &mut dyn TrafficSource, &mut server] {
            side.handle_event(&AppEvent::Connected, at(10));
        }
        assert_eq!(actions(&mut client, at(10)), []);
        assert_eq!(actions(&mut server, at(10)), [AppAction::Write { bytes }, AppAction::Close]);
        assert_eq!(server.poll_timeout(), None);
    }

    #[test]
    fn a_connection_that_opens_after_the_stop_is_closed_at_once() {
        let config = BulkConfig { direction: Direction::Down, size: None };
        let (_, mut server) = build(config, SCHEDULE, Streams::for_test(1, "bulk"));
        server.handle_event(&AppEvent::Connected, Instant::from_secs(60));
        assert_eq!(actions(&mut server, Instant::from_secs(60)), [AppAction::Close]);
    }
}
