//! Two captures of the same traffic. Losses and retransmissions of the shipped captures match their table, found from
//! both ends. Round trips and delays need no synchronised clocks.

use crate::support::shipped;
use gamelane_capture::analysis::TransportReport;
use gamelane_capture::pair::{PairedFlow, Seen, compare, watch};
use gamelane_capture::{Analyzer, Capture, FlowReport, Sink};

#[derive(Default)]
struct Flows(Vec<FlowReport>);

impl Sink for Flows {
    fn flow(&mut self, report: FlowReport) {
        self.0.push(report);
    }
}

fn watched(name: &str) -> (Seen, Vec<FlowReport>) {
    let mut flows = Flows::default();
    let (seen, error) =
        watch(&mut Capture::open(&shipped(name)).unwrap(), &mut Analyzer::default(), &mut flows);
    assert!(error.is_none());
    (seen, flows.0)
}

fn half(report: &FlowReport, direction: usize) -> &gamelane_capture::analysis::HalfReport {
    let TransportReport::Tcp(tcp) = &report.transport else { panic!("TCP") };
    &tcp.halves[direction]
}

/// One row for each player.
type Streams = [[u64; 5]; 4];

/// Columns "sent", "lost", "with data", "lost with data" and "resent" of tests/captures/README.md, from server to
/// client and from client to server.
const TABLE: [(&str, Streams, Streams); 2] = [
    (
        "thin-tcp-lan",
        [
            [3334, 52, 2895, 46, 56],
            [3497, 80, 3053, 68, 74],
            [3189, 61, 2736, 46, 60],
            [4847, 90, 4439, 81, 84],
        ],
        [[3541, 60, 694, 12, 12], [3659, 60, 683, 9, 10], [3392, 72, 705, 10, 15], [4831, 92, 678, 10, 11]],
    ),
    (
        "thin-tcp-wan",
        [
            [2515, 48, 1984, 35, 35],
            [2500, 47, 1995, 42, 44],
            [2529, 58, 1989, 45, 45],
            [4046, 96, 3510, 81, 81],
        ],
        [[2645, 46, 703, 13, 21], [2646, 59, 702, 22, 29], [2643, 49, 710, 14, 20], [3733, 84, 691, 22, 24]],
    ),
];

fn row(flow: &PairedFlow, direction: usize, sender: &FlowReport) -> [u64; 5] {
    let of = &flow.directions[direction];
    let losses = of.losses.as_ref().unwrap();
    assert_eq!((losses.unsent, losses.undecided), (0, 0));
    [
        losses.sent,
        losses.lost,
        losses.sent_with_data,
        losses.lost_with_data,
        half(sender, direction).counts.resent,
    ]
}

#[test]
fn every_lost_and_resent_packet_of_the_table_is_found_from_both_ends() {
    for (name, down, up) in TABLE {
        let (server, at_server) = watched(&format!("{name}-srv"));
        let (client, at_client) = watched(&format!("{name}-cli"));
        // The order of the captures does not matter.
        for (first, second, near) in [(&server, &client, Some(false)), (&client, &server, Some(true))] {
            let flows = compare(first, second).flows;
            assert_eq!(flows.len(), 4);
            for (stream, flow) in flows.iter().enumerate() {
                assert_eq!(flow.first_is_near_client, near);
                assert_eq!(row(flow, 1, &at_server[stream]), down[stream], "{name} {stream} down");
                assert_eq!(row(flow, 0, &at_client[stream]), up[stream], "{name} {stream} up");
            }
        }
        for (stream, (at_server, at_client)) in at_server.iter().zip(&at_client).enumerate() {
            // The receiver's file alone shows each resent packet that arrived: it fills a gap or repeats data. Packets
            // that were lost again are missing, and so are losses at the end of the stream.
            for (sender, receiver, direction) in [(at_server, at_client, 1), (at_client, at_server, 0)] {
                let (sender, receiver) = (&half(sender, direction).counts, &half(receiver, direction).counts);
                assert!(receiver.resent <= sender.resent, "{name} {stream}");
                assert!(receiver.lost_before <= receiver.resent);
            }
        }
    }
}

#[test]
fn the_round_trip_between_two_points_needs_no_common_clock() {
    let (server, _) = watched("thin-tcp-wan-srv");
    let (client, _) = watched("thin-tcp-wan-cli");
    for flow in compare(&client, &server).flows {
        // `link.py` adds 50 ms each way. The measured one-way delay has a median of 50.1 ms and a 99th percentile below
        // 50.3 ms.
        let median = flow.rtt.median().unwrap();
        assert!((100.0e6..100.8e6).contains(&median), "{median}");
        assert!(flow.rtt.count() > 1000);
        for direction in &flow.directions {
            let one_way = &direction.one_way;
            let median_ns = one_way.difference.unwrap().median_ns;
            assert!((50_000_000..50_300_000).contains(&median_ns), "{median_ns}");
            // Both captures have the stamps of one clock.
            assert_eq!(one_way.drift_ppb, None);
            assert!(one_way.above_least.quantile(0.99).unwrap() < 1e6);
        }
    }
}

#[test]
fn a_udp_game_has_its_round_trip_too_and_loses_nothing() {
    let (server, _) = watched("openarena-4p-srv");
    let (client, _) = watched("openarena-4p-cli");
    let flows = compare(&server, &client).flows;
    let [flow] = &flows[..] else { panic!("one flow") };
    assert_eq!(flow.first_is_near_client, Some(false));
    for (direction, sent) in flow.directions.iter().zip([3627, 2399]) {
        let losses = direction.losses.as_ref().unwrap();
        assert_eq!((losses.sent, losses.undecided, losses.lost, losses.unsent), (sent, 0, 0, 0));
        assert_eq!((losses.duplicated, losses.reordered), (0, 0));
    }
    // The veth pair has about 7 microseconds each way.
    let median = flow.rtt.median().unwrap();
    assert!((5e3..40e3).contains(&median), "{median}");
    assert!(flow.rtt.count() > 2300);
}
