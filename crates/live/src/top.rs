//! Flows by how late they are now, like `top` for lag. [`Top`] takes the rows of a running analysis and sums up the last
//! ten seconds of each flow, in bounded memory. The caller passes the present time to [`Top::flows`], so a flow that falls
//! silent shows as waiting. Flows without a packet for ten seconds are left out.

use std::collections::BTreeMap;

use gamelane_capture::analysis::{Acknowledged, Bin, Kind, OpenFlow, Retransmission, RoundTrip};
use gamelane_capture::{Analyzer, CapturedPacket, FlowReport, Sink};
use gamelane_core::FlowKey;

use crate::meter::Meter;

/// Sums over the last seconds of each current flow.
#[derive(Debug, Default)]
pub struct Top {
    meters: BTreeMap<u32, Meter>,
    /// Time of the packet being handled, in nanoseconds since 1970, as the analysis corrected it.
    at_ns: u64,
    /// The latest of these times.
    latest_ns: u64,
    /// What the correction adds, modulo 2^64.
    offset_ns: u64,
}

/// The present state of a flow. The first of each pair is from client to server, the second from server to client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowNow {
    /// Number of the flow.
    pub flow: u32,
    /// Addresses from client to server.
    pub key: FlowKey,
    /// What it behaves like so far.
    pub kind: Kind,
    /// Packets per second in the last two seconds.
    pub packets_per_second: [f64; 2],
    /// Bits per second of IP packets in the last two seconds.
    pub bits_per_second: [f64; 2],
    /// Shortest round trip of TCP in the last two seconds, or in the last ten if there was none. `None` without a sample.
    pub rtt_ns: Option<u64>,
    /// Longest wait in the last five seconds, also one that still lasts. TCP: from the data to its ACK. UDP: how much later
    /// than its tick an update came. `None` if UDP has no steady pace, or TCP sent no data.
    pub wait_ns: Option<u64>,
    /// Retransmissions of TCP in the last ten seconds, or messages of UDP that their numbers show as lost.
    pub lost: u64,
    /// Messages of UDP in the last ten seconds that came more than half a tick late.
    pub late: u64,
}

impl Top {
    /// Flows with a packet in the ten seconds before `now_ns`, a time since 1970: those that wait longest come first.
    pub fn flows(&self, now_ns: u64) -> Vec<FlowNow> {
        let now_ns = now_ns.wrapping_add(self.offset_ns).max(self.latest_ns);
        let mut flows: Vec<FlowNow> =
            self.meters.iter().filter_map(|(&flow, meter)| meter.now(flow, now_ns)).collect();
        flows.sort_by_key(|flow| (std::cmp::Reverse(flow.wait_ns), flow.flow));
        flows
    }

    /// Learns from the analysis what the flows are, and forgets those that are over.
    pub(crate) fn look(&mut self, analyzer: &mut Analyzer) {
        self.offset_ns = analyzer.clock().offset_ns();
        let now_ns = self.latest_ns;
        self.meters.retain(|_, meter| meter.is_current(now_ns));
        for (&flow, meter) in &mut self.meters {
            if let Some(known) = analyzer.open_flow(flow) {
                meter.learn(known, now_ns);
            }
        }
    }

    fn meter(&mut self, flow: u32) -> Option<&mut Meter> {
        self.meters.get_mut(&flow)
    }
}

/// Passes the results of an analysis on, and the rows also to a [`Top`].
pub(crate) struct Watching<'a, S> {
    pub(crate) top: &'a mut Top,
    pub(crate) sink: &'a mut S,
}

impl<S: Sink> Sink for Watching<'_, S> {
    fn flow(&mut self, report: FlowReport) {
        self.top.meters.remove(&report.flow);
        self.sink.flow(report);
    }

    fn bin(&mut self, row: &Bin) {
        self.sink.bin(row);
    }

    fn round_trip(&mut self, row: &RoundTrip) {
        let at_ns = self.top.at_ns;
        if let Some(meter) = self.top.meter(row.flow) {
            meter.round_trip(row, at_ns);
        }
        self.sink.round_trip(row);
    }

    fn retransmission(&mut self, row: &Retransmission) {
        let at_ns = self.top.at_ns;
        if let Some(meter) = self.top.meter(row.flow) {
            meter.retransmission(at_ns);
        }
        self.sink.retransmission(row);
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        let at_ns = self.top.at_ns;
        if let Some(meter) = self.top.meter(row.flow) {
            meter.acknowledged(row, at_ns);
        }
        self.sink.acknowledged(row);
    }

    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        self.top.at_ns = packet.at_ns;
        self.top.latest_ns = self.top.latest_ns.max(packet.at_ns);
        if self.top.meters.len() < MAX_METERS || self.top.meters.contains_key(&flow) {
            let key = if direction == 0 { packet.key } else { packet.key.reverse() };
            let new = || Meter::new(OpenFlow { key, reversed: false, kind: Kind::Other, updates: [None; 2] });
            self.top.meters.entry(flow).or_insert_with(new).packet(direction.into(), packet);
        }
        self.sink.packet(flow, direction, packet);
    }

    fn absorbed(&mut self, flow: u32) {
        self.top.meters.remove(&flow);
        self.sink.absorbed(flow);
    }

    fn is_tired(&self) -> bool {
        self.sink.is_tired()
    }
}

