//! One long TCP transfer, like one of iperf: a cloud upload, a download, a backup (collom2016 section III.B). Several
//! connections may carry it, each a fixed share of its size. Requests of the client are left out; data starts when a
//! connection opens. A connection that is done does not take over from others.

use gamelane_core::{ByteCount, Direction};

use crate::app::Transport;
use crate::config::{BulkConfig, Schedule};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::streams::Streams;
use crate::transfer::{Half, Load, TransferClient, TransferServer};

/// Transfer in the catalogue.
pub const BULK: AppDescriptor = AppDescriptor {
    word: "bulk",
    label: "transfer",
    about: "One long TCP transfer, over one or several connections.",
    keys: &["direction", "size", "connections", "tcp"],
    page: "traffic",
    facts: AppFacts { group: Group::Transfer, transport: Transport::Tcp, server_port: 443 },
};

/// Builds both sides of one connection of the transfer.
pub(crate) fn build(
    config: BulkConfig,
    connection: u32,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (TransferClient, TransferServer) {
    let share = |size| share(size, config.connections, connection);
    let load = config.size.map(share).map_or(Load::Endless, Load::Bytes);
    let writer = Half::writer(load, streams.of("size"), schedule);
    let (client, server) = match config.direction {
        Direction::Up => (writer, Half::reader(load)),
        Direction::Down => (Half::reader(load), writer),
    };
    (TransferClient::new(schedule, None, client), TransferServer(server))
}

/// Bytes of one of the connections. The first ones carry a byte more if `size` does not divide evenly.
fn share(size: ByteCount, connections: u32, connection: u32) -> ByteCount {
    let (size, parts) = (size.bytes(), u64::from(connections));
    ByteCount(size / parts + u64::from(u64::from(connection) < size % parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, AppEvent, TrafficSource};
    use gamelane_core::{Duration, Instant};
    use proptest::prelude::*;
    use std::vec::Vec;

    const SCHEDULE: Schedule =
        Schedule { start: Duration::from_secs(10), stop: Some(Duration::from_secs(60)) };

    fn actions(source: &mut impl TrafficSource, now: Instant) -> Vec<AppAction> {
        core::iter::from_fn(|| source.poll_action(now)).collect()
    }

    #[test]
    fn an_upload_connects_at_its_start_writes_once_open_and_closes_at_its_stop() {
        let config = BulkConfig { direction: Direction::Up, size: None, connections: 1 };
        let (mut client, mut server) = build(config, 0, SCHEDULE, Streams::for_test(1, "bulk"));
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
        let config = BulkConfig { direction: Direction::Down, size: Some(bytes), connections: 1 };
        let (mut client, mut server) = build(config, 0, SCHEDULE, Streams::for_test(1, "bulk"));
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
        let config = BulkConfig { direction: Direction::Down, size: None, connections: 1 };
        let (_, mut server) = build(config, 0, SCHEDULE, Streams::for_test(1, "bulk"));
        server.handle_event(&AppEvent::Connected, Instant::from_secs(60));
        assert_eq!(actions(&mut server, Instant::from_secs(60)), [AppAction::Close]);
    }

    #[test]
    fn the_bytes_that_do_not_divide_evenly_go_to_the_first_connections() {
        assert_eq!([0, 1, 2].map(|connection| share(ByteCount(11), 3, connection).0), [4, 4, 3]);
    }

    proptest! {
        #[test]
        fn the_connections_together_write_the_size(size in 64..1u64 << 50, connections in 1..=64u32) {
            let config = BulkConfig { direction: Direction::Down, size: Some(ByteCount(size)), connections };
            let at = Instant::from_secs(10);
            let written = (0..connections).map(|connection| {
                let (_, mut server) = build(config, connection, SCHEDULE, Streams::for_test(1, "bulk"));
                server.handle_event(&AppEvent::Connected, at);
                match actions(&mut server, at)[..] {
                    [AppAction::Write { bytes }, AppAction::Close] => bytes.bytes(),
                    ref other => panic!("{other:?}"),
                }
            });
            let written: Vec<u64> = written.collect();
            prop_assert_eq!(written.iter().sum::<u64>(), size);
            prop_assert!(written[0] - written[written.len() - 1] <= 1);
        }
    }
}
