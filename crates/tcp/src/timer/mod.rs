//! The retransmission timeout: an estimator (a row of [`crate::TimerKind`]), exponential back-off (RFC 6298 section 5.5)
//! and the value to use before the first sample. Karn's rule is the caller's: it offers unambiguous samples only.

mod linux;
mod rfc6298;

pub use linux::Linux;
pub use rfc6298::Rfc6298;

use crate::config::TimerKind;
use gamelane_core::Duration;

/// RFC 6298 section 2.1.
pub const INITIAL_RTO: Duration = Duration::from_secs(1);
/// RFC 6298 section 5.7: when the SYN had to be sent again and gave no sample.
pub const FALLBACK_RTO: Duration = Duration::from_secs(3);
/// Linux `TCP_RTO_MAX`; RFC 6298 section 2.5 asks for at least 60 s.
pub const MAX_RTO: Duration = Duration::from_secs(120);

/// Follows the round trip.
pub trait RtoEstimator {
    /// Takes one round-trip sample. `una` and `next` are the first unacknowledged offset and the next to send, from
    /// which an estimator may tell round trips apart.
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64);
    /// Smoothed round trip; meaningful after the first sample.
    fn srtt(&self) -> Duration;
    /// Timeout before back-off; meaningful after the first sample.
    fn rto(&self) -> Duration;
}

#[derive(Clone, Debug)]
enum Estimator {
    Rfc6298(Rfc6298),
    Linux(Linux),
}

/// The timeout of one connection.
#[derive(Clone, Debug)]
pub struct RetransmissionTimeout {
    estimator: Estimator,
    sampled: bool,
    /// The timeout now, back-off included.
    rto: Duration,
}

impl RetransmissionTimeout {
    /// One second, until a sample arrives.
    pub fn new(kind: TimerKind) -> Self {
        let estimator = match kind {
            TimerKind::Rfc6298 => Estimator::Rfc6298(Rfc6298::default()),
            TimerKind::Linux => Estimator::Linux(Linux::default()),
        };
        Self { estimator, sampled: false, rto: INITIAL_RTO }
    }

    /// Takes an unambiguous sample; ends any back-off (RFC 6298 section 5.7, Karn).
    pub fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        self.sampled = true;
        self.rto = match &mut self.estimator {
            Estimator::Rfc6298(estimator) => {
                estimator.on_sample(rtt, una, next);
                estimator.rto()
            }
            Estimator::Linux(estimator) => {
                estimator.on_sample(rtt, una, next);
                estimator.rto()
            }
        };
    }

    /// The timer expired: double (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(MAX_RTO);
    }

    /// The handshake ended without a sample because its segments were sent more than once.
    pub fn fall_back(&mut self) {
        if !self.sampled {
            self.rto = FALLBACK_RTO;
        }
    }

    /// The timeout now, back-off included.
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    /// Smoothed round trip, once sampled.
    pub fn srtt(&self) -> Option<Duration> {
        self.sampled.then(|| match &self.estimator {
            Estimator::Rfc6298(estimator) => estimator.srtt(),
            Estimator::Linux(estimator) => estimator.srtt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_ends_with_a_sample() {
        let mut timeout = RetransmissionTimeout::new(TimerKind::Linux);
        timeout.on_sample(MS(100), 1, 1);
        assert_eq!(timeout.rto(), MS(300));
        timeout.back_off();
        timeout.back_off();
        assert_eq!(timeout.rto(), MS(1200));
        for _ in 0..20 {
            timeout.back_off();
        }
        assert_eq!(timeout.rto(), MAX_RTO);
        timeout.on_sample(MS(100), 1, 1);
        assert_eq!(timeout.rto(), MS(300));
    }

    #[test]
    fn a_repeated_handshake_falls_back_to_three_seconds() {
        let mut timeout = RetransmissionTimeout::new(TimerKind::Rfc6298);
        assert_eq!(timeout.rto(), INITIAL_RTO);
        timeout.back_off();
        timeout.fall_back();
        assert_eq!(timeout.rto(), FALLBACK_RTO);
        assert_eq!(timeout.srtt(), None);
    }
}
