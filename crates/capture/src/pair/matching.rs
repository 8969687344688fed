//! Matches the packets of one direction at two points by content. There is no limit on the delay.
//!
//! 1. Contents that occur once at each point are *anchors*. The longest sequence of them that is in the same order at
//!    both points is the *path*: it gives the delay at any time.
//! 2. Contents that repeat (IP identification 0, equal payloads, retransmissions without time stamps) are assigned in
//!    order. Each packet at the second point goes to the packet at the first point that is nearest to where the path
//!    expects it.
//! 3. Without anchors, equal numbers of equal contents match in order; else the path of other flows decides.
//!
//! Packets with and without payload have a path of their own each: a gateway may give priority to ACKs. Payload beyond
//! the content hash is not compared.

use super::path::{Assignment, Path};
use super::sightings::Sighting;

/// A packet at both points: its index at the first and at the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) first: u32,
    pub(super) second: u32,
}

/// The packets of one direction that are at both points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matched {
    /// In the order of the first point.
    pub(super) pairs: Vec<Pair>,
    /// True if contents repeat too often to tell which packet is which. Then there are no pairs.
    pub(super) unclear: bool,
}

impl Matched {
    const UNCLEAR: Self = Self { pairs: Vec::new(), unclear: true };
}

/// Matches the packets of one direction at two points. `elsewhere` is the path of other flows in this direction.
pub(super) fn matched(first: &[Sighting], second: &[Sighting], elsewhere: Option<&Path>) -> Matched {
    let (ours, theirs) = (by_content(first), by_content(second));
    let (mut anchors, mut repeated) = (Vec::new(), Vec::new());
    let mut unique = true;
    let mut at = 0;
    for group in ours.chunk_by(|a, b| a.0 == b.0) {
        at += theirs[at..].partition_point(|other| other.0 < group[0].0);
        let same = theirs[at..].partition_point(|other| other.0 == group[0].0);
        let others = &theirs[at..at + same];
        unique &= group.len() == 1 && same <= 1;
        match (group, others) {
            (_, []) => {}
            (&[(_, first)], &[(_, second)]) => anchors.push(Pair { first, second }),
            _ => repeated.push((group, others)),
        }
    }
    anchors.sort_unstable();
    let has_payload = |pair: &Pair| first[pair.first as usize].payload > 0;
    let paths = [false, true].map(|payload| {
        let same: Vec<Pair> = anchors.iter().copied().filter(|pair| has_payload(pair) == payload).collect();
        Path::new(in_order(&same).map(|pair| times(first, second, pair)))
    });
    let path_of =
        |payload: bool| paths[usize::from(payload)].as_ref().or(paths[usize::from(!payload)].as_ref());
    let anchored = !anchors.is_empty();
    let mut pairs = anchors;
    if !unique {
        // A content that repeats may be seen once at each point, of different packets.
        pairs.retain(|pair| {
            path_of(has_payload(pair)).is_none_or(|path| path.allows(times(first, second, *pair)))
        });
    }
    let mut assignment = Assignment::default();
    for (ours, theirs) in &repeated {
        let payload = first[ours[0].1 as usize].payload > 0;
        if let Some(path) = path_of(payload) {
            path.assign(first, second, (ours, theirs), &mut pairs, &mut assignment);
        } else if repeated.iter().all(|(ours, theirs)| ours.len() == theirs.len()) {
            pairs.extend(
                ours.iter().zip(*theirs).map(|(ours, theirs)| Pair { first: ours.1, second: theirs.1 }),
            );
        } else if let Some(path) = elsewhere {
            path.assign(first, second, (ours, theirs), &mut pairs, &mut assignment);
        } else {
            return Matched::UNCLEAR;
        }
    }
    if assignment.left * 20 > pairs.len() || !anchored && assignment.is_by_chance() {
        return Matched::UNCLEAR;
    }
    pairs.sort_unstable();
    Matched { pairs, unclear: false }
}

/// Content and index of each packet, sorted.
pub(super) type ByContent = Vec<(u64, u32)>;

pub(super) fn by_content(packets: &[Sighting]) -> ByContent {
    let mut order: ByContent = packets.iter().map(|packet| packet.content).zip(0..).collect();
    order.sort_unstable();
    order
}

fn times(first: &[Sighting], second: &[Sighting], pair: Pair) -> (u64, u64) {
    (first[pair.first as usize].at_ns, second[pair.second as usize].at_ns)
}

/// Longest subsequence whose order is the same at both points. `pairs` are in the order of the first point.
fn in_order(pairs: &[Pair]) -> impl Iterator<Item = Pair> {
    // Last element of the best subsequence of each length, and the element before each one.
    let mut ends: Vec<u32> = Vec::new();
    let mut before = vec![u32::MAX; pairs.len()];
    for (place, pair) in (0u32..).zip(pairs) {
        let len = ends.partition_point(|&end| pairs[end as usize].second < pair.second);
        before[place as usize] = if len > 0 { ends[len - 1] } else { u32::MAX };
        match ends.get_mut(len) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(place) = at {
        chain.push(pairs[place as usize]);
        at = Some(before[place as usize]).filter(|&place| place != u32::MAX);
    }
    chain.into_iter().rev()
}
