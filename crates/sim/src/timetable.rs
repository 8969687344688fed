//! Finds the component that acts next: one deadline per component, in a winner tree. Setting a deadline takes at most log2(n)
//! comparisons and no allocation. Equal deadlines go to the lower component number, so the order never depends on history.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::Instant;

/// Deadlines of a fixed number of components.
#[derive(Debug)]
pub(crate) struct Timetable {
    /// A complete binary tree in heap order: node 1 is the root, component `i` is node `leaves + i`, and every inner node
    /// holds the earlier of its two children. `Instant::MAX` means "no deadline".
    nodes: Vec<(Instant, u32)>,
    leaves: usize,
}

impl Timetable {
    /// Makes a timetable of `components` components without deadlines.
    pub(crate) fn new(components: usize) -> Self {
        let leaves = components.next_power_of_two().max(2);
        let mut nodes = vec![(Instant::MAX, 0); 2 * leaves];
        for (node, component) in nodes[leaves..].iter_mut().zip(0u32..) {
            node.1 = component;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, leaves }
    }

    /// Sets the deadline of one component.
    pub(crate) fn set(&mut self, component: usize, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::MAX);
        let mut node = self.leaves + component;
        if self.nodes[node].0 == deadline {
            return;
        }
        self.nodes[node].0 = deadline;
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            let earlier = if right.0 < left.0 { right } else { left };
            if self.nodes[node] == earlier {
                return;
            }
            self.nodes[node] = earlier;
        }
    }

    /// Returns the component with the earliest deadline; `None` if no component has one.
    pub(crate) fn first(&self) -> Option<(usize, Instant)> {
        let (at, component) = self.nodes[1];
        (at != Instant::MAX).then_some((component as usize, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;

    #[test]
    fn the_earliest_wins_and_the_lower_number_breaks_ties() {
        let mut table = Timetable::new(5);
        assert_eq!(table.first(), None);
        table.set(3, Some(Instant::from_millis(7)));
        table.set(1, Some(Instant::from_millis(7)));
        table.set(4, Some(Instant::from_millis(9)));
        assert_eq!(table.first(), Some((1, Instant::from_millis(7))));
        table.set(1, None);
        assert_eq!(table.first(), Some((3, Instant::from_millis(7))));
    }

    #[test]
    fn it_agrees_with_a_linear_search() {
        let mut rng = Seed(5).stream("timetable");
        for components in [1, 2, 3, 8, 37] {
            let mut table = Timetable::new(components);
            let mut model = std::vec![None; components];
            for _ in 0..5_000 {
                let component = rng.below(components as u64) as usize;
                let deadline = rng.chance(0.8).then(|| Instant::from_millis(rng.below(20)));
                table.set(component, deadline);
                model[component] = deadline;
                let expected = model.iter().enumerate().filter_map(|(i, at)| at.map(|at| (at, i))).min();
                assert_eq!(table.first(), expected.map(|(at, i)| (i, at)));
            }
        }
    }
}
