//! Finds which point is closer to a flow's client. More time passes there between a packet to the server and the next
//! one back, because the round trip to the other point lies between. A flow with packets one way only is compared with
//! the other flows; else the point that misses packets is the far one.

use super::Together;
use super::round_trips::median_excess;

/// Tells every flow which point is closer to its client.
pub(super) fn tell(flows: &mut [Together<'_>]) {
    for flow in flows.iter_mut() {
        flow.first_is_near_client = by_round_trips(flow);
    }
    if flows.iter().all(|flow| flow.first_is_near_client.is_some()) {
        return;
    }
    let known = |forth: bool| {
        let known = flows.iter().filter(|flow| flow.first_is_near_client.is_some());
        let ways = known.flat_map(|flow| [0, 1].map(|direction| (flow, direction)));
        let same = ways.filter(|(flow, direction)| flow.goes_forth(*direction) == forth);
        let mut times: Vec<(u64, u64)> = same.flat_map(|(flow, direction)| flow.times(direction)).collect();
        times.sort_unstable();
        times
    };
    let [back, forth] = [false, true].map(known);
    for flow in flows.iter_mut().filter(|flow| flow.first_is_near_client.is_none()) {
        flow.first_is_near_client = by_others(flow, &back, &forth).or_else(|| by_missing(flow));
    }
}

fn by_round_trips(flow: &Together<'_>) -> Option<bool> {
    let up: Vec<(u64, u64)> = flow.times(0).collect();
    let mut down: Vec<(u64, u64)> = flow.times(1).collect();
    down.sort_unstable();
    median_excess(&up, &down).filter(|&trip| trip != 0).map(|trip| trip > 0)
}

/// Packets in one direction have about the same difference of times.
fn by_others(flow: &Together<'_>, back: &[(u64, u64)], forth: &[(u64, u64)]) -> Option<bool> {
    let direction = usize::from(flow.matched[0].pairs.is_empty());
    let these: Vec<(u64, u64)> = flow.times(direction).collect();
    let from_back = median_excess(&these, back)?.unsigned_abs();
    let from_forth = median_excess(&these, forth)?.unsigned_abs();
    (from_back != from_forth).then_some((from_forth < from_back) == (direction == 0))
}

/// The point that misses packets between the first and the last common one is the far one.
fn by_missing(flow: &Together<'_>) -> Option<bool> {
    let [up, down] = [0, 1].map(|direction| {
        let pairs = &flow.matched[direction].pairs;
        let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return (0, 0) };
        let second = pairs.iter().map(|pair| pair.second);
        let reach = second.clone().max().unwrap_or(0) - second.min().unwrap_or(0);
        (last.first - first.first, reach)
    });
    match (up.0 + down.1).cmp(&(up.1 + down.0)) {
        std::cmp::Ordering::Greater => Some(true),
        std::cmp::Ordering::Less => Some(false),
        std::cmp::Ordering::Equal => None,
    }
}
