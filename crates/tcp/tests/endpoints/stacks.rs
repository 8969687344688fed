//! The rows of hosts between two endpoints: what each does differently.

use crate::pair::{Fate, Pair, Side};
use gamelane_core::{Catalogued, Duration};
use gamelane_tcp::{Phase, Stack};

fn connected(stack: Stack, delay_ms: u64) -> Pair {
    let config = stack.config();
    Pair::connected_and_tuned(&config, config.tuning, delay_ms)
}

/// A transfer without end over a round trip of 40 ms, for two seconds. A full packet takes `interval`.
fn transfer(stack: Stack, interval: Duration, queue: u64) -> Pair {
    let mut pair = connected(stack, 20);
    pair.serialise(interval, queue);
    pair.client.write_forever();
    pair.run_for(2_000);
    pair
}

#[test]
fn no_automatic_window_holds_back_a_fast_path() {
    // 120 Mbit/s and 40 ms: 600 kB in flight.
    for stack in [Stack::Linux, Stack::FreeBsd14, Stack::Windows11] {
        let pair = transfer(stack, Duration::from_micros(100), 1_000);
        let offered = pair.client.observe().peer_window.bytes();
        assert!(offered > 1_000_000, "{}: {offered}", stack.word());
    }
}

#[test]
fn today_s_rows_fill_a_link_with_a_short_queue() {
    for stack in [Stack::Linux, Stack::FreeBsd14, Stack::Windows11] {
        let pair = transfer(stack, Duration::from_millis(1), 40);
        // 1000 segments a second. What is lost at the end of slow start costs time.
        let segments = pair.delivered[Side::Server as usize] / 1448;
        assert!((1_700..2_000).contains(&segments), "{}: {segments}", stack.word());
    }
}

#[test]
fn slow_start_ends_early_only_with_hystart() {
    for (stack, hystart) in [(Stack::Linux, true), (Stack::Windows11, true), (Stack::FreeBsd14, false)] {
        let mut pair = connected(stack, 20);
        pair.serialise(Duration::from_millis(1), 100);
        pair.client.write_forever();
        pair.run_for(600);
        // Nothing was lost yet, so only HyStart can have set a threshold.
        assert_eq!(pair.client.counters().retransmissions(), 0);
        let threshold = pair.client.observe().ssthresh.bytes();
        assert_eq!(threshold < 200_000, hystart, "{}: {threshold}", stack.word());
    }
}

/// Timeout after 60 equal round trips of 20 ms, with ACKs that wait for 40 ms.
fn timeout(stack: Stack) -> Duration {
    let mut pair = connected(stack, 10);
    for _ in 0..60 {
        pair.write(100);
        pair.run_for(100);
    }
    pair.client.observe().rto
}

#[test]
fn timeouts_on_a_short_path() {
    let near = |stack, expected_ms| {
        timeout(stack).abs_diff(Duration::from_millis(expected_ms)).as_nanos() < 1_000_000
    };
    // 60, a variation of at least the clock's tick of 1 ms, and 200.
    assert!(near(Stack::FreeBsd14, 261), "{}", timeout(Stack::FreeBsd14));
    assert!(near(Stack::Windows11, 300), "{}", timeout(Stack::Windows11));
}

#[test]
fn a_lone_segment_is_acknowledged_after_40_ms() {
    for stack in [Stack::FreeBsd14, Stack::Windows11] {
        let mut pair = connected(stack, 10);
        pair.write(100);
        pair.run_for(59);
        assert_eq!(pair.client.counters().bytes_acked.bytes(), 0, "{}", stack.word());
        pair.run_for(2);
        assert_eq!(pair.client.counters().bytes_acked.bytes(), 100, "{}", stack.word());
    }
}

/// Times at which a client repeats its SYN, in ms.
fn syns(stack: Stack) -> Vec<u64> {
    let config = stack.config();
    let mut pair = Pair::of(&config, 10).tuned(config.tuning);
    pair.rule = Box::new(|_, _, _| Fate::Lost);
    let mut times = Vec::new();
    for now_ms in 0..20_000 {
        let before = pair.client.counters().segments_sent;
        pair.run_for(1);
        if now_ms > 0 && pair.client.counters().segments_sent > before {
            times.push(now_ms + 1);
        }
    }
    times
}

#[test]
fn freebsd_repeats_its_first_syns_evenly_and_windows_doubles() {
    assert_eq!(syns(Stack::FreeBsd14)[..5], syns(Stack::Linux)[..5]);
    assert_eq!(syns(Stack::Windows11)[..3], [1_000, 3_000, 7_000]);
}

#[test]
fn a_stall_costs_freebsd_no_window() {
    let mut pair = transfer(Stack::FreeBsd14, Duration::from_millis(1), 1_000);
    let before = pair.client.observe().cwnd;
    pair.stall_for(2_000);
    pair.run_for(3_000);
    let after = pair.client.observe();
    assert!(pair.client.counters().timeouts > 0);
    assert_eq!(after.phase, Phase::Open);
    assert!(after.cwnd >= before, "{before:?} {after:?}");
}
