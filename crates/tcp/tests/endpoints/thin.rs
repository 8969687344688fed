//! The mechanisms for thin streams between two endpoints: writes of 120 bytes over a round trip of 200 ms.

use crate::pair::{Fate, Pair, Side, losing, plain};
use gamelane_tcp::{DelayedAck, Nagle, Piggyback, RecoveryKind, TcpConfig, TcpTuning};

pub fn hasty(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, recovery, ..plain() }
}

/// A connection with a timeout of 400 ms, whose first slow start ended with an early loss.
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
        if lose { Fate::Lost } else { Fate::Arrives }
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
        // Two in flight: the second leaves at 50 ms, and its duplicate ACK returns at 250 ms. Otherwise the timer
        // expires at 400 ms.
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
        // Griwodz2006 figure 2: about 400 ms in every variant with 100 ms each way.
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
        // Three in flight need two duplicate ACKs: the third leaves at 100 ms, its ACK returns at 300 ms.
        assert_eq!(repair(after_a_loss(recovery, on), 3), 300, "{recovery:?}");
        assert_eq!(repair(after_a_loss(recovery, off), 3), 400, "{recovery:?}");
        // Two in flight need one.
        assert_eq!(repair(after_a_loss(recovery, on), 2), 250, "{recovery:?}");
        // Four in flight need three, as usual: the fourth leaves at 150 ms.
        assert_eq!(repair(after_a_loss(recovery, on), 4), 350, "{recovery:?}");
    }
}

/// Sizes of the client's segments for four writes 10 ms apart, where the second (70 bytes) is lost.
fn figure_6(piggyback: Piggyback) -> (Vec<u32>, Pair) {
    let tuning = TcpTuning { piggyback, ..TcpTuning::default() };
    let mut pair = after_a_loss(RecoveryKind::NewReno, tuning);
    pair.log.clear();
    let mut number = 0;
    pair.rule = Box::new(move |side, data, _| {
        number += u64::from(side == Side::Client && data > 0);
        if side == Side::Client && number == 2 { Fate::Lost } else { Fate::Arrives }
    });
    for bytes in [37, 70, 83, 94] {
        pair.write(bytes);
        pair.run_for(10);
    }
    pair.run_for(2_000);
    let sizes = pair.log.lines().filter(|line| line.contains("client") && line.contains(".."));
    let size = |line: &str| {
        let range = line.split_whitespace().find(|word| word.contains("..")).unwrap();
        let (from, to) = range.split_once("..").unwrap();
        to.parse::<u32>().unwrap() - from.parse::<u32>().unwrap()
    };
    (sizes.map(size).collect(), pair)
}

#[test]
fn a_retransmission_takes_the_next_segment_along_as_in_figure_6() {
    // The timer of the second segment ends both. The rest is sent later, when the window of one segment allows it.
    let (sizes, pair) = figure_6(Piggyback::Next);
    assert_eq!(sizes[..5], [37, 70, 83, 94, 153]);
    assert!(pair.client.counters().included_retransmissions >= 1);
    for all in [Piggyback::Sent, Piggyback::AllThatFit] {
        let (sizes, pair) = figure_6(all);
        assert_eq!(sizes, [37, 70, 83, 94, 247]);
        assert_eq!(pair.client.counters().included_retransmissions, 2);
    }
    let (sizes, pair) = figure_6(Piggyback::Off);
    assert_eq!(sizes, [37, 70, 83, 94, 70, 83, 94]);
    assert_eq!(pair.client.counters().included_retransmissions, 0);
}

#[test]
fn what_was_never_sent_rides_along() {
    // Nagle holds the second write until the first is acknowledged: 200 + 400 ms without piggybacking.
    for (piggyback, delivered) in [(Piggyback::Off, 120), (Piggyback::AllThatFit, 240)] {
        let tuning = TcpTuning { piggyback, ..TcpTuning::default() };
        let mut pair =
            Pair::connected_and_tuned(&TcpConfig { delayed_ack: DelayedAck::Off, ..plain() }, tuning, 100);
        pair.rule = losing(&[1]);
        pair.write(120);
        pair.write(120);
        // The first RTO is 600 ms, and the server is 100 ms away.
        pair.run_for(700);
        assert_eq!(pair.delivered[Side::Server as usize], delivered, "{piggyback:?}");
        pair.run_for(2_000);
        assert_eq!(pair.delivered[Side::Server as usize], 240);
    }
}

#[test]
fn waiting_writes_share_a_segment() {
    let tuning = TcpTuning { merge_writes: true, ..TcpTuning::default() };
    let mut pair = Pair::connected_and_tuned(&hasty(RecoveryKind::Sack), tuning, 100);
    for bytes in [37, 70, 83] {
        pair.client.write(gamelane_core::ByteCount(bytes));
    }
    pair.run_for(1_000);
    assert_eq!(pair.sent.len(), 1);
    assert_eq!(pair.delivered[Side::Server as usize], 190);
}
