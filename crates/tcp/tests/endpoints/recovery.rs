//! Fast recovery: each method repairs the same losses; the packet logs are snapshots.

use crate::pair::{Fate, Pair, Side, losing, plain};
use gamelane_core::ByteCount;
use gamelane_tcp::{Nagle, Phase, ReceiveWindow, RecoveryKind, TcpConfig};

fn three_losses(recovery: RecoveryKind) -> Pair {
    let mut pair = Pair::connected(&TcpConfig { recovery, ..plain() }, 50);
    pair.rule = losing(&[12, 14, 19]);
    pair.write(48_000);
    pair.client.close();
    pair.server.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered[Side::Server as usize], 48_000);
    pair
}

#[test]
fn newreno_repairs_one_hole_a_round_trip() {
    let pair = three_losses(RecoveryKind::NewReno);
    let counters = pair.client.counters();
    assert_eq!((counters.fast_recoveries, counters.fast_retransmissions, counters.timeouts), (1, 3, 0));
    insta::assert_snapshot!(pair.log);
}

#[test]
fn sack_repairs_three_holes_in_one_round_trip() {
    let pair = three_losses(RecoveryKind::Sack);
    let counters = pair.client.counters();
    assert_eq!((counters.fast_recoveries, counters.fast_retransmissions, counters.timeouts), (1, 3, 0));
    insta::assert_snapshot!(pair.log);
}

#[test]
fn fack_resends_after_one_ack_from_far_above() {
    // Of five small segments the first four are lost. The only ACK reports the fifth. All segments up to the fifth,
    // except the last three, then count as lost.
    for (recovery, recoveries) in [(RecoveryKind::Fack, 1), (RecoveryKind::Sack, 0)] {
        let mut pair = Pair::connected(&TcpConfig { recovery, nagle: Nagle::Off, ..plain() }, 50);
        pair.rule = losing(&[1, 2, 3, 4]);
        for _ in 0..5 {
            pair.write(100);
        }
        pair.run_for(100);
        assert_eq!(pair.client.counters().fast_recoveries, recoveries, "{recovery:?}");
        pair.run_for(5_000);
        assert_eq!(pair.delivered[Side::Server as usize], 500);
        assert_eq!(pair.client.counters().timeouts == 0, recovery == RecoveryKind::Fack);
    }
}

#[test]
fn limited_transmit_saves_a_small_window_from_the_timer() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        for limited_transmit in [true, false] {
            let config = TcpConfig {
                recovery,
                limited_transmit,
                // Small enough to need no window scale. With one, the first ACK would change the window and not be a
                // duplicate.
                receive_window: ReceiveWindow::Fixed(ByteCount(65_535)),
                initial_window: gamelane_tcp::InitialWindow::Segments(3),
                ..plain()
            };
            let mut pair = Pair::connected(&config, 50);
            pair.rule = losing(&[1]);
            pair.write(20_000);
            pair.run_for(5_000);
            // The window of three gives two duplicate ACKs. The third needs new data on the first two.
            assert_eq!(pair.client.counters().timeouts == 0, limited_transmit, "{recovery:?}\n{}", pair.log);
            assert_eq!(pair.delivered[Side::Server as usize], 20_000);
        }
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let mut pair = Pair::connected(&TcpConfig { recovery, ..plain() }, 50);
        let mut times = 0;
        pair.rule = Box::new(move |side, _, segment| {
            if side == Side::Client && segment.seq == 5_001 && times < 2 {
                times += 1;
                return Fate::Lost;
            }
            Fate::Arrives
        });
        pair.write(60_000);
        pair.client.close();
        pair.server.close();
        assert!(pair.run_to_end(20));
        let counters = pair.client.counters();
        assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 1), "{recovery:?}");
        assert_eq!(pair.delivered[Side::Server as usize], 60_000);
    }
}

#[test]
fn the_threshold_is_half_the_flight() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let mut pair = Pair::connected(&TcpConfig { recovery, ..plain() }, 50);
        pair.rule = losing(&[1]);
        pair.write(100_000);
        pair.run_for(104);
        let seen = pair.client.observe();
        assert_eq!((seen.phase, seen.ssthresh), (Phase::Recovery, ByteCount(5_000)), "{recovery:?}");
        pair.run_for(100);
        assert_eq!(pair.client.observe().phase, Phase::Open);
    }
}

#[test]
fn the_last_segments_of_a_window_are_rescued_or_timed_out() {
    // The tail is lost, and nothing follows that could report it.
    let mut pair = Pair::connected(&plain(), 50);
    pair.rule = losing(&[9, 10]);
    pair.write(10_000);
    pair.run_for(5_000);
    assert_eq!(pair.delivered[Side::Server as usize], 10_000);
    assert_eq!(pair.client.counters().timeouts, 1);
    // A hole before the tail starts a recovery. Its rescue sends the highest segment again (`NextSeg` rule 4).
    let mut pair = Pair::connected(&plain(), 50);
    pair.rule = losing(&[1, 10]);
    pair.write(10_000);
    pair.run_for(5_000);
    assert_eq!(pair.delivered[Side::Server as usize], 10_000);
    assert_eq!(pair.client.counters().timeouts, 0);
}
