//! Scripted tests of the sending half: the order of streams, coalescing, credits, early repeats, lost carriers.

use gamelane_core::{Duration, Instant};
use gamelane_mux::*;

const C0: CarrierId = CarrierId(0);
const C1: CarrierId = CarrierId(1);
const ROOM: usize = 100_000;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn up(config: MuxConfig) -> Mux<Length> {
    let mut mux = Mux::new(config);
    for carrier in 0..config.carriers {
        mux.carrier_up(CarrierId(carrier), CarrierKind::Ordered, at(0));
    }
    mux
}

/// Adds streams that the peer has confirmed, so that only data remains to be sent.
fn with_streams(config: MuxConfig, count: u64) -> Mux<Length> {
    let mut mux = up(config);
    for stream in 0..count {
        mux.accept(StreamId(stream));
    }
    mux
}

/// Stream and payload of the frames that a carrier sends now.
fn sent(mux: &mut Mux<Length>, carrier: CarrierId, now: Instant) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| mux.poll_frame(carrier, ROOM, now))
        .filter_map(|frame| match frame {
            Frame::Data { stream, body, .. } => Some((stream.0, body.0)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_thin_stream_goes_before_a_fat_one_that_was_first() {
    let config = MuxConfig { max_payload: 1400, ..MuxConfig::default() };
    let mut mux = with_streams(config, 2);
    mux.write(StreamId(0), Length(60_000), at(0)).unwrap();
    for _ in 0..3 {
        mux.poll_frame(C0, ROOM, at(0));
    }
    mux.write(StreamId(1), Length(80), at(1)).unwrap();
    assert_eq!(sent(&mut mux, C0, at(1))[0], (1, 80));
}

#[test]
fn fat_streams_share_evenly_whatever_their_pieces() {
    let config = MuxConfig { max_payload: 1000, ..MuxConfig::default() };
    let mut mux = with_streams(config, 2);
    for _ in 0..50 {
        mux.write(StreamId(0), Length(1000), at(0)).unwrap();
    }
    for _ in 0..500 {
        mux.write(StreamId(1), Length(100), at(0)).unwrap();
    }
    let mut bytes = [0; 2];
    for _ in 0..200 {
        if let Some(Frame::Data { stream, body, .. }) = mux.poll_frame(C0, ROOM, at(0)) {
            bytes[stream.0 as usize] += body.0;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1500 + 1000, "{bytes:?}");
    }
}

#[test]
fn frames_wait_for_company_up_to_the_deadline() {
    let coalescing = Some(Coalescing { deadline: Duration::from_millis(20), fill: 1400 });
    let mut mux = with_streams(MuxConfig { coalescing, ..MuxConfig::default() }, 20);
    mux.write(StreamId(3), Length(70), at(100)).unwrap();
    mux.write(StreamId(5), Length(80), at(110)).unwrap();
    assert_eq!(sent(&mut mux, C0, at(119)), []);
    assert_eq!(mux.poll_timeout(), Some(at(120)));
    assert_eq!(sent(&mut mux, C0, at(120)), [(3, 70), (5, 80)]);
    assert_eq!(mux.poll_timeout(), None);
    // The next frame starts a new deadline; a full packet does not wait for it.
    mux.write(StreamId(4), Length(700), at(130)).unwrap();
    assert_eq!(sent(&mut mux, C0, at(130)), []);
    mux.write(StreamId(6), Length(700), at(131)).unwrap();
    assert_eq!(sent(&mut mux, C0, at(131)), [(4, 700), (6, 700)]);
}

#[test]
fn streams_are_pinned_by_their_ids_or_go_where_least_waits() {
    let pinned = MuxConfig { carriers: 2, ..MuxConfig::default() };
    let mut mux = with_streams(pinned, 4);
    for stream in 0..4 {
        mux.write(StreamId(stream), Length(10), at(0)).unwrap();
    }
    assert_eq!(sent(&mut mux, C0, at(0)), [(0, 10), (2, 10)]);
    assert_eq!(sent(&mut mux, C1, at(0)), [(1, 10), (3, 10)]);

    let mut mux = with_streams(MuxConfig { assignment: Assignment::LeastBacklog, ..pinned }, 4);
    mux.write(StreamId(0), Length(50_000), at(0)).unwrap();
    for stream in 1..4 {
        mux.write(StreamId(stream), Length(10), at(0)).unwrap();
    }
    assert_eq!(sent(&mut mux, C1, at(0)), [(1, 10), (2, 10), (3, 10)]);
    mux.set_backlog(C1, 1 << 20);
    sent(&mut mux, C0, at(0));
    mux.write(StreamId(1), Length(10), at(1)).unwrap();
    assert_eq!(sent(&mut mux, C0, at(1)), [(1, 10)]);
}

#[test]
fn credit_stops_a_stream_and_only_that() {
    let mut mux = with_streams(MuxConfig { initial_credit: 1000, ..MuxConfig::default() }, 2);
    mux.write(StreamId(0), Length(1500), at(0)).unwrap();
    mux.write(StreamId(1), Length(10), at(0)).unwrap();
    assert_eq!(sent(&mut mux, C0, at(0)), [(0, 1000), (1, 10)]);
    mux.handle_credit(StreamId(0), 1200, at(1));
    assert_eq!(sent(&mut mux, C0, at(1)), [(0, 200)]);
    mux.handle_credit(StreamId(0), 1100, at(2));
    assert_eq!(sent(&mut mux, C0, at(2)), [], "a credit is never withdrawn");
    mux.handle_credit(StreamId(0), 5000, at(3));
    assert_eq!(sent(&mut mux, C0, at(3)), [(0, 300)]);
}

#[test]
fn a_full_buffer_refuses_and_says_when_it_takes_again() {
    let config = MuxConfig { buffer: 1000, ..MuxConfig::default() };
    let mut mux = with_streams(config, 1);
    let stream = StreamId(0);
    mux.write(stream, Length(800), at(0)).unwrap();
    assert_eq!((mux.write(stream, Length(300), at(0)), mux.writable(stream)), (Err(WriteError::Full), 200));
    sent(&mut mux, C0, at(0));
    assert_eq!(mux.poll_writable(), None, "sent, but not acknowledged");
    mux.handle_ack(stream, 400, at(1)).unwrap();
    assert_eq!((mux.poll_writable(), mux.writable(stream), mux.buffered()), (Some(stream), 600, 400));
    assert_eq!(mux.handle_ack(stream, 801, at(1)), Err(ProtocolError::AckBeyondSent));
}

#[test]
fn a_late_small_message_is_repeated_on_the_other_carrier() {
    let early_repeat = Some(EarlyRepeat { after_permille: 500, max_len: 200, max_repeats: 2 });
    let mut mux = with_streams(MuxConfig { carriers: 2, early_repeat, ..MuxConfig::default() }, 2);
    mux.set_rtt(Duration::from_millis(100));
    mux.write(StreamId(0), Length(80), at(0)).unwrap();
    sent(&mut mux, C0, at(0));
    mux.write(StreamId(0), Length(300), at(10)).unwrap(); // too large to repeat
    sent(&mut mux, C0, at(10));
    assert_eq!(mux.poll_timeout(), Some(at(50)));
    mux.handle_timeout(at(49));
    assert_eq!(sent(&mut mux, C1, at(49)), []);
    mux.handle_timeout(at(50));
    assert_eq!(sent(&mut mux, C1, at(50)), [(0, 80)]);
    mux.handle_timeout(at(100));
    assert_eq!(sent(&mut mux, C1, at(100)), [(0, 80)]);
    mux.handle_timeout(at(150));
    assert_eq!((sent(&mut mux, C1, at(150)), mux.poll_timeout()), (vec![], None), "two repeats at most");
    // This message is acknowledged in time, so it is not repeated.
    mux.write(StreamId(0), Length(90), at(200)).unwrap();
    sent(&mut mux, C0, at(200));
    mux.handle_ack(StreamId(0), 470, at(240)).unwrap();
    mux.handle_timeout(at(250));
    assert_eq!(sent(&mut mux, C1, at(250)), []);
    assert_eq!((mux.counters().repeats, mux.counters().repeated_bytes), (2, 160));
}

#[test]
fn without_retention_nothing_is_kept() {
    let config = MuxConfig { retain: false, initial_credit: u64::MAX, ..MuxConfig::default() };
    let mut mux = up(config);
    mux.open(StreamId(0), Length(0), at(0));
    for round in 0..1000 {
        mux.write(StreamId(0), Length(1000), at(round)).unwrap();
        assert_eq!(sent(&mut mux, C0, at(round)), [(0, 1000)]);
    }
    mux.finish(StreamId(0), at(2000));
    assert_eq!(sent(&mut mux, C0, at(2000)), [(0, 0)]);
    assert_eq!((mux.buffered(), mux.streams()), (0, 0));
}

#[test]
fn in_steady_state_a_message_allocates_nothing() {
    let early_repeat = Some(EarlyRepeat { after_permille: 1500, max_len: 200, max_repeats: 1 });
    let mut mux = with_streams(MuxConfig { carriers: 2, early_repeat, ..MuxConfig::default() }, 100);
    mux.set_rtt(Duration::from_millis(100));
    let mut demux: Demux<Length> = Demux::new(64 << 10, Duration::from_millis(10));
    for stream in 0..100 {
        demux.expect(StreamId(stream));
    }
    let mut round = |from: u64, until: u64| {
        for ms in from..until {
            let now = at(ms);
            mux.write(StreamId(ms * 7 % 100), Length(80), now).unwrap();
            mux.handle_timeout(now);
            for carrier in [C0, C1] {
                while let Some(frame) = mux.poll_frame(carrier, ROOM, now) {
                    let Frame::Data { stream, position, fin, body } = frame else { continue };
                    demux.handle_data(carrier, stream, position, fin, body, now).unwrap();
                }
            }
            while demux.poll_delivery().is_some() {}
            while let Some(frame) = demux.poll_feedback(false, now) {
                match frame {
                    Frame::Ack { stream, offset } => drop(mux.handle_ack(stream, offset, now).unwrap()),
                    Frame::Credit { stream, limit } => mux.handle_credit(stream, limit, now),
                    _ => {}
                }
            }
        }
    };
    round(0, 45_000); // long enough to use up each stream's first credit
    let allocated = allocation_counter::measure(|| round(45_000, 90_000));
    assert_eq!(allocated.count_total, 0);
}
