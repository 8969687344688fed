//! A shaper in front of a slower link (but2006 section III.B). It sends at a rate just below that of the link, so that
//! the queue builds up here, under an AQM, and not in the modem. It has no token bucket and so no bursts: each packet
//! waits for the transmission time of the packet before it. Left out: a peak rate, and a rate that follows the link
//! (autorate in `gamelane-stage` sets the rate).

use alloc::boxed::Box;
use gamelane_core::{Bitrate, Duration, Instant, IpLen, Outlet, Overhead, Packet};

use crate::catalogue::DisciplineConfig;
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};

/// Configuration of a shaper and its queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ShaperConfig {
    /// Rate, counted over [`Overhead::wire_len`].
    pub rate: Bitrate,
    /// Link-layer overhead of the link below. If it is set too low, small packets overload the modem.
    pub overhead: Overhead,
    /// Queue behind the shaper.
    pub queue: Box<DisciplineConfig>,
}

impl ShaperConfig {
    /// Checks the configuration for packets of this many `classes`.
    ///
    /// # Errors
    /// A rate of zero, or an error of the queue.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        if self.rate.bps() == 0 {
            return Err(ConfigError::ZeroRate { name: "shaper".into() });
        }
        self.queue.check(classes)
    }
}

/// Virtual clock of a shaper: it tells when the next packet may be sent.
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

    /// Time from which the next packet may be sent.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Learns that a packet arrived at an empty queue. Idle time gives no credit.
    pub(crate) fn wake(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// Accounts for a packet of `len` sent at `now`, which must not be before [`Pacer::next`].
    pub(crate) fn sent(&mut self, len: IpLen, now: Instant) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATENESS_CREDIT.as_nanos()));
        self.next = self.next.max(earliest) + self.rate.time_to_send(self.overhead.wire_len(len));
    }
}

/// The shaping discipline.
#[derive(Debug)]
pub struct Shaper<Q> {
    pacer: Pacer,
    queue: Q,
}

impl<Q> Shaper<Q> {
    /// Makes a shaper in front of `queue`. The queue must be empty and the rate above zero.
    pub const fn new(rate: Bitrate, overhead: Overhead, queue: Q) -> Self {
        Self { pacer: Pacer::new(rate, overhead), queue }
    }
}

impl<B, Q: QueueDiscipline<B>> QueueDiscipline<B> for Shaper<Q> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        if self.queue.backlog().is_empty() {
            self.pacer.wake(now);
        }
        self.queue.enqueue(packet, now, out);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        if now < self.pacer.next() {
            return None;
        }
        let packet = self.queue.dequeue(now, out)?;
        self.pacer.sent(packet.meta.len, now);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.queue.ready_at().map(|ready| ready.max(self.pacer.next()))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.queue.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.queue.handle_timeout(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fifo;
    use crate::config::Limit;
    use crate::fixture::{Ledger, in_class};
    use std::vec::Vec;

    fn shaper(kbps: u64) -> Shaper<Fifo<u64>> {
        Shaper::new(Bitrate::from_bps(kbps * 1000), Overhead::None, Fifo::new(Limit::Packets(50)))
    }

    /// Returns the times in µs at which packets leave, with a driver that calls exactly at `ready_at`.
    fn leave(queue: &mut Shaper<Fifo<u64>>) -> Vec<u64> {
        let mut ledger = Ledger::default();
        let mut times = Vec::new();
        let mut now = Instant::ZERO;
        while let Some(ready) = QueueDiscipline::<u64>::ready_at(queue) {
            now = now.max(ready);
            assert!(queue.dequeue(now, &mut ledger).is_some(), "no packet at the time `ready_at` returned");
            times.push(now.as_nanos() / 1000);
        }
        times
    }

    #[test]
    fn packets_leave_one_serialisation_apart_and_never_in_a_burst() {
        let mut queue = shaper(192);
        let mut ledger = Ledger::default();
        for number in 0..4 {
            queue.enqueue(in_class(0, 1500, number), Instant::ZERO, &mut ledger);
        }
        // 1500 B at 192 kbit/s take 62.5 ms (but2006 section II.A).
        assert_eq!(leave(&mut queue), [0, 62_500, 125_000, 187_500]);
        // A second of idle time gives no credit.
        for number in 0..3 {
            queue.enqueue(in_class(0, 1500, number), Instant::from_secs(2), &mut ledger);
        }
        assert_eq!(leave(&mut queue), [2_000_000, 2_062_500, 2_125_000]);
    }

    #[test]
    fn a_packet_soon_after_another_waits_its_turn() {
        let mut queue = shaper(192);
        let mut ledger = Ledger::default();
        queue.enqueue(in_class(0, 1500, 0), Instant::ZERO, &mut ledger);
        assert!(queue.dequeue(Instant::ZERO, &mut ledger).is_some());
        let soon = Instant::from_millis(10);
        queue.enqueue(in_class(0, 100, 1), soon, &mut ledger);
        assert!(queue.dequeue(soon, &mut ledger).is_none());
        assert_eq!(QueueDiscipline::<u64>::ready_at(&queue), Some(Instant::from_micros(62_500)));
    }

    #[test]
    fn overhead_is_paid_for() {
        let rate = Bitrate::from_bps(1_000_000);
        let mut queue = Shaper::new(rate, Overhead::Atm { overhead: 40 }, Fifo::new(Limit::Packets(50)));
        let mut ledger = Ledger::default();
        for number in 0..2 {
            queue.enqueue(in_class(0, 100, number), Instant::ZERO, &mut ledger);
        }
        // 100 B and 40 B of overhead fill three ATM cells, which are 159 B on the wire.
        assert_eq!(leave(&mut queue), [0, 1272]);
    }
}
