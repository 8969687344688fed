//! The standard estimator (RFC 6298 sections 2.2 to 2.5) in nanoseconds: RTO = SRTT + max(G, 4 RTTVAR), at least 1 s.
//! Back-off is left to the timer.

use super::RtoEstimator;
use crate::config::MAX_RTO;
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::Duration;

/// RFC 6298 in the catalogue.
pub const RFC_6298: TcpDescriptor = TcpDescriptor {
    word: "rfc6298",
    label: "RFC 6298",
    about: "Timer of RFC 6298: the timeout is at least 1 s.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Clock granularity G: one tick of the timestamp clock.
const GRANULARITY: Duration = Duration::from_millis(1);
/// Minimum timeout (RFC 6298 section 2.4, SHOULD).
const MIN_RTO: Duration = Duration::from_secs(1);

/// The standard estimator.
#[derive(Clone, Debug, Default)]
pub struct Rfc6298 {
    /// SRTT and RTTVAR; `None` before the first sample.
    estimate: Option<(Duration, Duration)>,
}

impl Rfc6298 {
    /// SRTT + max(G, 4 RTTVAR), without minimum and maximum.
    pub(super) fn unbounded(&self) -> Duration {
        self.estimate.map_or(MIN_RTO, |(srtt, rttvar)| srtt + GRANULARITY.max(rttvar * 4))
    }
}

impl RtoEstimator for Rfc6298 {
    fn on_sample(&mut self, rtt: Duration, _una: u64, _next: u64) {
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            // RTTVAR first, because it uses the old SRTT (section 2.3).
            Some((srtt, rttvar)) => ((srtt * 7 + rtt) / 8, (rttvar * 3 + srtt.abs_diff(rtt)) / 4),
        });
    }

    fn srtt(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |(srtt, _)| srtt)
    }

    fn rto(&self) -> Duration {
        self.unbounded().clamp(MIN_RTO, MAX_RTO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_samples_of_100_ms() {
        let mut estimator = Rfc6298::default();
        let sample = Duration::from_millis(100);
        estimator.on_sample(sample, 1, 1);
        estimator.on_sample(sample, 1, 1);
        assert_eq!(estimator.estimate, Some((sample, Duration::from_micros(37_500))));
        assert_eq!(estimator.unbounded(), Duration::from_millis(250));
        assert_eq!(estimator.rto(), Duration::from_secs(1));
    }
}
