//! One direction of a TCP connection: the data its sender sent and what the other side acknowledged of it. The sender's view
//! is rebuilt from packets that passed one point; how far that point is from the sender matters, and is measured too.

use std::collections::VecDeque;

use gamelane_core::{Duration, Instant};
use gamelane_tcp::TimerKind;
use gamelane_tcp::accounting::{PacketHistory, RetransmissionLedger, RetransmissionTotals};
use gamelane_tcp::timer::RetransmissionTimeout;

use super::cause::{Cause, Circumstances, Habits};
use super::sequence::Sequence;
use super::stall::Stalls;
use super::stream::{Revealed, Stream};
use crate::analysis::samples::Samples;
use crate::packet::{CapturedPacket, TcpFields};

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

/// One direction.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    pub(crate) counts: HalfCounts,
    pub(crate) totals: RetransmissionTotals,
    pub(crate) sequence: Option<Sequence>,
    stream: Stream,
    ledger: RetransmissionLedger,
    /// Packets in the ledger.
    in_flight: u64,
    /// Packets that the ledger gave up for want of acknowledgements.
    pub(crate) unacknowledged: u64,
    timeout: RetransmissionTimeout,
    /// When anything with data was last sent.
    last_sent_ns: Option<u64>,
    /// When all that was sent had last been acknowledged by an ACK.
    last_ack_ns: Option<u64>,
    last_advance_ns: Option<u64>,
    /// Signs of a loss.
    sign: Option<Sign>,
    /// The loss being repaired, until this offset is acknowledged.
    episode: Option<(Cause, u64)>,
    timeouts_in_row: u32,
    last_timed: Option<(u64, u64, u64)>,
    pub(crate) habits: Habits,
    /// Retransmissions not yet acknowledged, or just so.
    repairs: VecDeque<Repair>,
    recent: VecDeque<u64>,
    stamps: VecDeque<(u32, u64)>,
    newest_stamp: Option<u32>,
    pub(crate) syn: Option<(u64, u32)>,
    fin: Option<u64>,
    window_scale: u8,
    zero_since_ns: Option<u64>,
    least_rtt_ns: u64,
    largest_payload: u32,
    /// Segments smaller than the largest, and those of them sent with others in flight.
    small: u64,
    small_behind_others: u64,
    /// New data that came when a probe was due: until where it goes.
    probe: Option<u64>,
}

/// What ACKs told of data that arrived out of order.
#[derive(Clone, Copy, Debug)]
struct Sign {
    first_ns: u64,
    last_ns: u64,
    /// The highest byte that arrived.
    above: u64,
}

#[derive(Clone, Copy, Debug)]
struct Repair {
    start: u64,
    end: u64,
    cause: Cause,
    spurious: bool,
}

/// What a data packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// New data, or none.
    New,
    /// Data sent before.
    Again { start: u64, cause: Cause, nth: u16, since_first_ns: u64 },
    /// Something no loss was behind.
    Control,
}

impl Default for Half {
    fn default() -> Self {
        Self {
            counts: HalfCounts::default(),
            totals: RetransmissionTotals::default(),
            sequence: None,
            stream: Stream::default(),
            ledger: RetransmissionLedger::new(1),
            in_flight: 0,
            unacknowledged: 0,
            timeout: RetransmissionTimeout::new(TimerKind::Linux),
            last_sent_ns: None,
            last_ack_ns: None,
            last_advance_ns: None,
            sign: None,
            episode: None,
            timeouts_in_row: 0,
            last_timed: None,
            habits: Habits::default(),
            repairs: VecDeque::new(),
            recent: VecDeque::new(),
            stamps: VecDeque::new(),
            newest_stamp: None,
            syn: None,
            fin: None,
            window_scale: 0,
            zero_since_ns: None,
            least_rtt_ns: u64::MAX,
            largest_payload: 0,
            small: 0,
            small_behind_others: 0,
            probe: None,
        }
    }
}

