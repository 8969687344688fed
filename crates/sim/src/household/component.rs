//! Components of a household: the parts that have a deadline, and the number of each in the timetable.

use gamelane_core::Direction;
use gamelane_record::Side;

/// A part of the household that acts at a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    /// A hop of the network.
    Hop(usize),
    /// Samples queues and TCP state.
    Sampler,
    /// A host of a flow.
    Host { flow: usize, side: Side },
    /// A path of a flow beyond the link.
    Path { flow: usize, direction: Direction },
    /// One end of a bundle.
    Bundle { bundle: usize, side: Side },
    /// The shaper of a direction that follows its link.
    Follower(Direction),
}

/// Numbers components without gaps, in the order of [`Component`]; flows and bundles one after the other. If two deadlines are
/// equal, the lower number acts first, so results depend on this order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbering {
    sampler: usize,
    first_flow: usize,
    first_bundle: usize,
    first_follower: usize,
}

/// Components of a flow: two hosts, then two paths.
const PER_FLOW: usize = 4;
/// Components of a bundle: its ends.
const PER_BUNDLE: usize = 2;
const FOLLOWERS: usize = 2;

impl Numbering {
    pub(super) const fn new(hops: usize, flows: usize, bundles: usize) -> Self {
        let first_flow = hops + 1;
        let first_bundle = first_flow + PER_FLOW * flows;
        Self { sampler: hops, first_flow, first_bundle, first_follower: first_bundle + PER_BUNDLE * bundles }
    }

    /// Number of components.
    pub(super) const fn len(&self) -> usize {
        self.first_follower + FOLLOWERS
    }

    /// The number of a component.
    pub(super) const fn number(&self, component: Component) -> usize {
        match component {
            Component::Hop(hop) => hop,
            Component::Sampler => self.sampler,
            Component::Host { flow, side } => self.first_flow + PER_FLOW * flow + side as usize,
            Component::Path { flow, direction } => self.first_flow + PER_FLOW * flow + 2 + direction.index(),
            Component::Bundle { bundle, side } => self.first_bundle + PER_BUNDLE * bundle + side as usize,
            Component::Follower(direction) => self.first_follower + direction.index(),
        }
    }

    /// The component with a number.
    pub(super) const fn component(&self, number: usize) -> Component {
        if number < self.sampler {
            return Component::Hop(number);
        }
        if number == self.sampler {
            return Component::Sampler;
        }
        if number >= self.first_follower {
            return Component::Follower(Direction::BOTH[number - self.first_follower]);
        }
        if number >= self.first_bundle {
            let place = number - self.first_bundle;
            return Component::Bundle { bundle: place / PER_BUNDLE, side: Side::BOTH[place % PER_BUNDLE] };
        }
        let place = number - self.first_flow;
        let flow = place / PER_FLOW;
        match place % PER_FLOW {
            0 => Component::Host { flow, side: Side::Client },
            1 => Component::Host { flow, side: Side::Server },
            2 => Component::Path { flow, direction: Direction::Up },
            _ => Component::Path { flow, direction: Direction::Down },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_components_correspond() {
        for (hops, flows, bundles) in [(1, 0, 0), (2, 3, 0), (4, 5, 2)] {
            let numbering = Numbering::new(hops, flows, bundles);
            for number in 0..numbering.len() {
                assert_eq!(numbering.number(numbering.component(number)), number);
            }
        }
    }

    #[test]
    fn the_order_breaks_ties_as_documented() {
        let numbering = Numbering::new(2, 2, 1);
        let (client, server) = (Side::Client, Side::Server);
        let (up, down) = (Direction::Up, Direction::Down);
        let host = |flow, side| Component::Host { flow, side };
        let path = |flow, direction| Component::Path { flow, direction };
        let expected = [
            Component::Hop(0),
            Component::Hop(1),
            Component::Sampler,
            host(0, client),
            host(0, server),
            path(0, up),
            path(0, down),
            host(1, client),
            host(1, server),
            path(1, up),
            path(1, down),
            Component::Bundle { bundle: 0, side: client },
            Component::Bundle { bundle: 0, side: server },
            Component::Follower(up),
            Component::Follower(down),
        ];
        assert_eq!(numbering.len(), expected.len());
        for (number, component) in expected.into_iter().enumerate() {
            assert_eq!(numbering.component(number), component);
        }
    }
}
