//! Packets for tests, and an outlet that records drops and marks.

use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS};
use gamelane_core::{
    AckKind, ClassId, DropReason, Duration, Ecn, FlowId, Instant, IpLen, MarkReason, Outlet, Packet,
    PacketMeta, Protocol,
};
use std::vec::Vec;

/// Length of a pure ACK with timestamps over IPv4, in bytes.
pub(crate) const ACK: u32 = IPV4_HEADER + TCP_HEADER + TCP_TIMESTAMPS;

/// Makes the metadata of a packet of flow 0, sent at time zero.
pub(crate) fn packet(len: u32, ecn: Ecn) -> PacketMeta {
    PacketMeta {
        sent_at: Instant::ZERO,
        queued_at: Instant::ZERO,
        waited: Duration::ZERO,
        flow: FlowId(0),
        flow_hash: 0,
        hosts: [0; 2],
        len: IpLen(len),
        protocol: Protocol::Udp,
        ecn,
        dscp: 0,
        class: ClassId(0),
        ack: AckKind::NotPure,
        ack_number: 0,
    }
}

/// Makes packet `number` of a class. All packets of a class are one flow.
pub(crate) fn in_class(class: u8, len: u32, number: u64) -> Packet<u64> {
    let flow = u32::from(class);
    let meta = PacketMeta {
        class: ClassId(class),
        flow: FlowId(flow),
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        ..packet(len, Ecn::NotEct)
    };
    Packet { meta, body: number }
}

/// Records dropped packets and counts marked ones.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) dropped: Vec<(u64, DropReason)>,
    pub(crate) dropped_bytes: u64,
    pub(crate) marked: u64,
}

impl Outlet<u64> for Ledger {
    fn dropped(&mut self, packet: Packet<u64>, reason: DropReason) {
        self.dropped.push((packet.body, reason));
        self.dropped_bytes += packet.meta.len.bytes();
    }

    fn marked(&mut self, meta: &PacketMeta, _: MarkReason) {
        assert_eq!(meta.ecn, Ecn::Ce);
        self.marked += 1;
    }
}