impl Half {
    /// A packet of this direction passed; `near_ns` is the round trip between its sender and the capture point.
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
            self.stamped(stamp, at_ns);
        }
        if packet.payload_len == 0 {
            if !tcp.flags.syn {
                let (identification, stamp) = (packet.identification, tcp.timestamps.map(|(value, _)| value));
                self.stream.reached(offset, Revealed { at_ns, identification, stamp });
            }
            return Sent::New;
        }
        let start = offset + u64::from(tcp.flags.syn);
        self.data(packet, tcp, start, at_ns, near_ns)
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
            self.ledger = RetransmissionLedger::new(start);
        } else if len == 1 && end == before && self.ledger.acknowledged_to() >= before {
            self.counts.keep_alives += 1;
            return Sent::Control;
        } else if len == 1 && self.zero_since_ns.is_some() {
            self.counts.window_probes += 1;
            return Sent::Control;
        }
        let stamp = tcp.timestamps.map(|(value, _)| value);
        let revealed = Revealed { at_ns, identification: packet.identification, stamp };
        let again = start < before;
        let circumstances = again.then(|| self.circumstances(start, end, at_ns, near_ns));
        let brought = self.stream.saw(start, len, revealed);
        self.counts.new_bytes += u64::from(brought.new);
        self.counts.repeated_bytes += u64::from(brought.repeated);
        let known =
            again.then(|| self.covering(start).map(|known| (known.first_sent, known.retransmissions)));
        let first_sent = known.flatten();
        let packets = self.totals.packets;
        self.ledger.sent(Instant::from_nanos(at_ns), start, len, &mut self.totals);
        self.in_flight += self.totals.packets - packets;
        let result = match circumstances {
            None => self.new_data(len, at_ns),
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
        result
    }

    fn new_data(&mut self, len: u32, at_ns: u64) -> Sent {
        let in_flight = self.in_flight;
        self.counts.packets_in_flight.push(in_flight);
        self.counts.bytes_in_flight.push(self.stream.end() - self.ledger.acknowledged_to());
        if let Some(srtt) = self.timeout.srtt() {
            let from = at_ns.saturating_sub(srtt.as_nanos());
            while self.recent.front().is_some_and(|&sent| sent <= from) {
                self.recent.pop_front();
            }
            if self.recent.len() < MAX_RECENT {
                self.recent.push_back(at_ns);
            }
            self.counts.packets_per_rtt.push(self.recent.len() as u64);
        }
        self.look_for_probe(len, at_ns);
        let prompt = self.last_advance_ns.is_some_and(|at| at_ns.saturating_sub(at) < RELEASE_NS);
        let after = self.last_sent_ns.is_some_and(|sent| self.last_advance_ns.is_some_and(|ack| sent < ack));
        if in_flight == 1 && prompt && after && len < self.largest_payload {
            self.counts.released_by_ack += 1;
        }
        self.largest_payload = self.largest_payload.max(len);
        Sent::New
    }

    /// RFC 8985 probes with new data where there is some. A sender under Nagle's rule has some: it sends small segments
    /// one at a time, so another one that comes when the probe is due is the probe.
    fn look_for_probe(&mut self, len: u32, at_ns: u64) {
        let others = self.in_flight - 1;
        if len < self.largest_payload {
            self.small += 1;
            self.small_behind_others += u64::from(others > 0);
        }
        let (Some(srtt), Some(sent)) = (self.timeout.srtt(), self.last_sent_ns) else { return };
        if others == 0 || self.small_behind_others * 4 > self.small {
            return;
        }
        let allowance = if others == 1 { MAX_ACK_DELAY_NS } else { 0 };
        let due = (2 * srtt.as_nanos() + allowance).min(self.timeout.rto().as_nanos());
        let waited = at_ns.saturating_sub(sent);
        // Linux's timer wheel is as coarse as an eighth of the wait.
        if waited >= due - due / 50 && waited <= due + due / 8 + TICK_NS {
            self.probe = Some(self.stream.end());
            self.habits.probes += 1;
        }
    }

    /// The oldest packet in flight with bytes from `start` on.
    fn covering(&self, start: u64) -> Option<&PacketHistory> {
        self.ledger.outstanding().find(|known| known.end > start)
    }

    fn circumstances(&self, start: u64, end: u64, at_ns: u64, near_ns: u64) -> Circumstances {
        let head = self.ledger.outstanding().next();
        let since = |past: Option<u64>| past.map(|past| at_ns.saturating_sub(past));
        let last_sent = self.covering(start).map(|packet| packet.last_sent.as_nanos());
        let sent_ns = last_sent.unwrap_or(0);
        let sign = self.sign.filter(|sign| sign.above > start && sign.last_ns >= sent_ns);
        let signed = sign.map(|sign| if sign.first_ns >= sent_ns { sign.first_ns } else { sign.last_ns });
        let timer = head.map(|head| head.last_sent.as_nanos()).max(self.last_advance_ns);
        let backed_off = self.timeout.rto().saturating_mul(1 << self.timeouts_in_row.min(16));
        Circumstances {
            since_sign_ns: since(signed),
            probed: sign.is_some_and(|sign| self.probe == Some(sign.above)),
            since_ack_ns: since(self.last_ack_ns),
            since_timer_ns: since(timer).unwrap_or(0),
            since_sent_ns: since(self.last_sent_ns).unwrap_or(0),
            is_head: start <= head.map_or(start, |head| head.start),
            is_tail: end >= self.stream.end(),
            recovering: self.episode.map(|(cause, _)| cause),
            srtt_ns: self.timeout.srtt().map(|srtt| srtt.as_nanos() + near_ns),
            near_ns,
            rto_ns: (backed_off + Duration::from_nanos(near_ns)).as_nanos(),
        }
    }

    fn repaired(&mut self, start: u64, end: u64, at_ns: u64, circumstances: &Circumstances) -> Cause {
        let cause = circumstances.cause();
        self.counts.causes[cause.index()] += 1;
        if cause.is_timed() {
            self.learn(cause, start, at_ns, circumstances);
            if cause == Cause::Timeout {
                self.timeouts_in_row += 1;
            }
        }
        if self.episode.is_none_or(|(before, _)| before != Cause::Timeout) {
            self.episode = Some((cause, self.stream.end()));
        }
        if self.repairs.len() == MAX_REPAIRS {
            self.repairs.pop_front();
        }
        self.repairs.push_back(Repair { start, end, cause, spurious: false });
        cause
    }

    /// What a timed retransmission tells of its sender: RFC 8985 probes with the last segment, the timer sends the first
    /// and doubles.
    fn learn(&mut self, cause: Cause, start: u64, at_ns: u64, circumstances: &Circumstances) {
        let alone = circumstances.is_head && circumstances.is_tail;
        if circumstances.recovering.is_none() && !alone {
            match cause {
                Cause::TailLossProbe => self.habits.probes += 1,
                _ if circumstances.is_head => self.habits.timeouts += 1,
                _ => {}
            }
        }
        if alone && cause == Cause::TailLossProbe {
            self.habits.probes += 1;
        }
        if let Some((before, waited, last_start)) = self.last_timed
            && last_start == start
            && waited > 0
        {
            let again = at_ns.saturating_sub(before);
            if again >= waited + waited * 3 / 4 {
                self.habits.timeouts += 1;
            } else if again <= waited + waited / 4 {
                self.habits.probes += 1;
            }
        }
        let first = self.last_timed.is_none_or(|(_, _, last)| last != start);
        let waited = if first { circumstances.since_timer_ns } else { 0 };
        self.last_timed = Some((at_ns, waited, start));
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

    fn stamped(&mut self, stamp: u32, at_ns: u64) {
        let newer = self.newest_stamp.is_none_or(|newest| (stamp.wrapping_sub(newest) as i32) > 0);
        if newer {
            self.newest_stamp = Some(stamp);
            if self.stamps.len() == MAX_STAMPS {
                self.stamps.pop_front();
            }
            self.stamps.push_back((stamp, at_ns));
        }
    }

    /// The other side echoed a time stamp of this direction for the first time: how long ago it first passed.
    pub(crate) fn echoed(&mut self, echo: u32, at_ns: u64) -> Option<u64> {
        while self.stamps.front().is_some_and(|&(stamp, _)| (stamp.wrapping_sub(echo) as i32) < 0) {
            self.stamps.pop_front();
        }
        let &(_, sent) = self.stamps.front().filter(|&&(stamp, _)| stamp == echo)?;
        self.stamps.pop_front();
        let rtt = at_ns.saturating_sub(sent);
        self.counts.stamp_rtt.push(rtt);
        self.least_rtt_ns = self.least_rtt_ns.min(rtt);
        Some(rtt)
    }

    /// The other side's packet acknowledges up to `tcp.acknowledgment`. Gives a round trip where Karn's rule allows, and
    /// each packet it covers for the first time, with the cause that made it late.
    pub(crate) fn acknowledged(
        &mut self,
        packet: &CapturedPacket,
        tcp: &TcpFields,
        at_ns: u64,
        mut closed: impl FnMut(&PacketHistory, Option<Cause>),
    ) -> Option<u64> {
        let sequence = self.sequence?;
        let mut ack = sequence.offset(tcp.acknowledgment)?;
        let sent = self.stream.end().max(1) + u64::from(self.fin.is_some());
        if ack > sent {
            self.counts.acknowledged_unseen += 1;
            ack = sent;
        }
        self.read_signs(packet, tcp, ack, at_ns);
        self.last_ack_ns = Some(at_ns);
        if ack <= self.ledger.acknowledged_to() {
            return None;
        }
        self.last_advance_ns = Some(at_ns);
        let in_flight_before = self.in_flight;
        let (mut ambiguous, mut sample, mut held_by) = (false, None, None);
        let (counts, repairs) = (&mut self.counts, &self.repairs);
        let usual = self.timeout.srtt().map(Duration::as_nanos);
        let rto_ns = self.timeout.rto().as_nanos();
        let mut gone = 0;
        self.ledger.acknowledged(Instant::from_nanos(at_ns), ack, &mut self.totals, |history| {
            gone += 1;
            let delay = history.application_delay().as_nanos();
            counts.application_delay.push(delay);
            let own = (history.retransmissions > 0)
                .then(|| {
                    repairs
                        .iter()
                        .rev()
                        .find(|repair| repair.start < history.end && history.start < repair.end)
                })
                .flatten()
                .map(|repair| repair.cause);
            if history.retransmissions > 0 || history.bundled > 0 {
                ambiguous = true;
            }
            if let Some(cause) = own {
                counts.retransmitted_delay.push(delay);
                held_by = Some(cause);
                if cause.is_timed() {
                    counts.stalls += 1;
                    counts.stalls_by_tries[usize::from(history.retransmissions).clamp(1, 4) - 1] += 1;
                    counts.longest_stall_ns = counts.longest_stall_ns.max(delay);
                    counts.stall_lengths.saw(delay, usual.unwrap_or(0), rto_ns);
                }
            } else if held_by.is_some() {
                counts.held_up += 1;
            }
            let cause = own.or(held_by);
            if let (Some(cause), Some(usual)) = (cause, usual) {
                counts.lag_ns[cause.index()] += delay.saturating_sub(usual);
            }
            if !ambiguous && history.end == ack {
                sample = Some(delay);
            }
            closed(history, cause);
        });
        self.in_flight -= gone;
        self.after_advance(ack, sample, in_flight_before);
        sample
    }

    fn after_advance(&mut self, ack: u64, sample: Option<u64>, in_flight_before: u64) {
        if let Some(rtt) = sample {
            if let Some(fastest) = self.counts.ack_rtt.min()
                && in_flight_before == 1
                && (DELAYED_ACK.0..DELAYED_ACK.1).contains(&rtt.saturating_sub(fastest))
            {
                self.counts.delayed_acks += 1;
                self.counts.delayed_ack_ns += rtt - fastest;
            }
            self.counts.ack_rtt.push(rtt);
            self.least_rtt_ns = self.least_rtt_ns.min(rtt);
            self.timeout.on_sample(Duration::from_nanos(rtt), ack, self.stream.end());
        }
        self.timeouts_in_row = 0;
        if self.episode.is_some_and(|(_, until)| ack >= until) {
            self.episode = None;
        }
        if self.sign.is_some_and(|sign| ack >= sign.above) {
            self.sign = None;
        }
        if self.probe.is_some_and(|until| ack >= until) {
            self.probe = None;
        }
        // Those just acknowledged stay a while: a DSACK may follow.
        while self.repairs.len() > KEPT_REPAIRS
            && self.repairs.front().is_some_and(|repair| repair.end <= ack)
        {
            self.repairs.pop_front();
        }
    }

    /// Duplicate ACKs, SACK blocks and DSACK.
    fn read_signs(&mut self, packet: &CapturedPacket, tcp: &TcpFields, ack: u64, at_ns: u64) {
        let Some(sequence) = self.sequence else { return };
        let block = |place: usize| {
            let (start, end) = tcp.sack[place]?;
            Some((sequence.offset(start)?, sequence.offset(end)?))
        };
        let outstanding = self.stream.end() > ack;
        let first = block(0);
        if let Some((start, end)) = first {
            let inside_second = block(1).is_some_and(|(low, high)| low <= start && end <= high);
            if end <= ack || inside_second {
                self.report_duplicate(start, end);
            }
        }
        let highest = (0..4).filter_map(block).map(|(_, end)| end).filter(|&end| end > ack).max();
        let duplicate = ack == self.ledger.acknowledged_to()
            && packet.payload_len == 0
            && outstanding
            && !tcp.flags.syn
            && !tcp.flags.fin
            && (highest.is_some() || tcp.sack[0].is_none() && self.last_ack_ns.is_some());
        if duplicate {
            self.counts.duplicate_acks += 1;
        }
        if let Some(above) = highest.or(duplicate.then_some(self.stream.end())) {
            let sign = self.sign.get_or_insert(Sign { first_ns: at_ns, last_ns: at_ns, above });
            if above > sign.above || duplicate {
                sign.last_ns = at_ns;
                sign.above = sign.above.max(above);
            }
        }
    }

    fn report_duplicate(&mut self, start: u64, end: u64) {
        let covered = |repair: &&mut Repair| !repair.spurious && repair.start <= start && end <= repair.end;
        if let Some(repair) = self.repairs.iter_mut().rev().find(covered) {
            repair.spurious = true;
            self.counts.spurious[repair.cause.index()] += 1;
        }
    }

    /// The window this direction's sender offers the other.
    pub(crate) fn offers(&mut self, tcp: &TcpFields, scaled: bool) -> u64 {
        let shift = if tcp.flags.syn || !scaled { 0 } else { self.window_scale };
        u64::from(tcp.window) << shift
    }

    /// The receiver of this direction offers so much.
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

    /// The SYN was answered: its round trip, if it was sent once.
    pub(crate) fn handshake_round_trip(&mut self, at_ns: u64) -> Option<u64> {
        let rtt = self.syn.filter(|&(_, times)| times == 1).map(|(sent, _)| at_ns.saturating_sub(sent))?;
        self.least_rtt_ns = self.least_rtt_ns.min(rtt);
        Some(rtt)
    }

    /// The round trip between the capture point and the receiver of this direction's data. Least, for ACKs may wait.
    pub(crate) const fn far_ns(&self) -> u64 {
        if self.least_rtt_ns == u64::MAX { 0 } else { self.least_rtt_ns }
    }

    /// Packets never acknowledged within the capture, and bytes never seen.
    pub(crate) fn left_open(&self) -> (u64, u64) {
        (self.unacknowledged + self.in_flight, self.stream.missing())
    }

    /// A capture of one direction sees no acknowledgement: the oldest half is let go, so that memory stays bounded.
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

/// Whether what fills a gap was sent before what showed it: by its time stamp, or its identification where the sender
/// counts them.
fn overtaken(shown: &Revealed, filler: &Revealed) -> bool {
    if let (Some(after), Some(stamp)) = (shown.stamp, filler.stamp)
        && after != stamp
    {
        return (stamp.wrapping_sub(after) as i32) < 0;
    }
    let step = shown.identification.wrapping_sub(filler.identification) as i16;
    shown.identification != 0 && filler.identification != 0 && step > 0 && step < 64
}

/// Linux's allowance for a receiver that delays its ACK of a single segment.
const MAX_ACK_DELAY_NS: u64 = 200_000_000;
/// Linux's timers fire at a tick, of 1 to 10 ms, after they are due.
const TICK_NS: u64 = 10_000_000;
const MAX_RECENT: usize = 1024;
const MAX_STAMPS: usize = 256;
const MAX_REPAIRS: usize = 512;
const KEPT_REPAIRS: usize = 16;
/// Packets a sender may have in flight: 64 MiB of them.
const MAX_OUTSTANDING: u64 = 46_000;
/// The same where no acknowledgement has been seen.
const MAX_UNSEEN: u64 = 1_024;
/// From an ACK to the segment it released.
const RELEASE_NS: u64 = 1_000_000;
/// What a delayed ACK adds: Linux waits 40 ms at least, RFC 9293 allows 500 ms, and most systems stay below 250 ms.
const DELAYED_ACK: (u64, u64) = (30_000_000, 250_000_000);
