//! Figure 6 of griwodz2006, written as a capture packet by packet: RTO 1.046 s, the next packet included in the
//! retransmission, application delay 1.670 s.

use crate::support::script::Found;
use crate::support::{header, key, open};
use gamelane_capture::analysis::TransportReport;
use gamelane_capture::tcp::Cause;
use gamelane_capture::{Analyzer, PcapngWriter, TcpNumbers, WriteOptions, analyze};
use gamelane_core::{FlowKey, Protocol};
use gamelane_tcp::{Flags, Segment};

const SERVER: &str = "192.168.12.2:39106";
const CLIENT: &str = "192.168.2.50:12000";

/// Time in milliseconds, then a data packet (sequence number, length) or an ACK.
enum Line {
    Data(u64, u32, u32),
    Ack(u64, u32),
}

/// Lines 126 to 137 of the figure; line 126 begins at 5546. ACKs have TCP headers of 20 bytes without options.
const FIGURE: [Line; 12] = [
    Line::Data(463_354, 5546, 37),
    Line::Ack(463_681, 5546),
    Line::Data(463_691, 5583, 70),
    Line::Ack(463_933, 5583),
    Line::Data(464_199, 5653, 83),
    Line::Data(464_726, 5736, 94),
    Line::Data(464_737, 5583, 153),
    Line::Ack(464_845, 5583),
    Line::Data(465_019, 5830, 25),
    Line::Ack(465_329, 5583),
    Line::Data(465_329, 5855, 228),
    Line::Ack(465_361, 5830),
];

fn capture() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let interface = writer.add_interface("server").unwrap();
    let down: FlowKey = key(SERVER, CLIENT, Protocol::Tcp);
    let numbers = TcpNumbers { initial_sequence: 0, peer_initial_sequence: 0, maximum_segment_size: 1460 };
    let flags = Flags { ack: true, ..Flags::default() }.into();
    for line in FIGURE {
        let (at_ms, key, segment) = match line {
            Line::Data(at, seq, len) => (
                at,
                down,
                Segment { seq: seq.into(), ack: 1, len, window: 5840, flags, ..Segment::default() },
            ),
            Line::Ack(at, ack) => {
                let segment =
                    Segment { seq: 1, ack: ack.into(), window: 65_535, flags, ..Segment::default() };
                (at, down.reverse(), segment)
            }
        };
        writer.write_tcp(interface, &header(key, at_ms * 1_000_000), &segment, &numbers).unwrap();
    }
    writer.finish_file().unwrap()
}

#[test]
fn the_figure_is_found_in_its_capture() {
    let mut found = Found::default();
    analyze(&mut open(capture()).unwrap(), &mut Analyzer::default(), &mut found).unwrap();

    let [retransmission] = found.retransmissions[..] else {
        panic!("one retransmission: {found:?}", found = found.retransmissions)
    };
    assert_eq!((retransmission.len, retransmission.nth), (153, 1));
    // The RTO: time since the packet was first sent.
    assert_eq!(retransmission.since_first_ns, 1_046_000_000);
    assert_eq!(retransmission.cause, Cause::Timeout);

    // Packets 128 and 130 (70 and 83 B) are acknowledged together, and 131 too.
    let late: Vec<_> = found.acknowledged.iter().filter(|row| row.cause.is_some()).collect();
    assert_eq!(late.iter().map(|row| row.len).collect::<Vec<_>>(), [70, 83, 94]);
    assert_eq!((late[0].itself, late[0].included, late[0].delay_ns), (1, 0, 1_670_000_000));
    assert_eq!((late[1].itself, late[1].included, late[1].delay_ns), (0, 1, 1_162_000_000));
    assert_eq!((late[2].itself, late[2].included, late[2].delay_ns), (0, 0, 635_000_000));

    let [flow] = &found.flows[..] else { panic!("one connection") };
    let TransportReport::Tcp(tcp) = &flow.transport else { panic!("TCP") };
    let direction = usize::from(flow.key.source.to_string() != SERVER);
    let half = &tcp.halves[direction];
    assert_eq!(
        (half.counts.totals.nth[0].itself, half.counts.totals.nth[0].included, half.counts.totals.most),
        (1, 1, 1)
    );
    assert_eq!((half.counts.resent, half.counts.duplicate_acks), (1, 2));
    assert_eq!(half.counts.application_delay.max(), Some(1_670_000_000));
    assert_eq!(half.counts.longest_stall_ns, 1_670_000_000 - half.counts.ack_rtt.min().unwrap());
}
