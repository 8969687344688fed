//! The PIE law (RFC 8033): drops arriving packets with a probability. Each update period changes the probability by the
//! distance of the delay from its target and by the trend of the delay. The delay is the sojourn of the packet dequeued
//! last (section 5.2, timestamps). The `linux` row is checked against `pie_drop_early`, `pie_process_dequeue` and
//! `pie_calculate_probability` of Linux 6.12. Left out: the departure-rate estimator, because Linux, dummynet and ns-3
//! can all use timestamps instead.

use gamelane_core::{Duration, Instant, PacketMeta, Stream};

use super::{Aqm, Signal, Ticks};
use crate::config::QueueKind;
use crate::discipline::Backlog;
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};

/// PIE in the catalogue.
pub const PIE: QueueDescriptor = QueueDescriptor {
    word: "pie",
    label: "PIE",
    about: "One queue with PIE (RFC 8033).",
    keys: &["target", "update", "max_burst", "ecn"],
    page: "pie",
    facts: QueueFacts {
        isolates: Isolates::Nothing,
        plain: Some(QueueKind::Pie),
        tc: Tc {
            name: "pie",
            options: &[("limit", "limit"), ("target", "target"), ("update", "tupdate"), ("ecn", "ecn")],
        },
    },
};

/// Parameters of PIE (RFC 8033 sections 4 and 5). `docs/models/pie.md` lists where implementations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieParameters {
    /// Target delay (15 ms).
    pub target: Duration,
    /// Time between updates of the probability (15 ms).
    pub update: Duration,
    /// Weight of the distance from the target, in Hz (0.125).
    pub alpha: f64,
    /// Weight of the trend, in Hz (1.25).
    pub beta: f64,
    /// Burst allowance: time after an idle period during which nothing is dropped (150 ms).
    pub max_burst: Duration,
    /// Backlog in bytes up to which nothing is dropped (section 4.1: two packets of mean size; Linux: less than two
    /// full frames).
    pub guard: u64,
    /// Bytes of link header that each packet adds to the backlog when it is compared with `guard` (Linux 14).
    pub guard_header: u32,
    /// Delay that must be below half the target for nothing to be dropped while the probability is below 20 %.
    pub low_delay: LowDelay,
    /// Whether to mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Probability above which ECN-capable packets are dropped too (section 5.1: 10 %).
    pub ecn_threshold: f64,
    /// Whether the probability, once at 10 %, grows by at most 2 % per update (section 5.5).
    pub cap_growth: bool,
    /// Whether to add 2 % per update while the delay is above 250 ms (Linux).
    pub kick_above_250ms: bool,
    /// Even spacing of drops (section 5.4).
    pub derandomise: Derandomise,
    /// Factor per update for the probability while there is no delay (section 4.2: 0.98; Linux 1 - 1/64).
    pub idle_decay: f64,
    /// What an update does while packets wait but the delay is zero.
    pub unmeasured: Unmeasured,
    /// Largest probability. Section 4.2 has 1. In Linux the 64-bit number reaches 256 before
    /// `pie_calculate_probability` notices an overflow and sets it to 1.
    pub ceiling: f64,
    /// Events that use up the burst allowance.
    pub burst_spent_by: BurstClock,
    /// Time from the start of the run to the first update (Linux: 0.5 s).
    pub first_update: Duration,
    /// Whether a flow queue that becomes active again starts from the initial state (dummynet FQ-PIE).
    pub reset_on_reactivation: bool,
}

/// Even spacing of drops (RFC 8033 section 5.4). The probabilities of arriving packets are added up. No packet is
/// dropped while the sum is below 0.85, and every packet is dropped from 8.5 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derandomise {
    /// No sum: each drop is an independent random draw.
    Off,
    /// Every drop or mark clears the sum (RFC 8033 appendix A, dummynet).
    ClearedByEachSignal,
    /// Every drop and a random mark clear the sum. A mark forced at 8.5 does not, so the next ECN-capable packets are
    /// marked too (Linux: `pie_drop_early` clears after a random draw, `pie_qdisc_enqueue` after a drop).
    KeptByForcedMark,
}

