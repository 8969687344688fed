//! The retransmission timer between two endpoints: the sequences of Linux, and those of griwodz2006 section 4.4.

use crate::pair::{Fate, Pair, Side, plain};
use gamelane_core::{ByteCount, Duration};
use gamelane_tcp::{DelayedAck, ModifiedRto, Nagle, TcpConfig, TcpEvent, TcpTuning, TimerKind};

/// A thin stream after the estimator has settled: 120 bytes every second over a round trip of 200 ms.
fn settled(config: &TcpConfig) -> Pair {
    settled_and_tuned(config, TcpTuning::default())
}

fn settled_and_tuned(config: &TcpConfig, tuning: TcpTuning) -> Pair {
    let mut pair = Pair::connected_and_tuned(config, tuning, 100);
    for _ in 0..100 {
        pair.write(120);
        pair.run_for(1_000);
    }
    pair.sent.clear();
    pair
}

/// Milliseconds from the first transmission to each retransmission, after the client's data stops arriving.
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
    let config = TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, ..plain() };
    assert_eq!(retransmissions(settled(&config), 4), [400, 1200, 2800, 6000]);
}

#[test]
fn rfc_6298_waits_a_second() {
    let config =
        TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, timer: TimerKind::Rfc6298, ..plain() };
    assert_eq!(retransmissions(settled(&config), 3), [1000, 3000, 7000]);
}

#[test]
fn the_modified_timer_resends_at_300_600_900_ms() {
    // 1.5 x 200 ms each time (griwodz2006 section 4.4).
    let timer = TimerKind::Modified(ModifiedRto::default());
    let config = TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, timer, ..plain() };
    assert_eq!(retransmissions(settled(&config), 4), [300, 600, 900, 1200]);
}

#[test]
fn the_modified_timer_is_linux_s_with_three_in_flight() {
    let timer = TimerKind::Modified(ModifiedRto::default());
    let mut pair = settled(&TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, timer, ..plain() });
    pair.rule = Box::new(|_, number, _| if number > 0 { Fate::Lost } else { Fate::Arrives });
    for _ in 0..3 {
        pair.write(120);
    }
    // The first of three starts the timer. At that moment nothing else is in flight, so the timeout is 300 ms.
    pair.run_for(299);
    assert_eq!(pair.sent.len(), 3);
    pair.run_for(1);
    // Three small segments fit into a window of one full segment.
    assert_eq!(pair.sent.len(), 6);
    // 400 ms, doubled.
    pair.run_for(799);
    assert_eq!(pair.sent.len(), 6);
    pair.run_for(2);
    assert_eq!(pair.sent.len(), 9);
}

#[test]
fn a_fixed_timer_stays_as_it_is() {
    let timer = TimerKind::Fixed(Duration::from_millis(250));
    let config = TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, timer, ..plain() };
    assert_eq!(retransmissions(settled(&config), 4), [250, 500, 750, 1000]);
}

#[test]
fn linux_2_6_waits_three_seconds_for_the_handshake() {
    let config = TcpConfig { timer: TimerKind::Linux26, ..plain() };
    let mut pair = Pair::of(&config, 100);
    pair.rule = Box::new(|_, _, _| Fate::Lost);
    pair.run_for(9_000);
    let times: Vec<&str> =
        pair.log.lines().map(|line| line.trim_start().split('.').next().unwrap()).collect();
    assert_eq!(times, ["0", "3000", "9000"]);
}

#[test]
fn linear_timeouts_double_after_six() {
    let tuning = TcpTuning { linear_timeouts: true, ..TcpTuning::default() };
    let config = TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, ..plain() };
    let times = retransmissions(settled_and_tuned(&config, tuning), 9);
    // After six timeouts the timeout is still 400 ms, so the seventh comes 400 ms later too. From then on it doubles.
    assert_eq!(times, [400, 800, 1200, 1600, 2000, 2400, 2800, 3600, 5200]);
}

#[test]
fn a_timer_that_does_not_grow_gives_up_after_as_long() {
    let timer = TimerKind::Fixed(Duration::from_millis(300));
    let mut pair = Pair::connected(&TcpConfig { timer, ..plain() }, 50);
    pair.rule = Box::new(|_, _, _| Fate::Lost);
    pair.write(100);
    assert!(pair.run_to_end(3_600));
    // 924.6 s after the first timeout at 300 ms: 3082 intervals, so 3083 timeouts.
    assert_eq!(pair.client.counters().timeouts, 3_083);
}

#[test]
fn a_retransmission_is_no_sample_without_timestamps_and_the_back_off_stays() {
    let config = TcpConfig { nagle: Nagle::Off, delayed_ack: DelayedAck::Off, ..plain() };
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
    // The next segment that is sent once ends the back-off.
    pair.write(120);
    pair.run_for(1_000);
    assert!(pair.client.observe().rto <= rto);
}

#[test]
fn timestamps_sample_a_retransmission() {
    let config = TcpConfig {
        nagle: Nagle::Off,
        delayed_ack: DelayedAck::Off,
        timestamps: true,
        timer: TimerKind::Linux,
        ..plain()
    };
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
    // Ten segments and the FIN, which no SACK block reports.
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
