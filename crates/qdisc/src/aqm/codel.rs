//! The CoDel law (RFC 8289): if every packet of an interval waited longer than the target, drop from the head, ever
//! faster (interval / sqrt(count)) until one has not. No queue in here: see [`super::Aqm`].

use gamelane_core::{Duration, Instant, PacketMeta};

use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// Parameters, RFC 8289 section 4 and 5; where implementations differ see `docs/models/codel.md`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelParameters {
    /// Acceptable standing delay (section 4.3: 5 ms).
    pub target: Duration,
    /// Worst-case round trip the law waits for (section 4.3: 100 ms).
    pub interval: Duration,
    /// No drop while this much or less is left behind (section 5.4: one maximum-sized packet).
    pub guard: Guard,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Must the interval have been exceeded (`now > first_above`, Linux), or is reaching it enough (RFC)?
    pub strict: bool,
    /// The drop rate is remembered if dropping ended less than this many intervals ago (RFC and Linux 16, dummynet 8).
    pub memory_intervals: u64,
    /// How much of the drop rate is remembered.
    pub reentry: Reentry,
    /// How 1/sqrt(count) is computed.
    pub root: InverseRoot,
}

/// The backlog below which CoDel never drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// A number of bytes: the MTU.
    Fixed(u64),
    /// The largest packet seen, starting from a number of bytes (dummynet: 500).
    Learned(u64),
}

/// The drop count a new dropping episode starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reentry {
    /// Drops of the last episode alone (RFC 8289 section 5.5, Linux).
    SinceLast,
    /// Two less than the last count (the older CoDel of dummynet).
    MinusTwo,
}

/// How 1/sqrt(count) is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InverseRoot {
    /// To double precision, as the RFC's pseudocode.
    Exact,
    /// One Newton step a drop on 16 bits, as Linux: off by some per cent while count moves fast.
    Newton,
}

/// State of the law for one queue.
#[derive(Clone, Debug)]
pub struct Codel {
    parameters: CodelParameters,
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    phase: Phase,
    /// 1/sqrt(count) in 2^-16, for [`InverseRoot::Newton`].
    inverse_root: u16,
    max_packet: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Delay has not stayed above the target for an interval.
    Quiet,
    /// Dropping at `drop_next`.
    Dropping,
    /// The packet that opened the episode was just dropped; the next one passes.
    Opened,
    /// A packet was just dropped at `drop_next`; the next one decides whether the episode goes on.
    Dropped,
}

impl Codel {
    /// A law that has seen nothing.
    pub const fn new(parameters: CodelParameters) -> Self {
        let max_packet = match parameters.guard {
            Guard::Fixed(bytes) | Guard::Learned(bytes) => bytes,
        };
        Self {
            parameters,
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            phase: Phase::Quiet,
            inverse_root: u16::MAX,
            max_packet,
        }
    }

    /// RFC 8289 section 5.6: has the delay been above target for an interval?
    fn is_late(&mut self, sojourn: Duration, backlog: Backlog, now: Instant) -> bool {
        if sojourn < self.parameters.target || backlog.bytes <= self.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.parameters.interval);
                false
            }
            Some(at) if self.parameters.strict => now > at,
            Some(at) => now >= at,
        }
    }

    /// Opens a dropping episode (RFC 8289 section 5.5, last part).
    fn open(&mut self, now: Instant) {
        let remembered = match self.parameters.reentry {
            Reentry::SinceLast => self.count.wrapping_sub(self.last_count),
            Reentry::MinusTwo => self.count.saturating_sub(2),
        };
        let recent = now.saturating_since(self.drop_next)
            < self.parameters.interval * self.parameters.memory_intervals;
        // A remembered count of one says nothing, and a wrapped one is no count.
        if recent && remembered > 1 && remembered <= self.count {
            self.count = remembered;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = now + self.spacing();
    }

    fn count_up(&mut self) {
        self.count = self.count.saturating_add(1);
        self.newton_step();
    }

    /// interval / sqrt(count), RFC 8289 section 5.3.
    fn spacing(&self) -> Duration {
        let interval = self.parameters.interval.as_nanos();
        Duration::from_nanos(match self.parameters.root {
            InverseRoot::Exact => return control_law(self.parameters.interval, self.count),
            InverseRoot::Newton => (interval * u64::from(self.inverse_root)) >> 16,
        })
    }

    /// y' = y (3 - count y²) / 2 in 32-bit fixed point, kept to 16 bits (Linux `codel_Newton_step`).
    fn newton_step(&mut self) {
        let y = u64::from(self.inverse_root) << 16;
        let y_squared = (y * y) >> 32;
        let bracket = (3u64 << 32).saturating_sub(u64::from(self.count) * y_squared) >> 2;
        self.inverse_root = (((bracket * y) >> 31) >> 16).min(u64::from(u16::MAX)) as u16;
    }

    fn signal(&self, packet: &PacketMeta) -> Signal {
        if self.parameters.ecn && packet.ecn.is_capable() { Signal::Mark } else { Signal::Drop }
    }
}

/// The time between drops after `count` of them: interval / sqrt(count), RFC 8289 section 5.3.
pub(super) fn control_law(interval: Duration, count: u32) -> Duration {
    Duration::from_nanos((interval.as_nanos() as f64 / libm::sqrt(f64::from(count)) + 0.5) as u64)
}

