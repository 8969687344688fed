//! Course of a capture over time: the load of all flows, and the longest wait of any game. Steps are a quarter of a second
//! at first. When there are too many, two become one, so memory stays bounded. It is not known before the end of a flow
//! whether it is a game. So each direction of a flow keeps its own [`Moments`], which are merged at its end. What they
//! say about the causes of a delay is left to [`UnderLoad`](super::under_load::UnderLoad).

use super::direction::BIN_NS;

/// Load and lag of a capture over time.
#[derive(Clone, Debug)]
pub struct Timeline {
    step_ns: u64,
    steps: Vec<Step>,
    /// The step of the last packet, and its start.
    at: usize,
    from_ns: u64,
}

/// One step of a [`Timeline`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// IP bytes of all flows: from the home and to the home. Without private addresses these are from the clients and to
    /// the clients.
    pub bytes: [u64; 2],
    /// Bytes of these in large packets. Updates of games and ACKs are small, so they are no load.
    pub(super) bulk: [u64; 2],
    /// Longest wait of any game's data or update that ended in this step; 0 if none waited.
    pub lag_ns: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { step_ns: BIN_NS, steps: Vec::new(), at: 0, from_ns: NOWHERE }
    }
}

impl Timeline {
    /// Length of a step in nanoseconds.
    pub const fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// The steps from the first packet on.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns a timeline with at most [`DRAWN`] steps, for a chart.
    #[must_use]
    pub fn drawn(&self) -> Self {
        let mut drawn = self.clone();
        while drawn.steps.len() > DRAWN {
            drawn.double();
        }
        drawn
    }

    /// Adds a packet of any flow. What stays in the home (`is_local`) does not load the line.
    #[inline]
    pub(super) fn load(&mut self, at_ns: u64, from_home: bool, bytes: u64, is_local: bool) {
        if at_ns.wrapping_sub(self.from_ns) >= self.step_ns {
            self.turn(at_ns);
        }
        let bulk = if bytes >= LARGE && !is_local { bytes } else { 0 };
        let way = usize::from(!from_home);
        if let Some(step) = self.steps.get_mut(self.at) {
            step.bytes[way] += bytes;
            step.bulk[way] += bulk;
        }
    }

    /// Adds the waits of one direction of a game.
    pub(super) fn merge(&mut self, moments: &Moments) {
        for moment in moments.all() {
            let at = self.place(moment.step.saturating_mul(moments.step_ns));
            if let Some(step) = self.steps.get_mut(at).filter(|_| moment.wait_us > 0) {
                step.lag_ns = step.lag_ns.max(u64::from(moment.wait_us) * 1000);
            }
        }
    }

    const fn place(&self, at_ns: u64) -> usize {
        (at_ns / self.step_ns) as usize
    }

    /// Turns to the step of another time. It is mostly the next one.
    #[cold]
    fn turn(&mut self, at_ns: u64) {
        while self.place(at_ns) >= KEPT {
            self.double();
        }
        self.at = self.place(at_ns);
        self.from_ns = self.at as u64 * self.step_ns;
        if self.at >= self.steps.len() {
            self.steps.resize(self.at + 1, Step::default());
        }
    }

    fn double(&mut self) {
        self.step_ns *= 2;
        self.steps = self
            .steps
            .chunks(2)
            .map(|two| {
                two.iter().fold(Step::default(), |sum, step| Step {
                    bytes: [0, 1].map(|n| sum.bytes[n] + step.bytes[n]),
                    bulk: [0, 1].map(|n| sum.bulk[n] + step.bulk[n]),
                    lag_ns: sum.lag_ns.max(step.lag_ns),
                })
            })
            .collect();
        // The next packet looks for its step again.
        self.from_ns = NOWHERE;
    }
}

/// Moments at which one direction of a flow was measured or had trouble.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    step_ns: u64,
    /// End of the latest moment.
    until_ns: u64,
    list: Vec<Moment>,
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Number of the step.
    pub(crate) step: u64,
    /// Smallest round trip from the capture point to the receiver of this direction, in microseconds; `u32::MAX` without
    /// one.
    pub(crate) least_rtt_us: u32,
    /// Longest wait, in microseconds.
    pub(crate) wait_us: u32,
    /// Packets lost between the sender and the capture point.
    pub(crate) lost_before: u16,
    /// Packets lost between the capture point and the receiver.
    pub(crate) lost_after: u16,
}

impl Default for Moments {
    fn default() -> Self {
        Self { step_ns: BIN_NS, until_ns: 0, list: Vec::new() }
    }
}

impl Moments {
    /// Adds a round trip.
    #[inline]
    pub(crate) fn round_trip(&mut self, at_ns: u64, rtt_ns: u64) {
        let us = u32::try_from(rtt_ns / 1000).unwrap_or(u32::MAX - 1);
        let moment = self.moment(at_ns);
        moment.least_rtt_us = moment.least_rtt_us.min(us);
    }

    /// Adds data or an update that came `wait_ns` later than it should have.
    pub(crate) fn waited(&mut self, at_ns: u64, wait_ns: u64) {
        let us = u32::try_from(wait_ns / 1000).unwrap_or(u32::MAX);
        let moment = self.moment(at_ns);
        moment.wait_us = moment.wait_us.max(us);
    }

