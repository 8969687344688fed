//! Redundant data bundling (RDB; Evensen, Petlund, Griwodz and Halvorsen 2008, and the 2016 RDB patch for Linux). A new
//! segment of a thin stream repeats unacknowledged data in front, as far as one segment has room. So the next segment
//! repairs a loss, before any retransmission.
//!
//! Such a loss would not slow the sender down. Therefore the sender detects it from the ACKs and reduces its window.
//! The receiver needs no change. The byte limit of the patch is left out.

use super::{Outgoing, Sender};
use crate::config::Bundling;
use crate::congestion::CongestionControl;
use crate::observe::TcpCounters;
use crate::recovery::Phase;
use crate::scoreboard::Acked;
use gamelane_core::{ByteCount, Duration, Instant};

impl Sender {
    /// Extends the newest segment, about to be sent as `outgoing`, with earlier data in front.
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

    /// Checks the patch's dynamic limit on the segments in flight.
    fn may_bundle(&self, rules: &Bundling, in_flight: usize) -> bool {
        let round_trip = self.timeout.srtt().map_or(0, Duration::as_nanos);
        (in_flight as u64) < round_trip / rules.shortest_interval.as_nanos().max(1)
    }

    /// Detects losses that bundles repaired. The receiver acknowledges a bundle at once, because its front is old data.
    /// If that ACK covers segments before the newest one, those segments were lost and arrived in the bundle. The
    /// window is reduced once per window of data.
    pub(super) fn detect_hidden_loss(&mut self, acked: &Acked, counters: &mut TcpCounters, now: Instant) {
        let lost = u32::from(acked.bundled).min(acked.segments.saturating_sub(1));
        // A retransmission was involved, so recovery has already handled the loss.
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
