//! One direction of a flow by its packets alone: how many, how large, how far apart, how marked.

use gamelane_core::Ecn;

use crate::packet::{CapturedPacket, CapturedTransport};
use crate::samples::Samples;

/// [`BIN_NS`] of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Number of the flow.
    pub flow: u32,
    /// 0 client to server, 1 back.
    pub direction: u8,
    /// Its start.
    pub t_ns: u64,
    /// Packets.
    pub packets: u32,
    /// IP bytes.
    pub bytes: u64,
    /// Of the packets, those that carry data sent before.
    pub resent: u32,
}

/// Length of a [`Bin`]: windows of 1 s are made of four, so that they can overlap.
pub const BIN_NS: u64 = 250_000_000;

/// What one direction carried.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Packets, fragments each.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
    /// Bytes above TCP or UDP.
    pub payload_bytes: u64,
    /// Later fragments.
    pub fragments: u64,
    /// Payload bytes of each packet that has any.
    pub sizes: Samples,
    /// Time between packets that carry payload.
    pub gaps: Samples,
    /// Packets by ECN field: not capable, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Packets by code point, in order of appearance; the last one counts what does not fit.
    pub dscp: [(u8, u64); 4],
    /// Most IP bytes in one second (four bins).
    pub peak_bytes_per_second: u64,
    last_payload_ns: Option<u64>,
    bin: Bin,
    bins: [u64; 4],
}

impl Direction {
    /// Takes a packet; gives the bin that ended before it.
    #[inline]
    pub(super) fn handle(&mut self, packet: &CapturedPacket, at_ns: u64) -> Option<Bin> {
        self.packets += 1;
        self.bytes += u64::from(packet.ip_len.0);
        self.ecn[ecn_index(packet.ecn)] += 1;
        self.count_dscp(packet.dscp);
        if packet.transport == CapturedTransport::LaterFragment {
            self.fragments += 1;
        } else if packet.payload_len > 0 {
            self.payload_bytes += u64::from(packet.payload_len);
            self.sizes.push(u64::from(packet.payload_len));
            if let Some(last) = self.last_payload_ns {
                self.gaps.push(at_ns.saturating_sub(last));
            }
            self.last_payload_ns = Some(at_ns);
        }
        let ended = self.turn(at_ns);
        self.bin.packets += 1;
        self.bin.bytes += u64::from(packet.ip_len.0);
        ended
    }

    /// Whether the packet just taken carried data sent before.
    pub(super) fn count_resent(&mut self, resent: bool) {
        self.bin.resent += u32::from(resent);
    }

    /// All is counted: quantiles are asked for next.
    pub(super) fn settle(&mut self) {
        self.sizes.settle();
        self.gaps.settle();
    }

    /// The bin at the end.
    pub(super) fn last_bin(&mut self) -> Option<Bin> {
        self.close_bin();
        (self.bin.packets > 0).then_some(self.bin)
    }

    fn turn(&mut self, at_ns: u64) -> Option<Bin> {
        let start = at_ns - at_ns % BIN_NS;
        if self.bin.packets > 0 && start <= self.bin.t_ns {
            return None;
        }
        let ended = self.last_bin();
        // Bins without packets lie between; four of them empty the second.
        let passed = ((start - self.bin.t_ns.min(start)) / BIN_NS).min(4) as usize;
        self.bins.rotate_left(passed);
        self.bins[4 - passed..].fill(0);
        self.bin = Bin { t_ns: start, ..Bin::default() };
        ended
    }

    fn close_bin(&mut self) {
        self.bins[3] = self.bin.bytes;
        self.peak_bytes_per_second = self.peak_bytes_per_second.max(self.bins.iter().sum());
    }

    fn count_dscp(&mut self, dscp: u8) {
        for (n, (known, count)) in self.dscp.iter_mut().enumerate() {
            if *count == 0 || *known == dscp || n == 3 {
                *known = if *count == 0 { dscp } else { *known };
                *count += 1;
                return;
            }
        }
    }
}

const fn ecn_index(ecn: Ecn) -> usize {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}
