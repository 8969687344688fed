//! The Cobalt law of CAKE: a simplified CoDel combined with BLUE (`cobalt_*` in Linux `net/sched/sch_cake.c`). The
//! CoDel part marks ECN-capable packets. The BLUE part becomes active when the buffer overflows, and it always drops.
//! Left out: ingress mode, in which the allowed delay grows with the number of bulk flows.

use gamelane_core::{Duration, Instant, PacketMeta, Stream};

use super::codel::control_law;
use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// Parameters of Cobalt. [`CobaltParameters::for_rate`] computes CAKE's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltParameters {
    /// Delay that a standing queue may have.
    pub target: Duration,
    /// Time above target before the first signal: a worst-case round trip.
    pub interval: Duration,
    /// Time to send one full frame. A packet that waited at most four frame times is never signalled by CoDel.
    pub frame_time: Duration,
    /// BLUE: added to the drop probability when the buffer overflows (1/256).
    pub increment: f64,
    /// BLUE: subtracted from the drop probability when the queue is empty (1/4096).
    pub decrement: f64,
}

impl CobaltParameters {
    /// CAKE's parameters for a link that sends one full frame in `frame_time`, with round trips of up to `rtt`. A frame
    /// time of zero stands for an unlimited rate. Target is rtt / 20, at least 1.5 frame times
    /// (`cake_set_rate` in `sch_cake.c`).
    pub fn for_rate(rtt: Duration, frame_time: Duration) -> Self {
        let wanted = rtt / 20;
        let target = wanted.max(frame_time * 3 / 2);
        Self {
            target,
            interval: (rtt + target.saturating_sub(wanted)).max(target * 2),
            frame_time,
            increment: 1.0 / 256.0,
            decrement: 1.0 / 4096.0,
        }
    }
}

/// State of the law for one queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    parameters: CobaltParameters,
    rng: Stream,
    dropping: bool,
    count: u32,
    drop_next: Instant,
    /// BLUE's drop probability.
    probability: f64,
    /// When BLUE's probability last changed.
    moved: Option<Instant>,
}

impl Cobalt {
    /// Makes the law in its initial state. BLUE draws from `rng`.
    pub const fn new(parameters: CobaltParameters, rng: Stream) -> Self {
        Self {
            parameters,
            rng,
            dropping: false,
            count: 0,
            drop_next: Instant::ZERO,
            probability: 0.0,
            moved: None,
        }
    }

    /// Time to the next signal: interval / sqrt(count), where a count of 0 is taken as 1.
    fn spacing(&self) -> Duration {
        control_law(self.parameters.interval, self.count.max(1))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Lowers `count` by one for each spacing that has passed without delay above target.
    fn decay(&mut self, now: Instant) {
        while self.is_due(now) {
            self.count -= 1;
            self.drop_next += self.spacing();
        }
    }

    /// How many target times have passed since BLUE's probability last changed.
    fn targets_since_move(&self, now: Instant) -> u64 {
        let passed =
            |moved| now.saturating_since(moved).as_nanos() / self.parameters.target.as_nanos().max(1);
        self.moved.map_or(1, passed)
    }

    /// Lowers BLUE's probability for a queue that was empty: one step per target time.
    fn forget(&mut self, now: Instant) {
        let steps = self.targets_since_move(now);
        if self.probability > 0.0 && steps > 0 {
            self.probability = (self.probability - self.parameters.decrement * steps as f64).max(0.0);
            self.moved = Some(now);
        }
    }
}

impl Aqm for Cobalt {
    fn release(&mut self, packet: &PacketMeta, sojourn: Duration, backlog: Backlog, now: Instant) -> Signal {
        let over = sojourn > self.parameters.target && sojourn > self.parameters.frame_time * 4;
        let due = self.is_due(now);
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.spacing();
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut signal = Signal::Pass;
        let mut behind = now > self.drop_next;
        if due && self.dropping {
            signal = if packet.ecn.is_capable() { Signal::Mark } else { Signal::Drop };
            self.count = self.count.saturating_add(1);
            self.drop_next += self.spacing();
            behind = now > self.drop_next;
        } else if due {
            self.decay(now);
            behind = now > self.drop_next;
        }
        if self.probability > 0.0 && self.rng.chance(self.probability) {
            signal = Signal::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + self.parameters.interval;
        } else if behind && signal != Signal::Drop {
            self.drop_next = now;
        }
        // Cobalt may mark the last packet of a queue, but never drops it.
        if signal == Signal::Drop && backlog.is_empty() { Signal::Pass } else { signal }
    }

