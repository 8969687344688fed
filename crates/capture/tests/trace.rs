//! Extraction of a game's flow from a capture, and the choice of its client.

use crate::support::{header, key, match_capture, open};
use gamelane_capture::{Capture, CaptureError, PcapngWriter, RecordedFlow, WriteOptions, udp_flow};
use gamelane_core::{Duration, FlowKey, Protocol};

/// A capture of packets (key, milliseconds, payload) on one interface.
fn capture(packets: &[(FlowKey, u64, u32)]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let lan = writer.add_interface("lan").unwrap();
    for &(key, at_ms, payload) in packets {
        writer.write_udp(lan, &header(key, at_ms * 1_000_000), payload).unwrap();
    }
    writer.finish_file().unwrap()
}

fn flow(packets: &[(FlowKey, u64, u32)], client: Option<&str>) -> Result<RecordedFlow, CaptureError> {
    let client = client.map(|host| host.parse().expect("an address"));
    udp_flow(&mut open(capture(packets))?, client)
}

/// The capture of a match with four players.
fn recorded() -> Capture {
    Capture::open(&match_capture()).unwrap()
}

fn udp(source: &str, destination: &str) -> FlowKey {
    key(source, destination, Protocol::Udp)
}

#[test]
fn the_match_capture_has_its_known_client_sizes_and_times() {
    for client in [None, Some("10.77.0.2".parse().unwrap())] {
        let flow = udp_flow(&mut recorded(), client).unwrap();
        assert_eq!(flow.client.to_string(), "10.77.0.2:27960");
        assert_eq!(flow.server.to_string(), "10.77.0.1:27960");
        let mean = |packets: &[(Duration, u32)]| {
            packets.iter().map(|packet| f64::from(packet.1)).sum::<f64>() / packets.len() as f64
        };
        assert_eq!((flow.up.len(), flow.down.len()), (3627, 2399));
        assert!((mean(&flow.up) - 54.8).abs() < 0.05, "{}", mean(&flow.up));
        assert!((mean(&flow.down) - 86.6).abs() < 0.05, "{}", mean(&flow.down));
        assert_eq!(flow.up[0].0.min(flow.down[0].0), Duration::ZERO);
        let mut gaps: Vec<Duration> = flow.up.windows(2).map(|w| w[1].0 - w[0].0).collect();
        gaps.sort();
        assert!((gaps[gaps.len() / 2].as_millis_f64() - 33.0).abs() < 0.05);
    }
    // With the other host as the client, the directions are exchanged.
    let turned = udp_flow(&mut recorded(), Some("10.77.0.1".parse().unwrap())).unwrap();
    assert_eq!((turned.up.len(), turned.down.len()), (2399, 3627));
}

#[test]
fn the_largest_conversation_is_taken_and_times_count_from_its_first_packet() {
    let (game, back) = (udp("10.0.0.2:40000", "9.9.9.9:27960"), udp("9.9.9.9:27960", "10.0.0.2:40000"));
    let other = udp("10.0.0.3:50000", "8.8.8.8:53");
    let packets = [(other, 0, 30), (back, 10, 200), (game, 30, 50), (other, 40, 31), (game, 60, 51)];
    let flow = flow(&packets, None).unwrap();
    assert_eq!(flow.client, game.source);
    assert_eq!(flow.up, [(Duration::from_millis(20), 50), (Duration::from_millis(50), 51)]);
    assert_eq!(flow.down, [(Duration::ZERO, 200)]);
}

#[test]
fn the_client_has_the_higher_port_else_sends_more_else_spoke_first() {
    let (a, b) = (udp("10.0.0.1:5000", "10.0.0.2:6000"), udp("10.0.0.2:6000", "10.0.0.1:5000"));
    assert_eq!(flow(&[(a, 0, 1), (a, 1, 1), (a, 2, 1), (b, 3, 1)], None).unwrap().client, b.source);

    let (a, b) = (udp("10.0.0.1:5000", "10.0.0.2:5000"), udp("10.0.0.2:5000", "10.0.0.1:5000"));
    let rates = |from_a: u64, from_b: u64| -> Vec<(FlowKey, u64, u32)> {
        (0..from_a).map(|n| (a, n, 1)).chain((0..from_b).map(|n| (b, 1000 + n, 1))).collect()
    };
    assert_eq!(flow(&rates(20, 24), None).unwrap().client, b.source);
    assert_eq!(flow(&rates(20, 22), None).unwrap().client, a.source);
    assert_eq!(flow(&rates(24, 20), None).unwrap().client, a.source);
}

#[test]
fn a_packet_seen_on_two_interfaces_counts_once() {
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let (lan, wan) = (writer.add_interface("lan").unwrap(), writer.add_interface("wan").unwrap());
    let game = udp("10.0.0.2:40000", "9.9.9.9:27960");
    for n in 0..10 {
        writer.write_udp(lan, &header(game, n * 1_000_000), 50).unwrap();
        // The last packet is lost before the second interface.
        if n < 9 {
            writer.write_udp(wan, &header(game, n * 1_000_000 + 300_000), 50).unwrap();
        }
    }
    let flow = udp_flow(&mut open(writer.finish_file().unwrap()).unwrap(), None).unwrap();
    assert_eq!(flow.up.len(), 10);
    assert_eq!(flow.up[1].0, Duration::from_millis(1));
}

#[test]
fn errors_say_what_is_there() {
    let error = flow(&[], None).unwrap_err();
    assert!(matches!(error, CaptureError::NoUdpFlow { packets_read: 0, .. }), "{error}");
    let game = udp("10.0.0.2:40000", "9.9.9.9:27960");
    let error = flow(&[(game, 0, 50)], Some("10.0.0.9")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "memory.pcapng: no UDP conversation of client 10.0.0.9; hosts with UDP in the capture: 9.9.9.9, 10.0.0.2\n\
         hint: set the client to one of these, or omit it and the client is guessed"
    );
}
