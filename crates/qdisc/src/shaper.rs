//! A shaper in front of a slower link: it lets packets go at a rate of its own, just below the link's, so that the queue
//! stands here, where its discipline rules, and not in the modem (but2006 section III.B). No bucket and so no burst: each
//! packet waits until the one before it would have been sent. Left out: a peak rate, adapting to the link (autorate).

use alloc::boxed::Box;
use gamelane_core::{Bitrate, Duration, Instant, IpLen, Outlet, Overhead, Packet};

use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::tree::DisciplineConfig;

/// A shaped queue as a scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShaperConfig {
    /// Rate, counted over [`Overhead::wire_len`].
    pub rate: Bitrate,
    /// What the link below adds to each packet. Too little here, and small packets overload the modem.
    pub overhead: Overhead,
    /// The queue it empties.
    pub queue: Box<DisciplineConfig>,
}

impl ShaperConfig {
    /// Finds what no queue can be built from, given how many classes packets are put in.
    ///
    /// # Errors
    /// A rate of zero, and those of the queue.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        if self.rate.bps() == 0 {
            return Err(ConfigError::ZeroRate { name: "shaper".into() });
        }
        self.queue.check(classes)
    }
}

/// Refuses a shaper that is not slower than the `link` below it.
///
/// # Errors
/// [`ConfigError::ShaperAboveLink`].
pub fn check_below(rate: Bitrate, link: Bitrate) -> Result<(), ConfigError> {
    if rate < link { Ok(()) } else { Err(ConfigError::ShaperAboveLink { shaper: rate, link }) }
}

/// When the next packet may go: the virtual clock of a shaper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    rate: Bitrate,
    overhead: Overhead,
    next: Instant,
}

/// How far a late driver may catch up; see `gamelane_link::WiredLink`.
pub(crate) const LATENESS_CREDIT: Duration = Duration::from_micros(500);

impl Pacer {
    pub(crate) const fn new(rate: Bitrate, overhead: Overhead) -> Self {
        Self { rate, overhead, next: Instant::ZERO }
    }

    /// From when on the next packet may go.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// A packet came where none was: time that was not used is gone.
    pub(crate) fn wake(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// A packet of `len` goes at `now`, which is not before [`Pacer::next`].
    pub(crate) fn sent(&mut self, len: IpLen, now: Instant) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATENESS_CREDIT.as_nanos()));
        self.next = self.next.max(earliest) + self.rate.time_to_send(self.overhead.wire_len(len));
    }
}

/// The discipline.
#[derive(Debug)]
pub struct Shaper<Q> {
    pacer: Pacer,
    queue: Q,
}

impl<Q> Shaper<Q> {
    /// Shapes what leaves `queue`, which is empty, to a rate above zero.
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

    /// When packets leave a driver that calls exactly when it is told to, in µs.
    fn leave(queue: &mut Shaper<Fifo<u64>>) -> Vec<u64> {
        let mut ledger = Ledger::default();
        let mut times = Vec::new();
        let mut now = Instant::ZERO;
        while let Some(ready) = QueueDiscipline::<u64>::ready_at(queue) {
            now = now.max(ready);
            assert!(queue.dequeue(now, &mut ledger).is_some(), "ready means ready");
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
        // 1500 B at 192 kbit/s are 62.5 ms (but2006 section II.A).
        assert_eq!(leave(&mut queue), [0, 62_500, 125_000, 187_500]);
        // A second of silence saves nothing up.
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
        // 140 B are three cells, 159 B on the wire.
        assert_eq!(leave(&mut queue), [0, 1272]);
    }

    #[test]
    fn a_shaper_has_to_be_below_its_link() {
        let rate = Bitrate::from_bps;
        assert_eq!(check_below(rate(950_000), rate(1_000_000)), Ok(()));
        let error = check_below(rate(1_000_000), rate(1_000_000)).unwrap_err();
        assert_eq!(error, ConfigError::ShaperAboveLink { shaper: rate(1_000_000), link: rate(1_000_000) });
    }
}
