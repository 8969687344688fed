//! The delay between two points over time, from packets that are known at both. It predicts where to look for packets
//! whose content repeats.

use super::matching::Pair;
use super::sightings::Sighting;

/// Times at both points of packets in the same order.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Time at the second point, time at the first.
    points: Vec<(u64, u64)>,
    /// Twice the largest deviation of a packet's delay from that of its neighbours, plus 10 ms; 1 s for a short path.
    usual_ns: u64,
    /// Largest minus smallest delay of these packets.
    spread_ns: u64,
}

/// Sums over assigned packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    /// Differences between the actual and the expected time at the first point.
    deviation_ns: u64,
    /// Mean times between packets of the same content.
    spacing_ns: u64,
}

impl Deviation {
    /// True if the deviations are too large, beside the spacing, to tell packets of equal content apart.
    pub(super) const fn is_large(&self) -> bool {
        self.deviation_ns > self.spacing_ns / 4
    }
}

/// Packets of one content at the first and at the second point: content and index of each.
pub(super) type Same<'a> = (&'a [(u64, u32)], &'a [(u64, u32)]);

impl Path {
    /// Takes times at the first and at the second point, in order. `None` without packets.
    pub(super) fn new(times: impl Iterator<Item = (u64, u64)>) -> Option<Self> {
        let mut points: Vec<(u64, u64)> = times.map(|(first, second)| (second, first)).collect();
        points.sort_unstable();
        let mut latest = 0;
        for point in &mut points {
            latest = latest.max(point.1);
            point.1 = latest;
        }
        let usual_ns = usual_deviation(&points)?;
        let differences = points.iter().map(|&(second, first)| second.wrapping_sub(first) as i64);
        let spread_ns = differences.clone().max()?.abs_diff(differences.min()?);
        Some(Self { points, usual_ns, spread_ns })
    }

    /// Returns the expected time at the first point of a packet that is at the second point at `second_ns`, and the
    /// largest allowed deviation from it. Between two packets of the path, the limit is the difference of their delays
    /// plus `usual_ns`. Before and after the path it is `spread_ns` plus 1 s.
    pub(super) fn expected(&self, second_ns: u64) -> (i64, u64) {
        let next = self.points.partition_point(|point| point.0 < second_ns);
        let (before, after) = (self.points[..next].last(), self.points[next..].first());
        let limit_ns = match (before, after) {
            (Some(before), Some(after)) => {
                (after.0 - before.0).abs_diff(after.1 - before.1).saturating_add(self.usual_ns)
            }
            _ => self.spread_ns.saturating_add(SECOND),
        };
        (between(before.or(self.points.first()), after, second_ns), limit_ns)
    }

    /// True if the path can have this delay: it differs from the expected one by at most `spread_ns` plus 1 s.
    pub(super) fn allows(&self, (first_ns, second_ns): (u64, u64)) -> bool {
        self.expected(second_ns).0.abs_diff(first_ns as i64) <= self.spread_ns.saturating_add(SECOND)
    }

    /// Mean deviation of a packet's delay from that of its neighbours.
    pub(super) fn roughness_ns(&self) -> f64 {
        let (sum, count) =
            deviations(&self.points).fold((0.0, 0), |(sum, count), one| (sum + one as f64, count + 1));
        sum / f64::from(count.max(1))
    }

    /// Assigns packets of equal content in order, so that the sum of their deviations is least. A packet gets no
    /// partner if all candidates deviate by more than the limit. Adds to `pairs` and `sum`.
    pub(super) fn assign(
        &self,
        first: &[Sighting],
        second: &[Sighting],
        (ours, theirs): Same<'_>,
        pairs: &mut Vec<Pair>,
        sum: &mut Deviation,
    ) {
        let sent: Vec<i64> = ours.iter().map(|&(_, place)| first[place as usize].at_ns as i64).collect();
        let expected: Vec<(i64, u64)> =
            theirs.iter().map(|&(_, place)| self.expected(second[place as usize].at_ns)).collect();
        let spacing_ns =
            sent[sent.len() - 1].abs_diff(sent[0]) / (sent.len() as u64).saturating_sub(1).max(1);
        align(&sent, &expected, |i, j| {
            pairs.push(Pair { first: ours[i].1, second: theirs[j].1 });
            sum.deviation_ns = sum.deviation_ns.saturating_add(sent[i].abs_diff(expected[j].0));
            sum.spacing_ns = sum.spacing_ns.saturating_add(spacing_ns);
        });
    }
}

