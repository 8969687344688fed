//! In steady state the simulator allocates no memory, neither per packet nor per second.

use crate::common;

use crate::common::queues::QUEUES;
use gamelane_core::{Instant, Seed};
use gamelane_sim::Household;

#[test]
fn a_busy_household_allocates_nothing_in_steady_state() {
    for queue in QUEUES {
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
fn nor_do_games_over_tcp() {
    for carriage in ["direct", "mux", "streams", "datagrams"] {
        let allocated = allocations_of("griwodz2006", 600, &[("flow.players.carriage", carriage)]);
        // Buffers grow with the worst burst of losses so far; a few grow even after ten minutes.
        assert!(allocated < 300, "{carriage}: {allocated} for 11000 packets");
    }
}

#[test]
fn nor_does_a_fitted_game_whether_captured_or_added_up() {
    for players in ["4", "7"] {
        let game = [("flow.quake3.model", "openarena"), ("flow.quake3.players", players)];
        assert_eq!(allocations(&game), 0, "{players} players");
    }
}

#[test]
fn nor_does_any_link() {
    assert_eq!(allocations_of("docsis", 120, &[]), 0);
    assert_eq!(allocations_of("lte", 60, &[]), 0);
    // A short queue, so that the backup fills it and meets its worst loss before the fourth minute.
    assert_eq!(allocations_of("wifi", 180, &[("gateway.station.limit", "100p")]), 0);
}

#[test]
fn nor_do_window_control_video_frames_and_a_hosted_match() {
    assert_eq!(allocations(&[("gateway.voap.data", "both")]), 0);
    assert_eq!(allocations(&[("flow.quake3.role", "host")]), 0);
    assert_eq!(allocations_of("voap", 60, &[]), 0);
}

#[test]
fn nor_do_classes_and_their_queues() {
    assert_eq!(allocations_of("priority", 60, &[("gateway.up.acks", "filter")]), 0);
    for queue in ["cake", "dualpi2"] {
        assert_eq!(allocations_of("docsis", 120, &[("gateway.up.queue", queue)]), 0, "{queue}");
    }
}

/// Allocations in the second minute of the household.
fn allocations(overrides: &[(&str, &str)]) -> u64 {
    allocations_of("household", 60, overrides)
}

/// Allocations in the minute of a scenario that begins after `settled_s` seconds.
fn allocations_of(scenario: &str, settled_s: u64, overrides: &[(&str, &str)]) -> u64 {
    let end_s = settled_s + 60;
    let duration = format!("{end_s}s");
    let overrides: Vec<_> = [("duration", duration.as_str())].iter().chain(overrides).copied().collect();
    let model = common::model(scenario, &overrides);
    let mut household = Household::new(&model, Seed(1), ());
    household.run_until(Instant::from_secs(settled_s));
    let allocated = allocation_counter::measure(|| {
        household.run_until(Instant::from_secs(end_s));
    });
    assert!(household.now() > Instant::from_secs(end_s - 1), "the household was busy all along");
    allocated.count_total
}
