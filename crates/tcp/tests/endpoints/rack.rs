//! RACK-TLP (RFC 8985) between two endpoints, over a round trip of 100 ms.

use crate::pair::{Fate, Pair, Side, losing, plain};
use gamelane_core::{ByteCount, Duration};
use gamelane_tcp::{DelayedAck, Nagle, Phase, RecoveryKind, TcpConfig};

fn rack() -> TcpConfig {
    TcpConfig { recovery: RecoveryKind::Rack, nagle: Nagle::Off, delayed_ack: DelayedAck::Off, ..plain() }
}

/// A connection with one RTT sample.
fn connected() -> Pair {
    let mut pair = Pair::connected(&rack(), 50);
    pair.write(100);
    pair.run_for(1_000);
    pair.sent.clear();
    pair
}

/// Sets the fates of the client's data segments from now on, numbered from 1.
fn fates(pair: &mut Pair, mut fate: impl FnMut(u64) -> Fate + 'static) {
    let mut number = 0;
    pair.rule = Box::new(move |side, data, _| {
        if side == Side::Server || data == 0 {
            return Fate::Arrives;
        }
        number += 1;
        fate(number)
    });
}

#[test]
fn two_segments_above_a_loss_and_a_quarter_of_a_round_trip_are_enough() {
    let mut pair = connected();
    fates(&mut pair, |number| if number == 1 { Fate::Lost } else { Fate::Arrives });
    let start = pair.now.as_nanos() / 1_000_000;
    for _ in 0..3 {
        pair.write(100);
    }
    pair.run_for(126);
    assert_eq!(pair.sent.len(), 3);
    // 100 ms for the SACKs to return, plus 100 / 4 for reordering, plus Linux's 2 ms.
    pair.run_for(1);
    assert_eq!(pair.sent[3], (start + 127, pair.sent[0].1));
    pair.run_for(1_000);
    assert_eq!(pair.delivered[Side::Server as usize], 400);
    assert_eq!((pair.client.counters().timeouts, pair.client.counters().fast_recoveries), (0, 1));
}

#[test]
fn the_round_trip_of_the_segment_that_an_ack_handles_last_counts() {
    // Linux `tcp_ack` takes SACKs first and the cumulative ACK after them. `tcp_rack_advance` keeps the last round trip.
    let waits = DelayedAck::After(Duration::from_millis(200));
    let mut pair = Pair::connected(&TcpConfig { delayed_ack: waits, quick_acks: 0, ..rack() }, 50);
    pair.write(100);
    pair.run_for(1_000);
    pair.sent.clear();
    fates(&mut pair, |number| if number == 2 { Fate::Lost } else { Fate::Arrives });
    let start = pair.now.as_nanos() / 1_000_000;
    for _ in 0..3 {
        pair.write(100);
        pair.run_for(20);
    }
    // One ACK, at 140 ms, tells of the first (sent at 0) and of the third (sent at 40): the lost one, sent at 20, waits
    // for 20 + 140 + 100 / 4 and Linux's 2 ms. With the round trip of the third it would be 147.
    pair.run_for(200);
    assert_eq!(pair.sent[3], (start + 187, pair.sent[1].1), "{}", pair.log);
}

#[test]
fn the_reordering_window_knows_the_round_trip_of_the_handshake() {
    // Every round trip after the handshake is longer than its 100 ms.
    let mut pair = Pair::connected(&rack(), 50);
    fates(&mut pair, |number| if number == 1 { Fate::Lost } else { Fate::Late(60) });
    let start = pair.now.as_nanos() / 1_000_000;
    pair.sent.clear();
    for _ in 0..3 {
        pair.write(100);
    }
    pair.run_for(300);
    // 160 ms for the SACKs to return, plus 100 / 4 and not 160 / 4, plus 2 ms.
    assert_eq!(pair.sent[3], (start + 187, pair.sent[0].1), "{}", pair.log);
}

