//! Spurious retransmissions: reported by DSACK (RFC 2883) or detected by F-RTO (RFC 5682).

use crate::pair::{Fate, Pair, Side, plain};
use gamelane_core::ByteCount;
use gamelane_tcp::{DelayedAck, Nagle, Phase, ReceiveWindow, RecoveryKind, TcpConfig, TcpTuning};

const BOTH: [RecoveryKind; 2] = [RecoveryKind::NewReno, RecoveryKind::Sack];

fn off() -> TcpTuning {
    TcpTuning::default()
}

#[test]
fn what_arrives_twice_is_reported_once_and_counted() {
    let tuning = TcpTuning { duplicate_sack: true, ..off() };
    let mut pair =
        Pair::connected_and_tuned(&TcpConfig { delayed_ack: DelayedAck::Off, ..plain() }, tuning, 50);
    // Data 1..121 arrives, but its ACK is lost. The timer sends it again after 300 ms, at 150 ms in the log.
    let mut acks = 0;
    pair.rule = Box::new(move |side, _, _| {
        acks += u32::from(side == Side::Server);
        if side == Side::Server && acks == 1 { Fate::Lost } else { Fate::Arrives }
    });
    pair.write(120);
    pair.run_for(2_000);
    pair.write(120);
    pair.run_for(2_000);
    let reports: Vec<&str> = pair.log.lines().filter(|line| line.contains("sack")).collect();
    assert_eq!(reports, ["    500.000 server ack 121 sack 1..121"]);
    assert_eq!(pair.client.counters().spurious_retransmissions, 1);
    assert_eq!(pair.server.counters().duplicate_segments_received, 1);
}

#[test]
fn a_duplicate_above_a_hole_comes_with_the_block_around_it() {
    let tuning = TcpTuning { duplicate_sack: true, ..off() };
    let mut pair = Pair::connected_and_tuned(&TcpConfig { nagle: Nagle::Off, ..plain() }, tuning, 50);
    // Three writes. The first is lost twice, the ACKs of the others once. The timer sends all three again.
    let mut times = 0;
    pair.rule = Box::new(move |side, number, segment| {
        times += u32::from(side == Side::Client && segment.seq == 1);
        let data = side == Side::Client && segment.seq == 1 && times <= 2;
        let ack = side == Side::Server && number == 0 && times == 1;
        if data || ack { Fate::Lost } else { Fate::Arrives }
    });
    for _ in 0..3 {
        pair.write(120);
    }
    pair.run_for(5_000);
    let nested = pair.log.lines().find(|line| line.contains("ack 1 sack 121..241 sack 121..361"));
    assert!(nested.is_some(), "{}", pair.log);
    assert_eq!(pair.delivered[Side::Server as usize], 360);
    assert_eq!(pair.client.counters().spurious_retransmissions, 2);
}

/// A flow whose path stalls at second two for 600 ms, which is longer than its timeout.
fn stalled(recovery: RecoveryKind, tuning: TcpTuning) -> Pair {
    let config = TcpConfig {
        recovery,
        receive_window: ReceiveWindow::Fixed(ByteCount(40_000)),
        timestamps: true,
        ..plain()
    };
    let mut pair = Pair::connected_and_tuned(&config, tuning, 50);
    pair.client.write_forever();
    pair.run_for(2_000);
    pair.stall_for(600);
    pair
}

#[test]
fn a_stall_is_no_loss_with_f_rto() {
    for recovery in BOTH {
        let mut pair = stalled(recovery, TcpTuning { forward_rto: true, ..off() });
        let before = pair.client.observe();
        pair.run_for(3_000);
        let (after, counters) = (pair.client.observe(), pair.client.counters());
        assert_eq!((counters.timeouts, counters.spurious_timeouts), (1, 1), "{recovery:?}");
        assert_eq!((counters.retransmissions(), after.phase), (1, Phase::Open));
        assert!(after.cwnd >= before.cwnd && after.ssthresh == before.ssthresh, "{before:?} {after:?}");
        // Without F-RTO the whole window is sent again and the threshold is halved.
        let mut pair = stalled(recovery, off());
        pair.run_for(3_000);
        assert!(pair.client.counters().retransmissions() > 5, "{recovery:?}");
        assert!(pair.client.observe().ssthresh < before.ssthresh);
    }
}

#[test]
fn f_rto_lets_a_real_loss_be_repaired() {
    for recovery in BOTH {
        let tuning = TcpTuning { forward_rto: true, ..off() };
        let mut pair = Pair::connected_and_tuned(&TcpConfig { recovery, ..plain() }, tuning, 50);
        pair.rule = crate::pair::losing(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        pair.write(20_000);
        pair.run_for(10_000);
        assert_eq!(pair.delivered[Side::Server as usize], 20_000, "{recovery:?}");
        assert_eq!(pair.client.counters().spurious_timeouts, 0);
    }
}

#[test]
fn the_window_returns_when_every_retransmission_was_reported() {
    let tuning = TcpTuning { duplicate_sack: true, ..off() };
    let mut pair = stalled(RecoveryKind::Sack, tuning);
    let before = pair.client.observe();
    pair.run_for(3_000);
    let (after, counters) = (pair.client.observe(), *pair.client.counters());
    assert_eq!(counters.spurious_retransmissions, counters.retransmissions());
    assert!(counters.retransmissions() > 0);
    assert!(after.cwnd >= before.cwnd && after.ssthresh == before.ssthresh, "{before:?} {after:?}");
}
