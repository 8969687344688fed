//! Handling of an ACK by the direction that it answers: which data arrived, how long it took, signs of loss, and DSACK.
//! The cause of a retransmission is left to `judgement`.

use gamelane_core::{Duration, Instant};
use gamelane_tcp::accounting::PacketHistory;

use super::Half;
use crate::packet::{CapturedPacket, TcpFields};
use crate::tcp::cause::Cause;
use crate::tcp::staged::Kind;

/// Signs of loss: ACKs that report data out of order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// Number of signs since the last ACK of new data.
    pub(super) times: u32,
    /// Offset after the highest byte that arrived.
    pub(super) above: u64,
}

impl Half {
    /// Handles a timestamp echo from the other side. Returns the round trip at the first echo of that timestamp.
    pub(crate) fn echoed(&mut self, echo: u32, at_ns: u64) -> Option<u64> {
        let rtt = self.stamps.echoed(echo, at_ns)?;
        self.stage(Kind::StampRtt, rtt);
        // A direction that only acknowledges has no data that would do it.
        self.staged.bound(&mut self.counts);
        self.least_rtt_ns = self.least_rtt_ns.min(rtt);
        Some(rtt)
    }

    /// Handles an ACK of all data below `tcp.acknowledgment`. Returns a round trip if Karn's rule allows one. `closed`
    /// gets each newly acknowledged packet, with the cause that made it late.
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
            // A second ACK at this point can show that the probe was unnecessary (RFC 8985 section 7.4.2).
            self.probed_to = self.probed_to.filter(|&until| ack != until);
            return None;
        }
        self.last_advance_ns = Some(at_ns);
        self.last_news_ns = Some(at_ns);
        let in_flight_before = self.in_flight;
        let (mut ambiguous, mut sample, mut held_by) = (false, None, None);
        let (counts, staged, repairs) = (&mut *self.counts, &mut self.staged, &self.repairs);
        let mut usual = self.timer.srtt().map(Duration::as_nanos);
        let fastest = Some(self.least_rtt_ns).filter(|&rtt| rtt != u64::MAX);
        let rto_ns = self.timer.rto().as_nanos();
        let mut gone = 0;
        self.ledger.acknowledged(Instant::from_nanos(at_ns), ack, &mut counts.totals, |history| {
            gone += 1;
            let delay = history.application_delay().as_nanos();
            staged.push(Kind::ApplicationDelay, delay);
            let resent = history.retransmissions > 0;
            if resent && usual.is_none() {
                // Without any round trip so far, the one of the last retransmission is the best guess.
                usual = Some(at_ns.saturating_sub(history.last_sent.as_nanos()));
            }
            let own = resent.then(|| repairs.cause_of(history.start, history.end)).flatten();
            if history.retransmissions > 0 || history.bundled > 0 {
                ambiguous = true;
            }
            if let Some(cause) = own {
                counts.retransmitted_delay.push(delay);
                held_by = Some(cause);
                if cause.is_timed() {
                    counts.stalls += 1;
                    counts.stalls_by_tries[usize::from(history.retransmissions).clamp(1, 4) - 1] += 1;
                    let wait = delay.saturating_sub(fastest.or(usual).unwrap_or(0));
                    counts.longest_stall_ns = counts.longest_stall_ns.max(wait);
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
        // The sender also has a sample from the timestamp echo, even if the data was sent twice (RFC 7323 section 4).
        let echoed = || tcp.timestamps.and_then(|(_, echo)| self.stamps.age(echo, at_ns));
        if let Some(rtt) = sample.or_else(echoed) {
            self.timer.measured(rtt, ack, self.stream.end());
        }
        self.timer.advanced(at_ns);
        self.after_advance(ack, sample, in_flight_before);
        self.staged.bound(&mut self.counts);
        sample
    }

    fn after_advance(&mut self, ack: u64, sample: Option<u64>, in_flight_before: u64) {
        if let Some(rtt) = sample {
            if let Some(fastest) = self.fastest_ack_ns
                && in_flight_before == 1
                && (DELAYED_ACK.0..DELAYED_ACK.1).contains(&rtt.saturating_sub(fastest))
            {
                self.counts.delayed_acks += 1;
                self.counts.delayed_ack_ns += rtt - fastest;
            }
            self.fastest_ack_ns = Some(self.fastest_ack_ns.map_or(rtt, |fastest| fastest.min(rtt)));
            self.stage(Kind::AckRtt, rtt);
            self.least_rtt_ns = self.least_rtt_ns.min(rtt);
        }
        if self.episode.is_some_and(|(_, until)| ack >= until) {
            self.episode = None;
        }
        self.sign = self.sign.filter(|sign| ack < sign.above).map(|sign| Sign { times: 0, ..sign });
        if self.probe.is_some_and(|until| ack >= until) {
            self.probe = None;
        }
        if self.probed_to.is_some_and(|until| ack > until) {
            self.probed_to = None;
        }
        self.repairs.acknowledged(ack);
    }

    /// Handles duplicate ACKs, SACK blocks and DSACK.
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
                self.reported_twice(start, end);
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
            let sign = self.sign.get_or_insert(Sign { first_ns: at_ns, last_ns: at_ns, times: 0, above });
            if above > sign.above || duplicate {
                sign.last_ns = at_ns;
                sign.times = sign.times.saturating_add(1);
                self.last_news_ns = Some(at_ns);
                sign.above = sign.above.max(above);
            }
        }
    }

    fn reported_twice(&mut self, start: u64, end: u64) {
        if let Some(cause) = self.repairs.reported_twice(start, end) {
            self.counts.spurious[cause.index()] += 1;
            self.probed_to = self.probed_to.filter(|&until| end != until);
        }
    }
}

/// Additional delay of a delayed ACK. Linux waits at least 40 ms, RFC 9293 allows 500 ms, and most systems stay below
/// 250 ms.
const DELAYED_ACK: (u64, u64) = (30_000_000, 250_000_000);
