//! The row of Linux 6.12 between two endpoints. Values of the kernel are from User-Mode-Linux, `gamelane run --engine
//! kernel --vm`: bench/runs/2026-11-24-epyc-2core/tcp.txt.

use crate::pair::{Fate, Pair, Side};
use gamelane_core::{ByteCount, Duration};
use gamelane_tcp::{
    CongestionKind, DelayedAck, InitialWindow, Nagle, Phase, ReceiveWindow, Stack, TcpConfig,
};

/// Payload of a full segment.
const MSS: u64 = 1448;

fn connected(config: &TcpConfig, delay_ms: u64) -> Pair {
    Pair::connected_and_tuned(config, config.tuning, delay_ms)
}

/// A bulk transfer over a round trip of 40 ms through 12 Mbit/s: a full packet takes 1 ms.
fn bulk(packets: u64) -> Pair {
    let mut pair = connected(&Stack::Linux612.config(), 20);
    pair.serialise(Duration::from_millis(1), packets);
    pair.client.write_forever();
    pair
}

#[test]
fn slow_start_ends_before_the_queue_overflows() {
    let mut pair = bulk(1000);
    pair.run_for(400);
    // The kernel: 61 segments.
    let segments = pair.client.observe().ssthresh.bytes() / MSS;
    assert!(segments.abs_diff(61) <= 2, "{segments}");
    assert_eq!(pair.client.counters().retransmissions(), 0);
}

#[test]
fn the_window_grows_like_the_kernel_s_behind_a_deep_queue() {
    let mut pair = bulk(1000);
    // The kernel has 64 segments after 0.3 s, 89 after 0.8 s and 114 after 1.3 s.
    for (after_ms, kernel) in [(240, 64), (500, 89), (500, 114)] {
        pair.run_for(after_ms);
        let segments = pair.client.observe().cwnd.bytes() / MSS;
        assert!(segments.abs_diff(kernel) <= 4, "{segments} and {kernel}");
    }
}

#[test]
fn a_stall_costs_one_retransmission_and_no_window() {
    let config =
        TcpConfig { receive_window: ReceiveWindow::Fixed(ByteCount(40_000)), ..Stack::Linux612.config() };
    let mut pair = connected(&config, 50);
    pair.client.write_forever();
    pair.run_for(2_000);
    pair.stall_for(600);
    let before = pair.client.observe();
    pair.run_for(3_000);
    let (after, counters) = (pair.client.observe(), pair.client.counters());
    assert_eq!(after.phase, Phase::Open);
    assert!(counters.retransmissions() <= 2, "{counters:?}");
    assert_eq!(counters.spurious_timeouts, counters.timeouts);
    assert!(after.cwnd >= before.cwnd, "{before:?} {after:?}");
}

#[test]
fn a_timeout_repeats_only_what_is_older_than_a_round_trip() {
    // A message of 100 B every 50 ms over a round trip of 200 ms. Nothing arrives for a second.
    let initial_window = InitialWindow::Segments(40);
    let mut pair =
        connected(&TcpConfig { nagle: Nagle::Off, initial_window, ..Stack::Linux612.config() }, 100);
    for _ in 0..20 {
        pair.write(100);
        pair.run_for(50);
    }
    let start = pair.now.as_nanos() / 1_000_000;
    let end = start + 1_000;
    let mut losing = true;
    pair.rule = Box::new(move |side, _, segment| {
        losing &= segment.timestamps.is_none_or(|(at, _)| u64::from(at) < end);
        if losing && side == Side::Client { Fate::Lost } else { Fate::Arrives }
    });
    pair.sent.clear();
    let mut expired_at = None;
    for _ in 0..40 {
        pair.write(100);
        pair.run_for(50);
        if expired_at.is_none() && pair.client.counters().timeouts > 0 {
            expired_at = Some(pair.now.as_nanos() / 1_000_000);
            // The window has room for one segment beside those in flight.
            let young = pair.client.observe().bytes_in_flight.bytes() / MSS;
            assert!(
                (3..=6).contains(&young),
                "{young} segments of the last round trip still count as in flight"
            );
        }
    }
    pair.run_for(5_000);
    assert!(expired_at.is_some());
    assert_eq!(pair.delivered[Side::Server as usize], 6_000);
}

/// NewReno with a window of full segments that arrive 2 ms apart and are acknowledged one by one. Segment `number` has
/// this fate.
fn counted(number: u64, fate: Fate) -> Pair {
    let config = TcpConfig {
        congestion: CongestionKind::NewReno,
        delayed_ack: DelayedAck::Off,
        initial_window: InitialWindow::Segments(20),
        ..Stack::Linux612.config()
    };
    let mut pair = connected(&config, 30);
    pair.serialise(Duration::from_millis(2), 1000);
    pair.rule = Box::new(move |_, data, _| if data == number { fate } else { Fate::Arrives });
    pair.client.write_forever();
    pair
}

/// Segments that are acknowledged from now on until the window is larger.
fn acknowledged_until_growth(pair: &mut Pair) -> u64 {
    let (cwnd, acked) = (pair.client.observe().cwnd, pair.client.counters().bytes_acked);
    while pair.client.observe().cwnd == cwnd {
        pair.run_for(1);
    }
    (pair.client.counters().bytes_acked.bytes() - acked.bytes()) / MSS
}

#[test]
fn the_ack_that_ends_a_recovery_lets_the_window_grow() {
    let mut pair = counted(100, Fate::Lost);
    while pair.client.observe().phase != Phase::Recovery {
        pair.run_for(1);
    }
    while pair.client.observe().phase == Phase::Recovery {
        pair.run_for(1);
    }
    // `tcp_fastretrans_alert` opens the state before `tcp_cong_control` counts: the last ACK is one of the window.
    let window = pair.client.observe().cwnd.bytes() / MSS;
    assert_eq!(acknowledged_until_growth(&mut pair), window - 1, "{window}");
}

#[test]
fn a_segment_counts_once_for_growth_when_it_is_sacked_or_acknowledged() {
    let mut pair = counted(100, Fate::Lost);
    while pair.client.observe().phase != Phase::Recovery {
        pair.run_for(1);
    }
    pair.run_for(2_000);
    // One comes after its successor. The first ACK only SACKs, so that segment does not count. The next one covers two
    // segments, and only one of them is new.
    acknowledged_until_growth(&mut pair);
    let window = pair.client.observe().cwnd.bytes() / MSS;
    let mut late = true;
    pair.rule = Box::new(move |side, data, _| {
        if side == Side::Client && data > 0 && core::mem::take(&mut late) {
            Fate::Late(3)
        } else {
            Fate::Arrives
        }
    });
    let mut total = acknowledged_until_growth(&mut pair);
    total += acknowledged_until_growth(&mut pair);
    assert_eq!(total, window + (window + 1) + 1, "{window}");
}
