//! Test bench for a hop: sends packets at given times and records their arrivals and losses.

use alloc::vec::Vec;
use gamelane_core::{
    AckKind, ByteCount, ClassId, DropReason, Duration, Ecn, FlowId, Instant, IpLen, Packet, PacketMeta,
    Protocol, Seed,
};
use gamelane_qdisc::{AnyQueue, Limit, ParameterSet, QueueConfig, QueueKind};

use crate::hop::{Hop, HopOutlet};
use crate::link::{AnyLink, PortId};

/// A hop with FIFO queues in virtual time.
pub(crate) struct Bench {
    pub(crate) hop: Hop<u32>,
    pub(crate) arrived: Vec<Arrival>,
    pub(crate) lost: Lost,
    sent: u32,
}

/// Arrival of a packet: its number, its port, and the time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) number: u32,
    pub(crate) port: u16,
    pub(crate) at_us: u64,
}

#[derive(Default)]
pub(crate) struct Lost(pub(crate) Vec<(u16, u32, DropReason)>);

impl HopOutlet<u32> for Lost {
    fn dropped(&mut self, port: PortId, packet: Packet<u32>, reason: DropReason) {
        self.0.push((port.0, packet.body, reason));
    }
}

impl Bench {
    /// Makes a bench for `link` with this many `ports`. Each queue holds 10 MB.
    pub(crate) fn new(link: impl Into<AnyLink>, ports: u16) -> Self {
        let queue = QueueConfig {
            limit: Some(Limit::Bytes(ByteCount(10_000_000))),
            ..QueueConfig::new(QueueKind::Fifo, ParameterSet::Rfc)
        };
        let queues = (0..ports).map(|_| AnyQueue::new(&queue, IpLen(1500), Seed(1), "queue"));
        Self { hop: Hop::new(queues, link), arrived: Vec::new(), lost: Lost::default(), sent: 0 }
    }

    /// Runs up to `at`, then hands a packet of flow `port` to `port`.
    pub(crate) fn send(&mut self, port: u16, len: u32, at: Instant) {
        self.run_until(at);
        self.hop.handle_packet(PortId(port), packet(self.sent, u32::from(port), len, at), at, &mut self.lost);
        self.sent += 1;
    }

    /// Handles all events up to `until`.
    pub(crate) fn run_until(&mut self, until: Instant) {
        while let Some(now) = self.hop.poll_timeout().filter(|at| *at <= until) {
            self.hop.handle_timeout(now, &mut self.lost);
            while let Some((port, packet)) = self.hop.poll_deliver(now) {
                self.arrived.push(Arrival {
                    number: packet.body,
                    port: port.0,
                    at_us: now.as_nanos() / 1000,
                });
            }
        }
    }

    /// Keeps the queues of `ports` filled with packets of `len` until `until`.
    pub(crate) fn saturate(&mut self, ports: core::ops::Range<u16>, len: u32, until: Instant) {
        let mut now = Instant::ZERO;
        while now < until {
            for port in ports.clone() {
                while self.hop.backlog(PortId(port)).packets < 50 {
                    self.send(port, len, now);
                }
            }
            now += Duration::from_millis(5);
            self.run_until(now);
        }
    }

    /// Runs to the end, checks that packets are conserved, and returns the arrivals.
    pub(crate) fn finish(&mut self) -> Vec<Arrival> {
        self.run_until(Instant::MAX);
        for port in (0..self.hop.ports()).map(PortId) {
            assert!(self.hop.counters(port).balance(0), "{:?}", self.hop.counters(port));
        }
        core::mem::take(&mut self.arrived)
    }
}

/// Makes a UDP packet.
pub(crate) fn packet(number: u32, flow: u32, len: u32, now: Instant) -> Packet<u32> {
    let meta = PacketMeta {
        sent_at: now,
        queued_at: now,
        waited: Duration::ZERO,
        flow: FlowId(flow),
        flow_hash: flow,
        hosts: [0; 2],
        len: IpLen(len),
        protocol: Protocol::Udp,
        ecn: Ecn::NotEct,
        dscp: 0,
        class: ClassId(0),
        ack: AckKind::NotPure,
        ack_number: 0,
    };
    Packet { meta, body: number }
}
