//! Stalls in retransmission timeouts (RFC 6298): a packet that needs its timer waits one timeout and a round trip, one whose
//! retransmissions are lost too waits three, seven, … timeouts with exponential back-off and two, three, … without. A tail
//! loss probe makes it less than one. The timeout is the one estimated from the round trips, without back-off.

use crate::samples::Samples;

/// Stalls of one direction by their length.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// What packets waited beyond the smoothed round trip, in hundredths of the timeout.
    pub hundredths: Samples,
    /// Those of less than three quarters of a timeout, then by the nearest whole number: one, two, three, four to six, more.
    pub by_timeouts: [u64; 6],
}

impl Stalls {
    /// A packet that a timed retransmission brought was acknowledged after `delay_ns`.
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
        // A probe after two round trips; and no timeout to hold a wait against.
        stalls.saw(300, 100, 300);
        stalls.saw(300, 100, 0);
        assert_eq!(stalls.by_timeouts, [1, 1, 0, 1, 0, 2]);
        assert_eq!(stalls.hundredths.min(), Some(66));
    }
}
