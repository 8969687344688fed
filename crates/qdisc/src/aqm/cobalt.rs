//! The Cobalt law of CAKE: a simplified CoDel combined with BLUE (`cobalt_*` in Linux 6.12 `net/sched/sch_cake.c`). The
//! CoDel part marks ECN-capable packets. The BLUE part becomes active when the buffer overflows, and it always drops.
//! In ingress mode the allowed delay grows with the number of bulk flows.
//!
//! In Linux a queue often has no grace: its second packet above target is signalled, not the first one after an
//! interval. [`Grace`] has the reasons, and the law without them.

use gamelane_core::{Duration, Instant, PacketMeta, Stream};

use super::codel::control_law;
use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// Time from the first packet above target to the first signal of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grace {
    /// As in Linux 6.12. The second packet above target is signalled, whenever it comes, in two cases:
    ///
    /// 1. The queue never had a signal. `cobalt_vars_init` leaves `rec_inv_sqrt` at 0, so `cobalt_control` adds nothing.
    /// 2. `drop_next` is in the past, because the queue had no packet for an interval. `cobalt_should_drop` computes
    ///    `schedule` before it sets `drop_next`, and then sets `drop_next` to now.
    ///
    /// Otherwise the grace is an interval.
    #[default]
    Linux,
    /// Always an interval, as the comment in `cobalt_should_drop` describes it.
    Interval,
}

/// Parameters of Cobalt. [`CobaltParameters::for_rate`] computes CAKE's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltParameters {
    /// Delay that a standing queue may have.
    pub target: Duration,
    /// Time above target before the first signal: a worst-case round trip.
    pub interval: Duration,
    /// Time to send one full frame. A packet that waited at most four frame times is never signalled by CoDel.
    pub frame_time: Duration,
    /// Time to the first signal.
    pub grace: Grace,
}

impl CobaltParameters {
    /// CAKE's parameters for a link that sends one full frame in `frame_time`, with round trips of up to `rtt`. A frame
    /// time of zero stands for an unlimited rate. Target is rtt / 20, at least 1.5 frame times
    /// (`cake_set_rate` in `sch_cake.c`).
    pub fn for_rate(rtt: Duration, frame_time: Duration, grace: Grace) -> Self {
        let wanted = rtt / 20;
        let target = wanted.max(frame_time * 3 / 2);
        Self { target, interval: (rtt + target.saturating_sub(wanted)).max(target * 2), frame_time, grace }
    }
}

/// BLUE: added to the drop probability when the buffer overflows (`p_inc` in `cake_set_rate`).
const INCREMENT: f64 = 1.0 / 256.0;
/// BLUE: subtracted from the drop probability when the queue is empty (`p_dec`).
const DECREMENT: f64 = 1.0 / 4096.0;

/// State of the law for one queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    parameters: CobaltParameters,
    rng: Stream,
    dropping: bool,
    count: u32,
    drop_next: Instant,
    /// Whether the spacing follows `count`. Until then it is zero (Linux: `rec_inv_sqrt` is 0).
    spaced: bool,
    /// BLUE's drop probability.
    probability: f64,
    /// When BLUE's probability last changed.
    moved: Option<Instant>,
    /// Bulk flows in ingress mode, else 0. A packet may wait two frame times for each.
    bulk_flows: u32,
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
            spaced: matches!(parameters.grace, Grace::Interval),
            probability: 0.0,
            moved: None,
            bulk_flows: 0,
        }
    }

    /// Replaces the parameters. The state stays.
    pub(crate) const fn retune(&mut self, parameters: CobaltParameters) {
        self.parameters = parameters;
    }

    /// Time to the next signal: interval / sqrt(count), where a count of 0 is taken as 1 (`cobalt_control`).
    fn spacing(&self) -> Duration {
        if self.spaced { control_law(self.parameters.interval, self.count.max(1)) } else { Duration::ZERO }
    }

    /// Changes `count`, and puts the next signal one spacing later (`cobalt_invsqrt`, `cobalt_control`).
    fn step(&mut self, count: u32) {
        self.count = count;
        self.spaced = true;
        self.drop_next += self.spacing();
    }

    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Lowers `count` by one for each spacing that has passed without delay above target.
    fn decay(&mut self, now: Instant) {
        while self.is_due(now) {
            self.step(self.count - 1);
        }
    }

    /// Whether more than a target has passed since BLUE's probability last changed.
    fn may_move(&self, now: Instant) -> bool {
        self.moved.is_none_or(|moved| now.saturating_since(moved) > self.parameters.target)
    }
}

