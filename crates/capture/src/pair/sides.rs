//! Finds which point is closer to a flow's client. More time passes there between a packet to the server and the next
//! one back, because the round trip to the other point lies between. Flows with packets one way only have the answer
//! from other flows of the same hosts; else the point that misses packets is the far one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Together;
use super::round_trips::goes_forth;

/// Hosts whose packets pass the first point before the second, or the other way round.
#[derive(Debug, Default)]
pub(super) struct Sides(BTreeMap<IpAddr, bool>);

impl Sides {
    /// Learns the sides of the hosts from flows with packets both ways.
    pub(super) fn of(flows: &[Together<'_>]) -> Self {
        let mut sides = Self::default();
        for flow in flows {
            if let Some(near) = by_round_trips(flow) {
                sides.0.entry(flow.partners.first.key.source.ip()).or_insert(near);
                sides.0.entry(flow.partners.first.key.destination.ip()).or_insert(!near);
            }
        }
        sides
    }

    /// Tells every flow which point is closer to its client.
    pub(super) fn tell(&self, flows: &mut [Together<'_>]) {
        for flow in flows {
            let key = flow.partners.first.key;
            flow.first_is_near_client = by_round_trips(flow)
                .or_else(|| self.0.get(&key.source.ip()).copied())
                .or_else(|| self.0.get(&key.destination.ip()).map(|first| !first))
                .or_else(|| by_missing(flow));
        }
    }
}

fn by_round_trips(flow: &Together<'_>) -> Option<bool> {
    let [up, down] = [0, 1].map(|direction| flow.times(direction).collect::<Vec<_>>());
    goes_forth(&up, &down)
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
