//! Application writes from captures: the shipped captures give the numbers of their README's table, at both ends.

use crate::support;
use gamelane_capture::{ConnectionWrites, Write, read_tcp_writes};
use gamelane_core::Duration;

fn shipped(name: &str) -> Vec<ConnectionWrites> {
    read_tcp_writes(&support::shipped(name)).unwrap()
}

/// Returns count, mean size in tenths of a byte, and mean and median gap in tenths of a millisecond.
fn described(writes: &[Write]) -> (usize, u64, u64, u64) {
    let bytes: u64 = writes.iter().map(|write| u64::from(write.bytes)).sum();
    let count = writes.len() as u64;
    let mut gaps: Vec<Duration> = writes.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    gaps.sort();
    let tenths = |gap: Duration| (gap.as_nanos() + 50_000) / 100_000;
    let span = writes[writes.len() - 1].at - writes[0].at;
    (writes.len(), (bytes * 10 + count / 2) / count, tenths(span / (count - 1)), tenths(gaps[gaps.len() / 2]))
}

/// Columns "with data" minus "resent", mean payload, mean gap and median gap of the table in tests/captures/README.md,
/// from the sender's file.
#[test]
fn the_writes_of_the_shipped_captures_are_those_of_their_table() {
    let lan_down = [
        (2895 - 56, 629, 1049, 430),
        (3053 - 74, 534, 994, 134),
        (2736 - 60, 530, 1099, 428),
        (4439 - 84, 396, 671, 771),
    ];
    let wan_down = [
        (1984 - 35, 908, 1527, 1199),
        (1995 - 44, 952, 1518, 1091),
        (1989 - 45, 933, 1512, 1096),
        (3510 - 81, 430, 851, 1007),
    ];
    for (file, expected) in [("thin-tcp-lan-srv", lan_down), ("thin-tcp-wan-srv", wan_down)] {
        let connections = shipped(file);
        assert_eq!(connections.len(), 4);
        for (connection, expected) in connections.iter().zip(expected) {
            assert!(connection.from_handshake);
            assert_eq!(connection.key.destination.port(), 13327);
            assert_eq!(described(&connection.down), expected, "{file} {}", connection.key.source);
        }
    }
    let lan_up = [
        (694 - 12, 200, 4363, 3703),
        (683 - 10, 199, 4404, 3705),
        (705 - 15, 200, 4261, 3503),
        (678 - 11, 199, 4372, 3617),
    ];
    for (connection, expected) in shipped("thin-tcp-lan-cli").iter().zip(lan_up) {
        assert_eq!(described(&connection.up), expected);
    }
}

/// A receiver's file has the same bytes. Lost data arrives with its retransmission, and counts where it was missing.
#[test]
fn both_ends_tell_of_the_same_bytes() {
    for (server, client) in
        [("thin-tcp-lan-srv", "thin-tcp-lan-cli"), ("thin-tcp-wan-srv", "thin-tcp-wan-cli")]
    {
        for (sender, receiver) in shipped(server).iter().zip(shipped(client)) {
            assert_eq!(sender.key, receiver.key);
            for (sent, seen) in [(&sender.down, &receiver.down), (&receiver.up, &sender.up)] {
                let bytes = |writes: &[Write]| writes.iter().map(|write| u64::from(write.bytes)).sum::<u64>();
                // The last packets may be lost and not sent again before the capture ends.
                let last = bytes(&sent[sent.len() - 2..]);
                assert!(
                    (bytes(sent) - last..=bytes(sent)).contains(&bytes(seen)),
                    "{} {}",
                    bytes(sent),
                    bytes(seen)
                );
            }
            assert!(sender.down.is_sorted_by_key(|write| write.at));
            assert!(receiver.down.is_sorted_by_key(|write| write.at));
        }
    }
}
