//! AQM laws: when to signal congestion. A law owns no packets, so the same one serves a single queue, each queue of a
//! fair scheduler, and a test that hands it sojourn times.

pub(crate) mod apply;
pub mod cobalt;
pub mod codel;
pub mod pi2;
pub mod pie;
pub mod unmanaged;

use gamelane_core::{Duration, Instant, PacketMeta};

use crate::discipline::Backlog;

pub use cobalt::Cobalt;
pub use codel::Codel;
pub use pi2::Pi2;
pub use pie::Pie;
pub use unmanaged::Unmanaged;

/// What a law wants done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Let it go on.
    Pass,
    /// Let it go on, marked [`gamelane_core::Ecn::Ce`].
    Mark,
    /// Drop it.
    Drop,
}

/// An AQM law. PIE decides in [`Aqm::admit`], CoDel in [`Aqm::release`].
pub trait Aqm {
    /// Decides on an arriving packet; `backlog` does not hold it yet.
    fn admit(&mut self, _packet: &PacketMeta, _backlog: Backlog, _now: Instant) -> Signal {
        Signal::Pass
    }

    /// Decides on the packet taken from the head after waiting `sojourn`; `backlog` no longer holds it. Called again
    /// for the next packet while it answers [`Signal::Drop`].
    fn release(&mut self, packet: &PacketMeta, sojourn: Duration, backlog: Backlog, now: Instant) -> Signal;

    /// The queue was asked for a packet and has none (also after dropping its last one).
    fn emptied(&mut self, _now: Instant) {}

    /// A flow queue that had left the scheduler takes part again.
    fn reactivated(&mut self, _now: Instant) {}

    /// The flow queue now serves another flow than before.
    fn claimed(&mut self) {}

    /// The scheduler dropped `packets` from this queue because the whole discipline was full.
    fn overlimit(&mut self, _packets: u32, _now: Instant) {}

    /// Period of [`Aqm::tick`] and time of the first one since the run began; `None` for laws without a clock.
    fn ticks(&self) -> Option<Ticks> {
        None
    }

    /// One period has passed. Returns false once nothing would change without another packet.
    fn tick(&mut self, _backlog: Backlog, _now: Instant) -> bool {
        false
    }
}

/// The grid a periodic law works on. Ticks lie on `first + k * period`, so switching them off while a queue is quiet
/// does not shift the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Time of the first tick since the run began.
    pub first: Duration,
    /// Time between ticks.
    pub period: Duration,
}

impl Ticks {
    /// The first tick after `now`.
    pub const fn after(self, now: Instant) -> Instant {
        let (now, first, period) = (now.as_nanos(), self.first.as_nanos(), self.period.as_nanos());
        if now < first {
            return Instant::from_nanos(first);
        }
        Instant::from_nanos(first + ((now - first) / period + 1) * period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_their_grid() {
        let ticks = Ticks { first: Duration::from_millis(500), period: Duration::from_millis(15) };
        assert_eq!(ticks.after(Instant::ZERO), Instant::from_millis(500));
        assert_eq!(ticks.after(Instant::from_millis(500)), Instant::from_millis(515));
        assert_eq!(ticks.after(Instant::from_millis(529)), Instant::from_millis(530));
    }
}
