//! AQM laws: they decide when to signal congestion. A law owns no packets. So the same law works in a single queue, in
//! each flow queue of a scheduler, and in a test that only gives it sojourn times.

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

/// Decision of a law about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Forward the packet.
    Pass,
    /// Forward the packet marked [`gamelane_core::Ecn::Ce`].
    Mark,
    /// Drop the packet.
    Drop,
}

/// An AQM law. PIE decides in [`Aqm::admit`], CoDel in [`Aqm::release`].
pub trait Aqm {
    /// Decides on an arriving packet. `backlog` does not count it yet.
    fn admit(&mut self, _packet: &PacketMeta, _backlog: Backlog, _now: Instant) -> Signal {
        Signal::Pass
    }

    /// Learns that an arriving packet was dropped because the queue was full.
    fn refused(&mut self) {}

    /// Decides on the packet at the head, which has waited `sojourn`. `backlog` no longer counts it. After
    /// [`Signal::Drop`] the caller asks again for the next packet.
    fn release(&mut self, packet: &PacketMeta, sojourn: Duration, backlog: Backlog, now: Instant) -> Signal;

    /// Learns how many bulk flows share the rate, before each [`Aqm::release`] of a queue whose drops count as sent
    /// ([`crate::fq::FlowSelector::drops_are_charged`]).
    fn shared_by(&mut self, _bulk_flows: u32) {}

    /// Learns that the queue was asked for a packet and had none, possibly because its last packet was dropped.
    fn emptied(&mut self, _now: Instant) {}

    /// Learns that an idle flow queue got a packet and joins the scheduler again.
    fn reactivated(&mut self, _now: Instant) {}

    /// Returns whether an empty flow queue may leave the scheduler. Otherwise it is visited again, each time with
    /// [`Aqm::emptied`], and belongs to its flow until then.
    fn at_rest(&self, _now: Instant) -> bool {
        true
    }

    /// Learns that the scheduler dropped `packets` from this queue because the whole discipline was full.
    fn overlimit(&mut self, _packets: u32, _now: Instant) {}

    /// Times of [`Aqm::tick`]; `None` for laws without periodic work.
    fn ticks(&self) -> Option<Ticks> {
        None
    }

    /// Does the work of one period. Returns false when further ticks would change nothing until a packet arrives.
    fn tick(&mut self, _backlog: Backlog, _now: Instant) -> bool {
        false
    }
}

/// Times at which a periodic law works: `first + k * period`. They stay the same when ticks are switched off while a
/// queue is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Time from the start of the run to the first tick.
    pub first: Duration,
    /// Time between two ticks.
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