/// Maximum number of flows at a time: about 8 MiB.
const MAX_METERS: usize = 4096;

#[cfg(test)]
mod tests {
    use gamelane_capture::{CapturedTransport, TcpFields};
    use gamelane_core::{IpLen, Protocol};

    use super::*;

    const START_NS: u64 = 1_790_000_000_000_000_000;
    const MS: u64 = 1_000_000;

    struct Nothing;

    impl Sink for Nothing {
        fn flow(&mut self, _report: FlowReport) {}
    }

    /// A running analysis, to which packets are given one by one.
    #[derive(Default)]
    struct Running {
        analyzer: Analyzer,
        top: Top,
        looked_ms: u64,
    }

    impl Running {
        fn packet(&mut self, at_ms: u64, key: FlowKey, len: u32, transport: CapturedTransport) {
            let packet = CapturedPacket {
                at_ns: START_NS + at_ms * MS,
                key,
                ip_len: IpLen(len + 28),
                payload_len: len,
                // Each packet has another content.
                content: at_ms << 20 | u64::from(key.source.port()),
                transport,
                ..CapturedPacket::default()
            };
            self.analyzer.handle(&packet, &mut Watching { top: &mut self.top, sink: &mut Nothing });
            if at_ms >= self.looked_ms + 500 {
                self.looked_ms = at_ms;
                self.top.look(&mut self.analyzer);
            }
        }

        fn segment(&mut self, at_ms: u64, key: FlowKey, len: u32, numbers: [u32; 2]) {
            let mut tcp =
                TcpFields { sequence: numbers[0], acknowledgment: numbers[1], ..TcpFields::default() };
            tcp.flags.ack = true;
            self.packet(at_ms, key, len, CapturedTransport::Tcp(tcp));
        }

        fn flows(&self, at_ms: u64) -> Vec<FlowNow> {
            self.top.flows(START_NS + at_ms * MS)
        }
    }

    fn key(client: &str, protocol: Protocol) -> FlowKey {
        FlowKey {
            source: client.parse().unwrap(),
            destination: "203.0.113.5:27015".parse().unwrap(),
            protocol,
        }
    }

    #[test]
    fn a_game_whose_updates_stay_out_waits_and_comes_first() {
        let mut running = Running::default();
        let [one, two] = ["10.0.0.2:40001", "10.0.0.3:40002"].map(|client| key(client, Protocol::Udp));
        for at_ms in (0..20_000).step_by(50) {
            running.packet(at_ms, one, 60, CapturedTransport::Udp);
            running.packet(at_ms + 1, two, 60, CapturedTransport::Udp);
            running.packet(at_ms + 20, one.reverse(), 120, CapturedTransport::Udp);
            // From 19.5 s on, the server's updates for the second player are lost.
            if at_ms < 19_500 {
                running.packet(at_ms + 21, two.reverse(), 120, CapturedTransport::Udp);
            }
        }
        let [worst, other] = running.flows(19_971)[..] else { panic!("two flows") };
        assert_eq!((worst.key, worst.kind, other.key), (two, Kind::Game, one));
        // The last update was at 19,471 ms, and the next one is due 50 ms later.
        assert_eq!((worst.wait_ns, worst.lost, worst.late), (Some(450 * MS), 0, 0));
        assert_eq!(other.wait_ns, Some(0));
        assert!(other.packets_per_second.iter().all(|rate| (19.0..=21.0).contains(rate)), "{other:?}");
        assert!(other.bits_per_second[1] > 1.6 * other.bits_per_second[0]);
        running.packet(20_021, two.reverse(), 120, CapturedTransport::Udp);
        let [worst, _] = running.flows(20_022)[..] else { panic!("two flows") };
        assert_eq!((worst.wait_ns, worst.late), (Some(500 * MS), 1));
        // Both fall silent: they wait, and after ten seconds they are over.
        assert!(running.flows(25_000).iter().all(|flow| flow.wait_ns > Some(4_800 * MS)));
        assert_eq!(running.flows(30_100), []);
    }

