//! Length of stalls in retransmission timeouts (RFC 6298). A packet that needs the timer waits one timeout and a round
//! trip. If its retransmissions are lost too, it waits 3, 7, … timeouts with exponential back-off, and 2, 3, … without.
//! A tail loss probe makes the wait shorter than one timeout. The timeout is the estimate from the round trips, without
//! back-off.

use crate::samples::Samples;

/// Stalls of one direction by their length.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// Wait beyond the smoothed round trip, in hundredths of the timeout.
    pub hundredths: Samples,
    /// Number of stalls of less than 0.75 timeouts, then by the nearest whole number: one, two, three, four to six,
    /// more.
    pub by_timeouts: [u64; 6],
}

impl Stalls {
    /// Adds a packet that a timed retransmission brought; it was acknowledged after `delay_ns`.
    pub(crate) fn saw(&mut self, delay_ns: u64, usual_ns: u64, timeout_ns: u64) {
        let beyond = u128::from(delay_ns.saturating_sub(usual_ns)) * 100;
        let hundredths = (beyond / u128::from(timeout_ns.max(1))).min(u128::from(u64::MAX)) as u64;
        self.hundredths.push(hundredths);
        let length = match hundredths {
            ..75 => 0,
            75..150 => 1,
            150..250 => 2,
            250..350 => 3,
            350..650 => 4,
            _ => 5,
        };
        self.by_timeouts[length] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_makes_one_three_and_seven() {
        let mut stalls = Stalls::default();
        for timeouts in [1, 3, 7] {
            stalls.saw(timeouts * 300 + 100, 100, 300);
        }
        // A probe after two round trips, and a stall without a known timeout.
        stalls.saw(300, 100, 300);
        stalls.saw(300, 100, 0);
        assert_eq!(stalls.by_timeouts, [1, 1, 0, 1, 0, 2]);
        assert_eq!(stalls.hundredths.min(), Some(66));
    }
}