/// Delay that decides whether the queue is short enough for no drops (RFC 8033 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowDelay {
    /// The delay at the last update (RFC 8033 `qdelay_old_`, ns-3 `m_qDelayOld`).
    AtUpdate,
    /// The delay at the last dequeue (Linux `vars->qdelay`).
    AtDequeue,
}

/// What an update does while packets wait but the delay is zero: the last dequeue left the queue empty, or there was
/// none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// The same as any update (RFC 8033 section 4.2, ns-3 `CalculateP`).
    Updates,
    /// The step without the idle decay (Linux `pie_calculate_probability`).
    SkipsDecay,
    /// Nothing. This stands for dummynet, which still has the delay of the last packet here.
    SkipsUpdate,
}

/// Events that use up the burst allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstClock {
    /// Each update takes one update period (RFC 8033 section 4.4).
    Updates,
    /// Each dequeue takes the time since the dequeue before (Linux with timestamps).
    Dequeues,
}

/// Where Linux's probabilities overflow: 64 bits, of which `MAX_PROB` fills the lower 56. Elsewhere nothing comes near.
pub(crate) const OVERFLOW: f64 = 256.0;

/// State of the law for one queue.
#[derive(Clone, Debug)]
pub struct Pie {
    parameters: PieParameters,
    rng: Stream,
    probability: f64,
    accumulated: f64,
    delay: Duration,
    delay_before: Duration,
    burst: Duration,
    last_dequeue: Option<Instant>,
}

impl Pie {
    /// Makes the law in its initial state. Drops are drawn from `rng`.
    pub const fn new(parameters: PieParameters, rng: Stream) -> Self {
        Self {
            parameters,
            rng,
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst: parameters.max_burst,
            last_dequeue: None,
        }
    }

    /// Present drop probability, 0 to 1.
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Updates the drop probability (RFC 8033 section 4.2). Returns whether the law is back in its initial state.
    fn update(&mut self, backlog: Backlog) -> bool {
        let p = &self.parameters;
        let (delay, before) = (self.delay.as_secs_f64(), self.delay_before.as_secs_f64());
        let mut step = p.alpha * (delay - p.target.as_secs_f64()) + p.beta * (delay - before);
        step /= scale(self.probability);
        if p.cap_growth && self.probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        if p.kick_above_250ms && self.delay > Duration::from_millis(250) {
            step += 0.02;
        }
        let measured = !self.delay.is_zero() || backlog.is_empty();
        if measured || p.unmeasured != Unmeasured::SkipsUpdate {
            let grown = (self.probability + step).max(0.0);
            self.probability = if grown > p.ceiling { 1.0 } else { grown };
        }
        let decays = measured || p.unmeasured == Unmeasured::Updates;
        if decays && self.delay.is_zero() && self.delay_before.is_zero() {
            self.probability *= p.idle_decay;
        }
        if p.burst_spent_by == BurstClock::Updates {
            self.burst = self.burst.saturating_sub(p.update);
        }
        let half = p.target / 2;
        let rearmed = self.probability == 0.0 && self.delay < half && self.delay_before < half;
        if rearmed {
            self.burst = p.max_burst;
            self.accumulated = 0.0;
            // `pie_vars_init`: the next dequeue takes nothing from the burst allowance.
            self.last_dequeue = None;
        }
        self.delay_before = self.delay;
        rearmed
    }

    /// Returns whether the arriving packet gets a signal (RFC 8033 sections 4.1 and 5.4).
    fn is_due(&mut self, backlog: Backlog) -> bool {
        let p = &self.parameters;
        let delay = match p.low_delay {
            LowDelay::AtUpdate => self.delay_before,
            LowDelay::AtDequeue => self.delay,
        };
        let waiting = backlog.bytes + u64::from(p.guard_header) * u64::from(backlog.packets);
        if !self.burst.is_zero() || (delay < p.target / 2 && self.probability < 0.2) || waiting <= p.guard {
            return false;
        }
        if p.derandomise != Derandomise::Off {
            let sum = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            self.accumulated = if sum >= OVERFLOW { sum - OVERFLOW } else { sum };
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                if p.derandomise == Derandomise::ClearedByEachSignal {
                    self.accumulated = 0.0;
                }
                return true;
            }
        }
        let due = self.rng.chance(self.probability);
        if due {
            self.accumulated = 0.0;
        }
        due
    }
}

