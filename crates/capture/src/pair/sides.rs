//! Finds which point is closer to a flow's client. More time passes there between a packet to the server and the next
//! one back, because the round trip to the other point lies between. A flow with packets one way only is compared with
//! the other flows; if that does not help, the point with more packets of a direction is nearer to their sender.

use super::Together;
use super::clock::Clocks;
use super::round_trips::median_excess;

/// Sets `first_is_near_client` of flows with packets in both directions.
pub(super) fn by_round_trips(flows: &mut [Together<'_>]) {
    for flow in flows {
        let up: Vec<(u64, u64)> = flow.times(0).collect();
        let mut down: Vec<(u64, u64)> = flow.times(1).collect();
        down.sort_unstable();
        flow.first_is_near_client = median_excess(&up, &down).filter(|&trip| trip != 0).map(|trip| trip > 0);
    }
}

/// Sets `first_is_near_client` of the remaining flows.
pub(super) fn by_other_flows(flows: &mut [Together<'_>], clocks: Clocks) {
    if flows.iter().all(|flow| flow.first_is_near_client.is_some()) {
        return;
    }
    let differences = |flow: &Together<'_>, direction| -> Vec<i64> {
        flow.times(direction).map(|(first_ns, second_ns)| clocks.delay(first_ns, second_ns, true)).collect()
    };
    // The clocks' offset is below the differences of all packets forth, and above those of all packets back.
    let (mut above, mut below) = (i64::MAX, i64::MIN);
    for flow in flows.iter().filter(|flow| flow.first_is_near_client.is_some()) {
        for direction in [0, 1] {
            let differences = differences(flow, direction);
            if flow.goes_forth(direction) {
                above = differences.into_iter().fold(above, i64::min);
            } else {
                below = differences.into_iter().fold(below, i64::max);
            }
        }
    }
    let offset = (i64::MIN < below && below < above && above < i64::MAX).then(|| below.midpoint(above));
    for flow in flows.iter_mut().filter(|flow| flow.first_is_near_client.is_none()) {
        let direction = usize::from(flow.matched[0].pairs.is_empty());
        let least = differences(flow, direction).into_iter().min();
        let forth = least.zip(offset).map(|(least, offset)| (least > offset) == (direction == 0));
        flow.first_is_near_client = forth.or_else(|| by_missing(flow));
    }
}

/// Compares the numbers of packets that the points have between the first and the last common one. In each direction
/// the point with more packets is nearer to the sender, because the others were lost on the way.
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