impl Aqm for Cobalt {
    /// `cobalt_should_drop`.
    fn release(&mut self, packet: &PacketMeta, sojourn: Duration, backlog: Backlog, now: Instant) -> Signal {
        let frames = 4.max(u64::from(self.bulk_flows) * 2);
        let over = sojourn > self.parameters.target && sojourn > self.parameters.frame_time * frames;
        if over && !self.dropping && self.parameters.grace == Grace::Interval {
            self.decay(now);
        }
        let due = self.is_due(now);
        let mut behind = now > self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.spacing();
                if self.parameters.grace == Grace::Interval {
                    behind = false;
                }
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let (mut marked, mut drop) = (false, false);
        if due && self.dropping {
            marked = packet.ecn.is_capable();
            drop = !marked;
            self.step(self.count.saturating_add(1));
            behind = now > self.drop_next;
        } else if due {
            self.decay(now);
            behind = now > self.drop_next;
        }
        drop |= self.probability > 0.0 && self.rng.chance(self.probability);
        if self.count == 0 {
            self.drop_next = now + self.parameters.interval;
        } else if behind && !drop {
            self.drop_next = now;
        }
        // Cobalt may mark the last packet of a queue, but never drops it (`cake_dequeue`).
        match (drop && !backlog.is_empty(), marked) {
            (true, _) => Signal::Drop,
            (false, true) => Signal::Mark,
            (false, false) => Signal::Pass,
        }
    }

    fn shared_by(&mut self, bulk_flows: u32) {
        self.bulk_flows = bulk_flows;
    }

