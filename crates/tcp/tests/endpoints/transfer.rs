//! Data transfer without loss: windows, delayed ACKs, Nagle, message boundaries, ECN, zero windows.

use crate::pair::{Fate, Pair, Side, plain};
use gamelane_core::{ByteCount, Duration, Instant};
use gamelane_tcp::{
    CongestionKind, DelayedAck, Flags, Nagle, ReceiveWindow, Segment, TcpConfig, TcpEndpoint,
};

fn sent_lens(end: &mut TcpEndpoint, now: Instant) -> Vec<u32> {
    core::iter::from_fn(|| end.poll_transmit(now)).map(|segment| segment.len).collect()
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.client.write_forever();
    pair.run_for(395);
    let in_round = |round: u64| {
        let from = 150 + round * 100;
        pair.sent.iter().filter(|(at, _)| (from..from + 100).contains(at)).count()
    };
    // The first 16 ACKs are sent at once, one per segment. Then every second segment is acknowledged, so the window
    // grows by half.
    assert_eq!([in_round(0), in_round(1), in_round(2), in_round(3)], [10, 20, 33, 50]);
}

/// A path of 1000 bytes per millisecond and 100 ms, with a queue of 50 segments.
fn filled(congestion: CongestionKind) -> Pair {
    let config =
        TcpConfig { congestion, receive_window: ReceiveWindow::Fixed(ByteCount(1 << 20)), ..plain() };
    let mut pair = Pair::connected(&config, 50);
    pair.serialise(Duration::from_millis(1), 50);
    pair.client.write_forever();
    pair.run_for(60_000);
    pair
}

#[test]
fn every_rule_fills_a_path_and_vegas_without_loss() {
    use CongestionKind::{Bic, Cubic, NewReno, Vegas, Westwood};
    for congestion in [NewReno, Cubic, Bic, Vegas, Westwood] {
        let pair = filled(congestion);
        let kilobytes = pair.delivered[Side::Server as usize] / 1000;
        assert!(kilobytes > 54_000, "{congestion:?}: {kilobytes} of 60 000");
        let retransmissions = pair.client.counters().retransmissions();
        assert_eq!(retransmissions == 0, congestion == Vegas, "{congestion:?}: {retransmissions}");
    }
}

#[test]
fn the_receive_window_limits_the_flight_and_then_the_congestion_window_stays() {
    let config = TcpConfig { receive_window: ReceiveWindow::Fixed(ByteCount(20_000)), ..plain() };
    let mut pair = Pair::connected(&config, 50);
    pair.client.write_forever();
    pair.run_for(5_000);
    let seen = pair.client.observe();
    assert_eq!(seen.bytes_in_flight, ByteCount(20_000));
    assert!(seen.cwnd <= ByteCount(42_000), "{seen:?}");
    let rounds = pair.delivered[Side::Server as usize] / 20_000;
    assert!((45..=50).contains(&rounds), "{rounds}");
}

#[test]
fn every_second_full_segment_is_acknowledged_and_a_single_one_after_the_delay() {
    let config = TcpConfig { quick_acks: 0, ..plain() };
    let mut pair = Pair::connected(&config, 50);
    let before = pair.server.counters().segments_sent;
    pair.write(5_000);
    pair.run_for(50);
    assert_eq!(pair.server.counters().segments_sent - before, 2);
    pair.run_for(39);
    assert_eq!(pair.server.counters().segments_sent - before, 2);
    pair.run_for(1);
    assert_eq!(pair.server.counters().segments_sent - before, 3);
    let immediate = TcpConfig { delayed_ack: DelayedAck::Off, ..config };
    let mut pair = Pair::connected(&immediate, 50);
    let before = pair.server.counters().segments_sent;
    pair.write(5_000);
    pair.run_for(50);
    assert_eq!(pair.server.counters().segments_sent - before, 5);
}

#[test]
fn after_a_long_gap_acks_are_quick_again() {
    let config = TcpConfig { quick_acks: 2, nagle: Nagle::Off, ..plain() };
    let mut pair = Pair::connected(&config, 50);
    // The round trip is 100 ms, so the receiver's own timeout is 300 ms.
    let mut acked_after = |gap: u64| {
        pair.run_for(gap);
        let before = pair.server.counters().segments_sent;
        pair.write(120);
        pair.run_for(55);
        pair.server.counters().segments_sent > before
    };
    assert_eq!([200; 4].map(&mut acked_after), [true, true, false, false]);
    assert_eq!([1_000, 200, 200].map(&mut acked_after), [true, true, false]);
}

#[test]
fn nagle_holds_a_small_write_until_the_last_is_acknowledged() {
    let mut pair = Pair::connected(&plain(), 50);
    for _ in 0..3 {
        pair.write(120);
    }
    pair.run_for(300);
    assert_eq!(pair.sent, [(150, 1), (250, 121)]);
    let hasty = TcpConfig { nagle: Nagle::Off, ..plain() };
    let mut pair = Pair::connected(&hasty, 50);
    for _ in 0..3 {
        pair.write(120);
    }
    assert_eq!(pair.sent, [(150, 1), (150, 121), (150, 241)]);
}

