//! The retransmission timer in conversation: the sequences of reference/tcp.md section 7.

use crate::pair::{Fate, Pair, Side, plain};
use gamelane_core::{ByteCount, Duration};
use gamelane_tcp::{TcpConfig, TcpEvent, TimerKind};

/// A thin stream with the estimator settled: 120 bytes every second over a 200 ms round trip.
fn settled(config: &TcpConfig) -> Pair {
    let mut pair = Pair::connected(config, 100);
    for _ in 0..100 {
        pair.write(120);
        pair.run_for(1_000);
    }
    pair.sent.clear();
    pair
}

/// Milliseconds from the first transmission to each retransmission when the client's data stops arriving.
fn retransmissions(mut pair: Pair, count: usize) -> Vec<u64> {
    pair.rule = Box::new(|_, number, _| if number > 0 { Fate::Lost } else { Fate::Arrives });
    pair.write(120);
    while pair.sent.len() <= count {
        let at = pair.next_event().unwrap();
        pair.run_until(at);
    }
    pair.sent[1..].iter().map(|(at, _)| at - pair.sent[0].0).collect()
}

#[test]
fn linux_at_200_ms_resends_at_400_1200_2800_ms() {
    let config = TcpConfig { nagle: false, delayed_ack: None, ..plain() };
    assert_eq!(retransmissions(settled(&config), 4), [400, 1200, 2800, 6000]);
}

#[test]
fn rfc_6298_waits_a_second() {
    let config = TcpConfig { nagle: false, delayed_ack: None, timer: TimerKind::Rfc6298, ..plain() };
    assert_eq!(retransmissions(settled(&config), 3), [1000, 3000, 7000]);
}

#[test]
fn a_retransmission_is_no_sample_without_timestamps_and_the_back_off_stays() {
    let config = TcpConfig { nagle: false, delayed_ack: None, ..plain() };
    let mut pair = settled(&config);
    let mut losses = 2;
    pair.rule = Box::new(move |_, number, _| {
        if number > 0 && losses > 0 {
            losses -= 1;
            return Fate::Lost;
        }
        Fate::Arrives
    });
    let (srtt, rto) = (pair.client.observe().srtt, pair.client.observe().rto);
    pair.write(120);
    pair.run_for(1_500);
    assert_eq!(pair.client.counters().timeouts, 2);
    assert_eq!((pair.client.observe().srtt, pair.client.observe().rto), (srtt, rto * 4));
    // The next segment that is sent once ends it.
    pair.write(120);
    pair.run_for(1_000);
    assert!(pair.client.observe().rto <= rto);
}

#[test]
fn timestamps_sample_a_retransmission() {
    let config =
        TcpConfig { nagle: false, delayed_ack: None, timestamps: true, timer: TimerKind::Linux, ..plain() };
    let mut pair = settled(&config);
    let mut lose = true;
    pair.rule = Box::new(
        move |_, number, _| {
            if number > 0 && core::mem::take(&mut lose) { Fate::Lost } else { Fate::Arrives }
        },
    );
    pair.write(120);
    pair.run_for(700);
    assert_eq!(pair.client.counters().timeouts, 1);
    assert!(pair.client.observe().rto.abs_diff(Duration::from_millis(400)) < Duration::from_millis(1));
}

#[test]
fn a_timeout_sends_everything_again_in_slow_start() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.rule =
        Box::new(
            |side, number, _| {
                if side == Side::Client && (1..=10).contains(&number) { Fate::Lost } else { Fate::Arrives }
            },
        );
    pair.write(10_000);
    pair.client.close();
    pair.server.close();
    assert!(pair.run_to_end(20));
    let counters = pair.client.counters();
    // Ten and the FIN, which no SACK block reports.
    assert_eq!((counters.timeouts, counters.timeout_retransmissions), (1, 11));
    assert_eq!(counters.fast_retransmissions, 0);
    assert_eq!(pair.client.observe().ssthresh, ByteCount(5_000));
    assert_eq!(pair.delivered[Side::Server as usize], 10_000);
}

#[test]
fn a_dead_peer_is_given_up() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.rule = Box::new(|_, _, _| Fate::Lost);
    pair.write(100);
    assert!(pair.run_to_end(3_600));
    assert_eq!(pair.client.counters().timeouts, 16);
    assert_eq!(pair.events.last().map(|event| event.2), Some(TcpEvent::Closed));
}
