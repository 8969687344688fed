//! Scripted tests of a pair in virtual time: handshake, resume, expiry, limits, early repeats.

use crate::pair::{FAR, NEAR, Pair, config, millis};
#[allow(unreachable_pub, reason = "a module of tests")]
use gamelane_core::{Duration, Instant};
use gamelane_mux::session::{ABORTED, LIMIT, NoRoom};
use gamelane_mux::*;

#[test]
fn a_stream_opens_carries_both_ways_and_ends_by_halves() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(150));
    let stream = pair.open();
    pair.write(NEAR, stream, b"look\n");
    pair.run_for(millis(60));
    assert!(
        pair.log.iter().any(|(_, end, event)| *end == FAR
            && *event == Event::Opened { stream, metadata: b"metadata".to_vec() })
    );
    assert_eq!(pair.has_read(FAR, stream), b"look\n");
    pair.ends[NEAR].finish(stream, pair.now);
    pair.write(FAR, stream, b"You see a gate.\n");
    pair.run_for(millis(200));
    assert!(pair.ended(FAR, stream));
    assert_eq!((pair.has_read(NEAR, stream), pair.ended(NEAR, stream)), (&b"You see a gate.\n"[..], false));
    pair.ends[FAR].finish(stream, pair.now);
    pair.run_for(millis(400));
    assert!(pair.ended(NEAR, stream));
    assert!(pair.ends.iter().all(Session::is_idle));
}

#[test]
fn a_small_message_costs_its_header_of_three_or_four_bytes() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(150));
    let stream = pair.open();
    pair.settle();
    let before = pair.wire[NEAR];
    pair.write(NEAR, stream, &[1; 40]);
    pair.settle();
    pair.write(NEAR, stream, &[2; 70]);
    pair.settle();
    assert_eq!(pair.wire[NEAR] - before, (40 + 3) + (70 + 4));
}

#[test]
fn what_a_lost_carrier_had_not_delivered_is_sent_again_and_nothing_else() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(150));
    let stream = pair.open();
    pair.write(NEAR, stream, &[1; 100]);
    pair.run_for(millis(60));
    // The data has arrived, but its acknowledgement is lost with the carrier.
    pair.write(NEAR, stream, &[2; 100]);
    pair.settle();
    pair.cut(0);
    pair.run_for(millis(500));
    assert_eq!(pair.has_read(FAR, stream).len(), 100);
    pair.connect(0);
    pair.run_for(millis(500));
    assert_eq!(pair.has_read(FAR, stream), [[1; 100], [2; 100]].concat());
    assert_eq!(pair.ends[FAR].demux().counters().duplicate_bytes, 0, "the handshake told what had arrived");
    assert_eq!(pair.ends[NEAR].mux().counters().requeued_bytes, 200);
    assert_eq!(pair.ends[NEAR].mux().counters().payload_bytes, 300);
}

#[test]
fn the_other_carrier_takes_over_at_once() {
    let mut pair = Pair::new(config(2), &[50, 50], 1);
    pair.run_for(millis(150));
    let streams: Vec<_> = (0..4).map(|_| pair.open()).collect();
    for stream in &streams {
        pair.write(NEAR, *stream, b"before");
    }
    pair.settle();
    pair.cut(0);
    for stream in &streams {
        pair.write(NEAR, *stream, b" after");
    }
    pair.run_for(millis(60));
    for stream in &streams {
        assert_eq!(pair.has_read(FAR, *stream), b"before after");
    }
}

#[test]
fn a_stream_nobody_reads_stops_at_its_window_and_stops_no_other() {
    let mut pair = Pair::new(config(1), &[5], 1);
    pair.run_for(millis(50));
    let (stuck, live) = (pair.open(), pair.open());
    pair.unread.push((FAR, stuck));
    for round in 0..200_u32 {
        let room = pair.ends[NEAR].writable(stuck).min(10_000);
        pair.write(NEAR, stuck, &vec![7; room as usize]);
        pair.write(NEAR, live, &round.to_be_bytes());
        pair.run_for(millis(50));
    }
    assert_eq!(pair.has_read(FAR, live).len(), 800);
    assert_eq!(pair.ends[FAR].demux().buffered(), 64 << 10);
    assert_eq!(pair.ends[NEAR].buffered(), 64 << 10, "the same amount waits at the sender");
    // When the stream is read at last, all data arrives.
    pair.unread.clear();
    pair.drain(FAR, stuck);
    pair.run_for(millis(500));
    assert_eq!(pair.has_read(FAR, stuck).len(), 128 << 10);
    assert!(pair.log.iter().any(|(_, end, event)| (*end, event) == (NEAR, &Event::Writable(stuck))));
}

#[test]
fn a_reset_ends_both_halves_and_leaves_nothing_behind() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(150));
    let stream = pair.open();
    pair.write(NEAR, stream, b"hello");
    pair.run_for(millis(60));
    pair.ends[FAR].reset(stream, ABORTED, pair.now);
    pair.settle();
    pair.cut(0); // loses the reset too
    pair.connect(0);
    pair.run_for(millis(400));
    assert!(
        pair.log
            .iter()
            .any(|(_, end, event)| (*end, event) == (NEAR, &Event::Reset { stream, code: ABORTED }))
    );
    assert!(pair.ends.iter().all(Session::is_idle));
}

