//! Matches the packets of one direction at two points by content. There is no limit on the delay.
//!
//! 1. Contents that occur once at each point are *anchors*. The longest sequence of them that is in the same order at
//!    both points is the *path*: it gives the delay at any time.
//! 2. Contents that repeat (IP identification 0, equal payloads, retransmissions without time stamps) are assigned in
//!    order. Each packet at the second point goes to the packet at the first point that is nearest to where the path
//!    expects it. Rare contents come first and become part of the path.
//! 3. Without anchors, contents that occur equally often at both points match in order. Otherwise the path of other
//!    flows decides.
//! 4. If step 2 leaves packets of one content alone at both points, the order of all packets is tried: [`super::order`].
//! 5. A result with too many contradictions is rejected.
//!
//! Packets with payload and packets without have separate paths, because a gateway may give priority to ACKs. Payload
//! beyond the content hash is not compared.

use std::ops::Range;

use super::order::by_order;
use super::path::{Deviation, Path, Same};
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
    let (mut anchors, mut repeated): (Vec<Pair>, Vec<Same<'_>>) = (Vec::new(), Vec::new());
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
    let mut paths = Paths::through(&anchors, first, second);
    let mut pairs = anchors;
    if pairs.is_empty() {
        if repeated.iter().all(|(ours, theirs)| ours.len() == theirs.len()) {
            for (ours, theirs) in repeated {
                pairs.extend(
                    ours.iter().zip(theirs).map(|(ours, theirs)| Pair { first: ours.1, second: theirs.1 }),
                );
            }
            pairs.sort_unstable();
            return Matched { pairs, unclear: false };
        }
        let Some(path) = elsewhere else { return Matched::UNCLEAR };
        let mut deviation = Deviation::default();
        for group in &repeated {
            path.assign(first, second, *group, &mut pairs, &mut deviation);
        }
        if deviation.is_large() {
            return Matched::UNCLEAR;
        }
    } else {
        if !unique {
            // If contents repeat, an anchor may be two different packets: each point may lack the other one.
            pairs.retain(|pair| {
                paths.of(first, *pair).is_none_or(|path| path.allows(times(first, second, *pair)))
            });
        }
        // Rare contents come first, because they are the easiest to tell apart. They extend the path for frequent ones.
        let repeats = |group: &Same<'_>| group.0.len().max(group.1.len()).ilog2();
        repeated.sort_by_key(repeats);
        for stage in repeated.chunk_by(|a, b| repeats(a) == repeats(b)) {
            for group in stage {
                if let Some(path) = paths.of(first, Pair { first: group.0[0].1, second: 0 }) {
                    path.assign(first, second, *group, &mut pairs, &mut Deviation::default());
                }
            }
            pairs.sort_unstable();
            paths = Paths::through(&pairs, first, second);
        }
        for payload in [false, true] {
            let kind = repeated.iter().filter(|group| (first[group.0[0].1 as usize].payload > 0) == payload);
            if contradictions(&pairs, kind, first.len(), second.len()) > 0 {
                rearrange(&mut pairs, first, second, payload);
            }
        }
    }
    pairs.sort_unstable();
    if contradictions(&pairs, repeated.iter(), first.len(), second.len()) * MOST_CONTRADICTIONS > pairs.len()
    {
        return Matched::UNCLEAR;
    }
    Matched { pairs, unclear: false }
}

/// Delay over time of packets without payload, and of packets with it.
struct Paths([Option<Path>; 2]);

impl Paths {
    fn through(pairs: &[Pair], first: &[Sighting], second: &[Sighting]) -> Self {
        Self([false, true].map(|payload| {
            let same = pairs.iter().filter(|pair| (first[pair.first as usize].payload > 0) == payload);
            let same: Vec<Pair> = same.copied().collect();
            Path::new(in_order(&same).map(|pair| times(first, second, pair)))
        }))
    }

    /// Path of the packets with payload if this packet has payload, else of those without. If that path does not exist,
    /// the other one.
    fn of(&self, first: &[Sighting], pair: Pair) -> Option<&Path> {
        let payload = usize::from(first[pair.first as usize].payload > 0);
        self.0[payload].as_ref().or(self.0[1 - payload].as_ref())
    }
}

