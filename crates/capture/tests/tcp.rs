//! Single rules of the analysis of TCP, each from a few packets.

use crate::support::key;
use crate::support::script::{Found, Script, data};
use gamelane_capture::tcp::Cause;
use gamelane_capture::{Analyzer, CapturedPacket, CapturedTransport, TcpFields};
use gamelane_core::Protocol;

#[test]
fn a_stall_before_the_first_round_trip_of_data_is_lag() {
    // The first data is lost and repeated by the timer after 206 ms. Karn's rule allows no sample, but the handshake
    // has one: 50 ms.
    let found = Script::new()
        .handshake(0, 50_000)
        .up(100_000, data(1, 1, 100))
        .up(306_000, data(1, 1, 100))
        .down(356_000, data(1, 101, 0))
        .found();
    let up = &found.halves()[0];
    assert_eq!((up.counts.resent, up.counts.stalls), (1, 1));
    assert_eq!(up.lag_ns().iter().sum::<u64>(), 206_000_000);
}

#[test]
fn a_stall_without_any_round_trip_is_lag_from_its_retransmission() {
    let found = Script::new()
        .up(0, data(1, 1, 100))
        .up(1, data(101, 1, 50))
        .up(206_000, data(1, 1, 100))
        .down(256_000, data(1, 151, 0))
        .found();
    let up = &found.halves()[0];
    assert_eq!(up.lag_ns().iter().sum::<u64>(), 206_000_000 + 205_999_000);
}

#[test]
fn the_timer_of_a_new_connection_knows_the_round_trip_of_the_handshake() {
    // Linux sets 50 ms + max(200 ms, 2 * 50 ms) after the handshake, not the initial second of RFC 6298.
    let found = Script::new()
        .handshake(0, 50_000)
        .up(100_000, data(1, 1, 100))
        .up(101_000, data(101, 1, 100))
        .up(350_000, data(1, 1, 100))
        .down(400_000, data(1, 201, 0))
        .found();
    assert_eq!(found.retransmissions.iter().map(|row| row.cause).collect::<Vec<_>>(), [Cause::Timeout]);
}

#[test]
fn keep_alives_without_data_are_counted() {
    // Linux sends no data in keep-alives and window probes: the number before the next one (tcp_xmit_probe_skb).
    let script =
        Script::new().handshake(0, 50_000).up(100_000, data(1, 1, 100)).down(150_000, data(1, 101, 0));
    let found = script
        .up(10_000_000, data(100, 1, 0))
        .down(10_050_000, data(1, 101, 0))
        .up(20_000_000, data(100, 1, 0))
        .down(20_050_000, data(1, 101, 0))
        .found();
    let [up, down] = found.halves();
    assert_eq!((up.counts.keep_alives, up.counts.window_probes, up.counts.resent), (2, 0, 0));
    assert_eq!((down.counts.keep_alives, up.counts.duplicate_acks), (0, 0));
}

#[test]
fn window_probes_without_data_are_counted() {
    let shut = |ack| gamelane_tcp::Segment { window: 0, ..data(1, ack, 0) };
    let found = Script::new()
        .handshake(0, 50_000)
        .up(100_000, data(1, 1, 100))
        .down(150_000, shut(101))
        .up(400_000, data(100, 1, 0))
        .down(450_000, shut(101))
        .up(900_000, data(100, 1, 0))
        .down(950_000, data(1, 101, 0))
        .found();
    let up = &found.halves()[0];
    assert_eq!((up.counts.window_probes, up.counts.keep_alives, up.counts.zero_windows), (2, 0, 1));
}

#[test]
fn a_closed_window_in_the_handshake_is_that_of_a_proxy_against_floods() {
    let flags = gamelane_tcp::Flags { syn: true, ack: true, ..Default::default() }.into();
    let syn = gamelane_tcp::Flags { syn: true, ..Default::default() }.into();
    let found = Script::new()
        .up(0, gamelane_tcp::Segment { flags: syn, ..data(0, 0, 0) })
        .down(1_000, gamelane_tcp::Segment { flags, window: 0, ..data(0, 1, 0) })
        .up(1_020, data(1, 1, 0))
        .down(300_000, data(1, 1, 0))
        .up(301_000, data(1, 1, 100))
        .down(350_000, data(1, 101, 0))
        .found();
    let up = &found.halves()[0];
    assert_eq!((up.counts.zero_windows, up.counts.zero_window_ns), (0, 0));
}

#[test]
fn the_number_of_a_fin_is_no_missing_byte() {
    let fin = |seq, ack| {
        let flags = gamelane_tcp::Flags { fin: true, ack: true, ..Default::default() }.into();
        gamelane_tcp::Segment { flags, ..data(seq, ack, 0) }
    };
    let found = Script::new()
        .handshake(0, 50_000)
        .up(100_000, data(1, 1, 100))
        .down(150_000, data(1, 101, 10))
        .up(151_000, fin(101, 11))
        .down(201_000, fin(11, 102))
        .up(202_000, data(102, 12, 0))
        .found();
    let [up, down] = found.halves();
    assert_eq!((up.missing_bytes, down.missing_bytes), (0, 0));
    assert_eq!((up.counts.keep_alives, down.counts.keep_alives), (0, 0));
}

#[test]
fn a_later_fragment_that_begins_a_quarter_second_leaves_the_one_before_in_the_table() {
    let key = key("192.168.1.2:40000", "203.0.113.5:7000", Protocol::Tcp);
    let tcp = CapturedTransport::Tcp(TcpFields::default());
    let (mut found, mut analyzer) = (Found::default(), Analyzer::default());
    for (at_ms, transport) in [(0, tcp), (300, CapturedTransport::LaterFragment), (600, tcp)] {
        let at_ns = at_ms * 1_000_000;
        analyzer.handle(&CapturedPacket { at_ns, key, transport, ..CapturedPacket::default() }, &mut found);
    }
    analyzer.finish(&mut found);
    assert_eq!(found.bins.iter().map(|bin| bin.packets).collect::<Vec<_>>(), [1, 1, 1]);
}