#[test]
fn a_stream_given_up_before_its_opening_was_sent_leaves_no_hole() {
    let mut pair = Pair::disconnected(config(1), &[50], 1);
    let (dropped, kept) = (pair.open(), pair.open());
    pair.ends[NEAR].reset(dropped, ABORTED, pair.now);
    pair.write(NEAR, kept, b"still here");
    pair.connect(0);
    pair.run_for(millis(400));
    assert_eq!(pair.has_read(FAR, kept), b"still here");
    let opened = pair.log.iter().filter(|(_, _, event)| matches!(event, Event::Opened { .. })).count();
    assert_eq!((opened, pair.ends[NEAR].streams()), (1, 1));
}

#[test]
fn streams_beyond_the_limit_are_refused_by_either_end() {
    let mut limited = config(1);
    limited.max_streams = 2;
    let mut pair = Pair::new(limited, &[10], 1);
    pair.run_for(millis(50));
    pair.open();
    pair.open();
    let now = pair.now;
    assert_eq!(pair.ends[NEAR].open(Vec::new(), now), Err(NoRoom::Streams));

    // A near end that allows more streams than its peer.
    let mut pair = Pair::new(config(1), &[10], 1);
    pair.ends[FAR] = Session::new([7; 16], SessionConfig { role: Role::Far, ..limited }, pair.now);
    pair.ends[FAR].carrier_connected(CarrierId(0), CarrierKind::Ordered, pair.now);
    let streams: Vec<_> = (0..3).map(|_| pair.open()).collect();
    pair.run_for(millis(200));
    let refused = Event::Reset { stream: streams[2], code: LIMIT };
    assert!(pair.log.iter().any(|(_, end, event)| (*end, event) == (NEAR, &refused)));
    assert_eq!((pair.ends[NEAR].streams(), pair.ends[FAR].streams()), (2, 2));
}

/// A far end of two streams that may owe three answers, after a hello.
fn small_far_end() -> Session<Vec<u8>> {
    let config = SessionConfig { role: Role::Far, max_streams: 2, max_owed: 3, ..config(1) };
    let mut far = Session::new([7; 16], config, Instant::ZERO);
    far.carrier_connected(CarrierId(0), CarrierKind::Ordered, Instant::ZERO);
    let hello = Hello {
        session: [7; 16],
        carrier: CarrierId(0),
        carriers: 1,
        window: 100,
        positions: 0,
        resume: false,
    };
    far.handle_frame(CarrierId(0), Frame::Hello(hello), Instant::ZERO).unwrap();
    far
}

#[test]
fn a_peer_that_opens_streams_and_confirms_no_refusal_ends_its_session() {
    let mut far = small_far_end();
    let mut open = |stream| {
        let open = Frame::Open { stream: StreamId(stream), metadata: Vec::new() };
        let result = far.handle_frame(CarrierId(0), open, Instant::ZERO);
        while far.poll_frame(CarrierId(0), 2000, Instant::ZERO).is_some() {}
        result
    };
    assert!((0..5).all(|stream| open(stream).is_ok()));
    assert_eq!(open(5), Err(ProtocolError::Unconfirmed));
}

#[test]
fn what_a_peer_does_not_read_stays_bounded() {
    let mut far = small_far_end();
    let mut take = |frame| far.handle_frame(CarrierId(0), frame, Instant::ZERO);
    // The first frame is our hello.
    for token in 0..1000 {
        take(Frame::Ping { token }).unwrap();
    }
    // The same end is confirmed once.
    for stream in [0, 1, 2, 2] {
        take(Frame::Reset { stream: StreamId(stream), code: ABORTED }).unwrap();
    }
    assert_eq!(take(Frame::Reset { stream: StreamId(3), code: ABORTED }), Err(ProtocolError::Unconfirmed));
    let sent: Vec<_> = std::iter::from_fn(|| far.poll_frame(CarrierId(0), 2000, Instant::ZERO)).collect();
    assert_eq!(sent.iter().filter(|frame| matches!(frame, Frame::Pong { token: 999 })).count(), 1);
    assert!(sent.len() < 8, "{sent:?}");
}

#[test]
fn a_silent_carrier_is_found_by_its_silence() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(150));
    pair.black_hole(0);
    pair.run_for(Duration::from_secs(16));
    let silent: Vec<_> =
        pair.log.iter().filter(|(_, _, event)| *event == Event::CarrierSilent(CarrierId(0))).collect();
    assert_eq!(silent.len(), 2);
    assert!(silent.iter().all(|(at, ..)| (15.0..15.2).contains(&at.as_secs_f64())));
}

