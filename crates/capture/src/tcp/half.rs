//! One direction of a TCP connection: the data that its sender sent, and what the other side acknowledged. It rebuilds
//! the sender's view from the packets at one capture point. The distance between that point and the sender matters, so
//! it is measured too. Rows and reports are left to the connection.

mod acknowledgement;
mod judgement;

use std::collections::VecDeque;

use gamelane_core::Instant;
use gamelane_tcp::accounting::{PacketHistory, RetransmissionLedger, RetransmissionTotals};

use super::cause::{Cause, Habits};
use super::counts::HalfCounts;
use super::reaction::Reaction;
use super::repairs::Repairs;
use super::sequence::Sequence;
use super::staged::{Kind, Staged};
use super::stamps::Stamps;
use super::stream::{Revealed, Stream};
use super::timer::SenderTimer;
use crate::packet::{CapturedPacket, TcpFields};
use acknowledgement::Sign;

/// State of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// Results, which become those of the report as they are.
    pub(crate) counts: Box<HalfCounts>,
    staged: Staged,
    pub(crate) sequence: Option<Sequence>,
    stream: Stream,
    ledger: RetransmissionLedger,
    /// Number of packets in the ledger.
    in_flight: u64,
    /// Packets removed from the ledger without an acknowledgement, to bound memory.
    pub(crate) unacknowledged: u64,
    timer: SenderTimer,
    reaction: Reaction,
    /// Time of the last packet with data.
    last_sent_ns: Option<u64>,
    last_ack_ns: Option<u64>,
    /// Time of the last ACK with news for the sender.
    last_news_ns: Option<u64>,
    last_advance_ns: Option<u64>,
    /// Current signs of loss.
    sign: Option<Sign>,
    /// Cause of the current recovery, and the offset whose acknowledgement ends it.
    episode: Option<(Cause, u64)>,
    last_timed: Option<(u64, u64, u64)>,
    /// End of a possible probe. No other probe follows until more than this offset is acknowledged.
    probed_to: Option<u64>,
    pub(crate) habits: Habits,
    /// SACK is used, as far as is known.
    pub(crate) sack: bool,
    repairs: Repairs,
    recent: VecDeque<u64>,
    stamps: Stamps,
    pub(crate) syn: Option<(u64, u32)>,
    fin: Option<u64>,
    window_scale: u8,
    zero_since_ns: Option<u64>,
    least_rtt_ns: u64,
    /// Fastest ACK of data.
    fastest_ack_ns: Option<u64>,
    largest_payload: u32,
    /// Number of segments smaller than the largest.
    small: u64,
    /// Those of them that were sent while others were in flight.
    small_behind_others: u64,
    /// Those of them that were sent as soon as all earlier data was acknowledged: the sender follows Nagle's algorithm.
    small_released: u64,
    /// End of new data that was sent when a probe was due.
    probe: Option<u64>,
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// New data, or no data.
    New,
    /// Data that was sent before.
    Again { start: u64, cause: Cause, nth: u16, since_first_ns: u64 },
    /// A segment that has nothing to do with loss: RST, keep-alive, window probe, reordered packet.
    Control,
}

impl Default for Half {
    fn default() -> Self {
        Self {
            counts: Box::default(),
            staged: Staged::default(),
            sequence: None,
            stream: Stream::default(),
            ledger: RetransmissionLedger::new(1),
            in_flight: 0,
            unacknowledged: 0,
            timer: SenderTimer::default(),
            reaction: Reaction::default(),
            last_sent_ns: None,
            last_ack_ns: None,
            last_news_ns: None,
            last_advance_ns: None,
            sign: None,
            episode: None,
            last_timed: None,
            probed_to: None,
            habits: Habits::default(),
            sack: true,
            repairs: Repairs::default(),
            recent: VecDeque::new(),
            stamps: Stamps::default(),
            syn: None,
            fin: None,
            window_scale: 0,
            zero_since_ns: None,
            least_rtt_ns: u64::MAX,
            fastest_ack_ns: None,
            largest_payload: 0,
            small: 0,
            small_behind_others: 0,
            small_released: 0,
            probe: None,
        }
    }
}

