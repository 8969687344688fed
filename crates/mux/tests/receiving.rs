//! Scripted tests of the receiving half: order, duplicates, holes, credits, acknowledgements, protocol violations.

use gamelane_core::{Duration, Instant};
use gamelane_mux::demux::Received;
use gamelane_mux::*;
use proptest::prelude::*;

const C0: CarrierId = CarrierId(0);
const C1: CarrierId = CarrierId(1);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn with_streams(count: u64) -> Demux<Vec<u8>> {
    let mut demux = Demux::new(1000, Duration::from_millis(25));
    for stream in 0..count {
        demux.expect(StreamId(stream));
    }
    demux
}

fn data(
    demux: &mut Demux<Vec<u8>>,
    stream: u64,
    offset: u64,
    body: &[u8],
    ms: u64,
) -> Result<Received, ProtocolError> {
    demux.handle_data(C0, StreamId(stream), Position::At(offset), false, body.to_vec(), at(ms))
}

fn delivered(demux: &mut Demux<Vec<u8>>) -> Vec<(u64, Vec<u8>)> {
    std::iter::from_fn(|| demux.poll_delivery()).map(|(stream, body)| (stream.0, body)).collect()
}

#[test]
fn a_hole_in_one_stream_holds_back_no_other() {
    let mut demux = with_streams(2);
    data(&mut demux, 0, 3, b"def", 0).unwrap();
    data(&mut demux, 1, 0, b"xyz", 5).unwrap();
    assert_eq!(delivered(&mut demux), [(1, b"xyz".to_vec())]);
    data(&mut demux, 0, 0, b"abc", 40).unwrap();
    assert_eq!(delivered(&mut demux), [(0, b"abc".to_vec()), (0, b"def".to_vec())]);
    let counters = demux.counters();
    assert_eq!((counters.held_frames, counters.held_time), (1, Duration::from_millis(40)));
}

#[test]
fn copies_and_overlaps_are_taken_once() {
    let mut demux = with_streams(1);
    for (offset, body) in
        [(0, &b"abcd"[..]), (0, b"abcd"), (2, b"cdef"), (8, b"ij"), (6, b"ghijkl"), (1, b"b")]
    {
        data(&mut demux, 0, offset, body, 0).unwrap();
    }
    let bytes: Vec<u8> = delivered(&mut demux).into_iter().flat_map(|(_, body)| body).collect();
    assert_eq!(bytes, b"abcdefghijkl");
    let counters = demux.counters();
    assert_eq!((counters.payload_bytes, counters.duplicate_bytes, counters.duplicate_frames), (12, 9, 2));
}

#[test]
fn positions_continue_by_carrier() {
    let mut demux = with_streams(1);
    let stream = StreamId(0);
    let mut go = |carrier, position, body: &[u8]| {
        demux.handle_data(carrier, stream, position, false, body.to_vec(), at(0)).unwrap();
    };
    go(C0, Position::Continues, b"ab");
    go(C1, Position::At(2), b"cd");
    go(C0, Position::At(4), b"ef");
    go(C1, Position::Continues, b"cd"[..0].as_ref());
    go(C0, Position::Continues, b"gh");
    let bytes: Vec<u8> = delivered(&mut demux).into_iter().flat_map(|(_, body)| body).collect();
    assert_eq!(bytes, b"abcdefgh");
}

#[test]
fn acknowledgements_wait_for_company_or_their_delay() {
    let mut demux = with_streams(3);
    data(&mut demux, 0, 0, b"a", 100).unwrap();
    data(&mut demux, 1, 0, b"bb", 110).unwrap();
    assert_eq!((demux.poll_feedback(false, at(124)), demux.poll_timeout()), (None, Some(at(125))));
    let all: Vec<_> = std::iter::from_fn(|| demux.poll_feedback(false, at(125))).collect();
    let ack = |stream, offset| Frame::Ack { stream: StreamId(stream), offset };
    assert_eq!(all, [ack(0, 1), ack(1, 2)]);
    data(&mut demux, 0, 1, b"a", 130).unwrap();
    assert_eq!(demux.poll_feedback(true, at(130)), Some(ack(0, 2)), "along with data");
    data(&mut demux, 2, 0, &[0; 250], 140).unwrap();
    assert_eq!(demux.poll_feedback(false, at(140)), Some(ack(2, 250)), "a quarter of the window");
}

#[test]
fn reading_gives_credit_half_a_window_at_a_time() {
    let mut demux = with_streams(1);
    data(&mut demux, 0, 0, &[0; 1000], 0).unwrap();
    assert_eq!(data(&mut demux, 0, 1000, b"x", 0), Err(ProtocolError::BeyondCredit));
    demux.read(StreamId(0), 499).unwrap();
    assert!(!matches!(demux.poll_feedback(false, at(0)), Some(Frame::Credit { .. })));
    demux.read(StreamId(0), 1).unwrap();
    assert_eq!(demux.poll_feedback(false, at(0)), Some(Frame::Credit { stream: StreamId(0), limit: 1500 }));
    assert_eq!(demux.buffered(), 500);
}

#[test]
fn an_end_that_moves_is_refused() {
    let fin = |demux: &mut Demux<Vec<u8>>, offset, body: &[u8]| {
        demux.handle_data(C0, StreamId(0), Position::At(offset), true, body.to_vec(), at(0))
    };
    let mut demux = with_streams(1);
    fin(&mut demux, 0, b"abc").unwrap();
    assert_eq!(fin(&mut demux, 0, b"ab"), Err(ProtocolError::EndMoved));
    assert_eq!(data(&mut demux, 0, 3, b"d", 0), Err(ProtocolError::EndMoved));
    let mut demux = with_streams(1);
    data(&mut demux, 0, 5, b"f", 0).unwrap();
    assert_eq!(fin(&mut demux, 0, b"abc"), Err(ProtocolError::EndMoved));
}

#[test]
fn a_peer_that_scatters_is_cut_off() {
    let mut demux: Demux<Vec<u8>> = Demux::new(1 << 20, Duration::ZERO);
    demux.expect(StreamId(0));
    let error = (0..4096).find_map(|piece| data(&mut demux, 0, 1 + piece * 2, b"x", 0).err());
    assert_eq!(error, Some(ProtocolError::TooScattered));
}

proptest! {
    /// Any set of pieces that covers a stream, in any order and with any overlap, reads as the stream.
    #[test]
    fn any_cover_reads_as_the_stream(
        len in 1..400_usize,
        pieces in prop::collection::vec((0..400_usize, 1..60_usize), 0..120),
        seed in any::<u64>(),
    ) {
        let whole: Vec<u8> = (0..len).map(|byte| (byte as u64 ^ seed) as u8).collect();
        let mut demux = with_streams(1);
        let rest = (0..len).step_by(50).map(|start| (start, 50));
        let mut read = Vec::new();
        for (start, size) in pieces.into_iter().chain(rest) {
            let (start, end) = (start.min(len), (start + size).min(len));
            data(&mut demux, 0, start as u64, &whole[start..end], 0).unwrap();
            read.extend(delivered(&mut demux).into_iter().flat_map(|(_, body)| body));
            prop_assert!(whole.starts_with(&read));
        }
        prop_assert_eq!(read, whole);
        prop_assert_eq!(demux.buffered(), 0);
    }
}
