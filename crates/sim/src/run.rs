//! A run with all its records, which goes on step by step.

use alloc::boxed::Box;

use gamelane_core::{Duration, Instant};
use gamelane_record::{Records, RunSummary};
use gamelane_scenario::Model;

use crate::household::{Household, Outcome};

/// A household that is recorded.
pub struct Run {
    model: Model,
    state: State,
}

enum State {
    /// `None` only while it becomes [`State::Ended`].
    Running(Option<Box<Household<Records>>>),
    Ended(Box<Outcome<Records>>),
}

impl Run {
    /// Builds it at time zero.
    pub fn new(model: Model) -> Self {
        let household = Household::new(&model, model.seed, Records::new(&model));
        Self { state: State::Running(Some(Box::new(household))), model }
    }

    /// Runs until `until` from the start. Returns whether there is more.
    pub fn advance(&mut self, until: Duration) -> bool {
        let State::Running(running) = &mut self.state else { return false };
        if running.as_mut().is_some_and(|household| household.run_until(Instant::ZERO + until)) {
            return true;
        }
        if let Some(household) = running.take() {
            self.state = State::Ended(Box::new(household.finish()));
        }
        false
    }

    /// What was recorded so far.
    pub fn records(&self) -> Option<&Records> {
        match &self.state {
            State::Running(household) => household.as_ref().map(|household| household.recorder()),
            State::Ended(outcome) => Some(&outcome.recorder),
        }
    }

    /// The summary; `None` before the end.
    pub fn summary(&self) -> Option<RunSummary> {
        let State::Ended(outcome) = &self.state else { return None };
        Some(outcome.summary(&self.model, self.model.seed.0))
    }
}
