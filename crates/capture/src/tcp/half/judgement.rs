//! Finds the cause of a retransmission of this direction from earlier packets, and learns about the sender from it. The
//! rules themselves are in `cause`.

use super::{Half, RELEASE_NS};
use crate::tcp::cause::{Cause, Circumstances, Verdict};

impl Half {
    pub(super) fn circumstances(&self, start: u64, end: u64, at_ns: u64, near_ns: u64) -> Circumstances {
        let head = self.ledger.oldest();
        let since = |past: Option<u64>| past.map(|past| at_ns.saturating_sub(past));
        let last_sent = self.covering(start).map(|packet| packet.last_sent.as_nanos());
        let sent_ns = last_sent.unwrap_or(0);
        let sign = self.sign.filter(|sign| sign.above > start && sign.last_ns >= sent_ns);
        let signed = sign.map(|sign| if sign.first_ns >= sent_ns { sign.first_ns } else { sign.last_ns });
        // The sender cannot know an ACK that passed less than `near_ns` ago, its smallest round trip to the capture
        // point.
        let heard = |at: &u64| at_ns.saturating_sub(*at) + near_ns / 64 >= near_ns;
        let unheard = signed.is_some_and(|at| !heard(&at));
        let (sign, signed) = (sign.filter(|_| !unheard), signed.filter(heard));
        let wait = self.timer.wait(head.map(|head| head.last_sent.as_nanos()), at_ns, near_ns);
        Circumstances {
            since_sign_ns: since(signed),
            sign_on_its_way: unheard,
            probed: sign.is_some_and(|sign| self.probe == Some(sign.above)),
            since_ack_ns: since(self.last_ack_ns),
            since_news_ns: since(self.last_news_ns),
            at_once_ns: self.reaction.at_once_ns(),
            wait,
            may_probe: self.sack && self.probed_to.is_none_or(|until| start < until),
            signs: sign.map_or(0, |sign| sign.times),
            since_sent_ns: since(self.last_sent_ns).unwrap_or(0),
            is_head: start <= head.map_or(start, |head| head.start),
            is_tail: end >= self.stream.end(),
            recovering: self.episode.map(|(cause, _)| cause),
            srtt_ns: self.timer.srtt().map(|srtt| srtt.as_nanos() + near_ns),
            near_ns,
        }
    }

    pub(super) fn repaired(
        &mut self,
        start: u64,
        end: u64,
        at_ns: u64,
        circumstances: &Circumstances,
    ) -> Cause {
        let Verdict { cause, expired } = circumstances.verdict();
        self.counts.causes[cause.index()] += 1;
        if cause.is_timed() {
            self.learn(cause, start, at_ns, circumstances);
        }
        match cause {
            Cause::Timeout if expired => self.timer.expired(true, at_ns),
            Cause::TimeoutOrProbe => self.timer.expired(false, at_ns),
            Cause::Fast if circumstances.is_head => self.timer.repaired(at_ns),
            _ => {}
        }
        if matches!(cause, Cause::TailLossProbe | Cause::TimeoutOrProbe) {
            self.probed_to = Some(self.stream.end());
        }
        // A timeout extends the recovery. A retransmission that only follows a timeout does not.
        if expired || self.episode.is_none_or(|(before, _)| before != Cause::Timeout) {
            self.episode = Some((cause, self.stream.end()));
        }
        self.repairs.add(start, end, cause);
        cause
    }

    /// Learns from a timed retransmission. A probe of RFC 8985 sends the last segment; the timer sends the first one
    /// and doubles its wait.
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
        let waited = if first { circumstances.wait.since_ns } else { 0 };
        self.last_timed = Some((at_ns, waited, start));
    }

    /// Finds tail loss probes with new data; RFC 8985 sends new data in a probe if there is some. A sender with Nagle's
    /// algorithm sends small segments one at a time. If it sends another small segment when a probe is due, that
    /// segment is the probe.
    ///
    /// Far from the sender, the small segment before the probe may be missing. Such a sender sends two small segments
    /// only for a probe. Data that the receiver has acknowledged is still in flight for the sender for another
    /// `near_ns`.
    pub(super) fn look_for_probe(&mut self, len: u32, missed: u64, at_ns: u64, near_ns: u64) {
        let others = self.in_flight - 1;
        let is_small = |len: u64| len < u64::from(self.largest_payload);
        if missed > 0 {
            if is_small(len.into()) && is_small(missed) && self.sends_one_by_one() {
                self.probe = Some(self.stream.end());
                self.habits.probes += 1;
            }
            return;
        }
        if is_small(len.into()) {
            let since_ack = self.last_advance_ns.map(|ack| at_ns.saturating_sub(ack));
            let unheard = since_ack.is_some_and(|since| since < near_ns);
            let earliest = near_ns - near_ns / 64;
            let at_once = earliest..earliest + near_ns / 32 + RELEASE_NS;
            self.small += 1;
            self.small_behind_others += u64::from(others > 0 || unheard);
            self.small_released +=
                u64::from(others == 0 && since_ack.is_some_and(|since| at_once.contains(&since)));
        }
        let (Some(srtt), Some(sent)) = (self.timer.srtt(), self.last_sent_ns) else { return };
        if others == 0 || self.small_behind_others * 4 > self.small {
            return;
        }
        let allowance = if others == 1 { MAX_ACK_DELAY_NS } else { 0 };
        let due = (2 * srtt.as_nanos() + allowance).min(self.timer.rto().as_nanos());
        let waited = at_ns.saturating_sub(sent);
        // The timer wheel of Linux is as coarse as 1/8 of the wait.
        let on_time = waited >= due - due / 50 && waited <= due + due / 8 + TICK_NS;
        // A probe is never later than the timer, and a small segment is not sent at that time otherwise.
        let with_timer = || {
            let head_sent = self.ledger.oldest().map(|head| head.last_sent.as_nanos());
            len < self.largest_payload && self.timer.wait(head_sent, at_ns, 0).is_due
        };
        if on_time || with_timer() {
            self.probe = Some(self.stream.end());
            self.habits.probes += 1;
        }
    }

    /// True if the sender clearly follows Nagle's algorithm: it sends small segments when earlier ones are
    /// acknowledged, and hardly any earlier than that.
    const fn sends_one_by_one(&self) -> bool {
        self.small >= ENOUGH
            && self.small_released * 8 >= self.small
            && self.small_behind_others * 32 <= self.small
    }
}

/// Time that Linux allows for the delayed ACK of a single segment.
const MAX_ACK_DELAY_NS: u64 = 200_000_000;
/// Number of small segments after which the sender's behaviour is clear.
const ENOUGH: u64 = 16;
/// Timers of Linux expire at a tick of 1 to 10 ms after they are due.
const TICK_NS: u64 = 10_000_000;
