//! The RTT estimator of Linux 6.1 (`tcp_rtt_estimator`, `tcp_set_rto`) in integer microseconds. The variation is at
//! least 200 ms and falls at most once per round trip, so the RTO is the RTT plus 200 ms or more. Left out: rounding to
//! jiffies.

use super::RtoEstimator;
use crate::config::MAX_RTO;
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::Duration;

/// Linux 6 in the catalogue.
pub const LINUX: TcpDescriptor = TcpDescriptor {
    word: "linux-6",
    label: "Linux 6",
    about: "Timer of Linux 6: the timeout is at least 200 ms above the round trip time.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[]) },
};

/// Linux 2.6 in the catalogue.
pub const LINUX_2_6: TcpDescriptor = TcpDescriptor {
    word: "linux-2.6",
    label: "Linux 2.6",
    about: "Timer of Linux 2.6: like `linux-6`, but the timeout is 3 s before the first round trip sample.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Minimum of the variation and of the timeout in microseconds (`TCP_RTO_MIN`).
const MIN_RTO_US: i64 = 200_000;
/// Maximum RTT sample in microseconds; larger ones are cut, so that the arithmetic cannot overflow.
const MAX_SAMPLE_US: u64 = 1 << 40;

/// The estimator of Linux.
#[derive(Clone, Debug, Default)]
pub struct Linux {
    /// Smoothed round trip in microseconds times 8; 0 before the first sample.
    srtt_8: i64,
    /// Mean deviation in microseconds times 4.
    mdev_4: i64,
    /// Largest `mdev_4` in the current round trip.
    mdev_max: i64,
    /// Variation that is added to the smoothed round trip, in microseconds.
    rttvar: i64,
    /// The current round trip ends when this offset is acknowledged.
    round_end: u64,
}

impl Linux {
    /// Smoothed round trip times 8, and the variation; both in microseconds.
    pub(super) const fn estimate(&self) -> (i64, i64) {
        (self.srtt_8, self.rttvar)
    }
}

impl RtoEstimator for Linux {
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        let sample = (rtt.as_nanos() / 1_000).clamp(1, MAX_SAMPLE_US) as i64;
        if self.srtt_8 == 0 {
            self.srtt_8 = sample * 8;
            self.mdev_4 = sample * 2;
            self.rttvar = self.mdev_4.max(MIN_RTO_US);
            self.mdev_max = self.rttvar;
            self.round_end = next;
            return;
        }
        let error = sample - self.srtt_8 / 8;
        self.srtt_8 += error;
        let mut change = error.abs() - self.mdev_4 / 4;
        // A falling round trip must not raise the timeout much (Linux takes this from the Eifel algorithm).
        if error < 0 && change > 0 {
            change /= 8;
        }
        self.mdev_4 += change;
        if self.mdev_4 > self.mdev_max {
            self.mdev_max = self.mdev_4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) / 4;
            }
            self.round_end = next;
            self.mdev_max = MIN_RTO_US;
        }
    }

    fn srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt_8 as u64 * 125)
    }

    fn rto(&self) -> Duration {
        let micros = (self.srtt_8 / 8 + self.rttvar).max(MIN_RTO_US);
        Duration::from_micros(micros as u64).min(MAX_RTO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_equal_samples(rtt_ms: u64, samples: u64) -> Linux {
        let mut estimator = Linux::default();
        for round in 0..samples {
            estimator.on_sample(Duration::from_millis(rtt_ms), round + 1, round + 1);
        }
        estimator
    }

    #[test]
    fn the_first_sample_of_100_ms_gives_300_ms() {
        let estimator = after_equal_samples(100, 1);
        assert_eq!((estimator.srtt_8, estimator.mdev_4, estimator.rttvar), (800_000, 200_000, 200_000));
        assert_eq!(estimator.rto(), Duration::from_millis(300));
    }

    #[test]
    fn equal_samples_settle_200_ms_above_the_round_trip() {
        assert_eq!(after_equal_samples(100, 100).rto(), Duration::from_millis(300));
        assert_eq!(after_equal_samples(200, 1).rto(), Duration::from_millis(600));
        let settled = after_equal_samples(200, 100).rto();
        assert!(settled.abs_diff(Duration::from_millis(400)) < Duration::from_micros(10), "{settled}");
    }
}
