//! A retransmission timeout of fixed length, never backed off: the "fixed RTO" of Dyer and Boppana (MobiHoc 2001, reference
//! [8] of S4) taken to its end, a baseline for sweeps. The handshake has the usual timer until its first sample.

use super::RtoEstimator;
use gamelane_core::Duration;

/// The same timeout whatever the round trip.
#[derive(Clone, Debug)]
pub struct Fixed {
    timeout: Duration,
    /// Smoothed as in RFC 6298, for whoever wants to know it.
    srtt: Option<Duration>,
}

/// No timer is finer: a tick of the timestamp clock.
const MIN_RTO: Duration = Duration::from_millis(1);

impl Fixed {
    /// Waits `timeout`, one millisecond at least.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout: timeout.max(MIN_RTO), srtt: None }
    }
}

impl RtoEstimator for Fixed {
    fn on_sample(&mut self, rtt: Duration, _una: u64, _next: u64) {
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
    }

    fn srtt(&self) -> Duration {
        self.srtt.unwrap_or_default()
    }

    fn rto(&self) -> Duration {
        self.timeout
    }

    fn steady_rto(&self, _in_flight: usize) -> Option<Duration> {
        Some(self.timeout)
    }
}
