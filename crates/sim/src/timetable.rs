//! Who acts next: one deadline per component in a winner tree. Setting a deadline costs at most log2(n) comparisons and
//! no allocation; equal deadlines go to the lower component number, so the order never depends on history.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::Instant;

/// Deadlines of a fixed number of components.
#[derive(Debug)]
pub(crate) struct Timetable {
    /// `Instant::MAX` for components that wait for nothing.
    deadlines: Vec<Instant>,
    /// Winners, a complete binary tree in heap order: node 1 is the root, leaf `i` is node `leaves + i`.
    winners: Vec<u32>,
    leaves: usize,
}

impl Timetable {
    /// `components` components, none of them waiting.
    pub(crate) fn new(components: usize) -> Self {
        let leaves = components.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            // All deadlines are equal: the leftmost leaf below wins.
            let left = 2 * node;
            winners[node] = if left >= leaves { (left - leaves) as u32 } else { winners[left] };
        }
        Self { deadlines: vec![Instant::MAX; leaves], winners, leaves }
    }

    /// Sets the deadline of one component.
    pub(crate) fn set(&mut self, component: usize, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::MAX);
        if self.deadlines[component] == deadline {
            return;
        }
        self.deadlines[component] = deadline;
        let mut node = (self.leaves + component) / 2;
        while node >= 1 {
            let (left, right) = (self.winner(2 * node), self.winner(2 * node + 1));
            let winner =
                if self.deadlines[right as usize] < self.deadlines[left as usize] { right } else { left };
            // Above a node that another component wins before and after, nothing changes.
            if self.winners[node] == winner && winner != component as u32 {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The component with the earliest deadline, if any waits.
    pub(crate) fn first(&self) -> Option<(usize, Instant)> {
        let winner = self.winners[1] as usize;
        let at = self.deadlines[winner];
        (at != Instant::MAX).then_some((winner, at))
    }

    fn winner(&self, node: usize) -> u32 {
        if node >= self.leaves { (node - self.leaves) as u32 } else { self.winners[node] }
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
