//! Counters of one direction's data. Conclusions from several counters are left to the reports.

use gamelane_tcp::accounting::RetransmissionTotals;

use super::staged::Kind;
use super::stall::Stalls;
use crate::samples::Samples;

/// Counters of one direction's data.
#[derive(Clone, Debug, Default)]
pub struct HalfCounts {
    /// Retransmissions by number, as in table 2 of griwodz2006.
    pub totals: RetransmissionTotals,
    /// Packets with data.
    pub data_packets: u64,
    /// Bytes of new data.
    pub new_bytes: u64,
    /// Data packets that begin below the highest byte sent before.
    pub resent: u64,
    /// Bytes of these packets that had already passed.
    pub repeated_bytes: u64,
    /// Resent packets with bytes that the capture point had not seen: lost between the sender and the capture point.
    pub lost_before: u64,
    /// Packets reordered before the capture point: they fill a gap and were sent before the packet that showed it.
    pub reordered: u64,
    /// Retransmissions by [`Cause::index`](super::cause::Cause::index), without reordered packets, window probes and
    /// keep-alives.
    pub causes: [u64; 5],
    /// Retransmissions that the receiver reported as duplicates (DSACK, RFC 2883), by cause.
    pub spurious: [u64; 5],
    /// Keep-alives (RFC 9293 section 3.8.4).
    pub keep_alives: u64,
    /// Window probes.
    pub window_probes: u64,
    /// ACKs of data that is not in the capture.
    pub acknowledged_unseen: u64,
    /// Duplicate ACKs: they acknowledged nothing new while data was outstanding.
    pub duplicate_acks: u64,
    /// Retransmitted SYNs and FINs.
    pub control_retransmissions: u64,
    /// Number of times the receiver closed its window.
    pub zero_windows: u64,
    /// Sum of the times with a closed window.
    pub zero_window_ns: u64,
    /// Round trips in nanoseconds, from data to its ACK.
    pub ack_rtt: Samples,
    /// Round trips in nanoseconds, from a timestamp to its echo.
    pub stamp_rtt: Samples,
    /// Unacknowledged packets, sampled after each new one.
    pub packets_in_flight: Samples,
    /// Unacknowledged bytes, sampled after each new packet.
    pub bytes_in_flight: Samples,
    /// Data packets sent in the smoothed round trip before each one, including that one.
    pub packets_per_rtt: Samples,
    /// Time from the first transmission of a packet to its ACK, in nanoseconds.
    pub application_delay: Samples,
    /// The same time, only for packets that were retransmitted.
    pub retransmitted_delay: Samples,
    /// Time from the discovery of missing data to its arrival, for data lost before the capture point, in nanoseconds.
    pub missing_delay: Samples,
    /// Lag by cause: the time that packets took beyond the smoothed round trip until they were acknowledged.
    pub lag_ns: [u64; 5],
    /// Packets that were late because of a retransmission in front of them, not their own.
    pub held_up: u64,
    /// Stalls: packets whose data was brought by a timed retransmission.
    pub stalls: u64,
    /// Stalls by the number of retransmissions: one, two, three, more. With back-off they take one, three, seven
    /// timeouts.
    pub stalls_by_tries: [u64; 4],
    /// Longest wait of a stall beyond the fastest round trip, in nanoseconds.
    pub longest_stall_ns: u64,
    /// Length of the stalls in timeouts.
    pub stall_lengths: Stalls,
    /// Segments smaller than the largest that were sent within 1 ms of the ACK of all earlier data: Nagle's algorithm
    /// had held them back.
    pub released_by_ack: u64,
    /// ACKs that came 30 to 250 ms after the fastest round trip, with one packet in flight: delayed ACKs.
    pub delayed_acks: u64,
    /// Sum of the time that delayed ACKs took beyond the fastest round trip.
    pub delayed_ack_ns: u64,
}

impl HalfCounts {
    #[inline]
    pub(super) const fn distribution(&mut self, kind: Kind) -> &mut Samples {
        match kind {
            Kind::AckRtt => &mut self.ack_rtt,
            Kind::StampRtt => &mut self.stamp_rtt,
            Kind::PacketsInFlight => &mut self.packets_in_flight,
            Kind::BytesInFlight => &mut self.bytes_in_flight,
            Kind::PacketsPerRtt => &mut self.packets_per_rtt,
            Kind::ApplicationDelay => &mut self.application_delay,
        }
    }
}
