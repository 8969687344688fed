//! Redundant data bundling (RDB; Evensen, Petlund, Griwodz and Halvorsen 2008; the 2016 Linux patch, reference/tcp.md section 3): a
//! new segment of a thin stream repeats, in front, what is not yet acknowledged, as far as one segment has room. A lost segment
//! is then repaired by the next one, a round trip early and without anyone noticing, so the sender looks for such losses in the
//! ACKs and reduces its window all the same. The receiver needs nothing. Leaves out the patch's limit in bytes.

use super::{Outgoing, Sender};
use crate::congestion::CongestionControl;
use crate::observe::TcpCounters;
use crate::recovery::Phase;
use crate::scoreboard::Acked;
use gamelane_core::{ByteCount, Duration, Instant};

/// How much to bundle, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundling {
    /// Earlier segments repeated at most (patch: `tcp_rdb_max_packets`, 1; here as many as fit unless set).
    pub segments: u8,
    /// A stream is thin while fewer segments are in flight than round trip over this: the shortest time between two
    /// segments of a stream that may bundle (patch: `tcp_thin_dpifl_itt_lower_bound`, 10 ms).
    pub shortest_interval: Duration,
}

impl Default for Bundling {
    fn default() -> Self {
        Self { segments: u8::MAX, shortest_interval: Duration::from_millis(10) }
    }
}

impl Sender {
    /// The newest segment is about to leave as `outgoing`: widens it to the front.
    pub(super) fn bundle(&mut self, rules: &Bundling, outgoing: &mut Outgoing, counters: &mut TcpCounters) {
        let newest = self.board.len() - 1;
        if outgoing.len == 0 || self.recovery.phase() != Phase::Open || !self.may_bundle(rules, newest) {
            return;
        }
        let mut payload = u64::from(outgoing.len);
        let mut count = 0;
        while count < usize::from(rules.segments).min(newest) {
            let earlier = self.board.segment(newest - count - 1);
            if payload + u64::from(earlier.payload()) > self.mss {
                break;
            }
            payload += u64::from(earlier.payload());
            outgoing.seq = earlier.start;
            count += 1;
        }
        counters.bundled_bytes += ByteCount(payload - u64::from(outgoing.len));
        outgoing.len = payload as u32;
        self.board.note_bundled(count as u8);
    }

    /// Dynamic limit on the segments in flight.
    fn may_bundle(&self, rules: &Bundling, in_flight: usize) -> bool {
        let round_trip = self.timeout.srtt().map_or(0, Duration::as_nanos);
        (in_flight as u64) < round_trip / rules.shortest_interval.as_nanos().max(1)
    }

    /// A bundle is acknowledged at once, as its front is old to the receiver: if an ACK covers more than the bundle itself, the
    /// segments before it in the ACK were lost and arrived in it. One reduction a window of data.
    pub(super) fn detect_hidden_loss(&mut self, acked: &Acked, counters: &mut TcpCounters, now: Instant) {
        let lost = u32::from(acked.bundled).min(acked.segments.saturating_sub(1));
        // Retransmissions were accounted for already.
        if lost == 0 || acked.sent_at.is_none() {
            return;
        }
        counters.hidden_losses += u64::from(lost);
        if self.recovery.phase() == Phase::Open && self.board.una() > self.ecn.point {
            let flight = self.board.outstanding() + acked.credit;
            self.congestion.on_congestion(flight.min(self.congestion.cwnd()), now);
            self.on_reduced();
        }
    }
}