impl Half {
    /// Handles a packet of this direction. `near_ns` is the round trip between its sender and the capture point.
    pub(crate) fn sent(
        &mut self,
        packet: &CapturedPacket,
        tcp: &TcpFields,
        at_ns: u64,
        near_ns: u64,
    ) -> Sent {
        let sequence = self.sequence.get_or_insert_with(|| match tcp.flags.syn {
            true => Sequence::after_syn(tcp.sequence),
            false => Sequence::from_within(tcp.sequence),
        });
        let Some(offset) = sequence.sent(tcp.sequence) else { return Sent::Control };
        if tcp.flags.syn {
            self.handshake(tcp, at_ns);
        }
        if tcp.flags.rst {
            return Sent::Control;
        }
        if tcp.flags.fin {
            let again = self.fin.is_some();
            self.counts.control_retransmissions += u64::from(again && packet.payload_len == 0);
            self.fin.get_or_insert(at_ns);
        }
        if let Some((stamp, _)) = tcp.timestamps {
            self.stamps.sent(stamp, at_ns);
        }
        if packet.payload_len == 0 {
            if !tcp.flags.syn {
                return self.without_data(packet, tcp, offset, at_ns);
            }
            return Sent::New;
        }
        let start = offset + u64::from(tcp.flags.syn);
        self.data(packet, tcp, start, at_ns, near_ns)
    }

    /// Handles a packet without data and SYN at stream offset `offset`. One below the next byte it asks for an answer
    /// (Linux `tcp_xmit_probe_skb`).
    fn without_data(&mut self, packet: &CapturedPacket, tcp: &TcpFields, offset: u64, at_ns: u64) -> Sent {
        let next = self.stream.end().max(1);
        if offset + 1 == next && !tcp.flags.fin && self.ledger.acknowledged_to() >= next {
            self.count_probe();
            return Sent::Control;
        }
        // The FIN has a number too.
        if self.fin.is_none() {
            let (identification, stamp) = (packet.identification, tcp.timestamps.map(|(value, _)| value));
            self.stream.reached(offset, Revealed { at_ns, identification, stamp });
        }
        Sent::New
    }

    /// True if ACKs have told the sender of a loss.
    pub(crate) const fn knows_loss(&self) -> bool {
        self.sign.is_some() || self.episode.is_some()
    }

    /// True if all these bytes are in flight, and in other segments. In the same segment they are in flight too if they
    /// passed just now, or if the time stamp is older than the newest; a retransmission has the newest.
    pub(crate) fn is_regrouped(&self, tcp: &TcpFields, len: u32, at_ns: u64) -> bool {
        let Some(start) = self.sequence.and_then(|sequence| sequence.offset(tcp.sequence)) else {
            return false;
        };
        let end = start + u64::from(len);
        if start < self.ledger.acknowledged_to() || end > self.stream.end() {
            return false;
        }
        match self.covering(start) {
            Some(packet) if packet.start == start && packet.end == end => {
                let is_older = tcp.timestamps.is_some_and(|(stamp, _)| self.stamps.is_older(stamp));
                is_older || at_ns.saturating_sub(packet.last_sent.as_nanos()) <= JUST_NOW_NS
            }
            known => known.is_some(),
        }
    }

    /// Counts a packet that only asks for an answer.
    const fn count_probe(&mut self) {
        if self.zero_since_ns.is_some() {
            self.counts.window_probes += 1;
        } else {
            self.counts.keep_alives += 1;
        }
    }

