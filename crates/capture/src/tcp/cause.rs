//! Finds the cause of a retransmission from the packets before it. Either ACKs showed a loss, or nothing did and the
//! sender waited. The sender's timer is followed with the estimator of Linux (`tcp_rtt_estimator`, `tcp_set_rto`).
//! Timers of other systems have other minimum values; the tolerances below allow for that.
//!
//! A tail loss probe and a timeout can look alike. RFC 8985 sends a probe no later than the timer expires. With one
//! packet in flight and a short round trip, both are due at the same moment. Then the sender's other behaviour decides;
//! `Habits` counts it. Does the sender probe the last of several packets? Or does it wait twice as long the second
//! time?

use super::timer::Wait;

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The retransmission timer expired, or the retransmission follows such a timeout.
    Timeout,
    /// ACKs showed the loss (fast retransmit and recovery, RACK).
    Fast,
    /// A probe of the last segment in flight (RFC 8985 section 7), or a loss that the answer to a probe with new data
    /// showed.
    TailLossProbe,
    /// Either the timer or a probe; the sender gave no sign which.
    TimeoutOrProbe,
    /// There was neither a wait nor a sign of loss.
    Unexplained,
}

impl Cause {
    /// All causes, in the order of [`Cause::index`].
    pub const ALL: [Self; 5] =
        [Self::Timeout, Self::Fast, Self::TailLossProbe, Self::TimeoutOrProbe, Self::Unexplained];

    /// Index in [`Cause::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in records and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Fast => "fast",
            Self::TailLossProbe => "tail-loss-probe",
            Self::TimeoutOrProbe => "timeout-or-probe",
            Self::Unexplained => "unexplained",
        }
    }

    /// True if the sender waited for a timer.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Timeout | Self::TailLossProbe | Self::TimeoutOrProbe)
    }
}

/// Facts known when a retransmission passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    /// Time since the first sign of loss after the last transmission of this data. A sign is a duplicate ACK or a SACK
    /// block above it.
    pub(crate) since_sign_ns: Option<u64>,
    /// There is a sign of loss, but it cannot have reached the sender yet.
    pub(crate) sign_on_its_way: bool,
    /// The sign of loss answers new data that was sent as a probe.
    pub(crate) probed: bool,
    /// Time since the last ACK of any kind.
    pub(crate) since_ack_ns: Option<u64>,
    /// Time since the last ACK with news for the sender: data arrived, in order or not.
    pub(crate) since_news_ns: Option<u64>,
    /// Shortest time that the sender needs to answer an ACK.
    pub(crate) at_once_ns: u64,
    /// The wait compared with the retransmission timer.
    pub(crate) wait: Wait,
    /// Number of ACKs with a sign of this loss.
    pub(crate) signs: u32,
    /// A tail loss probe is possible: the connection has SACK, and no earlier probe forbids another one (RFC 8985
    /// section 7.3).
    pub(crate) may_probe: bool,
    /// Time since the sender last sent data.
    pub(crate) since_sent_ns: u64,
    /// The retransmission begins with the oldest unacknowledged byte.
    pub(crate) is_head: bool,
    /// The retransmission ends with the highest byte sent.
    pub(crate) is_tail: bool,
    /// Cause of the recovery that is not complete yet.
    pub(crate) recovering: Option<Cause>,
    /// Smoothed round trip of the sender, including the part between the sender and the capture point.
    pub(crate) srtt_ns: Option<u64>,
    /// The part of the round trip between the sender and the capture point.
    pub(crate) near_ns: u64,
}

/// The cause, and whether the timer expired for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) cause: Cause,
    /// For [`Cause::Timeout`]: the timer expired now. False if the retransmission only follows a timeout.
    pub(crate) expired: bool,
}

impl Circumstances {
    /// Returns the most likely cause.
    pub(crate) fn verdict(&self) -> Verdict {
        let because = |cause| Verdict { cause, expired: false };
        let timeout = Verdict { cause: Cause::Timeout, expired: true };
        let srtt = self.srtt_ns.unwrap_or(1_000_000_000);
        // An ACK needs time to reach the sender.
        let answer = self.near_ns + self.near_ns / 2;
        let answers = |since: Option<u64>, within: u64| since.is_some_and(|since| since <= answer + within);
        // RACK may wait a quarter of a round trip for reordered data. A sender that waits longer waits for the third
        // duplicate ACK.
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
            // The timer would have sent the missing segment, not the last one.
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

/// Evidence on a sender's timed retransmissions: are they probes or timeouts?
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Number of probes that were clearly no timeouts, because of their data or their time.
    pub(crate) probes: u32,
    /// Number of timeouts before which a probing sender would have sent a probe.
    pub(crate) timeouts: u32,
}

impl Habits {
    /// Returns the cause of the ambiguous cases.
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

/// Number of duplicate ACKs that signal a loss (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u32 = 3;
/// Usual maximum time between an ACK and the segment that it triggers.
const PROMPT_NS: u64 = 3_000_000;
/// Maximum time between an event and the answer of a host. Timers have ticks and softirqs are delayed.
const REACTION_NS: u64 = 12_000_000;
/// Shortest timeout of any system in use.
const MIN_TIMEOUT_NS: u64 = 180_000_000;
