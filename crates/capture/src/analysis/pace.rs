//! Pace of one direction of a game: when its messages came, compared with a steady tick. The tick is learned from 41 gaps
//! in a row, and these gaps are judged by it, so a sender may change its rate. It is their median, or their mean if most
//! gaps are not near the median: the network makes gaps uneven, but not the rate. Messages that the counter shows as lost
//! are not late, and messages without a time of their own are left out (see [`Steps`]). The first messages wait until the
//! counter can be trusted.

use super::direction::Direction;
use super::game::{REGULAR, Updates};
use super::numbering::{Numbering, Steps, UNNUMBERED};
use super::timeline::Moments;

/// Follows the pace of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// Messages whose gaps are not judged yet, and the one before them: at most [`TOGETHER`] + 1.
    waiting: Vec<Message>,
    judged: Judged,
    longest_ns: u64,
    numbering: Numbering,
    moments: Option<Box<Moments>>,
}

/// A message with a time of its own.
#[derive(Clone, Copy, Debug)]
struct Message {
    at_ns: u64,
    steps: Steps,
}

/// Time between two messages.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    /// End of the gap.
    at_ns: u64,
    ns: u64,
    /// Number of ticks that should lie between them, by the counter; 1 without one.
    ticks: u64,
}

/// Results so far.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    gaps: u64,
    jitter: f64,
    jitter_sum: f64,
    late: u64,
    unfilled: u64,
    missing: u64,
    debt: Debt,
    tick_ns: Option<u64>,
    rate: Rate,
}

/// Constancy of the rate, from the means of [`IN_MEAN`] gaps in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// Gaps since the last mean.
    since: Gap,
    gaps: usize,
    mean_ns: Option<u64>,
    /// Number of means with one before them.
    means: u64,
    /// Number of these means that are close to the one before them.
    alike: u64,
}

/// Time by which the messages are behind the pace since a long gap. A sender that was late, or a queue that was full,
/// makes up for it with shorter gaps. The debt is counted only if that has not happened [`PAID_BACK_NS`] after the last
/// long gap.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    behind_ns: u64,
    /// Number of long gaps in the debt; 0 if there is no debt.
    gaps: u64,
    /// Time since the last long gap.
    since_ns: u64,
}

impl Pace {
    /// Adds a message that passed at `at_ns`; `start` has its first bytes.
    pub(crate) fn saw(&mut self, at_ns: u64, start: Option<[u8; 4]>) {
        let steps = start.map_or(Some(UNNUMBERED), |start| self.numbering.saw(at_ns, start));
        let Some(steps) = steps else { return };
        let message = Message { at_ns, steps };
        if message.ticks(self.numbering.trusted()) == 0 {
            return;
        }
        self.waiting.push(message);
        if self.waiting.len() <= TOGETHER {
            return;
        }
        let trusted = self.numbering.best();
        self.waiting.retain(|message| message.ticks(trusted) > 0);
        if self.waiting.len() > TOGETHER {
            let gaps = gaps(&self.waiting, trusted);
            self.longest_ns = self.longest_ns.max(longest_ns(&gaps));
            self.judged.judge(&gaps);
            self.note(&gaps);
            self.waiting.drain(..TOGETHER);
        }
    }

    /// Keeps the moments of late and lost messages.
    fn note(&mut self, gaps: &[Gap]) {
        let Some(tick_ns) = self.judged.tick_ns else { return };
        for gap in gaps.iter().filter(|gap| gap.ticks > 1 || gap.ns > tick_ns + tick_ns / 2) {
            let moments = self.moments.get_or_insert_default();
            if gap.ns > tick_ns + tick_ns / 2 {
                moments.waited(gap.at_ns, gap.ns - tick_ns);
            }
            if gap.ticks > 1 {
                moments.lost(gap.at_ns, gap.ticks - 1, 0);
            }
        }
    }

    /// Takes the moments of trouble, at the end of the flow. Without a steady pace nothing was late.
    pub(crate) fn moments(&mut self, is_steady: bool) -> Option<Box<Moments>> {
        let waiting = gaps(&self.waiting, self.numbering.best());
        let mut judged = self.judged;
        judged.judge(&waiting);
        self.judged.tick_ns = judged.tick_ns;
        self.note(&waiting);
        let mut moments = self.moments.take()?;
        if !is_steady {
            moments.forget_waits();
        }
        Some(moments)
    }

