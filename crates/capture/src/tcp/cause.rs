//! Why a segment was sent again, judged by what passed before: acknowledgements that told of a hole, or none and a wait. The
//! sender's timer is followed with the estimator of Linux (reference/tcp.md section 2); other systems' timers differ by
//! their floors, which the tolerance below allows for.
//!
//! A probe of the tail and a timeout can look alike: RFC 8985 never lets a probe come later than the timer, so with one
//! packet in flight and a short round trip both come at the same moment. What a sender does elsewhere tells which it is:
//! probing the last of several packets, or waiting twice as long the second time. That is counted in [`Habits`].

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
    /// The sign answers new data that was sent as a probe.
    pub(crate) probed: bool,
    /// Since the last acknowledgement of any kind.
    pub(crate) since_ack_ns: Option<u64>,
    /// Since the timer could last have been started: the head's last transmission, or the last ACK that advanced.
    pub(crate) since_timer_ns: u64,
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
    /// Linux's timeout, back-off included.
    pub(crate) rto_ns: u64,
}

impl Circumstances {
    /// The cause these make likely.
    pub(crate) fn cause(&self) -> Cause {
        let srtt = self.srtt_ns.unwrap_or(1_000_000_000);
        // Whatever the sender answers has to reach it first.
        let answer = self.near_ns + self.near_ns / 2;
        let answers = |since: Option<u64>, within: u64| since.is_some_and(|since| since <= answer + within);
        let waited = self.since_timer_ns.saturating_add(self.near_ns);
        let timer = waited >= self.rto_ns - self.rto_ns / 8;
        let to_the_tick =
            waited + self.rto_ns / 64 >= self.rto_ns && waited <= self.rto_ns + self.rto_ns / 8 + TICK_NS;
        let by_timer = self.is_head && (to_the_tick && !answers(self.since_ack_ns, AT_ONCE_NS));
        if self.since_sign_ns.is_some() && !by_timer {
            // RACK may wait a quarter of a round trip for what was overtaken.
            let reordering = srtt / 4 + REACTION_NS;
            let in_recovery = self.recovering == Some(Cause::Fast) && answers(self.since_ack_ns, reordering);
            let waiting =
                !(timer && self.is_head) && (answers(self.since_sign_ns, reordering) || in_recovery);
            if waiting || answers(self.since_ack_ns, PROMPT_NS) {
                return match self.recovering {
                    Some(Cause::Timeout) => Cause::Timeout,
                    _ if self.probed => Cause::TailLossProbe,
                    _ => Cause::Fast,
                };
            }
        }
        match self.recovering {
            None if timer && self.is_head && self.is_tail => return Cause::TimeoutOrProbe,
            _ if timer && self.is_head => return Cause::Timeout,
            None if self.is_tail && (timer || self.since_sent_ns >= srtt + srtt / 2) => {
                return Cause::TailLossProbe;
            }
            _ => {}
        }
        match self.recovering {
            Some(before) if answers(self.since_ack_ns, PROMPT_NS) || self.since_sent_ns <= PROMPT_NS => {
                before
            }
            _ if self.is_head && self.since_timer_ns >= MIN_TIMEOUT_NS => Cause::Timeout,
            _ => Cause::Unexplained,
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

/// What passes between an ACK and the segment it makes a sender send: at best, and as a rule.
const AT_ONCE_NS: u64 = 250_000;
const PROMPT_NS: u64 = 3_000_000;
/// Timers fire at a tick after they are due.
const TICK_NS: u64 = 4_000_000;
/// A host's timers tick, and its softirqs wait: what passes between an event and the answer to it.
const REACTION_NS: u64 = 12_000_000;
/// No system in use has a shorter timeout.
const MIN_TIMEOUT_NS: u64 = 180_000_000;
