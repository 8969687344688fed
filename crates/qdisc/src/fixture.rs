//! Packets for tests.

use gamelane_core::{Duration, Ecn, FlowId, Instant, IpLen, PacketMeta, Protocol};

/// A packet of flow 0, sent at time zero.
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
        class: gamelane_core::ClassId(0),
        ack: gamelane_core::AckKind::NotPure,
        ack_number: 0,
    }
}