#[test]
fn without_carriers_the_session_ends_after_its_window() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(200));
    pair.cut(0);
    pair.run_for(Duration::from_secs(29));
    assert!(!pair.log.iter().any(|(_, _, event)| *event == Event::Expired));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.log.iter().filter(|(_, _, event)| *event == Event::Expired).count(), 2);
    let now = pair.now;
    assert_eq!(pair.ends[NEAR].open(Vec::new(), now), Err(NoRoom::Expired));
}

#[test]
fn a_far_end_that_was_restarted_does_not_pretend() {
    let mut pair = Pair::new(config(1), &[50], 1);
    pair.run_for(millis(200));
    pair.cut(0);
    pair.ends[FAR] = Session::new([7; 16], SessionConfig { role: Role::Far, ..config(1) }, pair.now);
    pair.connect(0);
    pair.run_for(millis(200));
    assert!(pair.log.iter().any(|(_, end, event)| (*end, event) == (NEAR, &Event::Expired)));
}

#[test]
fn keep_alive_measures_the_round_trip() {
    let mut pair = Pair::new(config(2), &[30, 80], 1);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.ends[NEAR].rtt(CarrierId(0)), Some(millis(60)));
    assert_eq!(pair.ends[FAR].rtt(CarrierId(1)), Some(millis(160)));
    assert_eq!(pair.ends[NEAR].carriers_up(), 2, "pings keep idle carriers up");
}

#[test]
fn an_early_repeat_overtakes_a_stuck_carrier() {
    let mut repeating = config(2);
    repeating.mux.early_repeat = Some(EarlyRepeat { after_permille: 1500, max_len: 300, max_repeats: 1 });
    let mut pair = Pair::new(repeating, &[20, 20], 1);
    pair.run_for(millis(200));
    let stream = pair.open();
    pair.write(NEAR, stream, b"first");
    pair.run_for(millis(200));
    assert_eq!(pair.ends[NEAR].mux().counters().repeats, 0, "no repeats before the peer knows the stream");
    pair.black_hole(0);
    let written = pair.now;
    pair.write(NEAR, stream, b"move north");
    while pair.has_read(FAR, stream).len() < 15 {
        pair.run_for(millis(1));
    }
    // One and a half round trips of 40 ms, plus the one-way delay.
    assert_eq!(pair.now.saturating_since(written), millis(60 + 20));
}

#[test]
fn an_end_without_bytes_moves_the_cursor_too() {
    // The byte goes on the slow carrier and the end alone on the fast one. The slow carrier is lost, so the byte is
    // sent again on the fast one.
    let mut spread = config(2);
    spread.mux.assignment = Assignment::LeastBacklog;
    let mut pair = Pair::new(spread, &[100, 1], 1);
    pair.run_for(millis(300));
    let stream = pair.open();
    pair.run_for(millis(300));
    for part in [&b"a"[..], b"b"] {
        pair.write(NEAR, stream, part);
        pair.settle();
    }
    pair.ends[NEAR].finish(stream, pair.now);
    pair.settle();
    pair.cut(0);
    pair.run_for(millis(300));
    assert_eq!((pair.has_read(FAR, stream), pair.ended(FAR, stream)), (&b"ab"[..], true));
}

#[test]
fn a_stream_is_forgotten_although_its_last_confirmation_was_lost_with_another_carrier() {
    for (by_reset, near_knows_first) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut pair = Pair::new(config(2), &[50, 50], 1);
        pair.run_for(millis(150));
        let streams: Vec<_> = (0..4).map(|_| pair.open()).collect();
        pair.run_for(millis(200));
        for stream in &streams {
            if by_reset {
                pair.ends[NEAR].reset(*stream, ABORTED, pair.now);
            } else {
                pair.write(NEAR, *stream, b"the last words");
                pair.ends[NEAR].finish(*stream, pair.now);
                pair.ends[FAR].finish(*stream, pair.now);
            }
        }
        // The far end has confirmed on carrier 0, the near end has not heard it.
        pair.run_for(millis(90));
        if near_knows_first {
            // What the far end confirms now is lost too.
            pair.cut_at(NEAR, 0);
            pair.run_for(millis(200));
        }
        pair.cut(0);
        pair.run_for(millis(100));
        pair.connect(0);
        pair.run_for(millis(1000));
        assert!(pair.ends.iter().all(Session::is_idle), "{by_reset} {near_knows_first}");
    }
}

#[test]
fn the_end_goes_with_no_piece_but_the_last() {
    let mut settings = config(2);
    settings.mux.assignment = Assignment::LeastBacklog;
    let mut pair = Pair::new(settings, &[100, 50], 1);
    pair.run_for(millis(500));
    let stream = pair.open();
    pair.run_for(millis(500));
    let mut written = Vec::new();
    // Each write starts to send on the other carrier.
    for part in [b"first", b"other", b"third"] {
        pair.write(NEAR, stream, part);
        written.extend_from_slice(part);
        pair.run_for(millis(1));
    }
    pair.ends[NEAR].finish(stream, pair.now);
    pair.run_for(millis(10));
    pair.cut(0);
    pair.run_for(millis(1000));
    assert_eq!((pair.has_read(FAR, stream), pair.ended(FAR, stream)), (&written[..], true));
}