    /// Adds lost packets.
    pub(crate) fn lost(&mut self, at_ns: u64, before: u64, after: u64) {
        let moment = self.moment(at_ns);
        let more = |sum: u16, more: u64| sum.saturating_add(u16::try_from(more).unwrap_or(u16::MAX));
        moment.lost_before = more(moment.lost_before, before);
        moment.lost_after = more(moment.lost_after, after);
    }

    /// Removes the waits.
    pub(crate) fn forget_waits(&mut self) {
        self.list.iter_mut().for_each(|moment| moment.wait_us = 0);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Moment> {
        self.list.iter()
    }

    /// Start of the first moment and end of the last one.
    pub(crate) fn span_ns(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.list.first().map(|first| first.step.saturating_mul(self.step_ns));
        first.into_iter().chain(self.list.last().map(|last| (last.step + 1).saturating_mul(self.step_ns)))
    }

    pub(crate) const fn step_ns(&self) -> u64 {
        self.step_ns
    }

    #[inline]
    fn moment(&mut self, at_ns: u64) -> &mut Moment {
        if at_ns >= self.until_ns {
            self.turn(at_ns);
        }
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    #[cold]
    fn turn(&mut self, at_ns: u64) {
        while self.list.len() >= MOMENTS
            && self.list.last().is_some_and(|last| last.step < at_ns / self.step_ns)
        {
            self.step_ns *= 2;
            let mut merged: Vec<Moment> = Vec::with_capacity(MOMENTS);
            for moment in &self.list {
                let moment = Moment { step: moment.step / 2, ..*moment };
                match merged.last_mut().filter(|last| last.step == moment.step) {
                    Some(last) => last.merge(&moment),
                    None => merged.push(moment),
                }
            }
            self.list = merged;
        }
        let step = at_ns / self.step_ns;
        if self.list.last().is_none_or(|last| last.step < step) {
            self.list.push(Moment {
                step,
                least_rtt_us: u32::MAX,
                wait_us: 0,
                lost_before: 0,
                lost_after: 0,
            });
        }
        self.until_ns = (step + 1).saturating_mul(self.step_ns);
    }
}

impl Moment {
    fn merge(&mut self, later: &Self) {
        self.least_rtt_us = self.least_rtt_us.min(later.least_rtt_us);
        self.wait_us = self.wait_us.max(later.wait_us);
        self.lost_before = self.lost_before.saturating_add(later.lost_before);
        self.lost_after = self.lost_after.saturating_add(later.lost_after);
    }
}

/// IP bytes of a large packet.
const LARGE: u64 = 600;
/// Start of a step that no packet is in.
const NOWHERE: u64 = 1 << 63;
/// Steps of a chart.
const DRAWN: usize = 256;
/// Steps kept: 40 KiB, a quarter of a second each in captures of up to 256 s.
const KEPT: usize = 1024;
/// Moments kept for one direction of a flow: 6 KiB.
const MOMENTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn load_and_lag_survive_doubling() {
        let mut timeline = Timeline::default();
        let mut moments = Moments::default();
        for second in 0..4000 {
            timeline.load(second * SECOND, second % 2 == 0, 1000, false);
            if second % 100 == 7 {
                moments.waited(second * SECOND, second * 1_000_000);
            }
        }
        timeline.merge(&moments);
        let sums = timeline.steps().iter().fold([0, 0], |sum, step| [0, 1].map(|n| sum[n] + step.bytes[n]));
        assert_eq!(sums, [2_000_000, 2_000_000]);
        assert_eq!(timeline.step_ns(), 4 * SECOND);
        let drawn = timeline.drawn();
        assert!(drawn.steps().len() <= DRAWN && drawn.steps().len() > DRAWN / 2);
        assert_eq!(drawn.steps().iter().map(|step| step.lag_ns).max(), Some(3907 * 1_000_000));
        // A wait is in the step in which it ended.
        let at = (3907 * SECOND / timeline.step_ns()) as usize;
        assert_eq!(timeline.steps()[at].lag_ns, 3907 * 1_000_000);
        // A packet whose stamp is too early counts at its own time.
        timeline.load(5 * SECOND, true, 77, false);
        assert_eq!(timeline.steps()[1].bytes[0], 2077);
    }

    #[test]
    fn moments_are_bounded() {
        let mut moments = Moments::default();
        for n in 0..3000u64 {
            moments.round_trip(n * SECOND, 40_000_000 + n % 1000);
            moments.lost(n * SECOND, 1, 2);
        }
        assert!(moments.list.len() <= MOMENTS);
        assert_eq!(moments.list.iter().map(|moment| u64::from(moment.lost_before)).sum::<u64>(), 3000);
        assert_eq!(moments.list.iter().map(|moment| u64::from(moment.lost_after)).sum::<u64>(), 6000);
        assert!(moments.list.windows(2).all(|two| two[0].step < two[1].step));
        assert!(moments.list.iter().all(|moment| moment.least_rtt_us == 40_000));
    }
}
