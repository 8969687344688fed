//! The segments sent and not yet cumulatively acknowledged, with what is known of each: selectively acknowledged, taken
//! for lost, sent again (RFC 6675 sections 3 and 4). Every sum is kept as it changes, and the two cursors (how far loss
//! detection and retransmission have come) only move up, so that an ACK costs what it changes and not what is outstanding.
//! Segments keep their boundaries when resent, unless `merge` is asked to join them. Which one to resend is [`crate::recovery`]'s affair.

mod delivery;
mod losses;
mod merge;
mod sacked;

use alloc::collections::VecDeque;
use delivery::Delivery;
use gamelane_core::{ByteCount, Instant};
use sacked::KnownBlocks;

/// RFC 6675 section 2: `DupThresh`.
pub const DUPLICATE_THRESHOLD: u32 = 3;

/// Room made at the start: little, since a server of thin streams has very many of these.
const FIRST_SEGMENTS: usize = 4;

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First offset.
    pub start: u64,
    /// Offset after its last byte (or FIN).
    pub end: u64,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Ends a write.
    pub push: bool,
    /// Carries the FIN, which takes the last offset.
    pub fin: bool,
    /// The receiver holds it above a hole.
    pub sacked: bool,
    /// Taken for lost.
    pub lost: bool,
    /// Sent again since it was taken for lost.
    pub resent: bool,
    /// Sent more than once in its life: its ACK says nothing about the round trip (Karn).
    pub ambiguous: bool,
    /// It went out with so many earlier segments in front (RDB).
    pub bundled: u8,
}

impl Sent {
    /// Sequence space it takes.
    pub const fn sequence_len(&self) -> u64 {
        self.end - self.start
    }

    /// Payload bytes.
    pub const fn payload(&self) -> u32 {
        (self.end - self.start) as u32 - self.fin as u32
    }

    /// How often each of its bytes counts in `pipe` (RFC 6675 section 4, `SetPipe`): the original unless it is lost,
    /// and the retransmission.
    const fn copies_in_flight(&self) -> u64 {
        if self.sacked { 0 } else { !self.lost as u64 + self.resent as u64 }
    }

    const fn pipe(&self, weight: Weight) -> u64 {
        self.copies_in_flight() * weight.of(self.sequence_len())
    }
}

/// What a segment counts against the congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Its bytes.
    #[default]
    Bytes,
    /// A full size, however small it is.
    Segments {
        /// A full size.
        mss: u64,
    },
}

impl Weight {
    /// Of a segment with this much sequence space.
    pub const fn of(self, sequence_len: u64) -> u64 {
        match self {
            Self::Bytes => sequence_len,
            Self::Segments { mss } => mss,
        }
    }
}

/// What a cumulative ACK removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Sequence space newly acknowledged and not selectively acknowledged before, plus what was: all of it.
    pub bytes: ByteCount,
    /// What that is worth to the congestion window: the same, or a full size for each segment.
    pub credit: ByteCount,
    /// When the oldest of it was sent, if nothing in it was sent twice.
    pub sent_at: Option<Instant>,
    /// Segments removed.
    pub segments: u32,
    /// [`Sent::bundled`] of the newest of them.
    pub bundled: u8,
}

/// The sender's memory of what is outstanding.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    segments: VecDeque<Sent>,
    una: u64,
    next: u64,
    /// Segments ever removed: position of the front. The cursors below are positions too.
    front: u64,
    pipe: u64,
    /// Everything below that is not sacked is lost.
    lost_below: u64,
    /// Sacked bytes, and runs of sacked segments, at or above `lost_below`.
    sacked_above: u64,
    runs_above: u32,
    /// Position after the highest sacked segment.
    sacked_below: u64,
    /// Everything below was resent or needs no resending in this recovery (RFC 6675 `HighRxt`).
    resent_below: u64,
    known: KnownBlocks,
    delivery: Delivery,
    weight: Weight,
}

impl Scoreboard {
    /// Empty; the first byte will have this offset.
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
            known: KnownBlocks::default(),
            delivery: Delivery::default(),
            weight: Weight::Bytes,
        }
    }

    /// From now on, while nothing is outstanding, the congestion window counts like this.
    pub const fn weigh(&mut self, weight: Weight) {
        self.weight = weight;
    }

    /// How the congestion window counts.
    pub const fn weight(&self) -> Weight {
        self.weight
    }

    /// First offset not acknowledged.
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// Next offset to send.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// True if nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments sent and not cumulatively acknowledged: Linux's `packets_out`.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// What was sent and not cumulatively acknowledged: RFC 5681's FlightSize.
    pub fn outstanding(&self) -> ByteCount {
        match self.weight {
            Weight::Bytes => ByteCount(self.next - self.una),
            Weight::Segments { mss } => ByteCount(self.segments.len() as u64 * mss),
        }
    }

    /// What is believed to be in the network: RFC 6675's `pipe`.
    pub const fn pipe(&self) -> ByteCount {
        ByteCount(self.pipe)
    }

    /// The oldest outstanding segment.
    pub fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The newest outstanding segment.
    pub fn back(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// The segment at `index` from the front.
    pub fn segment(&self, index: usize) -> &Sent {
        &self.segments[index]
    }

    /// Records new data; it must start at [`Scoreboard::next`].
    pub fn push(&mut self, sent: Sent) {
        debug_assert_eq!(sent.start, self.next);
        self.next = sent.end;
        self.pipe += sent.pipe(self.weight);
        self.segments.push_back(sent);
    }

    /// The newest segment went out with so many earlier ones in front.
    pub fn note_bundled(&mut self, count: u8) {
        if let Some(sent) = self.segments.back_mut() {
            sent.bundled = count;
        }
    }

    /// Takes a cumulative ACK, `una <= ack <= next`.
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

    /// A recovery begins: nothing has been resent in it.
    pub fn restart_resending(&mut self) {
        self.resent_below = self.front;
    }

    /// True if the receiver holds something above a hole.
    pub const fn has_sacked(&self) -> bool {
        self.sacked_below > self.front
    }

    /// True if the oldest segment is taken for lost.
    pub fn front_is_lost(&self) -> bool {
        self.segments.front().is_some_and(|sent| sent.lost && !sent.sacked)
    }

    /// Lowest segment that is lost and not resent: RFC 6675 `NextSeg` rule 1, and all there is after a timeout.
    pub fn next_lost(&mut self) -> Option<usize> {
        self.next_to_resend(self.lost_below)
    }

    /// Lowest segment below a sacked one that is not resent, lost or not: `NextSeg` rule 3.
    pub fn next_below_sacked(&mut self) -> Option<usize> {
        self.next_to_resend(self.sacked_below)
    }

    /// Highest segment not sacked: `NextSeg` rule 4.
    pub fn last_unsacked(&self) -> Option<usize> {
        self.segments.iter().rposition(|sent| !sent.sacked)
    }

    /// Records that the segment was sent again. `in_order` moves the cursor past it; a rescue does not.
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

    /// The ACK ends inside the front segment.
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
