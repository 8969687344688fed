//! What is switched on for thin streams, in conversation: 120-byte writes over a round trip of 200 ms.

use crate::pair::{Pair, Side, losing, plain};
use gamelane_tcp::{RecoveryKind, TcpConfig, TcpTuning};

pub fn hasty(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig { nagle: false, delayed_ack: None, recovery, ..plain() }
}

/// The estimator settled at 400 ms and the first slow start over, by a loss long ago.
pub fn after_a_loss(recovery: RecoveryKind, tuning: TcpTuning) -> Pair {
    let mut pair = Pair::connected_and_tuned(&hasty(recovery), tuning, 100);
    pair.rule = losing(&[1]);
    for _ in 0..100 {
        pair.write(120);
        pair.run_for(2_000);
    }
    pair.sent.clear();
    pair
}

/// Milliseconds from the first transmission of the first write to its retransmission, with `count` writes 50 ms apart.
fn repair(mut pair: Pair, count: u64) -> u64 {
    let mut lost = false;
    pair.rule = Box::new(move |side, number, _| {
        let lose = side == Side::Client && number > 0 && !core::mem::replace(&mut lost, true);
        if lose { crate::pair::Fate::Lost } else { crate::pair::Fate::Arrives }
    });
    for _ in 0..count {
        pair.write(120);
        pair.run_for(50);
    }
    pair.run_for(2_000);
    let (at, seq) = pair.sent[0];
    pair.sent[1..].iter().find(|sent| sent.1 == seq).unwrap().0 - at
}

const BOTH: [RecoveryKind; 2] = [RecoveryKind::NewReno, RecoveryKind::Sack];

#[test]
fn one_duplicate_ack_is_enough_for_a_thin_stream() {
    for recovery in BOTH {
        let off = TcpTuning::default();
        let on = TcpTuning { single_duplicate_ack: true, ..off };
        // Two in flight: the second leaves at 50 and its duplicate ACK is back at 250 ms. Else the timer: 400 ms.
        assert_eq!(repair(after_a_loss(recovery, off), 2), 400);
        assert_eq!(repair(after_a_loss(recovery, on), 2), 250);
    }
}

#[test]
fn no_window_rule_shortens_the_wait_of_a_thin_stream() {
    use gamelane_tcp::CongestionKind::{Bic, Cubic, NewReno, Vegas, Westwood};
    for congestion in [NewReno, Cubic, Bic, Vegas, Westwood] {
        let mut pair = Pair::connected(&TcpConfig { congestion, ..hasty(RecoveryKind::Fack) }, 100);
        for _ in 0..100 {
            pair.write(120);
            pair.run_for(1_000);
        }
        pair.sent.clear();
        // S4 figure 2: about 400 ms in every variant at 2 x 100 ms.
        assert_eq!(repair(pair, 2), 400, "{congestion:?}");
    }
}

#[test]
fn a_stream_in_its_first_slow_start_is_not_thin() {
    let on = TcpTuning { single_duplicate_ack: true, ..TcpTuning::default() };
    let mut pair = Pair::connected_and_tuned(&hasty(RecoveryKind::Sack), on, 100);
    pair.rule = losing(&[1]);
    pair.write(120);
    pair.write(120);
    pair.run_for(2_000);
    assert_eq!((pair.client.counters().fast_recoveries, pair.client.counters().timeouts), (0, 1));
}

#[test]
fn early_retransmit_wants_one_duplicate_less_than_segments() {
    for recovery in BOTH {
        let off = TcpTuning::default();
        let on = TcpTuning { early_retransmit: true, ..off };
        // Three in flight need two duplicates: the third leaves at 100, its ACK is back at 300 ms.
        assert_eq!(repair(after_a_loss(recovery, on), 3), 300, "{recovery:?}");
        assert_eq!(repair(after_a_loss(recovery, off), 3), 400, "{recovery:?}");
        // Two need one.
        assert_eq!(repair(after_a_loss(recovery, on), 2), 250, "{recovery:?}");
        // Four need three, as ever: the fourth leaves at 150.
        assert_eq!(repair(after_a_loss(recovery, on), 4), 350, "{recovery:?}");
    }
}
