//! What the fuzzer does with bytes a peer may send, and `crates/mux/tests/corpus.rs` with the stored corpus: nothing may panic,
//! what is read is what was written, and what is held stays within credit.

use gamelane_core::{Duration, Instant};
use gamelane_mux::datagram;
use gamelane_mux::{
    Body as _, CarrierId, CarrierKind, Collector, Datagram, Frame, Hello, Length, Message, MuxConfig, Parsed,
    RepeatLimits, Repeater, Role, Session, SessionConfig, StreamId, frame,
};

const LONGEST: usize = 16 << 10;
const WINDOW: u64 = 1024;
const STREAMS: usize = 8;

/// Frames one behind the other, bodies left out: each is written again as it was read, and a part of one is never a frame.
pub(crate) fn frames(mut bytes: &[u8]) {
    while let Ok(Parsed::Frame { frame, header }) = frame::parse(bytes, LONGEST) {
        let whole = header + frame.body().map_or(0, |body| body.len());
        for part in [0, header / 2, header.saturating_sub(1), whole - 1] {
            match frame::parse(&bytes[..part], LONGEST) {
                Ok(Parsed::Incomplete { need }) => assert!(need > part && need <= whole.max(header)),
                other => panic!("{part} of {whole} bytes gave {other:?}"),
            }
        }
        let mut again = Vec::new();
        frame.put_header(&mut again);
        again.resize(again.len() + frame.body().map_or(0, |body| body.len()), 0);
        // A peer may write a number longer than need be; we do not.
        assert!(again.len() == frame.wire_len() && again.len() <= whole);
        assert!(
            matches!(frame::parse(&again, LONGEST), Ok(Parsed::Frame { frame: same, .. }) if same == frame)
        );
        bytes = &bytes[whole..];
    }
}

/// A peer that has said hello and may say anything: the first byte chooses our role, then frames on two carriers in turn.
pub(crate) fn session(bytes: &[u8]) {
    let Some((&choice, mut bytes)) = bytes.split_first() else { return };
    let role = if choice & 1 == 0 { Role::Near } else { Role::Far };
    let mut now = Instant::ZERO;
    let id = [7; 16];
    let config = SessionConfig {
        role,
        mux: MuxConfig { carriers: 2, buffer: WINDOW, ..MuxConfig::default() },
        window: WINDOW,
        ack_delay: Duration::from_millis(5),
        keep_alive: Duration::from_secs(1),
        silence: Duration::from_secs(3),
        resume_window: Duration::from_secs(5),
        max_streams: STREAMS,
        max_owed: STREAMS,
        max_buffered: 1 << 20,
    };
    let mut session: Session<Length> = Session::new(id, config, now);
    let carriers = [CarrierId(0), CarrierId(1)];
    for carrier in carriers {
        session.carrier_connected(carrier, CarrierKind::Ordered, now);
    }
    for carrier in carriers {
        let hello = Hello { session: id, carrier, carriers: 2, window: WINDOW, positions: 0, resume: false };
        session.handle_frame(carrier, Frame::Hello(hello), now).expect("a proper hello");
    }
    if role == Role::Near {
        for _ in 0..3 {
            let stream = session.open(Length(4), now).expect("there is room");
            session.write(stream, Length(100), now).expect("there is room");
        }
    }
    let mut turn = usize::from(choice >> 1 & 1);
    while let Ok(Parsed::Frame { frame, header }) = frame::parse(bytes, LONGEST) {
        // Bodies are lengths only, so that a short input may say much.
        bytes = &bytes[header..];
        now += Duration::from_millis(3);
        turn ^= 1;
        if session.handle_frame(carriers[turn], frame, now).is_err() {
            return;
        }
        if choice & 4 != 0 {
            session.carrier_down(carriers[turn], now);
        }
        drain(&mut session, choice, now);
    }
    // Whatever was said, silence ends it.
    while let Some(due) = session.poll_timeout() {
        now = now.max(due) + Duration::from_millis(1);
        session.handle_timeout(now);
        drain(&mut session, choice, now);
    }
}

fn drain(session: &mut Session<Length>, choice: u8, now: Instant) {
    while session.poll_event().is_some() {}
    for carrier in [CarrierId(0), CarrierId(1)] {
        while session.poll_frame(carrier, LONGEST, now).is_some() {}
    }
    if choice & 8 != 0 {
        for stream in 0..64 {
            while session.read(StreamId(stream), 1 << 20).is_some() {}
            session.read_end(StreamId(stream));
        }
    }
    assert!(session.streams() <= STREAMS * 2, "{} streams", session.streams());
    assert!(session.buffered() <= STREAMS as u64 * 2 * WINDOW, "{} bytes held", session.buffered());
}

/// Datagrams, each preceded by its length, to a collector and a repeater.
pub(crate) fn datagrams(mut bytes: &[u8]) {
    let mut now = Instant::ZERO;
    let mut collector: Collector<Length> = Collector::new(Duration::from_millis(5));
    let mut repeater: Repeater<Length> = Repeater::new(RepeatLimits::default());
    for _ in 0..4 {
        repeater.send(Length(50), now).expect("there is room");
    }
    let mut out = Datagram::default();
    while repeater.poll_datagram(None, now, &mut out) {}
    while let Some((&len, rest)) = bytes.split_first() {
        let (one, rest) = rest.split_at(rest.len().min(len.into()));
        bytes = rest;
        now += Duration::from_millis(7);
        let Some(read) = datagram::parse(one) else { continue };
        let messages = read.messages.iter();
        let messages =
            messages.map(|message| Message { sequence: message.sequence, body: message.body.length });
        let mut read =
            Datagram { number: read.number, floor: read.floor, ack: read.ack, messages: messages.collect() };
        if let Some(ack) = read.ack {
            repeater.handle_ack(ack, now);
        }
        collector.handle_datagram(&mut read, now);
        while collector.poll_message().is_some() {}
        assert!(collector.holding() as u64 <= datagram::WINDOW);
        let _ = collector.poll_ack(true, now);
        while repeater.poll_datagram(None, now, &mut out) {}
    }
}
