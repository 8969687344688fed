//! Why a segment was sent again, judged by what passed before: acknowledgements that told of a hole, or none and a wait. The
//! sender's timer is followed with the estimator of Linux (reference/tcp.md section 2); other systems' timers differ by
//! their floors, which the tolerance below allows for.
//!
//! A probe of the tail and a timeout can look alike: RFC 8985 never lets a probe come later than the timer, so with one
//! packet in flight and a short round trip both come at the same moment. What a sender does elsewhere tells which it is:
//! probing the last of several packets, or waiting twice as long the second time. That is counted in [`Habits`].

use super::timer::Wait;

/// Why data was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The retransmission timer expired, or what follows such a timeout.
    Timeout,
    /// Acknowledgements told of the loss (fast retransmit and recovery, RACK).
    Fast,
    /// A probe of the last segment in flight (RFC 8985 section 7), or what the answer to a probe with new data told.
    TailLossProbe,
    /// The timer or a probe; the sender gave no sign which.
    TimeoutOrProbe,
    /// Neither a wait nor a sign of loss came before.
    Unexplained,
}

impl Cause {
    /// Every cause, by [`Cause::index`].
    pub const ALL: [Self; 5] =
        [Self::Timeout, Self::Fast, Self::TailLossProbe, Self::TimeoutOrProbe, Self::Unexplained];

    /// Position in [`Cause::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// As written in records and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Fast => "fast",
            Self::TailLossProbe => "tail-loss-probe",
            Self::TimeoutOrProbe => "timeout-or-probe",
            Self::Unexplained => "unexplained",
        }
    }

    /// Whether a timer had to run out first.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Timeout | Self::TailLossProbe | Self::TimeoutOrProbe)
    }
}

/// What is known when a retransmission passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    /// Since the first sign that later data had arrived while this had not: a duplicate ACK or a SACK block above it, told
    /// after its last transmission.
    pub(crate) since_sign_ns: Option<u64>,
    /// There is such a sign, but it cannot have reached the sender yet.
    pub(crate) sign_on_its_way: bool,
    /// The sign answers new data that was sent as a probe.
    pub(crate) probed: bool,
    /// Since the last acknowledgement of any kind.
    pub(crate) since_ack_ns: Option<u64>,
    /// Since the last one that told the sender something: that data arrived, in order or not.
    pub(crate) since_news_ns: Option<u64>,
    /// What the sender takes to answer an ACK at best.
    pub(crate) at_once_ns: u64,
    /// The wait for the timer.
    pub(crate) wait: Wait,
    /// How many ACKs told it.
    pub(crate) signs: u32,
    /// The connection has SACK, which probes need, and no probe is left open that forbids another (RFC 8985 section 7.3).
    pub(crate) may_probe: bool,
    /// Since anything was last sent.
    pub(crate) since_sent_ns: u64,
    /// It begins with the oldest unacknowledged byte.
    pub(crate) is_head: bool,
    /// It ends with the highest byte sent.
    pub(crate) is_tail: bool,
    /// A sign of loss, or an earlier retransmission, is outstanding.
    pub(crate) recovering: Option<Cause>,
    /// Smoothed round trip of the sender as the capture point sees it, from it to the sender and back included.
    pub(crate) srtt_ns: Option<u64>,
    /// The part of the round trip between the sender and the capture point.
    pub(crate) near_ns: u64,
}

/// Why, and whether the timer expired just now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) cause: Cause,
    /// For a [`Cause::Timeout`]: it does not merely follow one.
    pub(crate) expired: bool,
}

impl Circumstances {
    /// The cause these make likely.
    pub(crate) fn verdict(&self) -> Verdict {
        let because = |cause| Verdict { cause, expired: false };
        let timeout = Verdict { cause: Cause::Timeout, expired: true };
        let srtt = self.srtt_ns.unwrap_or(1_000_000_000);
        // Whatever the sender answers has to reach it first.
        let answer = self.near_ns + self.near_ns / 2;
        let answers = |since: Option<u64>, within: u64| since.is_some_and(|since| since <= answer + within);
        // RACK may wait a quarter of a round trip for what was overtaken; who waits longer waits for the third sign.
        let reordering = srtt / 4 + REACTION_NS;
        let telling = self.recovering == Some(Cause::Fast)
            || self.signs >= DUPLICATE_THRESHOLD
            || answers(self.since_sign_ns, reordering);
        let on_time =
            self.is_head && self.wait.is_due && !(telling && answers(self.since_news_ns, self.at_once_ns));
        let timer = self.is_head && (self.wait.is_over || on_time);
        if self.since_sign_ns.is_some() && !on_time {
            let repairing = matches!(self.recovering, Some(Cause::Fast | Cause::TailLossProbe));
            let in_recovery = repairing && answers(self.since_ack_ns, reordering);
            let waiting = !timer && (answers(self.since_sign_ns, reordering) || in_recovery);
            if waiting || answers(self.since_ack_ns, PROMPT_NS) {
                return because(match self.recovering {
                    Some(before @ (Cause::Timeout | Cause::Fast)) => before,
                    _ if self.probed => Cause::TailLossProbe,
                    _ => Cause::Fast,
                });
            }
        }
        match self.recovering {
            None if timer && self.is_tail && self.may_probe => return because(Cause::TimeoutOrProbe),
            _ if timer => return timeout,
            // The timer would have sent what is missing.
            None if self.is_tail && self.sign_on_its_way => return because(Cause::TailLossProbe),
            None if self.is_tail && (self.wait.is_over || self.since_sent_ns >= srtt + srtt / 2) => {
                return because(Cause::TailLossProbe);
            }
            _ => {}
        }
        match self.recovering {
            Some(before) if answers(self.since_ack_ns, PROMPT_NS) || self.since_sent_ns <= PROMPT_NS => {
                because(before)
            }
            _ if self.is_head && self.wait.since_ns >= MIN_TIMEOUT_NS => timeout,
            _ => because(Cause::Unexplained),
        }
    }
}

/// Signs of which a sender's timed retransmissions are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Probes that were told from timeouts by what they sent or when.
    pub(crate) probes: u32,
    /// Timeouts that a prober would have preceded with a probe.
    pub(crate) timeouts: u32,
}

impl Habits {
    /// What the cases that look alike are.
    pub(crate) const fn settle(self) -> Cause {
        if self.probes > self.timeouts {
            Cause::TailLossProbe
        } else if self.timeouts > self.probes {
            Cause::Timeout
        } else {
            Cause::TimeoutOrProbe
        }
    }
}

/// RFC 5681 section 3.2.
const DUPLICATE_THRESHOLD: u32 = 3;
/// What passes between an ACK and the segment it makes a sender send, as a rule.
const PROMPT_NS: u64 = 3_000_000;
/// A host's timers tick, and its softirqs wait: what passes between an event and the answer to it.
const REACTION_NS: u64 = 12_000_000;
/// No system in use has a shorter timeout.
const MIN_TIMEOUT_NS: u64 = 180_000_000;
