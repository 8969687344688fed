//! Delay, waits and losses of one flow by the load of the capture at that moment. If they come with the upload or the
//! download, a queue builds up. A step counts as loaded in one direction if it carries at least an eighth of what the
//! busiest tenth of the steps carry in large packets, and at least 64 kbit/s. It is so little because the load falls where a
//! link becomes slower, and there the queue grows. The thresholds are ours. Who is to blame is left to
//! [`blame`](crate::blame).

use super::marks::Marks;
use super::timeline::{Moments, Timeline};

/// Load of the capture during one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Little in both directions.
    Idle,
    /// Much from the home.
    Up,
    /// Much to the home.
    Down,
    /// Much in both directions.
    Both,
}

impl Load {
    /// All kinds, in the order of the arrays of [`UnderLoad`].
    pub const ALL: [Self; 4] = [Self::Idle, Self::Up, Self::Down, Self::Both];
}

/// What happened to a flow, by load. Arrays follow [`Load::ALL`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnderLoad {
    /// Steps of the capture in which the flow was open.
    pub steps: [u32; 4],
    /// Data from the client, and data from the server.
    pub ways: [WayUnderLoad; 2],
    /// Moments at which messages of both directions came late.
    pub both_waited: u32,
}

/// What happened to the data of one direction, by load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WayUnderLoad {
    /// Round trip from the capture point to the receiver of this direction, beyond the smallest one of the flow.
    pub delay: [Typical; 4],
    /// The smallest round trip; `None` without any.
    pub least_rtt_ns: Option<u64>,
    /// Moments with a wait of more than [`LONG_NS`].
    pub long_waits: [u32; 4],
    /// Longest wait.
    pub longest_wait_ns: u64,
    /// Packets lost between the sender and the capture point.
    pub lost_before: [u32; 4],
    /// Packets lost between the capture point and the receiver.
    pub lost_after: [u32; 4],
    /// Moments with a long wait, or with losses before (first) or after the capture point (second).
    pub troubled: [[u32; 4]; 2],
    /// Steps without load in which packets were lost before (first) or after the capture point (second).
    pub lost_at: [Marks; 2],
    /// Steps with a round trip at most 50 ms above the smallest one.
    pub prompt_at: Marks,
    /// Steps in which packets were lost before (first) or after the capture point (second), or a long wait ended.
    pub troubled_at: [Marks; 2],
    /// Steps without load that passed while the receiver waited for a message.
    pub waited_at: Marks,
}

/// Typical values of a quantity that was measured at some moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Typical {
    /// Number of moments.
    pub moments: u32,
    /// Median in nanoseconds.
    pub median_ns: u64,
    /// 90th percentile in nanoseconds.
    pub high_ns: u64,
}

impl Typical {
    /// Summarises values in nanoseconds.
    pub(crate) fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let at =
            |tenths: usize| values.get((values.len().saturating_sub(1) * tenths) / 10).copied().unwrap_or(0);
        Self { moments: values.len() as u32, median_ns: at(5), high_ns: at(9) }
    }
}

/// Wait from which shooting suffers (Beigbeder et al., NetGames 2004).
pub const LONG_NS: u64 = 100_000_000;

/// Summarises the moments of a flow by the load of a capture that has ended.
pub(crate) fn summary(
    timeline: &Timeline,
    moments: [&Moments; 2],
    least_rtt_ns: [u64; 2],
    span_ns: [u64; 2],
) -> UnderLoad {
    let mut loads = Loads::default();
    loads.read(timeline);
    loads.summary(moments, least_rtt_ns, span_ns)
}

/// Load of each step of a [`Timeline`]. It is computed again only if the timeline has grown.
#[derive(Debug, Default)]
pub(super) struct Loads {
    of: (u64, usize),
    loads: Vec<Load>,
}

impl Loads {
    /// Classifies the steps of a timeline.
    pub(super) fn read(&mut self, timeline: &Timeline) {
        let of = (timeline.step_ns(), timeline.steps().len());
        if of == self.of {
            return;
        }
        self.of = of;
        let floor = FLOOR_BYTES_PER_SECOND.saturating_mul(timeline.step_ns()) / 1_000_000_000;
        let much = [0, 1].map(|way| {
            let mut busy: Vec<u64> = timeline.steps().iter().map(|step| step.bulk[way]).collect();
            busy.retain(|&bytes| bytes >= floor);
            if busy.is_empty() {
                return u64::MAX;
            }
            let at = busy.len() * 9 / 10;
            (*busy.select_nth_unstable(at).1 / 8).max(floor)
        });
        self.loads = timeline
            .steps()
            .iter()
            .map(|step| match [0, 1].map(|way| step.bulk[way] >= much[way]) {
                [false, false] => Load::Idle,
                [true, false] => Load::Up,
                [false, true] => Load::Down,
                [true, true] => Load::Both,
            })
            .collect();
    }