/// Divisor for a step of the probability: a smaller probability changes in smaller steps (RFC 8033 section 4.2).
fn scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| *divisor)
}

impl Aqm for Pie {
    fn admit(&mut self, packet: &PacketMeta, backlog: Backlog, _now: Instant) -> Signal {
        if !self.is_due(backlog) {
            Signal::Pass
        } else if self.parameters.ecn
            && packet.ecn.is_capable()
            && self.probability <= self.parameters.ecn_threshold
        {
            Signal::Mark
        } else {
            self.accumulated = 0.0;
            Signal::Drop
        }
    }

    fn refused(&mut self) {
        self.accumulated = 0.0;
    }

    fn release(&mut self, _packet: &PacketMeta, sojourn: Duration, backlog: Backlog, now: Instant) -> Signal {
        self.delay = if backlog.is_empty() { Duration::ZERO } else { sojourn };
        if self.parameters.burst_spent_by == BurstClock::Dequeues {
            let since = self.last_dequeue.map_or(Duration::ZERO, |at| now.saturating_since(at));
            self.burst = self.burst.saturating_sub(since);
        }
        self.last_dequeue = Some(now);
        Signal::Pass
    }

    fn reactivated(&mut self, _now: Instant) {
        if self.parameters.reset_on_reactivation {
            *self = Self::new(self.parameters, self.rng.clone());
        }
    }

    fn ticks(&self) -> Option<Ticks> {
        Some(Ticks { first: self.parameters.first_update, period: self.parameters.update })
    }

