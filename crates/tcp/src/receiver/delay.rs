//! When Linux 6.12 acknowledges data (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_cleanup_rbuf`,
//! `tcp_send_delayed_ack`). More than one full segment is acknowledged at once, as are small segments that the
//! application has read, unless this end answers with data (`pingpong`). Another ACK waits for the usual gap between
//! segments: 40 to 200 ms. Duplicate ACKs after the third are compressed: one a millisecond. The application reads at
//! once. Left out: rounding to jiffies.

use crate::segment::Segment;
use gamelane_core::{Duration, Instant};

/// Smallest wait (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const MIN_WAIT: Duration = Duration::from_millis(40);
/// Largest wait (`TCP_DELACK_MAX`).
const MAX_WAIT: Duration = Duration::from_millis(200);
/// Estimate of a full segment before the first one (`TCP_MSS_DEFAULT`).
const FIRST_FULL: u64 = 536;
/// Below this, a segment is never taken for a full one.
const LEAST_FULL: u64 = 88;

/// What a receiver must do about the ACK of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckTime {
    Now,
    At(Instant),
}

/// State of Linux's delayed ACKs.
#[derive(Clone, Debug)]
pub(super) struct AdaptiveDelay {
    /// Wait (`ato`); zero before the first data.
    wait: Duration,
    /// Segments that are still to be acknowledged at once.
    quick: u32,
    most_quick: u32,
    /// This end sent data soon after it had received some.
    answers: bool,
    last_data: Instant,
    /// Estimate of a full segment (`rcv_mss`), and the size of the last segment that was smaller.
    full: u64,
    last_small: u64,
    /// Small segments since the last ACK, up to 2.
    small: u8,
    duplicates: Duplicates,
}

/// Duplicate ACKs of one hole (`tcp_ack_snd_check`, `tcp_comp_sack_delay_ns`).
#[derive(Clone, Copy, Debug, Default)]
struct Duplicates {
    /// What they acknowledge.
    next: u64,
    /// Those sent at once, and those that wait.
    sent: u32,
    waiting: u32,
    until: Option<Instant>,
}

/// Duplicate ACKs that are sent at once (`TCP_FASTRETRANS_THRESH`).
const PROMPT_DUPLICATES: u32 = 3;
/// Most duplicate ACKs that wait (`tcp_comp_sack_nr`), and how long (`tcp_comp_sack_delay_ns`, at most 5 % of the round
/// trip).
const MOST_WAITING: u32 = 44;
const LONGEST_COMPRESSION: Duration = Duration::from_millis(1);

impl AdaptiveDelay {
    pub(super) const fn new(most_quick: u32) -> Self {
        Self {
            wait: Duration::ZERO,
            quick: 0,
            most_quick,
            answers: false,
            last_data: Instant::ZERO,
            full: FIRST_FULL,
            last_small: 0,
            small: 0,
            duplicates: Duplicates { next: 0, sent: 0, waiting: 0, until: None },
        }
    }

    /// Decides on a duplicate ACK for `next`; true if it waits until [`compressed_until`](Self::compressed_until).
    pub(super) fn compress(&mut self, next: u64, round_trip: Duration, now: Instant) -> bool {
        let own = &mut self.duplicates;
        if own.next != next {
            *own = Duplicates { next, ..Duplicates::default() };
        }
        if own.sent < PROMPT_DUPLICATES {
            own.sent += 1;
            return false;
        }
        if own.waiting >= MOST_WAITING {
            return false;
        }
        own.waiting += 1;
        own.until.get_or_insert(now.saturating_add(LONGEST_COMPRESSION.min(round_trip / 20)));
        true
    }

    /// Time at which the waiting duplicate ACKs are sent as one.
    pub(super) const fn compressed_until(&self) -> Option<Instant> {
        self.duplicates.until
    }

    /// An ACK was sent, or no more will be.
    pub(super) const fn flush(&mut self) {
        (self.duplicates.waiting, self.duplicates.until) = (0, None);
    }

