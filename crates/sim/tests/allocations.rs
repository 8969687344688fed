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
        assert_eq!(allocations(&[("gateway.*.queue", queue)]), 0, "{queue}");
    }
}

#[test]
fn nor_does_any_row_of_tcp() {
    for congestion in ["cubic", "bic", "vegas", "westwood"] {
        assert_eq!(allocations(&[("tcp.congestion", congestion)]), 0, "{congestion}");
    }
    for recovery in ["newreno", "fack", "rack"] {
        assert_eq!(allocations(&[("tcp.recovery", recovery)]), 0, "{recovery}");
    }
}

#[test]
fn nor_do_window_control_video_frames_and_a_hosted_match() {
    assert_eq!(allocations(&[("gateway.voap.data", "both")]), 0);
    assert_eq!(allocations(&[("flow.quake3.role", "host")]), 0);
    assert_eq!(allocations_of("voap", &[]), 0);
}

/// Allocations in the second minute of the household.
fn allocations(overrides: &[(&str, &str)]) -> u64 {
    allocations_of("household", overrides)
}

fn allocations_of(scenario: &str, overrides: &[(&str, &str)]) -> u64 {
    let overrides: Vec<_> = [("duration", "120s")].iter().chain(overrides).copied().collect();
    let model = common::model(scenario, &overrides);
    let mut household = Household::new(&model, Seed(1), Forget);
    household.run_until(Instant::from_secs(60));
    let allocated = allocation_counter::measure(|| {
        household.run_until(Instant::from_secs(120));
    });
    assert!(household.now() > Instant::from_secs(119), "the household was busy all along");
    allocated.count_total
}