    fn emptied(&mut self, now: Instant) {
        self.dropping = false;
        self.forget(now);
    }

    fn reactivated(&mut self, now: Instant) {
        // Linux visits idle flows from time to time so that their state decays. Here the decay is caught up on reuse.
        self.decay(now);
        self.forget(now);
    }

    fn claimed(&mut self) {
        *self = Self::new(self.parameters, self.rng.clone());
    }

    fn overlimit(&mut self, _packets: u32, now: Instant) {
        if self.targets_since_move(now) > 0 {
            self.probability = (self.probability + self.parameters.increment).min(1.0);
            self.moved = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::{Ecn, Seed};
    use std::vec::Vec;

    const FULL: Backlog = Backlog { packets: 50, bytes: 75_000 };

    fn law() -> Cobalt {
        let parameters = CobaltParameters::for_rate(Duration::from_millis(100), Duration::ZERO);
        Cobalt::new(parameters, Seed(1).stream("cobalt"))
    }

    /// Sends one packet per millisecond, each after waiting `sojourn` ms. Returns the times of signals in ms. After a
    /// drop the next packet follows in the same millisecond.
    fn signals(law: &mut Cobalt, millis: core::ops::Range<u64>, sojourn: u64, ecn: Ecn) -> Vec<u64> {
        let mut times = Vec::new();
        for ms in millis {
            loop {
                let packet = crate::fixture::packet(1500, ecn);
                let signal =
                    law.release(&packet, Duration::from_millis(sojourn), FULL, Instant::from_millis(ms));
                if signal != Signal::Pass {
                    times.push(ms);
                }
                if signal != Signal::Drop {
                    break;
                }
            }
        }
        times
    }

    #[test]
    fn targets_follow_the_frame_time_of_slow_links() {
        let ms = Duration::from_millis;
        let fast = CobaltParameters::for_rate(ms(100), Duration::from_micros(100));
        assert_eq!((fast.target, fast.interval), (ms(5), ms(100)));
        // 1 Mbit/s, 12.112 ms per frame: target 18.168 ms, interval 100 + 13.168 ms.
        let slow = CobaltParameters::for_rate(ms(100), Duration::from_micros(12_112));
        assert_eq!(
            (slow.target, slow.interval),
            (Duration::from_micros(18_168), Duration::from_micros(113_168))
        );
        // 100 kbit/s: the interval is at least two targets.
        let slowest = CobaltParameters::for_rate(ms(100), Duration::from_micros(121_120));
        assert_eq!(slowest.interval, slowest.target * 2);
    }

    #[test]
    fn signals_come_at_interval_over_root_count() {
        // Above target from 0 ms on, with count 1: the first signal is at 100 ms and raises the count to 2. The next
        // ones follow after 100/√2 = 70.7, 100/√3 = 57.7, 100/√4 = 50 and 100/√5 = 44.7 ms.
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            assert_eq!(signals(&mut law(), 0..330, 20, ecn), [100, 171, 229, 279, 324]);
        }
    }

    #[test]
    fn the_rate_is_forgotten_step_by_step() {
        let mut law = law();
        signals(&mut law, 0..330, 20, Ecn::Ect0);
        assert_eq!(law.count, 6);
        signals(&mut law, 330..1_500, 1, Ecn::Ect0);
        assert_eq!(law.count, 0, "a second without delay takes back six signals");
        assert_eq!(signals(&mut law, 1_500..1_650, 20, Ecn::Ect0), [1_600]);
    }

    #[test]
    fn an_overflow_wakes_blue_and_quiet_puts_it_to_sleep() {
        let mut law = law();
        for ms in 1..=10 {
            // At most one step per target of 5 ms: at 1 ms and at 6 ms.
            law.overlimit(1, Instant::from_millis(ms));
        }
        assert!((law.probability - 2.0 / 256.0).abs() < 1e-12, "{}", law.probability);
        // BLUE also drops ECN-capable packets, and packets that waited only a short time.
        law.probability = 1.0;
        let packet = crate::fixture::packet(1500, Ecn::Ect0);
        let now = Instant::from_millis(20);
        assert_eq!(law.release(&packet, Duration::ZERO, FULL, now), Signal::Drop);
        assert_eq!(
            law.release(&packet, Duration::ZERO, Backlog::default(), now),
            Signal::Pass,
            "the last packet is never dropped"
        );
        law.probability = 2.0 / 4096.0;
        law.emptied(Instant::from_millis(12));
        law.reactivated(Instant::from_millis(40));
        assert!(law.probability == 0.0);
    }
}
