//! A peer that sends random segments: no panic, no endless work, and silence after a reset.

use crate::pair::plain;
use crate::properties::{congestion, recovery, timer, tuning};
use gamelane_core::{ByteCount, Duration, Instant};
use gamelane_tcp::{Flags, SackBlock, SackBlocks, Segment, TcpConfig, TcpEndpoint, TcpTuning};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Segment(Segment, bool),
    Write(u64),
    WriteForever,
    Close,
    Wait(u64),
    Timeout,
}

/// An offset near those in use, or anywhere.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0u64..20_000, 2 => Just(1u64), 1 => any::<u64>()]
}

fn flags() -> impl Strategy<Value = Flags> {
    (0u8..100, any::<[bool; 5]>()).prop_map(|(kind, [fin, psh, ece, cwr, odd])| Flags {
        syn: kind < 3,
        ack: kind < 95,
        fin: fin && kind % 8 == 0,
        rst: odd && kind < 2,
        psh,
        ece,
        cwr,
    })
}

fn segment() -> impl Strategy<Value = Segment> {
    (
        (offset(), offset(), prop_oneof![4 => Just(0u32), 4 => 0u32..3000, 1 => any::<u32>()]),
        (any::<u16>(), flags(), proptest::option::of(any::<u8>())),
        (
            proptest::option::of(any::<(u32, u32)>()),
            proptest::option::of(any::<std::num::NonZeroU16>()),
            any::<bool>(),
        ),
        (proptest::array::uniform3((offset(), offset())), 0usize..=3),
    )
        .prop_map(
            |((seq, ack, len), (window, flags, scale), (timestamps, mss, sack_permitted), (sack, blocks))| {
                Segment {
                    seq,
                    ack,
                    len,
                    window,
                    flags: flags.into(),
                    window_scale: scale,
                    mss,
                    sack_permitted,
                    timestamps,
                    sack: SackBlocks::new(ack, &sack.map(|(start, end)| SackBlock { start, end })[..blocks]),
                }
            },
        )
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        20 => (segment(), any::<bool>()).prop_map(|(segment, ce)| Operation::Segment(segment, ce)),
        6 => (0u64..10_000).prop_map(Operation::Write),
        1 => Just(Operation::WriteForever),
        1 => Just(Operation::Close),
        4 => (0u64..2_000).prop_map(Operation::Wait),
        4 => Just(Operation::Timeout),
    ]
}

/// An endpoint after the handshake, so that random segments reach more of the code.
fn open(config: TcpConfig, tuning: TcpTuning) -> TcpEndpoint {
    let mut client = TcpEndpoint::connect(config, Instant::ZERO).tuned(tuning);
    let syn = client.poll_transmit(Instant::ZERO).unwrap();
    let flags = Flags { syn: true, ack: true, ..Flags::default() }.into();
    let timestamps = syn.timestamps.map(|(value, _)| (1, value));
    client.handle_segment(
        &Segment { seq: 0, ack: 1, flags, timestamps, ..syn },
        false,
        Instant::from_millis(50),
    );
    client
}

fn survive(mut end: TcpEndpoint, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut now = Instant::from_millis(50);
    for operation in operations {
        match operation {
            Operation::Segment(segment, ce) => end.handle_segment(segment, *ce, now),
            Operation::Write(bytes) => end.write(ByteCount(*bytes)),
            Operation::WriteForever => end.write_forever(),
            Operation::Close => end.close(),
            Operation::Wait(millis) => now += Duration::from_millis(*millis),
            Operation::Timeout => {
                if let Some(at) = end.poll_timeout() {
                    now = now.max(at);
                    end.handle_timeout(now);
                    prop_assert!(end.poll_timeout().is_none_or(|again| again > now));
                }
            }
        }
        let mut burst = 0;
        while let Some(segment) = end.poll_transmit(now) {
            burst += 1;
            prop_assert!(burst < 50_000, "endless burst: {segment:?}");
            prop_assert!(segment.len <= 1448);
            let _ = end.ecn_codepoint(&segment);
        }
        while end.poll_event().is_some() {}
        if end.is_closed() {
            prop_assert_eq!(end.poll_timeout(), None);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_a_peer_sends_does_harm(
        operations in proptest::collection::vec(operation(), 1..120),
        recovery in recovery(),
        congestion in congestion(),
        timer in timer(),
        tuning in tuning(),
        timestamps: bool,
        ecn: bool,
        server: bool,
    ) {
        let config = TcpConfig { recovery, congestion, timer, timestamps, ecn, ..plain() };
        let end = if server { TcpEndpoint::listen(config).tuned(tuning) } else { open(config, tuning) };
        survive(end, &operations)?;
    }
}