    /// Notes a data segment. `window` is the offered window, `rto` the timeout of this end.
    pub(super) fn on_data(&mut self, segment: &Segment, window: u64, rto: Duration, now: Instant) {
        self.measure_full(u64::from(segment.len), segment.flags.psh());
        if self.wait.is_zero() {
            self.acknowledge_quickly(window);
            self.wait = MIN_WAIT;
        } else {
            let gap = now.saturating_since(self.last_data);
            if gap <= MIN_WAIT / 2 {
                self.wait = self.wait / 2 + MIN_WAIT / 2;
            } else if gap < self.wait {
                self.wait = (self.wait / 2 + gap).min(rto).min(MAX_WAIT);
            } else if gap > rto {
                self.acknowledge_quickly(window);
            }
        }
        self.last_data = now;
    }

    /// `tcp_measure_rcv_mss`: two segments of one size may be full ones of a smaller path.
    const fn measure_full(&mut self, len: u64, push: bool) {
        let last = self.last_small;
        self.last_small = 0;
        if len >= self.full {
            self.full = len;
            if push && self.small == 0 {
                self.small = 1;
            }
            return;
        }
        if len >= FIRST_FULL || len >= LEAST_FULL && !push {
            self.last_small = len;
            if len == last {
                self.full = len;
                return;
            }
        }
        self.small = if self.small == 0 { 1 } else { 2 };
    }

    fn acknowledge_quickly(&mut self, window: u64) {
        let count = (window / (2 * self.full)).max(2).min(u64::from(self.most_quick)) as u32;
        self.quick = self.quick.max(count);
    }

    /// Acknowledges the next segments at once, after a duplicate (`tcp_enter_quickack_mode`).
    pub(super) fn on_duplicate(&mut self, window: u64) {
        self.acknowledge_quickly(window);
        self.answers = false;
        self.wait = MIN_WAIT;
    }

    /// The offered window grows, so the sender should hear of it (`tcp_grow_window`).
    pub(super) const fn on_growth(&mut self) {
        self.quick |= 1;
    }

    /// Decides on the ACK of in-order data. `unacknowledged` are the bytes since the last ACK, `due` is the time of an ACK
    /// that waits already.
    pub(super) fn decide(
        &self,
        unacknowledged: u64,
        due: Option<Instant>,
        srtt: Option<Duration>,
        now: Instant,
    ) -> AckTime {
        let quick = self.quick > 0 && !self.answers;
        let read = self.small == 2 || self.small == 1 && !self.answers;
        if unacknowledged > self.full || quick || read {
            return AckTime::Now;
        }
        let wait = self.bounded_wait(srtt);
        match due {
            Some(due) if due <= now.saturating_add(self.wait / 4) => AckTime::Now,
            Some(due) => AckTime::At(due.min(now.saturating_add(wait))),
            None => AckTime::At(now.saturating_add(wait)),
        }
    }

    fn bounded_wait(&self, srtt: Option<Duration>) -> Duration {
        if self.wait <= MIN_WAIT {
            return self.wait;
        }
        self.wait.min(srtt.map_or(MAX_WAIT, |srtt| srtt.max(MIN_WAIT))).min(MAX_WAIT)
    }

    /// The wait is over (`tcp_delack_timer_handler`).
    pub(super) fn on_expiry(&mut self, rto: Duration) {
        if self.answers {
            (self.answers, self.wait) = (false, MIN_WAIT);
        } else {
            self.wait = (self.wait * 2).min(rto).min(MAX_WAIT);
        }
    }

