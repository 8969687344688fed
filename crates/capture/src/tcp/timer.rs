//! The sender's retransmission timer as its packets and their acknowledgements set it (RFC 6298 section 5): what a wait is
//! held against. Some of it cannot be seen, and each possibility is tried: senders differ in whether sending the oldest segment
//! again within a recovery starts the timer anew (Linux does, RFC 6675 leaves it), and what may have been a probe
//! doubles the timeout only if it was none.

use gamelane_core::Duration;
use gamelane_tcp::TimerKind;
use gamelane_tcp::timer::RetransmissionTimeout;

/// Follows the timer of one direction's sender.
#[derive(Clone, Debug)]
pub(crate) struct SenderTimer {
    timeout: RetransmissionTimeout,
    /// The last ACK that advanced, or the first data after all had been acknowledged.
    started_ns: Option<u64>,
    /// When the oldest segment was first sent again for what ACKs told, since then.
    recovering_ns: Option<u64>,
    /// Timeouts since the last ACK that advanced.
    timeouts: u32,
    /// What since then may have been timeouts or probes.
    perhaps: u32,
}

/// How a wait compares with the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    /// Since the timer was last started, if the oldest segment's retransmission did start it.
    pub(crate) since_ns: u64,
    /// The timer expires now, within a tick.
    pub(crate) is_due: bool,
    /// It has expired, or soon will.
    pub(crate) is_over: bool,
}

impl Default for SenderTimer {
    fn default() -> Self {
        Self {
            timeout: RetransmissionTimeout::new(TimerKind::Linux),
            started_ns: None,
            recovering_ns: None,
            timeouts: 0,
            perhaps: 0,
        }
    }
}

impl SenderTimer {
    /// Smoothed round trip from the capture point to the receiver and back.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.timeout.srtt()
    }

    /// The timeout without back-off.
    pub(crate) const fn rto(&self) -> Duration {
        self.timeout.rto()
    }

    /// A round trip that the sender, too, could measure.
    pub(crate) fn measured(&mut self, rtt_ns: u64, ack: u64, end: u64) {
        self.timeout.on_sample(Duration::from_nanos(rtt_ns), ack, end);
    }

    /// Data was sent with nothing else in flight.
    pub(crate) const fn sent_first(&mut self, at_ns: u64) {
        self.started_ns = Some(at_ns);
    }

    /// An ACK advanced.
    pub(crate) const fn advanced(&mut self, at_ns: u64) {
        (self.started_ns, self.recovering_ns) = (Some(at_ns), None);
        (self.timeouts, self.perhaps) = (0, 0);
    }

    /// The oldest segment was sent again because of what ACKs told.
    pub(crate) fn repaired(&mut self, at_ns: u64) {
        self.recovering_ns.get_or_insert(at_ns);
    }

    /// The timer expired, for certain or perhaps, and starts again.
    pub(crate) const fn expired(&mut self, certain: bool, at_ns: u64) {
        (self.started_ns, self.recovering_ns) = (Some(at_ns), None);
        if certain {
            self.timeouts += 1;
        } else {
            self.perhaps += 1;
        }
    }

    /// Compares the wait until `at_ns`. The oldest segment was last sent at `head_sent_ns`; `near_ns` is the round trip
    /// between the sender and the capture point.
    pub(crate) fn wait(&self, head_sent_ns: Option<u64>, at_ns: u64, near_ns: u64) -> Wait {
        let since = |started: u64| at_ns.saturating_sub(started);
        let since_ns = head_sent_ns.max(self.started_ns).map_or(0, since);
        let backed_off = |times: u32| {
            let rto = self.timeout.rto().saturating_mul(1 << times.min(16));
            (rto + Duration::from_nanos(near_ns)).as_nanos()
        };
        let fits = |waited_ns: u64, late: fn(u64) -> u64| {
            (self.timeouts..=self.timeouts + self.perhaps).any(|times| {
                let rto = backed_off(times);
                let waited = waited_ns.saturating_add(near_ns);
                waited + rto / 64 >= rto && waited <= rto + late(rto) + TICK_NS
            })
        };
        // Retransmissions of the oldest segment that did not start the timer: these coincide more easily, so no more than a
        // tick is allowed them.
        let unseen = || [self.started_ns, self.recovering_ns].into_iter().flatten();
        let is_due = fits(since_ns, |rto| rto / 8) || unseen().any(|started| fits(since(started), |_| 0));
        let rto = backed_off(self.timeouts);
        Wait { since_ns, is_due, is_over: since_ns.saturating_add(near_ns) >= rto - rto / 8 }
    }
}

/// Timers fire at a tick after they are due.
const TICK_NS: u64 = 4_000_000;
