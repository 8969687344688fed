//! The scoreboard: all segments that are sent and not cumulatively acknowledged. For each segment it knows whether it
//! was SACKed, counts as lost, or was sent again (RFC 6675 sections 3 and 4). Sums are updated with each change, and
//! the cursors of loss detection and retransmission only move up. So the cost of an ACK depends on the number of
//! segments it changes, not on the data outstanding. Retransmission keeps segment boundaries, except in `merge`. Which
//! segment to send again is left to [`crate::recovery`].

mod delivery;
mod losses;
mod merge;
mod sacked;

use alloc::collections::VecDeque;
use delivery::Delivery;
pub use delivery::LostByTime;
use gamelane_core::{ByteCount, Instant};
use sacked::KnownBlocks;

/// Number of duplicate ACKs or SACKed segments that signal a loss: `DupThresh` (RFC 6675 section 2).
pub const DUPLICATE_THRESHOLD: u32 = 3;

/// Initial capacity in segments. It is small, because a server of thin streams has very many scoreboards.
const FIRST_SEGMENTS: usize = 4;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte (or the FIN).
    pub end: u64,
    /// Time of the last transmission.
    pub sent_at: Instant,
    /// The segment ends a write.
    pub push: bool,
    /// The segment carries the FIN, which takes the last offset.
    pub fin: bool,
    /// The receiver holds it above a hole (SACK).
    pub sacked: bool,
    /// Counts as lost.
    pub lost: bool,
    /// Sent again since it counted as lost.
    pub resent: bool,
    /// Sent more than once. Its ACK gives no RTT sample (Karn's rule).
    pub ambiguous: bool,
    /// Number of earlier segments that were sent in front of it (RDB).
    pub bundled: u8,
}

impl Sent {
    /// Sequence space of the segment.
    pub const fn sequence_len(&self) -> u64 {
        self.end - self.start
    }

    /// Payload bytes.
    pub const fn payload(&self) -> u32 {
        (self.end - self.start) as u32 - self.fin as u32
    }

    /// Number of copies in the network, for `pipe` (RFC 6675 section 4, `SetPipe`): the original unless it is lost,
    /// plus the retransmission.
    const fn copies_in_flight(&self) -> u64 {
        if self.sacked { 0 } else { !self.lost as u64 + self.resent as u64 }
    }

    const fn pipe(&self, weight: Weight) -> u64 {
        self.copies_in_flight() * weight.of(self.sequence_len())
    }
}

/// Weight of a segment in the congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Its bytes.
    #[default]
    Bytes,
    /// One MSS, regardless of its size.
    Segments {
        /// The MSS in bytes.
        mss: u64,
    },
}

impl Weight {
    /// Weight of a segment with this sequence space.
    pub const fn of(self, sequence_len: u64) -> u64 {
        match self {
            Self::Bytes => sequence_len,
            Self::Segments { mss } => mss,
        }
    }
}

/// Result of a cumulative ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Sequence space newly acknowledged, including segments that were SACKed before.
    pub bytes: ByteCount,
    /// The same in units of the congestion window (see [`Weight`]).
    pub credit: ByteCount,
    /// Send time of the oldest of these segments; `None` if any of them was sent twice.
    pub sent_at: Option<Instant>,
    /// Number of segments removed.
    pub segments: u32,
    /// [`Sent::bundled`] of the newest of these segments.
    pub bundled: u8,
}

/// The outstanding segments of one sender. See the [module](self).
#[derive(Clone, Debug)]
pub struct Scoreboard {
    segments: VecDeque<Sent>,
    una: u64,
    next: u64,
    /// Number of segments ever removed, which is the position of the front. The cursors below are positions too.
    front: u64,
    pipe: u64,
    /// All segments below are lost or SACKed.
    lost_below: u64,
    /// SACKed bytes, and runs of SACKed segments, at or above `lost_below`.
    sacked_above: u64,
    runs_above: u32,
    /// Position after the highest SACKed segment.
    sacked_below: u64,
    /// In this recovery, all segments below were sent again or need not be (RFC 6675 `HighRxt`).
    resent_below: u64,
    /// Bytes that the receiver got, in units of the congestion window, and segments that ever counted as lost.
    delivered: u64,
    lost_count: u64,
    known: KnownBlocks,
    delivery: Delivery,
    weight: Weight,
}

impl Scoreboard {
    /// An empty scoreboard; the first byte will have offset `first`.
    pub fn new(first: u64) -> Self {
        Self {
            segments: VecDeque::with_capacity(FIRST_SEGMENTS),
            una: first,
            next: first,
            front: 0,
            pipe: 0,
            lost_below: 0,
            sacked_above: 0,
            runs_above: 0,
            sacked_below: 0,
            resent_below: 0,
            delivered: 0,
            lost_count: 0,
            known: KnownBlocks::default(),
            delivery: Delivery::default(),
            weight: Weight::Bytes,
        }
    }

    /// Sets the unit of the congestion window. Call it only while nothing is outstanding.
    pub const fn weigh(&mut self, weight: Weight) {
        self.weight = weight;
    }

    /// Unit of the congestion window.
    pub const fn weight(&self) -> Weight {
        self.weight
    }

    /// First unacknowledged offset (SND.UNA).
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// Next offset to send (SND.NXT).
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// True if nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Number of outstanding segments (Linux `packets_out`).
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Outstanding bytes, FlightSize of RFC 5681, in units of the congestion window.
    pub fn outstanding(&self) -> ByteCount {
        match self.weight {
            Weight::Bytes => ByteCount(self.next - self.una),
            Weight::Segments { mss } => ByteCount(self.segments.len() as u64 * mss),
        }
    }

