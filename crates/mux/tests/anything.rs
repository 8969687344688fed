//! Properties of a pair under random events: carriers that go down and come back, unequal delays, early repeats, small
//! budgets, streams that nobody reads. The bytes of every stream arrive once and in order, memory stays bounded, and in
//! the end nothing is left.

use crate::pair::{FAR, NEAR, Pair, config, millis};
#[allow(unreachable_pub, reason = "a module of tests")]
use gamelane_core::Duration;
use gamelane_mux::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    Open,
    Write { end: usize, stream: usize, len: usize },
    Finish { end: usize, stream: usize },
    Reset { end: usize, stream: usize },
    Cut(u8),
    CutAt { end: usize, carrier: u8 },
    BlackHole(u8),
    Connect(u8),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (end, stream) = (0..2_usize, 0..12_usize);
    prop_oneof![
        3 => Just(Step::Open),
        12 => (end.clone(), stream.clone(), prop_oneof![4 => 1..200_usize, 1 => 1..20_000_usize])
            .prop_map(|(end, stream, len)| Step::Write { end, stream, len }),
        2 => (end.clone(), stream.clone()).prop_map(|(end, stream)| Step::Finish { end, stream }),
        1 => (end.clone(), stream).prop_map(|(end, stream)| Step::Reset { end, stream }),
        2 => (0..3_u8).prop_map(Step::Cut),
        1 => (end, 0..3_u8).prop_map(|(end, carrier)| Step::CutAt { end, carrier }),
        1 => (0..3_u8).prop_map(Step::BlackHole),
        4 => (0..3_u8).prop_map(Step::Connect),
        8 => (0..120_u64).prop_map(Step::Wait),
    ]
}

fn settings() -> impl Strategy<Value = (SessionConfig, usize, Vec<u64>)> {
    let coalescing =
        prop::option::of((0..40_u64).prop_map(|ms| Coalescing { deadline: millis(ms), fill: 1400 }));
    let repeat = prop::option::of((0..2000_u32).prop_map(|after_permille| EarlyRepeat {
        after_permille,
        max_len: 300,
        max_repeats: 2,
    }));
    let room = prop_oneof![Just(usize::MAX), 160..3000_usize];
    let delays = prop::collection::vec(1..150_u64, 3);
    (any::<bool>(), coalescing, repeat, room, delays, 512..70_000_u64).prop_map(
        |(least, coalescing, early_repeat, room, delays, window)| {
            let mut settings = config(3);
            settings.window = window;
            settings.silence = Duration::from_secs(3);
            settings.keep_alive = Duration::from_secs(1);
            settings.resume_window = Duration::from_secs(3600);
            settings.mux.assignment = if least { Assignment::LeastBacklog } else { Assignment::Pinned };
            settings.mux.coalescing = coalescing;
            settings.mux.early_repeat = early_repeat;
            (settings, room, delays)
        },
    )
}

#[derive(Default)]
struct Story {
    written: [Vec<u8>; 2],
    finished: [bool; 2],
    reset: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_stream_arrives_once_and_in_order(
        (settings, room, delays) in settings(),
        steps in prop::collection::vec(step(), 1..160),
        seed in any::<u64>(),
    ) {
        let mut pair = Pair::new(settings, &delays, seed);
        pair.budget = room;
        let mut stories: BTreeMap<StreamId, Story> = BTreeMap::new();
        let mut streams = Vec::new();
        for step in steps {
            match step {
                Step::Open => {
                    let stream = pair.open();
                    streams.push(stream);
                    stories.insert(stream, Story::default());
                }
                Step::Write { end, stream, len } => {
                    let Some(stream) = streams.get(stream).copied() else { continue };
                    let story = stories.get_mut(&stream).unwrap();
                    let bytes: Vec<u8> = (0..len).map(|_| pair.random.bits() as u8).collect();
                    let now = pair.now;
                    let known = end == NEAR || knows(&pair, stream);
                    match pair.ends[end].write(stream, bytes.clone(), now) {
                        Ok(()) => story.written[end].extend(bytes),
                        Err(WriteError::Full) => prop_assert!(story.written[end].len() + len > 1000),
                        Err(WriteError::Closed) => {
                            prop_assert!(story.finished[end] || story.reset || !known);
                        }
                    }
                }
                Step::Finish { end, stream } => {
                    let Some(stream) = streams.get(stream).copied() else { continue };
                    if end == NEAR || knows(&pair, stream) {
                        pair.ends[end].finish(stream, pair.now);
                        stories.get_mut(&stream).unwrap().finished[end] = true;
                    }
                }
                Step::Reset { end, stream } => {
                    let Some(stream) = streams.get(stream).copied() else { continue };
                    if end == NEAR || knows(&pair, stream) {
                        pair.ends[end].reset(stream, 9, pair.now);
                        stories.get_mut(&stream).unwrap().reset = true;
                    }
                }
                Step::Cut(carrier) => pair.cut(carrier),
                Step::CutAt { end, carrier } => pair.cut_at(end, carrier),
                Step::BlackHole(carrier) => pair.black_hole(carrier),
                Step::Connect(carrier) => pair.connect(carrier),
                Step::Wait(ms) => pair.run_for(millis(ms)),
            }
            pair.settle();
            for end in &pair.ends {
                let most = 2 * streams.len() as u64 * settings.mux.buffer.max(settings.window);
                prop_assert!(end.buffered() <= most);
            }
            for (stream, story) in &stories {
                for end in [NEAR, FAR] {
                    prop_assert!(story.written[end].starts_with(pair.has_read(1 - end, *stream)));
                }
            }
        }
        for carrier in 0..3 {
            pair.connect(carrier);
        }
        pair.run_for(Duration::from_secs(60));
        for (stream, story) in &stories {
            for end in [NEAR, FAR].into_iter().filter(|_| !story.reset) {
                prop_assert!(pair.has_read(1 - end, *stream) == story.written[end], "{stream:?} from {end}");
                prop_assert_eq!(pair.ended(1 - end, *stream), story.finished[end]);
            }
        }
        // The ended streams leave nothing behind, although a carrier is lost meanwhile. One end learns of the loss first.
        for stream in &streams {
            for end in &mut pair.ends {
                end.finish(*stream, pair.now);
            }
        }
        let pause = |pair: &mut Pair| {
            let span = millis(pair.random.below(300));
            pair.run_for(span);
        };
        pause(&mut pair);
        let (end, carrier) = (pair.random.below(2) as usize, pair.random.below(3) as u8);
        pair.cut_at(end, carrier);
        pause(&mut pair);
        pair.cut(carrier);
        pause(&mut pair);
        pair.connect(carrier);
        pair.run_for(Duration::from_secs(60));
        for end in &pair.ends {
            prop_assert_eq!((end.buffered(), end.streams()), (0, 0));
            prop_assert!(end.is_idle());
        }
    }
}

/// True if the far end knows the stream.
fn knows(pair: &Pair, stream: StreamId) -> bool {
    pair.log
        .iter()
        .any(|(_, _, event)| matches!(event, Event::Opened { stream: opened, .. } if *opened == stream))
}
