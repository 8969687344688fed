//! The CoDel law (RFC 8289). When every packet of an interval has waited longer than the target, CoDel drops from the
//! head. The time to the next drop is interval / sqrt(count), until a packet has waited less than the target. The queue
//! itself is not here: see [`super::Aqm`].

use gamelane_core::{Duration, Instant, PacketMeta};

use super::{Aqm, Signal};
use crate::config::QueueKind;
use crate::discipline::Backlog;
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};

/// CoDel in the catalogue.
pub const CODEL: QueueDescriptor = QueueDescriptor {
    word: "codel",
    label: "CoDel",
    about: "One queue with CoDel (RFC 8289).",
    keys: &["target", "interval", "ecn"],
    page: "codel",
    facts: QueueFacts {
        isolates: Isolates::Nothing,
        plain: Some(QueueKind::Codel),
        tc: Tc {
            name: "codel",
            options: &[("limit", "limit"), ("target", "target"), ("interval", "interval"), ("ecn", "ecn")],
        },
    },
};

/// Parameters of CoDel (RFC 8289 sections 4 and 5). `docs/models/codel.md` lists where implementations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelParameters {
    /// Delay that a standing queue may have (section 4.3: 5 ms).
    pub target: Duration,
    /// Time above target before the first drop: a worst-case round trip (section 4.3: 100 ms).
    pub interval: Duration,
    /// Backlog up to which nothing is dropped (section 5.4: one maximum-sized packet).
    pub guard: Guard,
    /// Whether to mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Whether the first drop needs more than an interval above target (`now > first_above`, Linux
    /// `codel_should_drop`). The RFC drops as soon as the interval is reached.
    pub strict: bool,
    /// Number of intervals after the last drop during which the drop rate is remembered (RFC and Linux 16, dummynet 8).
    pub memory_intervals: u64,
    /// Drop count with which a new dropping episode starts.
    pub reentry: Reentry,
    /// Method to compute 1/sqrt(count).
    pub root: InverseRoot,
}

/// Backlog up to which CoDel never drops, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// This number of bytes, usually the MTU.
    Fixed(u64),
    /// The largest packet seen so far, and at least this number of bytes (dummynet: 500).
    Learned(u64),
}

/// Drop count with which a new dropping episode starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reentry {
    /// Number of drops in the last episode (RFC 8289 section 5.5, Linux).
    SinceLast,
    /// The last count minus two (dummynet, which follows an older CoDel).
    MinusTwo,
}

/// Method to compute 1/sqrt(count).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InverseRoot {
    /// Double precision, as in the RFC's pseudocode.
    Exact,
    /// One Newton step per drop on 16 bits, as in Linux `codel_Newton_step`. The error is up to 30 % at the first drops
    /// and below 2 % from count 8 on.
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
    /// 1/sqrt(count) in units of 2^-16, for [`InverseRoot::Newton`].
    inverse_root: u16,
    max_packet: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No dropping episode: the delay has not stayed above the target for an interval.
    Quiet,
    /// Dropping episode; the next drop is at `drop_next`.
    Dropping,
    /// The first packet of an episode was just dropped. The packet after it passes.
    Opened,
    /// A packet was just dropped at `drop_next`. The packet after it decides whether the episode continues.
    Dropped,
}

impl Codel {
    /// Makes the law in its initial state.
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

    /// Returns whether the delay has been above target for an interval (RFC 8289 section 5.6).
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

    /// Starts a dropping episode (RFC 8289 section 5.5, last part).
    fn open(&mut self, now: Instant) {
        let remembered = match self.parameters.reentry {
            Reentry::SinceLast => self.count.wrapping_sub(self.last_count),
            Reentry::MinusTwo => self.count.saturating_sub(2),
        };
        let recent = now.saturating_since(self.drop_next)
            < self.parameters.interval * self.parameters.memory_intervals;
        // A remembered count of one is the default anyway. One above `count` comes from wrapping below zero.
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

    /// Time to the next drop: interval / sqrt(count) (RFC 8289 section 5.3).
    fn spacing(&self) -> Duration {
        let interval = self.parameters.interval.as_nanos();
        Duration::from_nanos(match self.parameters.root {
            InverseRoot::Exact => return control_law(self.parameters.interval, self.count),
            InverseRoot::Newton => (interval * u64::from(self.inverse_root)) >> 16,
        })
    }

    /// Does one Newton step y' = y (3 - count y²) / 2 in 32-bit fixed point and keeps 16 bits (Linux
    /// `codel_Newton_step`).
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

/// Time to the next drop after `count` drops: interval / sqrt(count) (RFC 8289 section 5.3).
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
            // Counted from the old drop_next and not from now, so that a late driver catches up (RFC 8289 section 5.5).
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
        // Dummynet clears `dropping` and `first_above` here. In the other sets `emptied` has already cleared them.
        self.first_above = None;
        self.phase = Phase::Quiet;
    }

    fn overlimit(&mut self, packets: u32, _now: Instant) {
        // Linux `fq_codel_drop` counts overload drops as congestion signals.
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

    /// Sends one packet per millisecond, each after waiting `sojourn` ms. Returns the times of drops and marks in ms.
    /// After a drop the next packet follows in the same millisecond.
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
        // Above target from 0 ms on: first_above is 100 ms and the first drop is there (count 1). The next drops in ms:
        //   100 + 100/√1 = 200, + 100/√2 = 270.7, + 100/√3 = 328.4, + 100/√4 = 378.4, + 100/√5 = 423.2.
        // Packets arrive each millisecond, so each drop is at the next whole millisecond.
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..430, 20, Ecn::NotEct), [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn linux_waits_until_the_interval_has_passed() {
        // now > first_above: the first drop is at 101 ms instead of 100 ms, and the second also 1 ms later.
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
            // The first steps start far from the root: at count 2 the step gives 0.5 instead of 0.707.
            let bound = if count < 8 { 0.30 } else { 0.02 };
            assert!((newton / exact - 1.0).abs() < bound, "count {count}: Newton {newton}, exact {exact}");
        }
    }

    #[test]
    fn a_single_good_packet_ends_the_episode() {
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..150, 20, Ecn::NotEct), [100]);
        assert_eq!(drops(&mut law, 150..151, 4, Ecn::NotEct), []);
        // The next episode again needs a whole interval above target: 151 + 100 ms.
        assert_eq!(drops(&mut law, 151..300, 20, Ecn::NotEct), [251]);
    }

    #[test]
    fn a_soon_second_episode_remembers_its_rate() {
        let mut law = law(ParameterSet::Rfc);
        assert_eq!(drops(&mut law, 0..500, 20, Ecn::NotEct), [100, 200, 271, 329, 379, 424, 464]);
        drops(&mut law, 500..501, 1, Ecn::NotEct);
        // count is 7 and last_count 1, so the new episode starts with count 6. Its second drop is 100/√6 = 40.8 ms
        // later.
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