    /// Load at a moment. A moment that is longer than a step has the load of most of its steps.
    fn during(&self, step: u64, step_ns: u64) -> Load {
        let from = (step.saturating_mul(step_ns) / self.of.0.max(1)) as usize;
        let to = (step + 1).saturating_mul(step_ns).div_ceil(self.of.0.max(1)) as usize;
        let of = self.loads.get(from.min(self.loads.len())..to.min(self.loads.len())).unwrap_or_default();
        let count = |load: Load| of.iter().filter(|&&one| one == load).count();
        // Trouble is due to the load before it, so load wins over silence.
        Load::ALL
            .into_iter()
            .rev()
            .max_by_key(|&load| count(load) * if load == Load::Idle { 1 } else { 2 })
            .unwrap_or(Load::Idle)
    }

    /// Load at a time.
    pub(super) fn at(&self, at_ns: u64) -> Load {
        self.during(at_ns / self.of.0.max(1), self.of.0.max(1))
    }

    /// Summarises the moments of a flow with these smallest round trips, open between two times.
    pub(super) fn summary(
        &self,
        moments: [&Moments; 2],
        least_rtt_ns: [u64; 2],
        [first_ns, last_ns]: [u64; 2],
    ) -> UnderLoad {
        let mut found = UnderLoad::default();
        let step_ns = self.of.0.max(1);
        for load in
            self.loads.iter().take((last_ns / step_ns) as usize + 1).skip((first_ns / step_ns) as usize)
        {
            found.steps[*load as usize] += 1;
        }
        for n in 0..2 {
            self.summarise(&mut found.ways[n], moments[n], least_rtt_ns[n] / 1000);
        }
        let waited = |moments: &Moments| {
            let late = moments.all().filter(|moment| u64::from(moment.wait_us) * 1000 > LONG_NS);
            late.map(|moment| moment.step.saturating_mul(moments.step_ns()) / SAME_NS).collect::<Vec<u64>>()
        };
        let [first, second] = moments.map(waited);
        let near = |at: u64| second.iter().any(|other| other.abs_diff(at) <= 1);
        found.both_waited = first.into_iter().filter(|&at| near(at)).count() as u32;
        found
    }

    fn summarise(&self, way: &mut WayUnderLoad, moments: &Moments, least_us: u64) {
        let was_measured = moments.all().any(|moment| moment.least_rtt_us != u32::MAX);
        way.least_rtt_ns = was_measured.then_some(least_us * 1000);
        let mut extra: [Vec<u64>; 4] = Default::default();
        let marks = Marks::new(self.of.0.max(moments.step_ns()));
        way.lost_at = [marks.clone(), marks.clone()];
        way.troubled_at = way.lost_at.clone();
        (way.prompt_at, way.waited_at) = (marks.clone(), marks);
        for moment in moments.all() {
            let load = self.during(moment.step, moments.step_ns()) as usize;
            let at_ns = moment.step.saturating_mul(moments.step_ns());
            if moment.least_rtt_us != u32::MAX {
                let extra_ns = u64::from(moment.least_rtt_us).saturating_sub(least_us) * 1000;
                extra[load].push(extra_ns);
                if extra_ns <= LONG_NS / 2 {
                    way.prompt_at.add(at_ns);
                }
            }
            let wait_ns = u64::from(moment.wait_us) * 1000;
            way.long_waits[load] += u32::from(wait_ns > LONG_NS);
            let losses = [moment.lost_before, moment.lost_after];
            if load == Load::Idle as usize {
                let lost_at = way.lost_at.iter_mut().zip(losses).filter(|(_, lost)| *lost > 0);
                lost_at.for_each(|(marks, _)| marks.add(at_ns));
                way.waited_at.add_within([at_ns.saturating_sub(wait_ns), at_ns]);
            }
            let troubled = way.troubled.iter_mut().zip(&mut way.troubled_at).zip(losses);
            for ((counts, marks), _) in troubled.filter(|(_, lost)| *lost > 0 || wait_ns > LONG_NS) {
                counts[load] += 1;
                marks.add(at_ns);
            }
            way.longest_wait_ns = way.longest_wait_ns.max(wait_ns);
            way.lost_before[load] += u32::from(moment.lost_before);
            way.lost_after[load] += u32::from(moment.lost_after);
        }
        way.delay = extra.map(Typical::of);
    }
}

/// 64 kbit/s. Uploads of old cable modems are above.
const FLOOR_BYTES_PER_SECOND: u64 = 8_000;
/// Messages of both directions are late together if they are late within this time.
const SAME_NS: u64 = 250_000_000;