    /// Estimate of the bytes in the network: `pipe` of RFC 6675.
    pub const fn pipe(&self) -> ByteCount {
        ByteCount(self.pipe)
    }

    /// Bytes that the receiver got so far, in order or not, in units of the congestion window.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Number of times a segment came to count as lost so far; a timeout that counts all as lost is left out.
    pub const fn lost(&self) -> u64 {
        self.lost_count
    }

    /// The oldest outstanding segment.
    pub fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The newest outstanding segment.
    pub fn back(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// The segment at `index`, counted from the front.
    pub fn segment(&self, index: usize) -> &Sent {
        &self.segments[index]
    }

    /// Adds a segment of new data. It must start at [`Scoreboard::next`].
    pub fn push(&mut self, sent: Sent) {
        debug_assert_eq!(sent.start, self.next);
        self.next = sent.end;
        self.pipe += sent.pipe(self.weight);
        self.segments.push_back(sent);
    }

    /// Records how many earlier segments were bundled with the newest one.
    pub fn note_bundled(&mut self, count: u8) {
        if let Some(sent) = self.segments.back_mut() {
            sent.bundled = count;
        }
    }

    /// Handles a cumulative ACK with `una <= ack <= next`.
    pub fn acknowledge(&mut self, ack: u64) -> Acked {
        let bytes = ByteCount(ack - self.una);
        let mut acked = Acked { bytes, credit: bytes, ..Acked::default() };
        let first = self.front;
        let mut ambiguous = false;
        self.una = ack;
        while let Some(&sent) = self.segments.front() {
            if sent.end > ack {
                self.trim_front(ack);
                break;
            }
            ambiguous |= sent.ambiguous;
            acked.bundled = sent.bundled;
            if !sent.sacked && acked.sent_at.is_none() {
                acked.sent_at = Some(sent.sent_at);
            }
            if !sent.sacked {
                self.delivered += self.weight.of(sent.sequence_len());
            }
            self.delivery.note_acknowledged(&sent);
            self.pipe -= sent.pipe(self.weight);
            if self.lost_below == self.front {
                self.pass_lost_edge();
            }
            self.segments.pop_front();
            self.front += 1;
        }
        self.resent_below = self.resent_below.max(self.front);
        acked.segments = (self.front - first) as u32;
        if let Weight::Segments { mss } = self.weight {
            acked.credit = ByteCount(u64::from(acked.segments.max(1)) * mss);
        }
        if ambiguous {
            acked.sent_at = None;
        }
        acked
    }

    /// Starts a recovery: no segment counts as sent again in it.
    pub fn restart_resending(&mut self) {
        self.resent_below = self.front;
    }

    /// True if the receiver holds data above a hole.
    pub const fn has_sacked(&self) -> bool {
        self.sacked_below > self.front
    }

    /// True if the oldest segment counts as lost, and no copy of it is on the way.
    pub fn front_is_lost(&self) -> bool {
        self.segments.front().is_some_and(|sent| sent.lost && !sent.resent && !sent.sacked)
    }

    /// Lowest segment that is lost and not sent again: `NextSeg` rule 1 of RFC 6675. After a timeout it is the only
    /// rule.
    pub fn next_lost(&mut self) -> Option<usize> {
        self.next_to_resend(self.lost_below)
    }

    /// Lowest segment below a SACKed one that is not sent again, lost or not: `NextSeg` rule 3.
    pub fn next_below_sacked(&mut self) -> Option<usize> {
        self.next_to_resend(self.sacked_below)
    }

    /// Highest segment that is not SACKed: `NextSeg` rule 4.
    pub fn last_unsacked(&self) -> Option<usize> {
        self.segments.iter().rposition(|sent| !sent.sacked)
    }

    /// Records a retransmission. `in_order` moves the cursor past the segment; a rescue retransmission does not.
    pub fn resend(&mut self, index: usize, in_order: bool, now: Instant) -> Sent {
        let sent = &mut self.segments[index];
        self.pipe -= sent.pipe(self.weight);
        sent.resent = true;
        sent.ambiguous = true;
        sent.sent_at = now;
        self.pipe += sent.pipe(self.weight);
        if in_order {
            self.resent_below = self.resent_below.max(self.front + index as u64 + 1);
        }
        *sent
    }

    fn next_to_resend(&mut self, below: u64) -> Option<usize> {
        while self.resent_below < below {
            let index = (self.resent_below - self.front) as usize;
            let sent = &self.segments[index];
            if !sent.sacked && !sent.resent {
                return Some(index);
            }
            self.resent_below += 1;
        }
        None
    }

    /// Cuts the front segment if the ACK ends inside it.
    fn trim_front(&mut self, ack: u64) {
        let Some(sent) = self.segments.front_mut() else { return };
        if sent.start >= ack {
            return;
        }
        let before = self.weight.of(sent.sequence_len());
        sent.start = ack;
        let cut = before - self.weight.of(sent.sequence_len());
        self.pipe -= sent.copies_in_flight() * cut;
        if sent.sacked && self.lost_below == self.front {
            self.sacked_above -= cut;
        }
    }

    fn is_sacked(&self, index: usize) -> bool {
        self.segments.get(index).is_some_and(|sent| sent.sacked)
    }
}

#[cfg(test)]
mod tests;