    fn tick(&mut self, backlog: Backlog, _now: Instant) -> bool {
        // Without packets and delay, an update that restores the initial state is repeated for ever.
        let rearmed = self.update(backlog);
        !(rearmed && backlog.is_empty() && self.delay.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ParameterSet, QueueConfig, QueueKind};
    use crate::discipline::QueueDiscipline;
    use gamelane_core::{Ecn, Seed};

    const FULL: Backlog = Backlog { packets: 50, bytes: 75_000 };

    fn law(set: ParameterSet) -> Pie {
        Pie::new(crate::parameters::pie(set, 1500), Seed(1).stream("pie"))
    }

    fn packet(ecn: Ecn) -> PacketMeta {
        crate::fixture::packet(1500, ecn)
    }

    /// Sets the measured delay and updates once.
    fn update(law: &mut Pie, delay_ms: u64) -> f64 {
        law.delay = Duration::from_millis(delay_ms);
        law.tick(FULL, Instant::ZERO);
        law.probability()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_probability_follows_delay_and_trend() {
        let mut law = law(ParameterSet::Rfc);
        // p < 1e-6, divisor 2048: (0.125 (0.035 - 0.015) + 1.25 (0.035 - 0)) / 2048 = 0.04625 / 2048.
        let p1 = 0.04625 / 2048.0;
        assert!(close(update(&mut law, 35), p1));
        // 2.26e-5, divisor 128: (0.125 * 0.020 + 0) / 128.
        let p2 = p1 + 0.0025 / 128.0;
        assert!(close(update(&mut law, 35), p2));
        // 4.2e-5, divisor 128: the delay falls, so the step is (0.125 * 0 - 1.25 * 0.020) / 128 < -p, clamped to zero.
        assert!(close(update(&mut law, 15), 0.0));
    }

    #[test]
    fn growth_is_capped_at_two_per_cent_above_ten() {
        let mut law = law(ParameterSet::Rfc);
        law.probability = 0.1;
        law.delay_before = Duration::ZERO;
        // 0.125 * 0.185 + 1.25 * 0.2 = 0.273 > 0.02.
        assert!(close(update(&mut law, 200), 0.12));
    }

    #[test]
    fn linux_adds_two_per_cent_above_a_quarter_second() {
        let mut law = law(ParameterSet::Linux);
        law.probability = 0.1;
        law.delay_before = Duration::from_millis(300);
        // 0.125 * 0.285 = 0.0356, capped at 0.02, plus 0.02 because the delay is above 250 ms.
        assert!(close(update(&mut law, 300), 0.14));
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let mut law = law(ParameterSet::Rfc);
        law.probability = 0.5;
        law.delay = Duration::ZERO;
        law.tick(Backlog::default(), Instant::ZERO);
        // (0.5 - 0.125 * 0.015) * 0.98.
        assert!(close(law.probability(), (0.5 - 0.001_875) * 0.98));
    }

    #[test]
    fn the_first_burst_passes_untouched() {
        let mut law = law(ParameterSet::Rfc);
        law.probability = 1.0;
        law.delay_before = Duration::from_millis(100);
        // 150 ms of allowance, 15 ms per update: the tenth update uses up the rest.
        for _ in 0..9 {
            update(&mut law, 100);
            law.probability = 1.0;
            assert_eq!(law.admit(&packet(Ecn::NotEct), FULL, Instant::ZERO), Signal::Pass);
        }
        update(&mut law, 100);
        law.probability = 1.0;
        assert_eq!(law.admit(&packet(Ecn::NotEct), FULL, Instant::ZERO), Signal::Drop);
    }

    #[test]
    fn derandomising_spaces_drops_out() {
        // p = 0.1: no drop before the sum reaches 0.85 at the ninth arrival, and always one when it reaches 8.5.
        let mut law = law(ParameterSet::Rfc);
        law.burst = Duration::ZERO;
        law.delay_before = Duration::from_millis(20);
        law.probability = 0.1;
        let (mut since, mut shortest, mut longest, mut drops) = (0, u32::MAX, 0, 0);
        for _ in 0..20_000 {
            since += 1;
            if law.admit(&packet(Ecn::NotEct), FULL, Instant::ZERO) == Signal::Drop {
                (shortest, longest) = (shortest.min(since), longest.max(since));
                (since, drops) = (0, drops + 1);
            }
        }
        assert!(shortest >= 9 && longest <= 85, "{shortest} to {longest}");
        // 8 arrivals that cannot be dropped, then 1/0.1 = 10 on average: one drop in about 18.
        assert!((1000..1250).contains(&drops), "{drops}");
    }

    #[test]
    fn ecn_marks_up_to_its_threshold_and_drops_above() {
        let mut law = Pie::new(
            PieParameters {
                ecn: true,
                derandomise: Derandomise::Off,
                ..crate::parameters::pie(ParameterSet::Rfc, 1500)
            },
            Seed(1).stream("pie"),
        );
        law.burst = Duration::ZERO;
        law.delay_before = Duration::from_millis(20);
        let mut signals = |probability| {
            law.probability = probability;
            let all: std::vec::Vec<_> =
                (0..200).map(|_| law.admit(&packet(Ecn::Ect0), FULL, Instant::ZERO)).collect();
            (all.contains(&Signal::Mark), all.contains(&Signal::Drop))
        };
        assert_eq!(signals(0.1), (true, false));
        assert_eq!(signals(0.11), (false, true));
    }

    const NOW: Instant = Instant::ZERO;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A Linux law that may drop: no burst allowance, 20 ms of delay, and this probability.
    fn dropping(probability: f64, ecn: bool) -> Pie {
        let parameters = PieParameters { ecn, ..crate::parameters::pie(ParameterSet::Linux, 1500) };
        let mut law = Pie::new(parameters, Seed(1).stream("pie"));
        (law.burst, law.delay, law.delay_before, law.probability) =
            (Duration::ZERO, ms(20), ms(20), probability);
        law
    }

    #[test]
    fn without_a_measured_delay_linux_takes_the_step_but_does_not_decay() {
        // `pie_calculate_probability` with qdelay 0 and a backlog: `update_prob` is false, and only the decay asks it.
        let mut law = dropping(0.5, false);
        // 0.125 (0 - 0.015) + 1.25 (0 - 0.020) = -0.026875.
        assert!(close(update(&mut law, 0), 0.473_125));
        // Now the delay before is 0, too: -0.001875, and no decay.
        assert!(close(update(&mut law, 0), 0.471_25));
        law.tick(Backlog::default(), NOW);
        assert!(close(law.probability(), (0.471_25 - 0.001_875) * (1.0 - 1.0 / 64.0)));
        // RFC 8033 section 4.2 asks for the delay alone.
        law.parameters.unmeasured = Unmeasured::Updates;
        law.probability = 0.5;
        assert!(close(update(&mut law, 0), (0.5 - 0.001_875) * 0.984_375));
    }

    #[test]
    fn in_linux_the_probability_may_exceed_one() {
        // `vars->prob` has eight bits above MAX_PROB, so nothing stops it at 1: 0.02, the cap, and 0.02 above 250 ms.
        let mut law = dropping(0.99, false);
        law.delay_before = ms(300);
        assert!(close(update(&mut law, 300), 1.03));
        // 256 does not fit into 64 bits: MAX_PROB.
        law.probability = 255.99;
        assert!(close(update(&mut law, 300), 1.0));
        let mut law = self::law(ParameterSet::Rfc);
        (law.probability, law.delay_before) = (0.99, ms(300));
        assert!(close(update(&mut law, 300), 1.0));
    }

    #[test]
    fn the_burst_allowance_of_linux_pauses_while_the_queue_is_quiet() {
        let mut law = law(ParameterSet::Linux);
        let backlog = Backlog { packets: 1, bytes: 1500 };
        let dequeue = |law: &mut Pie, at_ms: u64| {
            law.release(&packet(Ecn::NotEct), ms(1), backlog, Instant::from_millis(at_ms));
            law.burst.as_nanos() / 1_000_000
        };
        // `pie_process_dequeue` takes the time since `dq_tstamp`, which the first dequeue only sets.
        assert_eq!([0, 40, 100].map(|at| dequeue(&mut law, at)), [150, 110, 50]);
        // Delay below half the target, no probability (0.125 (1 - 15) + 1.25 (1 - 0) < 0): the timer calls
        // `pie_vars_init`, which forgets `dq_tstamp`.
        law.tick(backlog, Instant::from_millis(105));
        assert_eq!([10_000, 10_060, 10_200].map(|at| dequeue(&mut law, at)), [150, 90, 0]);
    }

    #[test]
    fn linux_spares_packets_by_the_last_dequeue() {
        let mut law = dropping(0.1, false);
        law.accumulated = 8.4;
        // `vars->qdelay` is below 7.5 ms and the probability below 20 %; the delay at the last update does not count.
        law.delay = ms(7);
        assert_eq!(law.admit(&packet(Ecn::NotEct), FULL, NOW), Signal::Pass);
        (law.delay, law.delay_before) = (ms(8), ms(0));
        assert_eq!(law.admit(&packet(Ecn::NotEct), FULL, NOW), Signal::Drop);
    }

    #[test]
    fn linux_spares_packets_behind_less_than_two_full_frames() {
        // `backlog < 2 * mtu`, where both have the Ethernet header: 2 * 1514 B.
        let due = |bytes| {
            let mut law = dropping(1.0, false);
            law.admit(&packet(Ecn::NotEct), Backlog { packets: 2, bytes }, NOW)
        };
        assert_eq!([due(2_999), due(3_000)], [Signal::Pass, Signal::Drop]);
    }

    #[test]
    fn a_size_table_decides_what_linux_counts_before_it_spares_a_packet() {
        // Behind htb with `stab overhead -14`, `qdisc_pkt_len` is 1500, and `2 * psched_mtu` is still 3028: two full
        // packets are spared. Measured in Linux 6.12: 0 of 736 arrivals behind exactly two were dropped.
        let config = QueueConfig { header: 0, ..QueueConfig::new(QueueKind::Pie, ParameterSet::Linux) };
        let due = |bytes| {
            let parameters = config.resolved_pie(1500);
            let mut law = Pie {
                burst: Duration::ZERO,
                delay: ms(20),
                probability: 1.0,
                ..Pie::new(parameters, Seed(1).stream("pie"))
            };
            law.admit(&packet(Ecn::NotEct), Backlog { packets: 2, bytes }, NOW)
        };
        assert_eq!([due(3_027), due(3_028)], [Signal::Pass, Signal::Drop]);
        let rfc = QueueConfig { parameters: ParameterSet::Rfc, ..config };
        assert_eq!(rfc.resolved_pie(1500).guard_header, 0);
    }

    #[test]
    fn every_drop_of_linux_clears_the_sum_but_a_forced_mark_does_not() {
        // p = 1/16, exact in binary. The sum reaches 8.5: `pie_drop_early` returns true and keeps it.
        let mut law = dropping(0.0625, true);
        law.accumulated = 8.4375;
        let mut marks = 0;
        while law.admit(&packet(Ecn::Ect0), FULL, NOW) == Signal::Mark {
            marks += 1;
        }
        // (256 - 8.5) * 16 marks in a row, then `accu_prob` overflows to 0.
        assert_eq!((marks, law.accumulated), (3960, 0.0));
        // A packet without ECN is dropped, and `pie_qdisc_enqueue` clears the sum.
        law.accumulated = 8.4375;
        assert_eq!(law.admit(&packet(Ecn::NotEct), FULL, NOW), Signal::Drop);
        assert!(law.accumulated == 0.0);
        // So does a full queue.
        law.accumulated = 8.0;
        law.refused();
        assert!(law.accumulated == 0.0);
    }

    #[test]
    fn a_clock_that_stops_leaves_the_whole_burst_allowance() {
        let mut law = dropping(0.0, false);
        law.delay = Duration::ZERO;
        // The delay before is 20 ms, so this update does not restore the allowance. The next one does.
        assert!(law.tick(Backlog::default(), NOW));
        assert!(law.burst.is_zero());
        assert!(!law.tick(Backlog::default(), NOW));
        assert_eq!(law.burst, ms(150));
    }

    #[test]
    fn the_timer_of_fq_pie_also_updates_idle_queues() {
        // `fq_pie_timer` walks over all flows, so the probability of an emptied one falls as that of a law alone.
        let mut alone = dropping(0.05, false);
        alone.delay = Duration::ZERO;
        let mut ticks = 1;
        while alone.tick(Backlog::default(), NOW) {
            ticks += 1;
        }
        let parameters = crate::parameters::fq(QueueKind::FqPie, ParameterSet::Linux);
        let mut queues = crate::FlowQueues::new(parameters, 0, |_| dropping(0.05, false));
        let mut ledger = crate::fixture::Ledger::default();
        queues.enqueue(crate::fixture::in_class(0, 1500, 0), NOW, &mut ledger);
        assert!(queues.dequeue(NOW, &mut ledger).is_some());
        let times: std::vec::Vec<_> = core::iter::from_fn(|| {
            let at = QueueDiscipline::<u64>::poll_timeout(&queues)?;
            QueueDiscipline::<u64>::handle_timeout(&mut queues, at);
            Some(at.as_nanos() / 1_000_000)
        })
        .collect();
        assert_eq!((times.len(), &times[..3]), (ticks, &[500, 515, 530][..]));
    }

    #[test]
    fn a_quiet_queue_stops_its_clock() {
        let mut law = law(ParameterSet::Linux);
        assert!(!law.tick(Backlog::default(), Instant::ZERO));
        law.probability = 1e-3;
        let mut ticks = 0;
        while law.tick(Backlog::default(), Instant::ZERO) {
            ticks += 1;
            assert!(ticks < 1_000, "PIE must stop ticking");
        }
    }
}
