//! A capture written packet by packet, for tests of single rules.

use gamelane_capture::analysis::{Acknowledged, Bin, HalfReport, Retransmission, TransportReport};
use gamelane_capture::{Analyzer, FlowReport, PcapngWriter, Sink, TcpNumbers, WriteOptions, analyze};
use gamelane_core::{FlowKey, Protocol};
use gamelane_tcp::{Flags, Segment};

use super::{header, key, open};

/// One TCP connection on one interface, from a client to a server. Sequence numbers start at 0.
pub(crate) struct Script {
    writer: PcapngWriter<Vec<u8>>,
    interface: gamelane_capture::InterfaceId,
    up: FlowKey,
    id: u16,
}

impl Script {
    pub(crate) fn new() -> Self {
        let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        let interface = writer.add_interface("tap").unwrap();
        Self { writer, interface, up: key("192.168.1.2:40000", "203.0.113.5:7000", Protocol::Tcp), id: 0 }
    }

    /// Adds a packet from the client at `at_us` microseconds.
    pub(crate) fn up(self, at_us: u64, segment: Segment) -> Self {
        let key = self.up;
        self.packet(at_us, key, segment)
    }

    /// Adds a packet from the server.
    pub(crate) fn down(self, at_us: u64, segment: Segment) -> Self {
        let key = self.up.reverse();
        self.packet(at_us, key, segment)
    }

    /// Adds a handshake that starts at `at_us`. The capture point is beside the client, `rtt_us` from the server.
    pub(crate) fn handshake(self, at_us: u64, rtt_us: u64) -> Self {
        let syn = Flags { syn: true, ..Flags::default() };
        let answer = Flags { syn: true, ack: true, ..Flags::default() };
        self.up(at_us, Segment { flags: syn.into(), ..data(0, 0, 0) })
            .down(at_us + rtt_us, Segment { flags: answer.into(), ..data(0, 1, 0) })
            .up(at_us + rtt_us + 20, data(1, 1, 0))
    }

    fn packet(mut self, at_us: u64, key: FlowKey, segment: Segment) -> Self {
        let numbers =
            TcpNumbers { initial_sequence: 0, peer_initial_sequence: 0, maximum_segment_size: 1460 };
        self.id += 1;
        let header = gamelane_capture::PacketHeader { id: self.id, ..header(key, at_us * 1000) };
        self.writer.write_tcp(self.interface, &header, &segment, &numbers).unwrap();
        self
    }

    /// Analyses the capture.
    pub(crate) fn found(self) -> Found {
        let mut found = Found::default();
        let bytes = self.writer.finish_file().unwrap();
        analyze(&mut open(bytes).unwrap(), &mut Analyzer::default(), &mut found).unwrap();
        found
    }
}

/// A segment of `len` bytes at stream offset `seq`; the SYN has offset 0.
pub(crate) fn data(seq: u64, ack: u64, len: u32) -> Segment {
    let flags = Flags { ack: true, ..Flags::default() }.into();
    Segment { seq, ack, len, window: 5840, flags, ..Segment::default() }
}

/// What the analysis of a capture found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) flows: Vec<FlowReport>,
    pub(crate) retransmissions: Vec<Retransmission>,
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) bins: Vec<Bin>,
    /// Numbers of the flows that had packets.
    pub(crate) told: std::collections::BTreeSet<u32>,
    pub(crate) absorbed: std::collections::BTreeSet<u32>,
}

impl Found {
    /// The client's data, then the server's, of the only connection.
    pub(crate) fn halves(&self) -> &[HalfReport; 2] {
        let [flow] = &self.flows[..] else { panic!("one connection: {}", self.flows.len()) };
        let TransportReport::Tcp(tcp) = &flow.transport else { panic!("TCP") };
        &tcp.halves
    }
}

impl Sink for Found {
    fn flow(&mut self, report: FlowReport) {
        self.flows.push(report);
    }
    fn bin(&mut self, row: &Bin) {
        self.bins.push(*row);
    }
    fn packet(&mut self, flow: u32, _: u8, _: &gamelane_capture::CapturedPacket) {
        self.told.insert(flow);
    }
    fn absorbed(&mut self, flow: u32) {
        self.absorbed.insert(flow);
    }
    fn retransmission(&mut self, row: &Retransmission) {
        self.retransmissions.push(*row);
    }
    fn acknowledged(&mut self, row: &Acknowledged) {
        self.acknowledged.push(*row);
    }
}