    /// Returns the statistics at the end of the flow.
    pub(crate) fn updates(&self, direction: &Direction) -> Option<Updates> {
        let median_ns = direction.gaps.median()?;
        let regular = direction.gaps.share_within(median_ns * 0.75, median_ns * 1.25);
        let mean_ns = direction.gaps.mean()?;
        let waiting = gaps(&self.waiting, self.numbering.best());
        let longest_gap_ns = self.longest_ns.max(longest_ns(&waiting));
        // One long pause is no burst.
        let most = mean_ns - longest_gap_ns as f64 / direction.gaps.count() as f64;
        let is_regular = regular >= REGULAR && is_usual(median_ns, most);
        let mut judged = self.judged;
        judged.judge(&waiting);
        Some(Updates {
            tick_ns: if is_regular { median_ns } else { mean_ns },
            regular,
            is_steady: is_regular || judged.rate.is_constant(),
            jitter_ns: judged.jitter,
            mean_jitter_ns: if judged.gaps == 0 { 0.0 } else { judged.jitter_sum / judged.gaps as f64 },
            late: judged.late,
            gaps: judged.unfilled,
            missing_by_pace: judged.missing,
            longest_gap_ns,
            numbered: self.numbering.numbered(),
            is_quake_numbered: self.numbering.is_quake(),
        })
    }
}

impl Judged {
    /// Judges at most [`TOGETHER`] gaps by their own tick, or by the tick before them if they are few.
    fn judge(&mut self, gaps: &[Gap]) {
        if gaps.len() >= FEWEST {
            self.tick_ns = Some(median(gaps).unwrap_or_else(|| sum(gaps).mean_ns()).max(1));
            self.rate.saw(gaps);
        }
        let Some(tick_ns) = self.tick_ns else { return };
        gaps.iter().for_each(|&gap| self.judge_one(gap, tick_ns));
    }

    fn judge_one(&mut self, gap: Gap, tick_ns: u64) {
        let due_ns = tick_ns.saturating_mul(gap.ticks);
        self.gaps += 1;
        self.jitter += (gap.ns.abs_diff(due_ns) as f64 - self.jitter) / 16.0;
        self.jitter_sum += self.jitter;
        self.debt.since_ns = self.debt.since_ns.saturating_add(gap.ns);
        if self.debt.gaps > 0 && self.debt.since_ns > PAID_BACK_NS {
            self.unfilled += self.debt.gaps;
            self.missing += (self.debt.behind_ns + tick_ns / 2) / tick_ns;
            self.debt = Debt::default();
        }
        let debt = &mut self.debt;
        if gap.ns > due_ns.saturating_add(tick_ns / 2) {
            self.late += 1;
            debt.behind_ns += gap.ns - due_ns;
            debt.gaps += 1;
            debt.since_ns = 0;
        } else if debt.gaps > 0 {
            // Slightly long gaps count too: otherwise jitter alone would pay any debt.
            debt.behind_ns = (debt.behind_ns + gap.ns).saturating_sub(due_ns);
            if debt.behind_ns <= tick_ns / 2 {
                *debt = Debt::default();
            }
        }
    }
}

impl Rate {
    fn saw(&mut self, gaps: &[Gap]) {
        let since = sum(gaps);
        self.since.ns = self.since.ns.saturating_add(since.ns);
        self.since.ticks += since.ticks;
        self.gaps += gaps.len();
        if self.gaps < IN_MEAN {
            return;
        }
        let mean_ns = std::mem::take(&mut self.since).mean_ns();
        self.gaps = 0;
        if let Some(before) = self.mean_ns.replace(mean_ns) {
            self.means += 1;
            self.alike += u64::from(mean_ns.abs_diff(before) <= before / ALIKE);
        }
    }

    /// True if most means are close to the one before them.
    const fn is_constant(&self) -> bool {
        self.means >= MIN_MEANS && self.alike * 4 >= self.means * 3
    }
}

impl Message {
    /// Number of ticks since the message before it; 0 if it has no time of its own, 1 without a counter.
    fn ticks(&self, trusted: Option<usize>) -> u64 {
        trusted.map_or(1, |form| self.steps[form].into())
    }
}

/// Returns the gaps between messages, by the counter of this form.
fn gaps(messages: &[Message], trusted: Option<usize>) -> Vec<Gap> {
    let mut timed = messages.iter().filter(|message| message.ticks(trusted) > 0);
    let Some(first) = timed.next() else { return Vec::new() };
    let mut gaps = Vec::with_capacity(messages.len());
    gaps.extend(timed.scan(first.at_ns, |last_ns, message| {
        let ns = message.at_ns.saturating_sub(std::mem::replace(last_ns, message.at_ns));
        Some(Gap { at_ns: message.at_ns, ns, ticks: message.ticks(trusted) })
    }));
    gaps
}