    fn data(
        &mut self,
        packet: &CapturedPacket,
        tcp: &TcpFields,
        start: u64,
        at_ns: u64,
        near_ns: u64,
    ) -> Sent {
        let (len, before) = (packet.payload_len, self.stream.end());
        let end = start + u64::from(len);
        self.counts.data_packets += 1;
        if before == 0 {
            self.ledger.restart(start);
        } else if len == 1 && end == before && self.ledger.acknowledged_to() >= before {
            self.count_probe();
            return Sent::Control;
        } else if len == 1 && self.zero_since_ns.is_some() {
            self.counts.window_probes += 1;
            return Sent::Control;
        }
        let stamp = tcp.timestamps.map(|(value, _)| value);
        self.learn_reaction(at_ns);
        let revealed = Revealed { at_ns, identification: packet.identification, stamp };
        let again = start < before;
        let circumstances = again.then(|| self.circumstances(start, end, at_ns, near_ns));
        let brought = self.stream.saw(start, len, revealed);
        self.counts.new_bytes += u64::from(brought.new);
        self.counts.repeated_bytes += u64::from(brought.repeated);
        let known =
            again.then(|| self.covering(start).map(|known| (known.first_sent, known.retransmissions)));
        let first_sent = known.flatten();
        let packets = self.counts.totals.packets;
        self.ledger.sent(Instant::from_nanos(at_ns), start, len, &mut self.counts.totals);
        if self.in_flight == 0 {
            self.timer.sent_first(at_ns);
        }
        self.in_flight += self.counts.totals.packets - packets;
        let result = match circumstances {
            None => self.new_data(len, self.stream.missing_before(start), at_ns, near_ns),
            Some(_) if brought.hole.is_some_and(|hole| overtaken(&hole, &revealed)) => {
                self.counts.reordered += 1;
                Sent::Control
            }
            Some(circumstances) => {
                self.counts.resent += 1;
                let missed = brought.hole.filter(|_| brought.filled > 0);
                if let Some(hole) = missed {
                    self.counts.lost_before += 1;
                    self.counts.missing_delay.push(at_ns.saturating_sub(hole.at_ns));
                }
                let since_first_ns = match (missed, first_sent) {
                    (Some(hole), _) => at_ns.saturating_sub(hole.at_ns),
                    (None, Some((first, _))) => at_ns.saturating_sub(first.as_nanos()),
                    (None, None) => 0,
                };
                let nth = match (missed, first_sent) {
                    (None, Some((_, before))) if brought.new == 0 => before.saturating_add(1),
                    _ => 0,
                };
                let cause = self.repaired(start, end, at_ns, &circumstances);
                Sent::Again { start, cause, nth, since_first_ns }
            }
        };
        self.last_sent_ns = Some(at_ns);
        self.bound();
        self.staged.bound(&mut self.counts);
        result
    }

    /// Handles new data. `missed` bytes before it did not pass the capture point.
    fn new_data(&mut self, len: u32, missed: u64, at_ns: u64, near_ns: u64) -> Sent {
        let in_flight = self.in_flight;
        self.stage(Kind::PacketsInFlight, in_flight);
        self.stage(Kind::BytesInFlight, self.stream.end() - self.ledger.acknowledged_to());
        if let Some(srtt) = self.timer.srtt() {
            let from = at_ns.saturating_sub(srtt.as_nanos());
            while self.recent.front().is_some_and(|&sent| sent <= from) {
                self.recent.pop_front();
            }
            if self.recent.len() < MAX_RECENT {
                self.recent.push_back(at_ns);
            }
            self.stage(Kind::PacketsPerRtt, self.recent.len() as u64);
        }
        self.look_for_probe(len, missed, at_ns, near_ns);
        let prompt = self.last_advance_ns.is_some_and(|at| at_ns.saturating_sub(at) < RELEASE_NS);
        let after = self.last_sent_ns.is_some_and(|sent| self.last_advance_ns.is_some_and(|ack| sent < ack));
        if in_flight == 1 && prompt && after && len < self.largest_payload {
            self.counts.released_by_ack += 1;
        }
        self.largest_payload = self.largest_payload.max(len);
        Sent::New
    }

    #[inline]
    fn stage(&mut self, kind: Kind, value: u64) {
        self.staged.push(kind, value);
    }

    /// Completes the counters, after the last packet.
    pub(crate) fn settle(&mut self) {
        self.staged.settle(&mut self.counts);
    }

    /// Ends this direction and begins again for another connection. The memory of the lists is kept, as far as most
    /// connections need it.
    pub(crate) fn renew(&mut self) -> Self {
        self.settle();
        let mut ended = std::mem::take(self);
        if ended.ledger.capacity() <= SPARE {
            std::mem::swap(&mut self.ledger, &mut ended.ledger);
            self.ledger.restart(1);
        }
        if ended.recent.capacity() <= SPARE {
            std::mem::swap(&mut self.recent, &mut ended.recent);
            self.recent.clear();
        }
        std::mem::swap(&mut self.stamps, &mut ended.stamps);
        self.stamps.clear();
        std::mem::swap(&mut self.staged, &mut ended.staged);
        ended
    }

    /// Learns the sender's reaction time from the first data after an ACK.
    fn learn_reaction(&mut self, at_ns: u64) {
        if let Some(ack) = self.last_ack_ns
            && self.last_sent_ns.is_some_and(|sent| sent < ack)
        {
            self.reaction.saw(at_ns.saturating_sub(ack));
        }
    }

    /// Returns the oldest packet in flight with bytes at or above `start`.
    fn covering(&self, start: u64) -> Option<&PacketHistory> {
        self.ledger.outstanding().find(|known| known.end > start)
    }