#[test]
fn reordering_within_the_window_costs_nothing_once_it_was_seen() {
    let mut pair = connected();
    fates(&mut pair, |number| if number % 10 == 1 { Fate::Late(20) } else { Fate::Arrives });
    for _ in 0..3 {
        pair.write(100);
    }
    pair.run_for(500);
    // From here there are three duplicates and more.
    for _ in 0..20 {
        pair.write(100);
        pair.run_for(2);
    }
    pair.run_for(1_000);
    assert_eq!(pair.client.counters().retransmissions(), 0, "{}", pair.log);
    assert_eq!(pair.delivered[Side::Server as usize], 2_400);
}

#[test]
fn a_lost_retransmission_is_found_by_time() {
    let mut pair = connected();
    let mut times = 0;
    let target = 101;
    pair.rule = Box::new(move |side, _, segment| {
        times += u32::from(side == Side::Client && segment.seq == target);
        if side == Side::Client && segment.seq == target && times <= 2 { Fate::Lost } else { Fate::Arrives }
    });
    pair.write(60_000);
    pair.run_for(5_000);
    let counters = pair.client.counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries), (0, 1), "{}", pair.log);
    assert_eq!(pair.delivered[Side::Server as usize], 60_100);
}

#[test]
fn a_loss_during_recovery_reduces_the_window_again() {
    let mut pair = connected();
    // The first segment is lost, and so are its retransmission and the new segment behind that. The ACK of the second
    // retransmission completes the recovery, but the new segment still counts as lost.
    fates(&mut pair, |number| if matches!(number, 1 | 13 | 14) { Fate::Lost } else { Fate::Arrives });
    pair.write(60_000);
    pair.run_for(5_000);
    let counters = pair.client.counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries), (0, 2), "{}", pair.log);
    // Between the two recoveries nothing goes out with the window of the first.
    assert!(!pair.log.contains("cwnd 5000 flight 5000 Open"), "{}", pair.log);
    assert_eq!(pair.delivered[Side::Server as usize], 60_100);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let mut pair = connected();
    fates(&mut pair, |number| if number == 9 || number == 10 { Fate::Lost } else { Fate::Arrives });
    let start = pair.now.as_nanos() / 1_000_000;
    pair.write(10_000);
    // The last ACK returns at 100 ms. Two round trips and Linux's 2 ms later the tenth segment is sent again; its SACK shows that the
    // ninth is missing.
    pair.run_for(2_000);
    let again: Vec<u64> = pair.sent[10..].iter().map(|sent| sent.0 - start).collect();
    assert_eq!(again[0], 302);
    let counters = pair.client.counters();
    assert_eq!((counters.tail_probes, counters.timeouts, counters.fast_recoveries), (1, 0, 1));
    assert_eq!(pair.delivered[Side::Server as usize], 10_100);
    assert_eq!(pair.client.observe().phase, Phase::Open);
}

#[test]
fn a_probe_that_repairs_the_tail_alone_reduces_the_window() {
    let mut pair = connected();
    pair.rule = losing(&[11]);
    pair.write(10_000);
    pair.run_for(1_000);
    assert_eq!((pair.client.counters().tail_probes, pair.client.counters().timeouts), (1, 0));
    // The decision waits for an ACK beyond the probe (section 7.4.2).
    assert_eq!(pair.client.observe().ssthresh, ByteCount(u64::MAX));
    pair.write(1_000);
    pair.run_for(1_000);
    assert!(pair.client.observe().ssthresh < ByteCount(u64::MAX));
}

#[test]
fn a_tail_of_one_segment_waits_for_the_timer_that_is_not_later() {
    // 2 x 100 ms plus 200 ms for a delayed ACK are later than the timer. So the timer's retransmission is a probe,
    // which does not reduce the window.
    let mut pair = connected();
    fates(&mut pair, |number| if number == 1 { Fate::Lost } else { Fate::Arrives });
    let cwnd = pair.client.observe().cwnd;
    pair.write(100);
    pair.run_for(2_000);
    assert_eq!((pair.client.counters().tail_probes, pair.client.counters().timeouts), (1, 0));
    assert_eq!(pair.client.observe().cwnd, cwnd);
    assert_eq!(pair.delivered[Side::Server as usize], 200);
}
