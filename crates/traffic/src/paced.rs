//! UDP at a fixed pace: one datagram per tick of a [`Pattern`], regardless of the network. Ticks are on the pattern's
//! own grid, so a late timer does not shift the following ones. A reaction to loss is left out, because the modelled
//! games do not slow down for it.

use gamelane_core::{Duration, Instant, Stream};

use crate::app::{AppAction, AppEvent, TrafficSource};
use crate::config::Schedule;

/// Times and sizes of a stream of datagrams.
pub trait Pattern {
    /// Minimum time between packets: distributions with long tails can draw values near zero. The default is our choice.
    const LEAST: Duration = Duration::from_micros(100);

    /// Mean time between packets in seconds.
    fn mean_interval_s(&self) -> f64;
    /// Returns the time from the packet just sent to the next one.
    fn interval(&mut self) -> Duration;
    /// Returns the UDP payload in bytes of the next packet.
    fn payload(&mut self) -> u32;
}

/// A [`Pattern`] that runs from the start to the stop of a schedule.
#[derive(Clone, Debug)]
pub struct Paced<P> {
    pattern: P,
    /// Time of the next tick; `None` if it would be at or after `stop`.
    next: Option<Instant>,
    stop: Instant,
    /// Number of packets that are due and not polled yet.
    owed: u32,
}

impl<P: Pattern> Paced<P> {
    /// A stream whose first packet leaves at the schedule's start plus a random phase of up to one mean interval. So
    /// the sources of one scenario do not run in step. TEACUP 0.9.3 also delays the start of games, by up to 1/25 s.
    pub fn new(pattern: P, schedule: Schedule, mut phase: Stream) -> Self {
        let (start, stop) = schedule.bounds();
        let offset = Duration::from_secs_f64(pattern.mean_interval_s() * phase.unit());
        let mut paced = Self { pattern, next: None, stop, owed: 0 };
        paced.arm(start.saturating_add(offset));
        paced
    }

    fn arm(&mut self, at: Instant) {
        self.next = (at < self.stop).then_some(at);
    }
}

impl<P: Pattern> TrafficSource for Paced<P> {
    fn handle_event(&mut self, _: &AppEvent, _: Instant) {}

    fn poll_action(&mut self, _: Instant) -> Option<AppAction> {
        self.owed = self.owed.checked_sub(1)?;
        Some(AppAction::SendDatagram { payload: self.pattern.payload() })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Sends all packets that are due, at most [`CATCH_UP`] in a late call. After a longer pause the grid restarts.
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(tick) = self.next.filter(|&tick| tick <= now) {
            let interval = self.pattern.interval().max(P::LEAST);
            if self.owed >= CATCH_UP {
                return self.arm(now.saturating_add(interval));
            }
            self.owed += 1;
            self.arm(tick.saturating_add(interval));
        }
    }
}

/// Maximum number of packets that a late call sends; the others are skipped.
pub const CATCH_UP: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;
    use std::vec::Vec;

    struct Every(Duration);

    impl Pattern for Every {
        fn mean_interval_s(&self) -> f64 {
            0.0
        }
        fn interval(&mut self) -> Duration {
            self.0
        }
        fn payload(&mut self) -> u32 {
            100
        }
    }

    fn every_50_ms(stop: Option<Duration>) -> Paced<Every> {
        let schedule = Schedule { start: Duration::from_millis(10), stop };
        Paced::new(Every(Duration::from_millis(50)), schedule, Seed(1).stream("phase"))
    }

    fn drain<P: Pattern>(paced: &mut Paced<P>, now: Instant) -> usize {
        core::iter::from_fn(|| paced.poll_action(now)).count()
    }

    #[test]
    fn early_is_a_no_op_late_catches_up_and_the_grid_stays() {
        let mut paced = every_50_ms(None);
        let at = Instant::from_millis;
        paced.handle_timeout(at(9));
        assert_eq!((drain(&mut paced, at(9)), paced.poll_timeout()), (0, Some(at(10))));
        paced.handle_timeout(at(10));
        assert_eq!((drain(&mut paced, at(10)), paced.poll_timeout()), (1, Some(at(60))));
        // The ticks of 60 and 110 ms are sent at 130 ms; the next tick is still at 160 ms.
        paced.handle_timeout(at(130));
        assert_eq!((drain(&mut paced, at(130)), paced.poll_timeout()), (2, Some(at(160))));
    }

    #[test]
    fn a_very_late_call_does_bounded_work() {
        let mut paced = every_50_ms(None);
        let late = Instant::from_secs(3600);
        paced.handle_timeout(late);
        assert_eq!(drain(&mut paced, late), CATCH_UP as usize);
        assert_eq!(paced.poll_timeout(), Some(late + Duration::from_millis(50)));
    }

    #[test]
    fn nothing_leaves_at_or_after_the_stop() {
        let mut paced = every_50_ms(Some(Duration::from_millis(110)));
        let mut sent = Vec::new();
        while let Some(now) = paced.poll_timeout() {
            paced.handle_timeout(now);
            sent.extend(core::iter::repeat_n(now, drain(&mut paced, now)));
        }
        assert_eq!(sent, [Instant::from_millis(10), Instant::from_millis(60)]);
    }
}
