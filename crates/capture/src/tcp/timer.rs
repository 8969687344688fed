//! The sender's retransmission timer (RFC 6298 section 5), derived from its packets and their ACKs. Waits are compared
//! with it. A capture does not show everything, so all possibilities are tried:
//!
//! - A retransmission of the oldest segment during recovery may restart the timer (Linux does, RFC 6675 does not
//!   require it).
//! - A possible probe doubles the timeout only if it was a timeout.

use gamelane_core::Duration;
use gamelane_tcp::TimerKind;
use gamelane_tcp::timer::RetransmissionTimeout;

/// The timer of one direction's sender.
#[derive(Clone, Debug)]
pub(crate) struct SenderTimer {
    timeout: RetransmissionTimeout,
    /// Time of the last ACK of new data, or of the first data after everything was acknowledged.
    started_ns: Option<u64>,
    /// Time of the first retransmission of the oldest segment because of ACKs, since `started_ns`.
    recovering_ns: Option<u64>,
    /// Timeouts since the last ACK of new data.
    timeouts: u32,
    /// Possible timeouts since then, which may have been probes.
    perhaps: u32,
}

/// A wait compared with the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    /// Time since the last start of the timer, if the retransmission of the oldest segment started it.
    pub(crate) since_ns: u64,
    /// The timer expires now, within one tick.
    pub(crate) is_due: bool,
    /// The timer has expired, or will soon.
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

    /// Timeout without back-off.
    pub(crate) const fn rto(&self) -> Duration {
        self.timeout.rto()
    }

    /// Adds a round trip that the sender could measure too.
    pub(crate) fn measured(&mut self, rtt_ns: u64, ack: u64, end: u64) {
        self.timeout.on_sample(Duration::from_nanos(rtt_ns), ack, end);
    }

    /// Handles data sent with nothing else in flight.
    pub(crate) const fn sent_first(&mut self, at_ns: u64) {
        self.started_ns = Some(at_ns);
    }

    /// Handles an ACK of new data.
    pub(crate) const fn advanced(&mut self, at_ns: u64) {
        (self.started_ns, self.recovering_ns) = (Some(at_ns), None);
        (self.timeouts, self.perhaps) = (0, 0);
    }

    /// Handles a retransmission of the oldest segment because of ACKs.
    pub(crate) fn repaired(&mut self, at_ns: u64) {
        self.recovering_ns.get_or_insert(at_ns);
    }

    /// Handles a certain or possible expiry. The timer starts again.
    pub(crate) const fn expired(&mut self, certain: bool, at_ns: u64) {
        (self.started_ns, self.recovering_ns) = (Some(at_ns), None);
        if certain {
            self.timeouts += 1;
        } else {
            self.perhaps += 1;
        }
    }

    /// Compares the wait until `at_ns` with the timer. `head_sent_ns` is the last transmission of the oldest segment,
    /// `near_ns` the round trip between the sender and the capture point.
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
        // Retransmissions of the oldest segment that did not start the timer. These agree with the timer by chance more
        // often, so only one tick of tolerance is allowed.
        let unseen = || [self.started_ns, self.recovering_ns].into_iter().flatten();
        let is_due = fits(since_ns, |rto| rto / 8) || unseen().any(|started| fits(since(started), |_| 0));
        let rto = backed_off(self.timeouts);
        Wait { since_ns, is_due, is_over: since_ns.saturating_add(near_ns) >= rto - rto / 8 }
    }
}

/// Timers expire at a tick after they are due.
const TICK_NS: u64 = 4_000_000;
