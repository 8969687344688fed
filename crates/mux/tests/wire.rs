//! The wire format: every frame is decoded as it was encoded, in chunks of any size. Foreign bytes are refused, and no
//! input panics.

use gamelane_mux::frame::{MAX_HEADER, MAX_METADATA, VERSION, parse};
use gamelane_mux::*;
use proptest::prelude::*;

const MAX_PAYLOAD: usize = 2000;

fn number() -> impl Strategy<Value = u64> {
    (0..varint::MAX / 2, 0..61_u32).prop_map(|(value, shift)| value >> shift)
}

fn frame() -> impl Strategy<Value = Frame<Vec<u8>>> {
    let stream = || number().prop_map(StreamId);
    let position = prop_oneof![Just(Position::Continues), number().prop_map(Position::At)];
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    prop_oneof![
        (any::<[u8; 16]>(), 0..16_u8, number(), number(), any::<bool>()).prop_map(
            |(session, carrier, window, positions, resume)| Frame::Hello(Hello {
                session,
                carrier: CarrierId(carrier),
                carriers: carrier + 1,
                window,
                positions,
                resume,
            })
        ),
        (stream(), bytes(MAX_METADATA)).prop_map(|(stream, metadata)| Frame::Open { stream, metadata }),
        (stream(), position, any::<bool>(), bytes(MAX_PAYLOAD))
            .prop_map(|(stream, position, fin, body)| Frame::Data { stream, position, fin, body }),
        (stream(), number()).prop_map(|(stream, code)| Frame::Reset { stream, code }),
        stream().prop_map(|stream| Frame::Gone { stream }),
        (stream(), number()).prop_map(|(stream, limit)| Frame::Credit { stream, limit }),
        (stream(), number()).prop_map(|(stream, offset)| Frame::Ack { stream, offset }),
        number().prop_map(|token| Frame::Ping { token }),
        number().prop_map(|token| Frame::Pong { token }),
        Just(Frame::Drain),
    ]
}

fn encode(frame: &Frame<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.put_header(&mut bytes);
    bytes.extend(frame.body().into_iter().flatten());
    bytes
}

proptest! {
    #[test]
    fn frames_survive_any_chunks(frames in prop::collection::vec(frame(), 1..8), chunk in 1..40_usize) {
        let mut wire = Vec::new();
        for frame in &frames {
            let bytes = encode(frame);
            prop_assert_eq!(bytes.len(), frame.wire_len());
            wire.extend(bytes);
        }
        let (mut buffer, mut read) = (Vec::new(), Vec::new());
        for part in wire.chunks(chunk) {
            buffer.extend_from_slice(part);
            loop {
                match parse(&buffer, MAX_PAYLOAD) {
                    Ok(Parsed::Frame { frame, header }) => {
                        let body = header..header + frame.body().map_or(0, Body::len);
                        read.push(frame.map_body(|_| buffer[body.clone()].to_vec()));
                        buffer.drain(..body.end);
                    }
                    Ok(Parsed::Incomplete { need }) => {
                        prop_assert!(need > buffer.len() && need <= MAX_PAYLOAD + MAX_HEADER.max(64));
                        break;
                    }
                    Err(error) => return Err(TestCaseError::fail(format!("{error}"))),
                }
            }
        }
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Parsed::Frame { frame, header }) = parse(&bytes, 64) {
            prop_assert!(header + frame.body().map_or(0, Body::len) <= bytes.len());
            // Encoding again gives the same bytes, unless a varint was longer than necessary.
            let body = bytes[header..header + frame.body().map_or(0, Body::len)].to_vec();
            let again = frame.map_body(|_| body);
            let written = encode(&again);
            prop_assert!(written.len() <= bytes.len());
        }
        let _ = datagram::parse(&bytes);
    }

    #[test]
    fn a_broken_frame_of_ours_is_refused_or_read(frame in frame(), at in any::<prop::sample::Index>(), with in any::<u8>()) {
        let mut bytes = encode(&frame);
        let index = at.index(bytes.len());
        bytes[index] ^= with;
        let _ = parse(&bytes, MAX_PAYLOAD);
    }

    #[test]
    fn a_session_survives_any_frames(frames in prop::collection::vec((0..2_u8, frame()), 0..60), far in any::<bool>()) {
        use gamelane_core::{Duration, Instant};
        let mut settings = SessionConfig {
            role: if far { Role::Far } else { Role::Near },
            mux: MuxConfig { carriers: 2, ..MuxConfig::default() },
            window: 1000,
            ack_delay: Duration::ZERO,
            keep_alive: Duration::from_secs(5),
            silence: Duration::from_secs(15),
            resume_window: Duration::from_secs(30),
            max_streams: 10,
            max_owed: 100,
            max_buffered: 1 << 20,
        };
        settings.mux.early_repeat = Some(EarlyRepeat { after_permille: 1000, max_len: 100, max_repeats: 1 });
        let mut session: Session<Vec<u8>> = Session::new([1; 16], settings, Instant::ZERO);
        for carrier in [CarrierId(0), CarrierId(1)] {
            session.carrier_connected(carrier, CarrierKind::Ordered, Instant::ZERO);
            let hello = Hello { session: [1; 16], carrier, carriers: 2, window: 1000, positions: 0, resume: false };
            session.handle_frame(carrier, Frame::Hello(hello), Instant::ZERO).unwrap();
        }
        for (tick, (carrier, frame)) in frames.into_iter().enumerate() {
            let now = Instant::from_millis(tick as u64 * 100);
            if session.handle_frame(CarrierId(carrier), frame, now).is_err() {
                break;
            }
            session.handle_timeout(now);
            for carrier in [CarrierId(0), CarrierId(1)] {
                for _ in 0..100 {
                    let _ = session.poll_frame(carrier, 1500, now);
                }
            }
        }
        prop_assert!(session.buffered() <= 10 * 1000);
    }
}

#[test]
fn what_is_not_ours_is_refused_with_a_reason() {
    let error = |bytes: &[u8]| parse(bytes, 100).unwrap_err().to_string();
    assert_eq!(error(b"GET / HTTP/1.1\r\n"), "0x47 is not the first byte of a frame");
    assert_eq!(error(b"\x16\x03\x01"), "0x16 is not the first byte of a frame");
    assert_eq!(error(b"\xf0SSH-"), "the peer does not speak this protocol: check its address and port");
    assert_eq!(
        error(&[0xf0, b'G', b'L', b'M', 9]),
        format!(
            "the peer speaks version 9 of the protocol, this end version {VERSION}: \
             install the same release on both ends"
        )
    );
    assert_eq!(error(&[0x10, 0, 0x40, 101]), "a frame has a body of 101 bytes, but at most 100 are allowed");
    assert_eq!(
        error(&[0x12, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 5]),
        "a carrier number or offset is out of range"
    );
}

#[test]
fn a_small_message_has_a_header_of_three_to_five_bytes() {
    let header = |stream, position| {
        Frame::Data { stream: StreamId(stream), position, fin: false, body: Length(60) }.wire_len() - 60
    };
    assert_eq!(header(5, Position::Continues), 3);
    assert_eq!(header(175, Position::Continues), 4);
    assert_eq!(header(175, Position::At(60)), 5);
}
