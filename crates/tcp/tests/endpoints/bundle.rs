//! Redundant data bundling between two endpoints: writes of 120 bytes every 50 ms over a round trip of 200 ms.

use crate::pair::{Fate, Pair, Side};
use crate::thin::hasty;
use gamelane_core::{ByteCount, Duration};
use gamelane_tcp::{Bundling, RecoveryKind, TcpConfig, TcpTuning};

fn bundling(rules: Bundling) -> TcpTuning {
    TcpTuning { bundling: Some(rules), ..TcpTuning::default() }
}

/// Measures the round trip with one write, then makes `count` writes. The client's data segments with the numbers in
/// `lost` (from 1) are lost.
fn stream(config: &TcpConfig, rules: Bundling, count: u64, lost: &'static [u64]) -> Pair {
    let mut pair = Pair::connected_and_tuned(config, bundling(rules), 100);
    pair.log.clear();
    let mut number = 0;
    pair.rule = Box::new(move |side, data, _| {
        number += u64::from(side == Side::Client && data > 0);
        let lose = side == Side::Client && data > 0 && lost.contains(&number);
        if lose { Fate::Lost } else { Fate::Arrives }
    });
    for _ in 0..count {
        pair.write(120);
        pair.run_for(50);
    }
    pair
}

#[test]
fn a_lost_segment_arrives_in_the_next() {
    let mut pair = stream(&hasty(RecoveryKind::Sack), Bundling::default(), 4, &[2]);
    // Sent at 0, 50, 100, 150 ms. The third carries the second, so 200 ms after the start the server has three.
    assert_eq!(pair.delivered[Side::Server as usize], 360);
    pair.run_for(2_000);
    let counters = pair.client.counters();
    assert_eq!(pair.delivered[Side::Server as usize], 480);
    assert_eq!((counters.retransmissions(), counters.timeouts), (0, 0));
    // Segments 1, 1..2, 1..3, 1..4: 120 + 240 + 360 bytes are repeated.
    assert_eq!(counters.bundled_bytes, ByteCount(720));
}

#[test]
fn a_hidden_loss_reduces_the_window_once() {
    let mut pair = stream(&hasty(RecoveryKind::Sack), Bundling::default(), 4, &[2]);
    pair.run_for(2_000);
    let (seen, counters) = (pair.client.observe(), pair.client.counters());
    assert_eq!((counters.hidden_losses, counters.fast_recoveries), (1, 0));
    // Half the flight size, at least two segments.
    assert_eq!(seen.ssthresh, ByteCount(2_000));
    let pair = stream(&hasty(RecoveryKind::Sack), Bundling::default(), 20, &[]);
    assert_eq!(pair.client.counters().hidden_losses, 0);
    assert_eq!(pair.client.observe().ssthresh, ByteCount(u64::MAX));
}

#[test]
fn bundles_stay_within_their_limits() {
    // One earlier segment in each: 3 x 120.
    let rules = Bundling { segments: 1, ..Bundling::default() };
    let pair = stream(&hasty(RecoveryKind::Sack), rules, 4, &[]);
    assert_eq!(pair.client.counters().bundled_bytes, ByteCount(360));
    // 200 ms / 100 ms: fewer than two may be in flight. So the second segment is bundled and the third is not.
    let rules = Bundling { shortest_interval: Duration::from_millis(100), ..Bundling::default() };
    let pair = stream(&hasty(RecoveryKind::Sack), rules, 3, &[]);
    assert_eq!(pair.client.counters().bundled_bytes, ByteCount(120));
    // Full segments have no room for a bundle.
    let mut pair = Pair::connected_and_tuned(&hasty(RecoveryKind::Sack), bundling(Bundling::default()), 100);
    pair.write(20_000);
    pair.run_for(2_000);
    assert_eq!(pair.client.counters().bundled_bytes, ByteCount::ZERO);
    assert_eq!(pair.delivered[Side::Server as usize], 20_000);
}

#[test]
fn a_bundle_repeats_only_what_is_unacknowledged() {
    // With 300 ms between writes, each is acknowledged before the next. Nothing is repeated.
    let mut pair = Pair::connected_and_tuned(&hasty(RecoveryKind::Sack), bundling(Bundling::default()), 100);
    for _ in 0..5 {
        pair.write(120);
        pair.run_for(300);
    }
    assert_eq!(pair.client.counters().bundled_bytes, ByteCount::ZERO);
}
