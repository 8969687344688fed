//! What is counted of one direction's data.

use super::stall::Stalls;
use crate::samples::Samples;

/// What is counted of one direction's data.
#[derive(Clone, Debug, Default)]
pub struct HalfCounts {
    /// Packets with data.
    pub data_packets: u64,
    /// Bytes of data sent for the first time.
    pub new_bytes: u64,
    /// Data packets that begin below the highest byte sent before.
    pub resent: u64,
    /// Their bytes that had been seen before.
    pub repeated_bytes: u64,
    /// Resent packets with bytes the capture point had missed: lost before it, on the way from the sender.
    pub lost_before: u64,
    /// Packets overtaken before the capture point: they fill a gap and were sent before what showed it.
    pub reordered: u64,
    /// Retransmissions by [`Cause::index`], those overtaken, probes of a closed window and keep-alives left out.
    pub causes: [u64; 5],
    /// Of those, the ones the receiver reported to have had already (DSACK, RFC 2883).
    pub spurious: [u64; 5],
    /// Keep-alives (RFC 9293 section 3.8.4).
    pub keep_alives: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// ACKs of data that the capture does not have.
    pub acknowledged_unseen: u64,
    /// ACKs that advanced nothing and told of data out of order.
    pub duplicate_acks: u64,
    /// SYNs and FINs sent again.
    pub control_retransmissions: u64,
    /// Times the receiver closed its window.
    pub zero_windows: u64,
    /// How long it was closed.
    pub zero_window_ns: u64,
    /// Round trips from this direction's data to its acknowledgement.
    pub ack_rtt: Samples,
    /// Round trips from time stamps to their echoes.
    pub stamp_rtt: Samples,
    /// Packets not yet acknowledged, after each new one.
    pub packets_in_flight: Samples,
    /// Bytes not yet acknowledged, likewise.
    pub bytes_in_flight: Samples,
    /// Data packets sent within the smoothed round trip before each one, itself included.
    pub packets_per_rtt: Samples,
    /// From the first transmission of a packet to its acknowledgement.
    pub application_delay: Samples,
    /// The same of packets that were retransmitted.
    pub retransmitted_delay: Samples,
    /// From when data was missed to when it came, where it was lost before the capture point.
    pub missing_delay: Samples,
    /// Lag by the cause that made it: what acknowledged packets took beyond the median round trip.
    pub lag_ns: [u64; 5],
    /// Packets that were late for a retransmission in front of them, not their own.
    pub held_up: u64,
    /// Packets of which a timed retransmission brought the data.
    pub stalls: u64,
    /// Of those, by the retransmissions it took: one, two, three, more. Each wait is one, three, seven timeouts long.
    pub stalls_by_tries: [u64; 4],
    /// The longest such wait.
    pub longest_stall_ns: u64,
    /// How long these waits were in timeouts.
    pub stall_lengths: Stalls,
    /// Segments smaller than the largest, sent within a millisecond of the ACK of all before them while more waited:
    /// what Nagle's algorithm held back.
    pub released_by_ack: u64,
    /// Acknowledgements later than the fastest by 30 ms to 250 ms, with one packet in flight: a receiver that waits.
    pub delayed_acks: u64,
    /// What those waited beyond the fastest round trip.
    pub delayed_ack_ns: u64,
}

impl HalfCounts {
    /// All is counted: quantiles are asked for next.
    pub(crate) fn settle(&mut self) {
        let all = [
            &mut self.ack_rtt,
            &mut self.stamp_rtt,
            &mut self.packets_in_flight,
            &mut self.bytes_in_flight,
            &mut self.packets_per_rtt,
            &mut self.application_delay,
            &mut self.retransmitted_delay,
            &mut self.missing_delay,
            &mut self.stall_lengths.hundredths,
        ];
        all.into_iter().for_each(Samples::settle);
    }
}
