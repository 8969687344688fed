//! In steady state the engine does not allocate: not per packet, not per second.

mod common;

use gamelane_core::{Instant, Seed};
use gamelane_sim::{Event, Household, Recorder};

/// Keeps nothing.
struct Forget;

impl Recorder for Forget {
    fn record(&mut self, _: Instant, _: &Event<'_>) {}
}

#[test]
fn a_busy_household_allocates_nothing_in_steady_state() {
    for queue in common::QUEUES {
        let model = common::model("household", &[("gateway.*.queue", queue), ("duration", "120s")]);
        let mut household = Household::new(&model, Seed(1), Forget);
        household.run_until(Instant::from_secs(60));
        let allocated = allocation_counter::measure(|| {
            household.run_until(Instant::from_secs(120));
        });
        assert_eq!(allocated.count_total, 0, "{queue}");
        assert!(household.run_until(Instant::from_secs(120)) || household.now() > Instant::from_secs(119));
    }
}