#[test]
fn without_nagle_two_writes_at_once_are_two_segments() {
    let mut pair = Pair::connected(&TcpConfig { nagle: Nagle::Off, ..plain() }, 50);
    pair.client.write(ByteCount(120));
    pair.client.write(ByteCount(1300));
    let segments: Vec<Segment> = core::iter::from_fn(|| pair.client.poll_transmit(pair.now)).collect();
    let shape: Vec<_> = segments.iter().map(|segment| (segment.len, segment.flags.psh())).collect();
    assert_eq!(shape, [(120, true), (1000, false), (300, true)]);
}

#[test]
fn writes_held_back_by_the_window_share_segments() {
    let config =
        TcpConfig { nagle: Nagle::Off, receive_window: ReceiveWindow::Fixed(ByteCount(500)), ..plain() };
    let mut pair = Pair::connected(&config, 50);
    for _ in 0..8 {
        pair.write(120);
    }
    pair.run_for(150);
    // Four segments fit into the window. The waiting data is sent together when half the window is free.
    assert_eq!(pair.sent, [(150, 1), (150, 121), (150, 241), (150, 361), (250, 481), (250, 741)]);
    assert_eq!(pair.delivered[Side::Server as usize], 960);
}

#[test]
fn an_idle_connection_starts_again_with_the_initial_window() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.write(200_000);
    pair.run_for(2_000);
    assert!(pair.client.observe().cwnd > ByteCount(20_000));
    let before = pair.sent.len();
    pair.write(100_000);
    assert_eq!(pair.sent.len() - before, 10);
}

#[test]
fn a_mark_halves_the_window_once_and_is_answered() {
    let config = TcpConfig { ecn: true, ..plain() };
    let mut pair = Pair::connected(&config, 50);
    pair.rule = Box::new(|side, number, _| {
        if side == Side::Client && (30..40).contains(&number) { Fate::Marked } else { Fate::Arrives }
    });
    pair.client.write_forever();
    pair.run_for(800);
    let counters = *pair.client.counters();
    assert_eq!((counters.ecn_reductions, counters.retransmissions()), (1, 0));
    assert_eq!(pair.log.matches(" CWR").count(), 1);
    // The echo stops when CWR arrives.
    let last = pair.log.lines().rfind(|line| line.contains("server")).unwrap();
    assert!(!last.contains("ECE"), "{last}");
}

#[test]
fn a_shut_window_is_probed_until_it_opens() {
    let mut client = TcpEndpoint::connect(plain(), Instant::ZERO);
    let syn = client.poll_transmit(Instant::ZERO).unwrap();
    let flags = Flags { syn: true, ack: true, ..Flags::default() }.into();
    let mut now = Instant::from_millis(100);
    let answer = Segment { ack: syn.end(), window: 0, flags, mss: syn.mss, ..Segment::default() };
    client.handle_segment(&answer, false, now);
    client.write(ByteCount(3_000));
    assert_eq!(sent_lens(&mut client, now), [0], "the ACK of the handshake");
    let mut probes = Vec::new();
    let ack = Segment { seq: 1, ack: 1, flags: Flags { ack: true, ..Flags::default() }.into(), ..answer };
    let ack = Segment { flags: Flags { ack: true, ..Flags::default() }.into(), mss: None, ..ack };
    for _ in 0..4 {
        now = client.poll_timeout().unwrap();
        client.handle_timeout(now);
        let probe = client.poll_transmit(now).unwrap();
        assert_eq!((probe.seq, probe.len), (0, 0));
        assert!(client.poll_transmit(now).is_none());
        probes.push(now.as_nanos() / 1_000_000);
        client.handle_segment(&ack, false, now);
    }
    assert_eq!(probes, [400, 1000, 2200, 4600]);
    client.handle_segment(&Segment { window: 3_000, ..ack }, false, now);
    assert_eq!(sent_lens(&mut client, now), [1000, 1000, 1000]);
    assert_eq!(client.counters().window_probes, 4);
}

#[test]
fn a_window_smaller_than_a_segment_is_used_when_the_timer_says_so() {
    let mut client = TcpEndpoint::connect(plain(), Instant::ZERO);
    let syn = client.poll_transmit(Instant::ZERO).unwrap();
    let flags = Flags { syn: true, ack: true, ..Flags::default() }.into();
    let answer = Segment { ack: 1, window: 5_000, flags, mss: syn.mss, ..Segment::default() };
    let now = Instant::from_millis(100);
    client.handle_segment(&answer, false, now);
    client.write_forever();
    assert_eq!(sent_lens(&mut client, now), [1000; 5]);
    let now = Instant::from_millis(200);
    let flags = Flags { ack: true, ..Flags::default() }.into();
    client.handle_segment(
        &Segment { seq: 1, ack: 5_001, window: 300, flags, ..Segment::default() },
        false,
        now,
    );
    assert!(sent_lens(&mut client, now).is_empty(), "silly window");
    let now = client.poll_timeout().unwrap();
    client.handle_timeout(now);
    assert_eq!(sent_lens(&mut client, now), [300]);
}

#[test]
fn data_flows_both_ways_and_carries_acks() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.client.write(ByteCount(100_000));
    pair.server.write(ByteCount(70_000));
    pair.client.close();
    pair.server.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered, [70_000, 100_000]);
    assert_eq!(pair.client.counters().retransmissions(), 0);
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

#[test]
fn early_timeouts_do_nothing() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.write(100);
    let deadline = pair.client.poll_timeout().unwrap();
    pair.client.handle_timeout(deadline - Duration::from_nanos(1));
    assert_eq!(pair.client.poll_timeout(), Some(deadline));
    assert!(pair.client.poll_transmit(pair.now).is_none());
}