    /// `cobalt_queue_empty`.
    fn emptied(&mut self, now: Instant) {
        if self.probability > 0.0 && self.may_move(now) {
            self.probability = (self.probability - DECREMENT).max(0.0);
            self.moved = Some(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step(self.count - 1);
        }
    }

    /// Where `cake_dequeue` removes an empty queue; else the queue is a decaying one.
    fn at_rest(&self, now: Instant) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// `cobalt_queue_full`.
    fn overlimit(&mut self, _packets: u32, now: Instant) {
        if self.may_move(now) {
            self.probability = (self.probability + INCREMENT).min(1.0);
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

    fn law(grace: Grace) -> Cobalt {
        let parameters = CobaltParameters::for_rate(Duration::from_millis(100), Duration::ZERO, grace);
        Cobalt::new(parameters, Seed(1).stream("cobalt"))
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
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
        let fast = CobaltParameters::for_rate(ms(100), Duration::from_micros(100), Grace::Linux);
        assert_eq!((fast.target, fast.interval), (ms(5), ms(100)));
        // 1 Mbit/s, 12.112 ms per frame: target 18.168 ms, interval 100 + 13.168 ms.
        let slow = CobaltParameters::for_rate(ms(100), Duration::from_micros(12_112), Grace::Linux);
        assert_eq!(
            (slow.target, slow.interval),
            (Duration::from_micros(18_168), Duration::from_micros(113_168))
        );
        // 100 kbit/s: the interval is at least two targets.
        let slowest = CobaltParameters::for_rate(ms(100), Duration::from_micros(121_120), Grace::Linux);
        assert_eq!(slowest.interval, slowest.target * 2);
    }

    #[test]
    fn signals_come_at_interval_over_root_count() {
        // Above target from 0 ms on, with count 1: the first signal is at 100 ms and raises the count to 2. The next
        // ones follow after 100/√2 = 70.7, 100/√3 = 57.7, 100/√4 = 50 and 100/√5 = 44.7 ms.
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            assert_eq!(signals(&mut law(Grace::Interval), 0..330, 20, ecn), [100, 171, 229, 279, 324]);
        }
    }

    #[test]
    fn a_queue_without_signals_has_no_grace_in_linux() {
        // The packet at 1000 ms sets count to 1 and drop_next to now + 0, because rec_inv_sqrt is 0. So the packet at
        // 1001 ms is due. count 2: drop_next is 1000 + 100/√2 = 1070.7 ms, then 1128.4, 1178.4, 1223.2 ms.
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let mut law = law(Grace::Linux);
            assert_eq!(signals(&mut law, 1_000..1_230, 20, ecn), [1_001, 1_071, 1_129, 1_179, 1_224]);
        }
        // Packets below target before it do not help: drop_next is later than now, but it becomes now + 0.
        let mut law = law(Grace::Linux);
        assert_eq!(signals(&mut law, 900..1_000, 1, Ecn::Ect0), []);
        assert_eq!(signals(&mut law, 1_000..1_010, 20, Ecn::Ect0), [1_001]);
    }

    #[test]
    fn after_its_first_signals_a_queue_of_linux_has_grace_unless_it_paused() {
        let after = |grace, pause: u64| {
            let mut law = law(grace);
            signals(&mut law, 1_000..1_100, 20, Ecn::Ect0);
            signals(&mut law, 1_100..3_000, 1, Ecn::Ect0);
            assert_eq!(law.count, 0);
            let from = 3_000 + pause;
            Vec::from_iter(signals(&mut law, from..from + 150, 20, Ecn::Ect0).first().map(|ms| ms - from))
        };
        // The last packet below target set drop_next to 2999 + 100 ms. Until then rec_inv_sqrt, 1.0, gives an interval.
        assert_eq!(after(Grace::Linux, 0), [100]);
        assert_eq!(after(Grace::Linux, 99), [100]);
        // Later `schedule` is above 0, so drop_next becomes now in spite of the interval.
        assert_eq!(after(Grace::Linux, 100), [1]);
        assert_eq!(after(Grace::Interval, 100), [100]);
    }

    #[test]
    fn in_ingress_mode_bulk_flows_may_wait_two_frame_times_each() {
        // 10 ms per frame: target 15 ms, and four frame times without other flows.
        let signalled = |bulk_flows, sojourn| {
            let frame_time = Duration::from_millis(10);
            let parameters = CobaltParameters::for_rate(Duration::from_millis(100), frame_time, Grace::Linux);
            let mut law = Cobalt::new(parameters, Seed(1).stream("cobalt"));
            law.shared_by(bulk_flows);
            !signals(&mut law, 1_000..1_010, sojourn, Ecn::Ect0).is_empty()
        };
        assert_eq!([40, 41].map(|sojourn| signalled(2, sojourn)), [false, true]);
        assert_eq!([100, 101].map(|sojourn| signalled(5, sojourn)), [false, true]);
    }

    #[test]
    fn an_empty_queue_forgets_one_signal_per_visit() {
        let mut law = law(Grace::Linux);
        signals(&mut law, 1_000..1_080, 20, Ecn::Ect0);
        // count 3, drop_next 1128.4 ms. `cobalt_queue_empty` steps back once if drop_next is reached.
        let mut visit = |ms| {
            law.emptied(at(ms));
            (law.count, law.at_rest(at(ms)))
        };
        assert_eq!(visit(1_128), (3, false));
        assert_eq!(visit(5_000), (2, false));
        // drop_next is 1128.4 + 70.7 ms, then + 100 ms, then + 100 ms: all in the past.
        assert_eq!(visit(5_001), (1, false));
        assert_eq!(visit(5_002), (0, true));
        // A packet below target keeps the queue for another interval.
        law.release(&crate::fixture::packet(1500, Ecn::Ect0), Duration::ZERO, Backlog::default(), at(6_000));
        assert_eq!((law.at_rest(at(6_099)), law.at_rest(at(6_100))), (false, true));
    }

    #[test]
    fn the_rate_is_forgotten_step_by_step() {
        let mut law = law(Grace::Interval);
        signals(&mut law, 0..330, 20, Ecn::Ect0);
        assert_eq!(law.count, 6);
        signals(&mut law, 330..1_500, 1, Ecn::Ect0);
        assert_eq!(law.count, 0, "a second without delay takes back six signals");
        assert_eq!(signals(&mut law, 1_500..1_650, 20, Ecn::Ect0), [1_600]);
    }

    #[test]
    fn an_overflow_wakes_blue_and_quiet_puts_it_to_sleep() {
        let mut law = law(Grace::Linux);
        for ms in 1..=10 {
            // One step, then none until more than a target of 5 ms has passed: at 1 ms and at 7 ms.
            law.overlimit(1, at(ms));
        }
        assert!((law.probability - 2.0 / 256.0).abs() < 1e-12, "{}", law.probability);
        // BLUE also drops ECN-capable packets, and packets that waited only a short time.
        law.probability = 1.0;
        let packet = crate::fixture::packet(1500, Ecn::Ect0);
        assert_eq!(law.release(&packet, Duration::ZERO, FULL, at(20)), Signal::Drop);
        assert_eq!(
            law.release(&packet, Duration::ZERO, Backlog::default(), at(20)),
            Signal::Pass,
            "the last packet is never dropped"
        );
        // An empty queue: one step per visit, more than 5 ms apart, however long it was idle.
        law.probability = 3.0 / 4096.0;
        let mut visit = |ms| {
            law.emptied(at(ms));
            (law.probability * 4096.0) as u32
        };
        assert_eq!([12, 13, 18, 500, 506].map(&mut visit), [3, 2, 2, 1, 0]);
    }

    #[test]
    fn the_last_packet_keeps_its_mark_when_blue_would_drop_it() {
        // `cobalt_should_drop` sets CE before BLUE decides, and `cake_dequeue` sends the last packet all the same.
        let mut law = law(Grace::Linux);
        law.overlimit(1, at(1));
        law.probability = 1.0;
        let packet = crate::fixture::packet(1500, Ecn::Ect0);
        let late = Duration::from_millis(20);
        assert_eq!(law.release(&packet, late, Backlog::default(), at(30)), Signal::Mark);
    }
}
