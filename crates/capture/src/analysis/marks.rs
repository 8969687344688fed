//! Steps of a capture at which something was true of a flow, as a set. With them, flows are compared at the same moments.

/// A set of steps of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    step_ns: u64,
    bits: Vec<u64>,
}

impl Marks {
    pub(super) const fn new(step_ns: u64) -> Self {
        Self { step_ns, bits: Vec::new() }
    }

    /// Returns the steps of this length from one time to another.
    pub fn between(step_ns: u64, [from_ns, until_ns]: [u64; 2]) -> Self {
        let mut marks = Self::new(step_ns);
        let step_ns = step_ns.max(1);
        (from_ns / step_ns..=(until_ns / step_ns).min(MOST)).for_each(|step| marks.set(step));
        marks
    }

    /// Adds the step of a time.
    pub(super) fn add(&mut self, at_ns: u64) {
        self.set(at_ns / self.step_ns.max(1));
    }

    /// Adds the steps that lie between two times as a whole.
    pub(super) fn add_within(&mut self, [from_ns, until_ns]: [u64; 2]) {
        let step_ns = self.step_ns.max(1);
        (from_ns.div_ceil(step_ns)..(until_ns / step_ns).min(MOST)).for_each(|step| self.set(step));
    }

    /// Length of a step.
    pub const fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Number of steps in the set.
    pub fn count(&self) -> u32 {
        self.bits.iter().map(|bits| bits.count_ones()).sum()
    }

    /// Returns the set with longer steps.
    #[must_use]
    pub fn with_step(&self, step_ns: u64) -> Self {
        if self.step_ns == step_ns {
            return self.clone();
        }
        let mut marks = Self::new(step_ns);
        self.steps().for_each(|step| marks.add(step.saturating_mul(self.step_ns)));
        marks
    }

    /// Returns the set with all steps that are at most this many steps away from one of it.
    #[must_use]
    pub fn around(&self, steps: u64) -> Self {
        let mut marks = Self::new(self.step_ns);
        for step in self.steps() {
            (step.saturating_sub(steps)..=step + steps).for_each(|near| marks.set(near));
        }
        marks
    }

    /// Returns the steps that both sets have. Their steps must be equally long.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let bits = self.bits.iter().zip(&other.bits).map(|(a, b)| a & b).collect();
        Self { step_ns: self.step_ns, bits }
    }

    /// Returns the steps that one of the sets has.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let (longer, shorter) =
            if self.bits.len() >= other.bits.len() { (self, other) } else { (other, self) };
        let mut bits = longer.bits.clone();
        bits.iter_mut().zip(&shorter.bits).for_each(|(a, b)| *a |= b);
        Self { step_ns: self.step_ns, bits }
    }

    fn steps(&self) -> impl Iterator<Item = u64> {
        let words = (0u64..).zip(&self.bits);
        words.flat_map(|(n, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| n * 64 + bit)
        })
    }

    fn set(&mut self, step: u64) {
        if step >= MOST {
            return;
        }
        let place = (step / 64) as usize;
        if place >= self.bits.len() {
            self.bits.resize(place + 1, 0);
        }
        self.bits[place] |= 1 << (step % 64);
    }
}

/// Maximum number of steps, as of a [timeline](super::Timeline).
const MOST: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_steps_are_compared_at_the_longer_step() {
        let mut fine = Marks::new(250);
        [0, 260, 1000, 20_000].into_iter().for_each(|at| fine.add(at));
        assert_eq!(fine.count(), 4);
        let coarse = fine.with_step(500);
        assert_eq!(coarse.steps().collect::<Vec<_>>(), [0, 2, 40]);
        assert_eq!(coarse.around(1).steps().collect::<Vec<_>>(), [0, 1, 2, 3, 39, 40, 41]);
        let some = Marks::between(500, [900, 1600]);
        assert_eq!((coarse.and(&some).count(), coarse.or(&some).count()), (1, 5));
        let mut held = Marks::new(250);
        held.add_within([100, 1100]);
        assert_eq!(held.steps().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(Marks::between(0, [0, u64::MAX]).count(), 1024);
    }
}