fn longest_ns(gaps: &[Gap]) -> u64 {
    gaps.iter().map(|gap| gap.ns).max().unwrap_or(0)
}

impl Gap {
    const fn mean_ns(self) -> u64 {
        self.ns / if self.ticks == 0 { 1 } else { self.ticks }
    }
}

fn sum(gaps: &[Gap]) -> Gap {
    gaps.iter().fold(Gap::default(), |sum, gap| Gap {
        at_ns: gap.at_ns,
        ns: sum.ns.saturating_add(gap.ns),
        ticks: sum.ticks + gap.ticks,
    })
}

/// Median time between messages; `None` if too few gaps are within a quarter of it, or if they are within bursts.
fn median(gaps: &[Gap]) -> Option<u64> {
    let mut each = [0; TOGETHER];
    for (place, gap) in each.iter_mut().zip(gaps) {
        *place = gap.mean_ns();
    }
    let each = &mut each[..gaps.len()];
    each.sort_unstable();
    let median = each[each.len() / 2];
    let regular = each.iter().filter(|ns| ns.abs_diff(median) <= median / 4).count();
    // One or two pauses are no bursts.
    let most = &each[..each.len() - 2];
    let mean = most.iter().fold(0, |sum: u64, &ns| sum.saturating_add(ns)) / most.len() as u64;
    let is_regular = regular as f64 >= REGULAR * each.len() as f64 && is_usual(median as f64, mean as f64);
    is_regular.then_some(median)
}

/// False if the median is so far below the mean that it is the time between messages of the same burst.
fn is_usual(median_ns: f64, mean_ns: f64) -> bool {
    median_ns * 2.0 >= mean_ns
}