/// Interpolates the time at the first point.
fn between(before: Option<&(u64, u64)>, after: Option<&(u64, u64)>, second_ns: u64) -> i64 {
    let moved = |point: &(u64, u64)| (point.1 as i64).saturating_add(second_ns.wrapping_sub(point.0) as i64);
    match (before, after) {
        (Some(before), Some(after)) if after.0 > before.0 && second_ns > before.0 => {
            let share = (second_ns - before.0) as f64 / (after.0 - before.0) as f64;
            (before.1 as i64).saturating_add((share * (after.1 - before.1) as f64) as i64)
        }
        (_, Some(after)) => moved(after),
        (Some(before), None) => moved(before),
        (None, None) => second_ns as i64,
    }
}

/// Twice the largest deviation of a packet from the line between its two neighbours, plus 10 ms. It is 1 s if the path
/// has fewer than [`MIN_POINTS`] packets.
fn usual_deviation(points: &[(u64, u64)]) -> Option<u64> {
    points.first()?;
    if points.len() < MIN_POINTS {
        return Some(SECOND);
    }
    Some(deviations(points).max().unwrap_or(0).saturating_mul(2).saturating_add(10 * MILLISECOND))
}

/// Deviations of the packets from the line between their two neighbours.
fn deviations(points: &[(u64, u64)]) -> impl Iterator<Item = u64> {
    let deviation = |three: &[(u64, u64)]| {
        between(Some(&three[0]), Some(&three[2]), three[1].0).abs_diff(three[1].1 as i64)
    };
    points.windows(3).map(deviation)
}

/// Assigns `expected` to `sent`, both sorted, and calls `found` for each pair. The assignment keeps the order and has
/// the least sum of distances. An element of `expected` without a partner adds its limit to the sum. Candidates are the
/// [`BAND`] nearest elements of `sent`.
fn align(sent: &[i64], expected: &[(i64, u64)], mut found: impl FnMut(usize, usize)) {
    let width = BAND.min(sent.len() + 1);
    let from = |expected: i64| {
        let nearest = sent.partition_point(|&time| time < expected);
        nearest.saturating_sub(BAND / 2).min(sent.len() + 1 - width)
    };
    // least[n]: least sum if only the first `start + n` of `sent` may have partners.
    let (mut least, mut start) = (vec![0u64; width], 0);
    let mut next = vec![0u64; width];
    // For each element: its `start`, and two bit sets. If bit n of the first is set, the least sum leaves
    // `sent[start + n - 1]` without a partner. Else, if bit n of the second is set, that one is the element's partner.
    let mut steps: Vec<(usize, u64, u64)> = Vec::with_capacity(expected.len());
    for &(time, limit) in expected {
        let from = from(time).max(start);
        let earlier = |n: usize| least[(from + n - start).min(width - 1)];
        let (mut unused, mut partner) = (0u64, 0u64);
        for n in 0..width {
            let mut best = earlier(n).saturating_add(limit);
            if from + n > start {
                let distance = sent[from + n - 1].abs_diff(time);
                let with = least[(from + n - 1 - start).min(width - 1)].saturating_add(distance);
                if distance <= limit && with < best {
                    best = with;
                    partner |= 1 << n;
                }
            }
            if n > 0 && next[n - 1] <= best {
                best = next[n - 1];
                unused |= 1 << n;
            }
            next[n] = best;
        }
        std::mem::swap(&mut least, &mut next);
        start = from;
        steps.push((from, unused, partner));
    }
    let mut used = sent.len();
    for (place, &(from, unused, partner)) in steps.iter().enumerate().rev() {
        used = used.min(from + width - 1);
        while unused >> (used - from) & 1 == 1 {
            used -= 1;
        }
        if partner >> (used - from) & 1 == 1 {
            used -= 1;
            found(used, place);
        }
    }
}

/// Number of candidates for a packet's partner.
const BAND: usize = 64;
/// Minimum number of packets from which `usual_ns` is measured.
const MIN_POINTS: usize = 8;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