impl Aqm for Codel {
    fn release(&mut self, packet: &PacketMeta, sojourn: Duration, backlog: Backlog, now: Instant) -> Signal {
        if let Guard::Learned(_) = self.parameters.guard {
            self.max_packet = self.max_packet.max(packet.len.bytes());
        }
        let late = self.is_late(sojourn, backlog, now);
        match self.phase {
            Phase::Quiet if late => {
                let signal = self.signal(packet);
                self.open(now);
                self.phase = if signal == Signal::Drop { Phase::Opened } else { Phase::Dropping };
                return signal;
            }
            Phase::Quiet => return Signal::Pass,
            Phase::Opened => {
                self.phase = Phase::Dropping;
                return Signal::Pass;
            }
            Phase::Dropping | Phase::Dropped if !late => {
                self.phase = Phase::Quiet;
                return Signal::Pass;
            }
            // From the old drop_next, not from now: a late driver catches up (RFC 8289 section 5.5).
            Phase::Dropped => self.drop_next += self.spacing(),
            Phase::Dropping => {}
        }
        self.phase = Phase::Dropping;
        if now < self.drop_next {
            return Signal::Pass;
        }
        self.count_up();
        let signal = self.signal(packet);
        match signal {
            Signal::Drop => self.phase = Phase::Dropped,
            _ => self.drop_next += self.spacing(),
        }
        signal
    }

    fn emptied(&mut self, _now: Instant) {
        self.first_above = None;
        self.phase = Phase::Quiet;
    }

    fn reactivated(&mut self, _now: Instant) {
        // Dummynet clears `dropping` and `first_above`; elsewhere an empty queue has cleared them already.
        self.first_above = None;
        self.phase = Phase::Quiet;
    }

    fn overlimit(&mut self, packets: u32, _now: Instant) {
        // Linux `fq_codel_drop`: overload counts as congestion signals already given.
        self.count = self.count.saturating_add(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ParameterSet;
    use gamelane_core::Ecn;
    use std::vec::Vec;

    const FULL: Backlog = Backlog { packets: 50, bytes: 75_000 };

    fn packet(ecn: Ecn) -> PacketMeta {
        crate::fixture::packet(1500, ecn)
    }

    /// One packet a millisecond, all waiting `sojourn` ms; drop times in ms. A drop asks for the next packet at once.
    fn drops(law: &mut Codel, millis: core::ops::Range<u64>, sojourn: u64, ecn: Ecn) -> Vec<u64> {
        let mut signals = Vec::new();
        for ms in millis {
            let now = Instant::from_millis(ms);
            loop {
                match law.release(&packet(ecn), Duration::from_millis(sojourn), FULL, now) {
                    Signal::Pass => break,
                    Signal::Mark => {
                        signals.push(ms);
                        break;
                    }
                    Signal::Drop => signals.push(ms),
                }
            }
        }
        signals
    }

    fn law(set: ParameterSet) -> Codel {
        Codel::new(crate::parameters::codel(set, 1500))
    }

    #[test]
    fn drops_come_at_interval_over_root_count() {
        // Above target from t=0: first_above = 100 ms, the first drop there (count 1). Then at drop_next, in ms:
        //   100 + 100/√1 = 200, + 100/√2 = 270.7, + 100/√3 = 328.4, + 100/√4 = 378.4, + 100/√5 = 423.2.
        // Packets come each millisecond, so each drop is at the next whole one.
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..430, 20, Ecn::NotEct), [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn linux_waits_until_the_interval_has_passed() {
        // now > first_above: 101 instead of 100, and every later drop one later with it.
        let mut law = law(ParameterSet::Linux);
        assert_eq!(drops(&mut law, 0..300, 20, Ecn::NotEct)[..2], [101, 201]);
    }

    #[test]
    fn newton_follows_the_exact_root_within_two_per_cent() {
        let mut law = law(ParameterSet::Linux);
        law.count = 1;
        law.inverse_root = u16::MAX;
        for count in 2u32..500 {
            law.count_up();
            let exact = 1.0 / libm::sqrt(f64::from(count));
            let newton = f64::from(law.inverse_root) / 65536.0;
            // The first steps start far away: at count 2 the step gives 0.5 for 0.707.
            let bound = if count < 8 { 0.30 } else { 0.02 };
            assert!((newton / exact - 1.0).abs() < bound, "count {count}: {newton} against {exact}");
        }
    }

    #[test]
    fn a_single_good_packet_ends_the_episode() {
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..150, 20, Ecn::NotEct), [100]);
        assert_eq!(drops(&mut law, 150..151, 4, Ecn::NotEct), []);
        // The next episode needs a whole interval above target again: 151 + 100.
        assert_eq!(drops(&mut law, 151..300, 20, Ecn::NotEct), [251]);
    }

    #[test]
    fn a_soon_second_episode_remembers_its_rate() {
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..500, 20, Ecn::NotEct), [100, 200, 271, 329, 379, 424, 464]);
        drops(&mut law, 500..501, 1, Ecn::NotEct);
        // count is 7, last_count 1: reopens with count 6, so the second drop follows after 100/√6 = 40.8 ms.
        assert_eq!(drops(&mut law, 501..645, 20, Ecn::NotEct), [601, 642]);
    }

    #[test]
    fn below_target_or_with_one_packet_left_nothing_is_dropped() {
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..5_000, 4, Ecn::NotEct), []);
        for ms in 5_000..10_000 {
            let one = Backlog { packets: 1, bytes: 1500 };
            let now = Instant::from_millis(ms);
            assert_eq!(law.release(&packet(Ecn::NotEct), Duration::from_secs(1), one, now), Signal::Pass);
        }
    }

    #[test]
    fn ecn_marks_at_the_same_times() {
        let mut law =
            Codel::new(CodelParameters { ecn: true, ..crate::parameters::codel(ParameterSet::Rfc, 1500) });
        assert_eq!(drops(&mut law, 0..430, 20, Ecn::Ect0), [100, 200, 271, 329, 379, 424]);
    }
}