/// Counts pairs of packets with equal content that are unmatched, one at each point, although both captures ran. They
/// would count as a loss and as a packet that nobody sent, but most are one packet that the matching missed.
fn contradictions<'a>(
    pairs: &[Pair],
    repeated: impl Iterator<Item = &'a Same<'a>>,
    first: usize,
    second: usize,
) -> usize {
    let mut matched = [vec![false; first], vec![false; second]];
    for pair in pairs {
        matched[0][pair.first as usize] = true;
        matched[1][pair.second as usize] = true;
    }
    let range = |matched: &[bool]| {
        let from = matched.iter().position(|&matched| matched).unwrap_or(0);
        from..matched.iter().rposition(|&matched| matched).unwrap_or(from)
    };
    let ranges = [range(&matched[0]), range(&matched[1])];
    let alone = |point: usize, packets: &[(u64, u32)]| {
        let places = packets.iter().map(|&(_, place)| place as usize);
        places.filter(|place| ranges[point].contains(place) && !matched[point][*place]).count()
    };
    repeated.map(|(ours, theirs)| alone(0, ours).min(alone(1, theirs))).sum()
}

/// Replaces the pairs of packets with or without payload by those of [`by_order`]. It does so if all pairs remain, or if the
/// delay then changes less abruptly. Otherwise the network did repeat a packet, and lost another one of the same content.
fn rearrange(pairs: &mut Vec<Pair>, first: &[Sighting], second: &[Sighting], payload: bool) {
    let is_kind = |packet: &Sighting| (packet.payload > 0) == payload;
    let (mut before, others): (Vec<Pair>, Vec<Pair>) =
        pairs.iter().partition(|pair| is_kind(&first[pair.first as usize]));
    before.sort_unstable();
    let ranges = [|pair: &Pair| pair.first as usize, |pair: &Pair| pair.second as usize].map(|place| {
        let places = before.iter().map(place);
        places.clone().min().unwrap_or(0)..places.max().map_or(0, |last| last + 1)
    });
    let [in_first, in_second] = ranges;
    // One capture may begin before the other or end after it. Then only the packets between matched ones are in order.
    let whole = || ordered(first, second, [0..first.len(), 0..second.len()], is_kind);
    let Some(found) = whole().or_else(|| ordered(first, second, [in_first, in_second], is_kind)) else {
        return;
    };
    let roughness_ns = |pairs: &[Pair]| {
        let path = Path::new(in_order(pairs).map(|pair| times(first, second, pair)));
        path.map_or(0.0, |path| path.roughness_ns())
    };
    let all_remain = before.iter().all(|pair| found.binary_search(pair).is_ok());
    if all_remain || roughness_ns(&found) < roughness_ns(&before) {
        *pairs = [others, found].concat();
    }
}

/// Pairs of [`by_order`] among the packets of one kind in a range of each point.
fn ordered(
    first: &[Sighting],
    second: &[Sighting],
    [in_first, in_second]: [Range<usize>; 2],
    is_kind: impl Fn(&Sighting) -> bool,
) -> Option<Vec<Pair>> {
    let part = |packets: &[Sighting], range: Range<usize>| -> (Vec<u32>, Vec<Sighting>) {
        let places = range.map(|place| (place as u32, packets[place]));
        places.filter(|(_, packet)| is_kind(packet)).unzip()
    };
    let ((ours, first), (theirs, second)) = (part(first, in_first), part(second, in_second));
    let place = |pair: Pair| Pair { first: ours[pair.first as usize], second: theirs[pair.second as usize] };
    Some(by_order(&first, &second)?.into_iter().map(place).collect())
}

/// Content and index of each packet, sorted.
pub(super) type ByContent = Vec<(u64, u32)>;

pub(super) fn by_content(packets: &[Sighting]) -> ByContent {
    let mut order: ByContent = packets.iter().map(|packet| packet.content).zip(0..).collect();
    order.sort_unstable();
    order
}

pub(super) fn times(first: &[Sighting], second: &[Sighting], pair: Pair) -> (u64, u64) {
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

/// A result is rejected if it has more than one contradiction for this many matched packets.
const MOST_CONTRADICTIONS: usize = 100;
