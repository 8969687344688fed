//! The timeout of FreeBSD (`TCP_REXMTVAL`, `TCPT_RANGESET`, `tcp_timer_rexmt` of 10.2 and 14): the estimate of RFC 6298, at
//! least 30 ms, plus a slop of 200 ms that does not double. The two versions differ before the first sample. Left out:
//! rounding to ticks, and the undo of a timeout that half a round trip proves wrong (`t_badrxtwin` of 10.2).

use super::{Rfc6298, RtoEstimator};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::Duration;

/// FreeBSD 14 in the catalogue.
pub const FREEBSD_14: TcpDescriptor = TcpDescriptor {
    word: "freebsd-14",
    label: "FreeBSD 14",
    about: "Timer of FreeBSD 14: at least 230 ms, of which 200 ms do not double.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// FreeBSD 10 in the catalogue.
pub const FREEBSD_10: TcpDescriptor = TcpDescriptor {
    word: "freebsd-10",
    label: "FreeBSD 10",
    about: "Timer of FreeBSD 10: at least 230 ms, of which 200 ms do not double, and 3 s before the first round trip sample.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Minimum of the part that doubles (`tcp_rexmit_min`).
const LEAST: Duration = Duration::from_millis(30);
/// The part that does not double (`tcp_rexmit_slop`).
const SLOP: Duration = Duration::from_millis(200);
/// Maximum timeout (`TCPTV_REXMTMAX`).
const LONGEST: Duration = Duration::from_secs(64);

/// The estimator of FreeBSD.
#[derive(Clone, Debug, Default)]
pub struct FreeBsd(Rfc6298);

impl RtoEstimator for FreeBsd {
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        self.0.on_sample(rtt, una, next);
    }

    fn srtt(&self) -> Duration {
        self.0.srtt()
    }

    fn rto(&self) -> Duration {
        (self.0.unbounded().max(LEAST) + SLOP).min(LONGEST)
    }

    fn backed_off(&self, rto: Duration) -> Duration {
        (rto.saturating_sub(SLOP).saturating_mul(2) + SLOP).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slop_of_200_ms_does_not_double() {
        let mut estimator = FreeBsd::default();
        estimator.on_sample(Duration::from_millis(100), 1, 1);
        // The first sample: 100 + 4 x 50 + 200.
        assert_eq!(estimator.rto(), Duration::from_millis(500));
        assert_eq!(estimator.backed_off(estimator.rto()), Duration::from_millis(800));
        for _ in 0..1_000 {
            estimator.on_sample(Duration::from_millis(1), 1, 1);
        }
        let mut rto = estimator.rto();
        for expected_ms in [230, 260, 320, 440, 680] {
            assert_eq!(rto, Duration::from_millis(expected_ms));
            rto = estimator.backed_off(rto);
        }
    }
}
