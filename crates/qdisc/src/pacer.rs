//! When a queue with a rate of its own may send its next packet. There is no token bucket and so no burst: a packet leaves
//! at once, and the next one waits for the time that it takes at the rate.

use gamelane_core::{Bitrate, Duration, Instant, IpLen, Overhead};

/// Virtual clock of a rate: it tells when the next packet may be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    rate: Bitrate,
    overhead: Overhead,
    next: Instant,
}

/// Longest lateness that a driver may catch up; see `gamelane_link::WiredLink`.
pub(crate) const LATENESS_CREDIT: Duration = Duration::from_micros(500);

impl Pacer {
    pub(crate) const fn new(rate: Bitrate, overhead: Overhead) -> Self {
        Self { rate, overhead, next: Instant::ZERO }
    }

    /// Changes the rate from the next packet on.
    pub(crate) const fn set_rate(&mut self, rate: Bitrate) {
        self.rate = rate;
    }

    /// Time from which the next packet may be sent.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Learns that a packet arrived at an empty queue. Idle time gives no credit. Returns whether the clock was behind.
    pub(crate) fn wake(&mut self, now: Instant) -> bool {
        let behind = self.next < now;
        self.next = self.next.max(now);
        behind
    }

    /// Sets the clock to `now`.
    pub(crate) const fn restart(&mut self, now: Instant) {
        self.next = now;
    }

    /// Accounts for a packet of `len` that was sent or dropped at `now`. It must not have been sent before [`Pacer::next`].
    pub(crate) fn charge(&mut self, len: IpLen, now: Instant) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATENESS_CREDIT.as_nanos()));
        self.next = self.next.max(earliest) + self.rate.time_to_send(self.overhead.wire_len(len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Sends packets of `len` bytes, each when it may leave, and returns the times in µs.
    fn leave(pacer: &mut Pacer, len: u32, packets: usize) -> Vec<u64> {
        let mut send = || {
            let now = pacer.next();
            pacer.charge(IpLen(len), now);
            now.as_nanos() / 1000
        };
        (0..packets).map(|_| send()).collect()
    }

    #[test]
    fn packets_leave_one_serialisation_apart_and_never_in_a_burst() {
        let mut pacer = Pacer::new(Bitrate::from_bps(192_000), Overhead::None);
        // 1500 B at 192 kbit/s take 62.5 ms (but2006 section II.A).
        assert_eq!(leave(&mut pacer, 1500, 4), [0, 62_500, 125_000, 187_500]);
        // A second of idle time gives no credit.
        pacer.wake(Instant::from_secs(2));
        assert_eq!(leave(&mut pacer, 1500, 3), [2_000_000, 2_062_500, 2_125_000]);
        // A packet that comes soon after another waits its turn.
        pacer.wake(Instant::from_millis(2130));
        assert_eq!(pacer.next(), Instant::from_micros(2_187_500));
    }

    #[test]
    fn overhead_is_paid_for() {
        let mut pacer = Pacer::new(Bitrate::from_bps(1_000_000), Overhead::Atm { overhead: 40 });
        // 100 B and 40 B of overhead fill three ATM cells, which are 159 B on the wire.
        assert_eq!(leave(&mut pacer, 100, 2), [0, 1272]);
    }
}