    #[test]
    fn a_client_that_did_not_send_first_is_the_client() {
        let mut running = Running::default();
        let game = key("192.168.0.2:40001", Protocol::Udp);
        for at_ms in (0..4_000).step_by(50) {
            running.packet(at_ms, game.reverse(), 400, CapturedTransport::Udp);
            running.packet(at_ms + 20, game, 60, CapturedTransport::Udp);
        }
        let [flow] = running.flows(4_000)[..] else { panic!("one flow") };
        assert_eq!(flow.key, game);
        assert!(flow.bits_per_second[0] < flow.bits_per_second[1]);
    }

    #[test]
    fn data_waits_for_its_ack_and_a_retransmission_counts_for_ten_seconds() {
        let mut running = Running::default();
        let tcp = key("10.0.0.2:50000", Protocol::Tcp);
        let mut end = 1_000;
        for at_ms in (0..2_000).step_by(100) {
            running.segment(at_ms, tcp, 10, [end, 1]);
            end += 10;
            running.segment(at_ms + 30, tcp.reverse(), 0, [1, end]);
        }
        let now = |running: &Running, at_ms| {
            let [flow] = running.flows(at_ms)[..] else { panic!("one flow") };
            flow
        };
        let calm = now(&running, 2_000);
        assert_eq!((calm.wait_ns, calm.rtt_ns, calm.lost), (Some(30 * MS), Some(30 * MS), 0));
        // Data whose ACK stays out, is sent again after 300 ms, and is acknowledged after 350 ms.
        running.segment(2_000, tcp, 10, [end, 1]);
        assert_eq!(now(&running, 2_250).wait_ns, Some(250 * MS));
        running.segment(2_300, tcp, 10, [end, 1]);
        running.segment(2_350, tcp.reverse(), 0, [1, end + 10]);
        let after = now(&running, 2_600);
        assert_eq!((after.wait_ns, after.lost), (Some(350 * MS), 1));
        // One packet a second keeps the flow current. The wait is forgotten after five seconds, the loss after ten.
        for second in 3..13u32 {
            let (at_ms, number) = (u64::from(second) * 1_000, end + 10 * (second - 2));
            running.segment(at_ms, tcp, 10, [number, 1]);
            running.segment(at_ms + 30, tcp.reverse(), 0, [1, number + 10]);
            let flow = now(&running, at_ms + 30);
            assert_eq!(flow.wait_ns, Some(if second < 7 { 350 * MS } else { 30 * MS }), "{second}");
            assert_eq!(flow.lost, u64::from(second < 12), "{second}");
        }
    }

    #[test]
    fn a_step_of_the_clock_ends_no_flow() {
        const YEARS_MS: u64 = 10 * 365 * 24 * 3_600_000;
        let mut running = Running::default();
        let game = key("10.0.0.2:40001", Protocol::Udp);
        for at_ms in (0..8_000).step_by(50) {
            // A router without a battery learns the time after four seconds.
            let stamp_ms = if at_ms < 4_000 { at_ms } else { YEARS_MS + at_ms };
            running.packet(stamp_ms, game, 60, CapturedTransport::Udp);
            running.packet(stamp_ms + 20, game.reverse(), 120, CapturedTransport::Udp);
        }
        let [flow] = running.flows(YEARS_MS + 8_270)[..] else { panic!("one flow") };
        assert_eq!((flow.kind, flow.wait_ns), (Kind::Game, Some(270 * MS)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut running = Running::default();
        for n in 0..3 * MAX_METERS as u32 {
            let client = std::net::Ipv4Addr::from(0x0a00_0000 + n);
            let key = key(&format!("{client}:5000"), Protocol::Udp);
            running.packet(u64::from(n) / 1_000, key, 60, CapturedTransport::Udp);
        }
        assert_eq!(running.flows(100).len(), MAX_METERS);
        // Ten seconds later there is room again.
        for at_ms in (20_000..22_000).step_by(100) {
            running.packet(at_ms, key("10.9.9.9:1", Protocol::Udp), 60, CapturedTransport::Udp);
        }
        assert_eq!(running.flows(22_000).len(), 1);
    }
}
