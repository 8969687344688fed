//! A retransmission timeout of constant length without back-off. It is the "fixed RTO" of Dyer and Boppana (MobiHoc
//! 2001, reference 8 of griwodz2006) without any exception, and a baseline for parameter sweeps. The handshake uses
//! the initial timeout until the first sample.

use super::RtoEstimator;
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::Duration;

/// Fixed timeout in the catalogue.
pub const FIXED: TcpDescriptor = TcpDescriptor {
    word: "fixed",
    label: "fixed timeout",
    about: "Fixed timeout: always `fixed_rto`, without back-off.",
    keys: &["fixed_rto"],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Estimator with a constant timeout.
#[derive(Clone, Debug)]
pub struct Fixed {
    timeout: Duration,
    /// Smoothed round trip as in RFC 6298, only for observation.
    srtt: Option<Duration>,
}

/// Minimum timeout: one tick of the timestamp clock.
const MIN_RTO: Duration = Duration::from_millis(1);

impl Fixed {
    /// A timeout of `timeout`, at least 1 ms.
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