/// Number of gaps from which a tick is learned.
const TOGETHER: usize = 41;
/// Number of gaps from which a mean is made, to see whether the rate is constant: 5 s at 33 ms.
const IN_MEAN: usize = 4 * TOGETHER;
/// Two means are alike if they differ by at most 1/25, 4 %. For a sender at 33 ms they differ by 1 % if the delay varies
/// by 60 ms at random, and by 2.4 % if messages arrive in fours. For gaps with an exponential distribution they differ
/// by 11 %.
const ALIKE: u64 = 25;
/// Minimum number of means for a constant rate.
const MIN_MEANS: u64 = 2;
/// Minimum number of gaps for a tick of their own at the end of a flow.
const FEWEST: usize = 20;
/// Time in which shorter gaps can make up for a long one. After a second the delayed messages are of no use to a game. And
/// over much more time, a small error of the tick would look like a late sender, or like one that makes up for it.
const PAID_BACK_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Judges messages with these times between them, in milliseconds, after a hundred at 50 ms. Returns late messages,
    /// gaps, and the messages that the gaps would have held.
    fn judged(gaps_ms: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
        let mut judged = Judged::default();
        let gaps: Vec<Gap> =
            [50; 100].into_iter().chain(gaps_ms).map(|ms| Gap { at_ns: 0, ns: ms * MS, ticks: 1 }).collect();
        gaps.chunks(TOGETHER).for_each(|gaps| judged.judge(gaps));
        (judged.late, judged.unfilled, judged.missing)
    }

    fn steady(n: usize) -> impl Iterator<Item = u64> {
        std::iter::repeat_n(50, n)
    }

    #[test]
    fn a_late_sender_that_catches_up_leaves_no_gap() {
        // Behind by 300 ms, then 15 messages at 30 ms: no burst, but nothing is missing.
        assert_eq!(judged([350].into_iter().chain([30; 15]).chain(steady(60))), (1, 0, 0));
        // A full queue: the messages come all at once.
        assert_eq!(judged([350].into_iter().chain([0; 6]).chain(steady(60))), (1, 0, 0));
        // Two long gaps before it catches up.
        assert_eq!(judged([200, 200].into_iter().chain([10; 8]).chain(steady(60))), (2, 0, 0));
    }

    #[test]
    fn what_nothing_makes_up_for_is_a_gap() {
        assert_eq!(judged([350].into_iter().chain(steady(60))), (1, 1, 6));
        // Half of it comes later.
        assert_eq!(judged([350].into_iter().chain([0; 3]).chain(steady(60))), (1, 1, 3));
        // Shorter gaps two seconds later are another matter.
        assert_eq!(judged([350].into_iter().chain(steady(40)).chain([30; 15]).chain(steady(60))), (1, 1, 6));
        // Jitter pays nothing.
        assert_eq!(judged([100].into_iter().chain([45, 55].repeat(30))), (1, 1, 1));
    }

    /// Numbers below `limit` in an order without pattern.
    fn random(limit: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(1u64), |n| {
            Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        })
        .map(move |n| (n >> 33) % limit)
    }

    fn judged_at(times_ms: impl IntoIterator<Item = u64>) -> Judged {
        let times: Vec<u64> = times_ms.into_iter().collect();
        let gaps: Vec<Gap> = times
            .windows(2)
            .map(|at| Gap { at_ns: at[1] * MS, ns: (at[1] - at[0]) * MS, ticks: 1 })
            .collect();
        let mut judged = Judged::default();
        gaps.chunks(TOGETHER).for_each(|gaps| judged.judge(gaps));
        judged
    }

    #[test]
    fn a_network_that_delays_unevenly_leaves_a_constant_rate() {
        // Each message takes 0 to 60 ms longer, and none overtakes another.
        let mut latest = 0;
        let judged = judged_at((0..1000u64).zip(random(60)).map(|(n, delay)| {
            latest = latest.max(n * 33 + delay);
            latest
        }));
        assert!(judged.rate.is_constant(), "{judged:?}");
        assert!(judged.late > 100, "{judged:?}");
        assert!(judged.missing <= 3, "{judged:?}");
        // Wi-Fi delivers four at a time.
        let judged = judged_at((0..1000u64).map(|n| (n / 4 + 1) * 4 * 33));
        assert!(judged.rate.is_constant(), "{judged:?}");
        assert_eq!((judged.unfilled, judged.missing), (0, 0));
        assert!(judged.late.abs_diff(250) < 5, "{judged:?}");
    }

    #[test]
    fn a_sender_without_a_pace_has_no_constant_rate() {
        let mut at = 0;
        let judged = judged_at(random(4).take(1000).map(|n| {
            at += [15, 25, 60, 120][n as usize];
            at
        }));
        assert!(!judged.rate.is_constant(), "{judged:?}");
    }

    #[test]
    fn at_the_end_of_a_capture_nothing_is_claimed() {
        assert_eq!(judged([350].into_iter().chain(steady(10))), (1, 0, 0));
    }

    #[test]
    fn a_sender_may_change_its_rate() {
        let (late, gaps, missing) = judged(std::iter::repeat_n(100, 2000));
        assert!(late <= 20, "{late}");
        assert!(gaps <= 20 && missing <= 20, "{gaps} {missing}");
    }

    /// Late messages, gaps and the longest gap at the end of the flow.
    fn at_the_end(pace: &Pace) -> (Judged, u64) {
        let waiting = gaps(&pace.waiting, pace.numbering.best());
        let mut judged = pace.judged;
        judged.judge(&waiting);
        (judged, pace.longest_ns.max(longest_ns(&waiting)))
    }

    #[test]
    fn what_the_counter_shows_as_lost_is_not_late() {
        // Lost in the middle, and before the counter can be trusted. A short flow is judged at its end.
        for (lost, end) in
            [(vec![200, 201, 202, 203, 204], 400), (vec![6, 10, 15, 21, 26, 31], 400), (vec![5, 9], 30)]
        {
            let mut pace = Pace::default();
            for n in (1u32..end).filter(|n| !lost.contains(n)) {
                pace.saw(u64::from(n) * 50 * MS, Some(n.to_le_bytes()));
            }
            let (judged, _) = at_the_end(&pace);
            assert_eq!((judged.late, judged.unfilled, judged.debt.gaps), (0, 0, 0), "{lost:?}");
            let missing = pace.numbering.numbered().map(|numbered| numbered.missing);
            assert_eq!(missing, Some(lost.len() as u64));
        }
    }

    #[test]
    fn further_fragments_and_messages_out_of_band_are_not_in_the_pace() {
        let mut pace = Pace::default();
        for n in 1u32..400 {
            let at_ns = u64::from(n) * 50 * MS;
            let fragments = n == 1 || n.is_multiple_of(20);
            let number = if fragments { n | 1 << 31 } else { n };
            pace.saw(at_ns, Some(number.to_le_bytes()));
            if fragments {
                pace.saw(at_ns + MS, Some(number.to_le_bytes()));
            }
            if n.is_multiple_of(30) {
                pace.saw(at_ns + 20 * MS, Some([0xff; 4]));
            }
        }
        let (judged, longest_ns) = at_the_end(&pace);
        assert_eq!((judged.late, longest_ns), (0, 50 * MS));
        assert!(judged.jitter_sum == 0.0, "{}", judged.jitter_sum);
    }
}