    /// Notes a sent segment, which carries an ACK. `news` is true if it acknowledges new data.
    pub(super) fn on_sent(&mut self, has_data: bool, news: bool, now: Instant) {
        self.small = 0;
        self.flush();
        if news && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.wait = MIN_WAIT;
            }
        }
        if has_data && now.saturating_since(self.last_data) < self.wait {
            self.answers = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const AT: fn(u64) -> Instant = Instant::from_millis;
    const RTO: Duration = Duration::from_millis(240);
    const WINDOW: u64 = 65_160;

    fn segment(len: u32) -> Segment {
        Segment { len, ..Segment::default() }
    }

    /// Receives full segments at these times, and sends every ACK when it is decided on.
    fn decisions(
        delay: &mut AdaptiveDelay,
        times_ms: impl IntoIterator<Item = u64>,
    ) -> std::vec::Vec<AckTime> {
        let (mut unacknowledged, mut due) = (0, None);
        let mut answers = std::vec::Vec::new();
        for at in times_ms {
            delay.on_data(&segment(1448), WINDOW, RTO, AT(at));
            unacknowledged += 1448;
            let answer = delay.decide(unacknowledged, due, Some(MS(40)), AT(at));
            match answer {
                AckTime::Now => {
                    delay.on_sent(false, true, AT(at));
                    (unacknowledged, due) = (0, None);
                }
                AckTime::At(at) => due = Some(at),
            }
            answers.push(answer);
        }
        answers
    }

    #[test]
    fn the_first_sixteen_segments_are_acknowledged_at_once_and_then_every_second() {
        let mut delay = AdaptiveDelay::new(16);
        let answers = decisions(&mut delay, 0..20);
        assert!(answers[..16].iter().all(|answer| *answer == AckTime::Now));
        assert_eq!(answers[16..], [AckTime::At(AT(56)), AckTime::Now, AckTime::At(AT(58)), AckTime::Now]);
    }

    #[test]
    fn a_gap_longer_than_the_timeout_starts_quick_acks_again() {
        let mut delay = AdaptiveDelay::new(16);
        decisions(&mut delay, 0..17);
        assert_eq!(decisions(&mut delay, [300])[0], AckTime::Now);
        assert_eq!(delay.quick, 15);
    }

    #[test]
    fn small_segments_that_are_read_are_acknowledged_at_once_and_those_answered_with_data_are_not() {
        let mut delay = AdaptiveDelay::new(0);
        for at in [0, 100, 200] {
            delay.on_data(&segment(60), WINDOW, RTO, AT(at));
            assert_eq!(delay.decide(60, None, Some(MS(40)), AT(at)), AckTime::Now);
            delay.on_sent(false, true, AT(at));
        }
        // A request and its response 5 ms later: the next ACK waits for the next response.
        delay.on_data(&segment(60), WINDOW, RTO, AT(300));
        delay.on_sent(true, true, AT(305));
        delay.on_data(&segment(60), WINDOW, RTO, AT(320));
        assert_eq!(delay.decide(60, None, Some(MS(40)), AT(320)), AckTime::At(AT(360)));
        // A second small segment before the response is acknowledged at once.
        delay.on_data(&segment(60), WINDOW, RTO, AT(330));
        assert_eq!(delay.decide(120, Some(AT(360)), Some(MS(40)), AT(330)), AckTime::Now);
    }

    #[test]
    fn a_missed_delayed_ack_doubles_the_wait_up_to_the_round_trip() {
        let mut delay = AdaptiveDelay::new(0);
        decisions(&mut delay, [0]);
        delay.on_expiry(RTO);
        assert_eq!(delay.wait, MS(80));
        // A gap of 100 ms is longer than the wait, so the wait stays; the round trip of 60 ms bounds it.
        delay.on_data(&segment(1448), WINDOW, RTO, AT(100));
        assert_eq!(delay.decide(1448, None, Some(MS(60)), AT(100)), AckTime::At(AT(160)));
        // Segments less than 20 ms apart bring it back to 40 ms: 80 / 2 + 20 = 60, then 50.
        delay.on_data(&segment(1448), WINDOW, RTO, AT(110));
        delay.on_data(&segment(1448), WINDOW, RTO, AT(120));
        assert_eq!(delay.wait, MS(50));
    }
}