    fn handshake(&mut self, tcp: &TcpFields, at_ns: u64) {
        match &mut self.syn {
            Some((_, times)) => {
                *times += 1;
                self.counts.control_retransmissions += 1;
            }
            None => self.syn = Some((at_ns, 1)),
        }
        self.window_scale = tcp.window_scale.unwrap_or(0).min(14);
    }

    /// Window in bytes that the sender of this direction offers to the other side.
    pub(crate) fn offers(&mut self, tcp: &TcpFields, scaled: bool) -> u64 {
        let shift = if tcp.flags.syn || !scaled { 0 } else { self.window_scale };
        u64::from(tcp.window) << shift
    }

    /// Handles a window offered by the receiver of this direction.
    pub(crate) fn offered(&mut self, window: u64, at_ns: u64) {
        match (window, self.zero_since_ns) {
            (0, None) => {
                self.zero_since_ns = Some(at_ns);
                self.counts.zero_windows += 1;
            }
            (1.., Some(since)) => {
                self.counts.zero_window_ns += at_ns.saturating_sub(since);
                self.zero_since_ns = None;
            }
            _ => {}
        }
    }

    /// Round trip of the handshake when the SYN is answered, if the SYN was sent once. The sender's timer starts with it
    /// (Linux `tcp_synack_rtt_meas`).
    pub(crate) fn handshake_round_trip(&mut self, at_ns: u64) -> Option<u64> {
        let rtt = self.syn.filter(|&(_, times)| times == 1).map(|(sent, _)| at_ns.saturating_sub(sent))?;
        self.least_rtt_ns = self.least_rtt_ns.min(rtt);
        if self.timer.srtt().is_none() {
            self.timer.measured(rtt, 1, 1);
        }
        Some(rtt)
    }

    /// Smallest round trip between the capture point and the receiver of this direction. Larger ones may include
    /// delayed ACKs.
    pub(crate) const fn far_ns(&self) -> u64 {
        if self.least_rtt_ns == u64::MAX { 0 } else { self.least_rtt_ns }
    }

    /// Number of packets without an acknowledgement in the capture, and of bytes never seen.
    pub(crate) fn left_open(&self) -> (u64, u64) {
        (self.unacknowledged + self.in_flight, self.stream.missing())
    }

    /// Drops the older half of the packets in flight if there are too many. This bounds memory for captures without
    /// ACKs.
    fn bound(&mut self) {
        let limit = if self.last_ack_ns.is_none() { MAX_UNSEEN } else { MAX_OUTSTANDING };
        if self.in_flight <= limit {
            return;
        }
        let middle = self.ledger.outstanding().nth(limit as usize / 2).map_or(0, |packet| packet.end);
        let mut aside = RetransmissionTotals::default();
        let mut gone = 0;
        self.ledger.acknowledged(Instant::MAX, middle, &mut aside, |_| gone += 1);
        self.unacknowledged += gone;
        self.in_flight -= gone;
    }
}

/// True if the packet that fills a gap was sent before the packet that showed it. Timestamps tell, or else IP
/// identifications if the sender counts them up.
fn overtaken(shown: &Revealed, filler: &Revealed) -> bool {
    if let (Some(after), Some(stamp)) = (shown.stamp, filler.stamp)
        && after != stamp
    {
        return (stamp.wrapping_sub(after) as i32) < 0;
    }
    let step = shown.identification.wrapping_sub(filler.identification) as i16;
    shown.identification != 0 && filler.identification != 0 && step > 0 && step < 64
}

/// Time in which no sender repeats data.
const JUST_NOW_NS: u64 = 5_000_000;
const MAX_RECENT: usize = 1024;
/// Maximum length of a list whose memory is used again.
const SPARE: usize = 64;
/// Maximum number of packets in flight: about 64 MiB.
const MAX_OUTSTANDING: u64 = 46_000;
/// Maximum number of packets in flight while no ACK has been seen.
const MAX_UNSEEN: u64 = 1_024;
/// Maximum time from an ACK to a segment that it released.
const RELEASE_NS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_that_only_acknowledges_keeps_few_values() {
        let mut half = Half::default();
        for n in 1..5000 {
            half.stamps.sent(n, u64::from(n) * 1_000_000);
            assert_eq!(half.echoed(n, u64::from(n) * 1_000_000 + 500), Some(500));
            assert!(half.staged.len() < 256);
        }
        half.settle();
        assert_eq!(half.counts.stamp_rtt.count(), 4999);
    }
}
