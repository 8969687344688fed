//! The timeout of Windows 11: the estimate of RFC 6298, at least 300 ms (`Get-NetTCPSetting`, template `Internet`: `MinRto`).
//! The estimator of Windows is not published. Left out: the template `Datacenter`, with at least 20 ms.

use super::{Rfc6298, RtoEstimator};
use crate::config::MAX_RTO;
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::Duration;

/// Windows 11 in the catalogue.
pub const WINDOWS_11: TcpDescriptor = TcpDescriptor {
    word: "windows-11",
    label: "Windows 11",
    about: "Timer of Windows 11: that of RFC 6298, but at least 300 ms.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Minimum timeout (`MinRto`).
const LEAST: Duration = Duration::from_millis(300);

/// The estimator of Windows.
#[derive(Clone, Debug, Default)]
pub struct Windows(Rfc6298);

impl RtoEstimator for Windows {
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        self.0.on_sample(rtt, una, next);
    }

    fn srtt(&self) -> Duration {
        self.0.srtt()
    }

    fn rto(&self) -> Duration {
        self.0.unbounded().clamp(LEAST, MAX_RTO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_round_trip_gives_300_ms_and_a_long_one_follows_rfc_6298() {
        let first = |rtt_ms| {
            let mut estimator = Windows::default();
            estimator.on_sample(Duration::from_millis(rtt_ms), 1, 1);
            estimator.rto()
        };
        assert_eq!(first(10), Duration::from_millis(300));
        // 200 + 4 x 100.
        assert_eq!(first(200), Duration::from_millis(600));
    }
}
