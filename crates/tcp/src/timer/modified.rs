//! The modified timeout of griwodz2006 section 4.4, made for Linux 2.6.15. While a stream is thin, the timeout is
//! `min((srtt >> 3) + min(srtt >> 4, rttvar), 120 s)` without back-off; otherwise Linux's timer applies. `srtt` is
//! stored times 8, so the timeout is 1.5 round trips unless the variation is smaller. Rounding to jiffies is left out.

use super::{Linux, RtoEstimator};
use crate::config::ModifiedRto;
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::Duration;

/// Modified timeout in the catalogue.
pub const MODIFIED: TcpDescriptor = TcpDescriptor {
    word: "modified",
    label: "modified timeout",
    about: "Modified timeout of griwodz2006. While few segments are in flight, it is at most 1.5 round \
            trip times and does not back off.",
    keys: &["modified_in_flight", "modified_margin_shift"],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// The Linux estimator with the modified timeout.
#[derive(Clone, Debug)]
pub struct Modified {
    linux: Linux,
    parameters: ModifiedRto,
}

/// Minimum timeout: one jiffy at 1000 Hz.
const JIFFY: Duration = Duration::from_millis(1);

impl Modified {
    /// An estimator without samples.
    pub fn new(parameters: ModifiedRto) -> Self {
        Self { linux: Linux::default(), parameters }
    }
}

impl RtoEstimator for Modified {
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        self.linux.on_sample(rtt, una, next);
    }

    fn srtt(&self) -> Duration {
        self.linux.srtt()
    }

    fn rto(&self) -> Duration {
        self.linux.rto()
    }

    fn steady_rto(&self, in_flight: usize) -> Option<Duration> {
        if in_flight >= self.parameters.in_flight_below as usize {
            return None;
        }
        let (srtt_8, rttvar) = self.linux.estimate();
        let margin = (srtt_8 >> (3 + u32::from(self.parameters.margin_shift.min(32)))).min(rttvar);
        let timeout = Duration::from_micros(((srtt_8 >> 3) + margin) as u64);
        Some(timeout.min(self.parameters.longest).max(JIFFY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rtt_ms: u64, samples: u64) -> Modified {
        let mut estimator = Modified::new(ModifiedRto::default());
        for round in 1..=samples {
            estimator.on_sample(Duration::from_millis(rtt_ms), round, round);
        }
        estimator
    }

    #[test]
    fn one_and_a_half_round_trips_while_fewer_than_three_are_in_flight() {
        let estimator = after(200, 1);
        assert_eq!(estimator.steady_rto(2), Some(Duration::from_millis(300)));
        assert_eq!(estimator.steady_rto(3), None);
        assert_eq!(estimator.rto(), Duration::from_millis(600));
    }

    #[test]
    fn the_variation_bounds_the_margin_beyond_400_ms() {
        // After many equal samples rttvar is at its minimum of 200 ms, so the timeout is 600 + min(300, 200) = 800 ms,
        // not 900 ms.
        let timeout = after(600, 200).steady_rto(1).unwrap();
        assert!(timeout.abs_diff(Duration::from_millis(800)) < Duration::from_micros(10), "{timeout}");
    }
}
