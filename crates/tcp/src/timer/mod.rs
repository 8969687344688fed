//! The retransmission timeout: an estimator (see [`crate::TimerKind`]), exponential back-off (RFC 6298 section 5.5),
//! and the initial value before the first sample. Karn's rule is left to the caller, who passes only unambiguous
//! samples.

mod fixed;
mod freebsd;
mod linux;
mod modified;
mod rfc6298;
mod windows;

pub use fixed::{FIXED, Fixed};
pub use freebsd::{FREEBSD_10, FREEBSD_14, FreeBsd};
pub use linux::{LINUX, LINUX_2_6, Linux};
pub use modified::{MODIFIED, Modified};
pub use rfc6298::{RFC_6298, Rfc6298};
pub use windows::{WINDOWS_11, Windows};

use crate::config::{MAX_RTO, TimerKind};
use gamelane_core::Duration;

/// Initial timeout (RFC 6298 section 2.1).
pub const INITIAL_RTO: Duration = Duration::from_secs(1);
/// Initial timeout of Linux 2.6 (RFC 1122 section 4.2.3.1).
pub const OLD_INITIAL_RTO: Duration = Duration::from_secs(3);
/// Timeout after a retransmitted SYN that gave no sample (RFC 6298 section 5.7).
pub const FALLBACK_RTO: Duration = Duration::from_secs(3);

/// Estimator of the round trip and the timeout.
pub trait RtoEstimator {
    /// Takes one RTT sample. `una` is the first unacknowledged offset and `next` the next to send; an estimator can use
    /// them to detect the end of a round trip.
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64);
    /// Smoothed round trip; valid after the first sample.
    fn srtt(&self) -> Duration;
    /// Timeout without back-off; valid after the first sample.
    fn rto(&self) -> Duration;
    /// Timeout after an expiry of `rto` (RFC 6298 section 5.5).
    fn backed_off(&self, rto: Duration) -> Duration {
        rto.saturating_mul(2).min(MAX_RTO)
    }
    /// Timeout without back-off that applies while `in_flight` segments are in flight; `None` if the normal timeout
    /// applies.
    fn steady_rto(&self, _in_flight: usize) -> Option<Duration> {
        None
    }
}

#[derive(Clone, Debug)]
enum Estimator {
    Rfc6298(Rfc6298),
    Linux(Linux),
    FreeBsd(FreeBsd),
    Windows(Windows),
    Modified(Modified),
    Fixed(Fixed),
}

macro_rules! dispatch {
    ($self:ident, $estimator:ident => $call:expr) => {
        match $self {
            Estimator::Rfc6298($estimator) => $call,
            Estimator::Linux($estimator) => $call,
            Estimator::FreeBsd($estimator) => $call,
            Estimator::Windows($estimator) => $call,
            Estimator::Modified($estimator) => $call,
            Estimator::Fixed($estimator) => $call,
        }
    };
}

impl RtoEstimator for Estimator {
    fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        dispatch!(self, estimator => estimator.on_sample(rtt, una, next));
    }

    fn srtt(&self) -> Duration {
        dispatch!(self, estimator => estimator.srtt())
    }

    fn rto(&self) -> Duration {
        dispatch!(self, estimator => estimator.rto())
    }

    fn backed_off(&self, rto: Duration) -> Duration {
        dispatch!(self, estimator => estimator.backed_off(rto))
    }

    fn steady_rto(&self, in_flight: usize) -> Option<Duration> {
        dispatch!(self, estimator => estimator.steady_rto(in_flight))
    }
}

/// The retransmission timeout of one connection.
#[derive(Clone, Debug)]
pub struct RetransmissionTimeout {
    estimator: Estimator,
    sampled: bool,
    /// Current timeout, including back-off.
    rto: Duration,
}

impl RetransmissionTimeout {
    /// The initial timeout of this kind of timer, until the first sample.
    pub fn new(kind: TimerKind) -> Self {
        let (estimator, rto) = match kind {
            TimerKind::Rfc6298 => (Estimator::Rfc6298(Rfc6298::default()), INITIAL_RTO),
            TimerKind::Linux => (Estimator::Linux(Linux::default()), INITIAL_RTO),
            TimerKind::Linux26 => (Estimator::Linux(Linux::default()), OLD_INITIAL_RTO),
            TimerKind::FreeBsd14 => (Estimator::FreeBsd(FreeBsd::default()), INITIAL_RTO),
            TimerKind::Windows11 => (Estimator::Windows(Windows::default()), INITIAL_RTO),
            TimerKind::FreeBsd10 => (Estimator::FreeBsd(FreeBsd::default()), OLD_INITIAL_RTO),
            TimerKind::Modified(rule) => (Estimator::Modified(Modified::new(rule)), OLD_INITIAL_RTO),
            TimerKind::Fixed(timeout) => (Estimator::Fixed(Fixed::new(timeout)), INITIAL_RTO),
        };
        Self { estimator, sampled: false, rto }
    }

    /// Takes an unambiguous sample. This ends any back-off (RFC 6298 section 5.7, Karn's rule).
    pub fn on_sample(&mut self, rtt: Duration, una: u64, next: u64) {
        self.sampled = true;
        self.estimator.on_sample(rtt, una, next);
        self.rto = self.estimator.rto();
    }

    /// Doubles the timeout after an expiry (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.rto = self.estimator.backed_off(self.rto);
    }

    /// Removes all back-off, for linear timeouts.
    pub fn stay(&mut self) {
        if self.sampled {
            self.rto = self.estimator.rto();
        }
    }

    /// Sets the fallback timeout after a handshake without a sample, where its segments were sent more than once.
    pub fn fall_back(&mut self) {
        if !self.sampled {
            self.rto = FALLBACK_RTO;
        }
    }

    /// Current timeout, including back-off.
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    /// Timeout with this many segments in flight.
    pub fn rto_with(&self, in_flight: usize) -> Duration {
        self.steady_rto(in_flight).unwrap_or(self.rto)
    }

    /// Timeout without back-off that applies with this many segments in flight, if there is one.
    pub fn steady_rto(&self, in_flight: usize) -> Option<Duration> {
        if self.sampled { self.estimator.steady_rto(in_flight) } else { None }
    }

    /// Smoothed round trip; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.sampled.then(|| self.estimator.srtt())
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
