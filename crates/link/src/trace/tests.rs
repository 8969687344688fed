//! Tests of traces: parsing, writing, errors, and the delivery times of packets compared with mahimahi.

use super::*;
use crate::config::LinkConfig;
use crate::fixture::Bench;
use crate::overhead::Overhead;
use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::loss::LossModel;
use gamelane_core::{Duration, Instant, Seed};
use proptest::prelude::*;
use std::string::{String, ToString};
use std::vec::Vec;

fn bench(trace: &str) -> Bench {
    let config = LinkConfig {
        rate: Bitrate::from_bps(1),
        delay: Duration::from_millis(5),
        jitter: Duration::ZERO,
        loss: LossModel::None,
        overhead: Overhead::None,
    };
    let trace = RateTrace::parse(trace.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    Bench::new(TraceLink::new(trace, config, Seed(1), "link"), 1)
}

fn millis(bench: &mut Bench) -> Vec<f64> {
    bench.finish().iter().map(|arrival| arrival.at_us as f64 / 1000.0).collect()
}

#[test]
fn each_opportunity_carries_one_full_packet() {
    let mut bench = bench("3\n3\n7\n10\n");
    for _ in 0..6 {
        bench.send(0, 1500, Instant::ZERO);
    }
    // 5 ms of delay after opportunities at 3, 3, 7 and 10 ms. The trace starts again at 10 ms, so the next two
    // opportunities are at 13 ms.
    assert_eq!(millis(&mut bench), [8.0, 8.0, 12.0, 15.0, 18.0, 18.0]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let mut bench = bench("1\n2\n3\n");
    // 4 * (372 + 4) B = 1504 B, so four packets fit in the first opportunity. The next packet, (2996 + 4) B, takes two.
    for len in [372, 372, 372, 372, 2996, 100] {
        bench.send(0, len, Instant::ZERO);
    }
    // The large packet leaves 8 B of the opportunity at 3 ms. The small packet starts there and ends at 4 ms.
    assert_eq!(millis(&mut bench), [6.0, 6.0, 6.0, 6.0, 8.0, 9.0]);
}

#[test]
fn an_opportunity_nobody_waits_for_is_gone() {
    let mut bench = bench("1\n2\n50\n");
    bench.send(0, 100, Instant::from_millis(2));
    bench.send(0, 100, Instant::from_millis(120));
    assert_eq!(millis(&mut bench), [55.0, 155.0]);
}

#[test]
fn a_trace_that_starts_at_zero_doubles_up_where_it_repeats() {
    let mut bench = bench("0\n5\n");
    for _ in 0..5 {
        bench.send(0, 1500, Instant::from_millis(1));
    }
    assert_eq!(millis(&mut bench), [10.0, 10.0, 15.0, 15.0, 20.0]);
}

#[test]
fn pieces_slow_down_stop_and_go_on() {
    // 12 Mbit/s for 2 ms, 1.2 Mbit/s for 10 ms, nothing for 8 ms.
    let mut bench = bench("0 12000\n2 1200\n12 0\n20 end\n");
    for _ in 0..5 {
        bench.send(0, 1500, Instant::ZERO);
    }
    // The first two packets take 1 ms each, the third 10 ms. The next two come after the outage.
    assert_eq!(millis(&mut bench), [6.0, 7.0, 17.0, 26.0, 27.0]);
    // Half of the packet in one piece, half in the next: 0.5 ms at 12 Mbit/s and 5 ms at 1.2 Mbit/s.
    let mut bench = self::bench("0 12000\n2 1200\n12 0\n20 end\n");
    bench.send(0, 1500, Instant::from_micros(1500));
    assert_eq!(millis(&mut bench), [12.0]);
}

#[test]
fn a_packet_longer_than_the_trace_goes_round_it() {
    // 10 kbit/s for 1 ms in every 2 ms: 10 bit per round, so 12000 bit take 1200 rounds.
    let mut bench = bench("0 10\n1 0\n2 end\n");
    bench.send(0, 1500, Instant::ZERO);
    // One byte more takes 0.8 ms of the next round.
    bench.send(0, 1, Instant::ZERO);
    let arrived = millis(&mut bench);
    assert!((2404.0..=2405.0).contains(&arrived[0]), "{arrived:?}");
    assert_eq!(arrived[1..], [2405.8]);
}

#[test]
fn what_is_no_trace_is_refused_with_its_line() {
    let cases = [
        ("", 1, TraceProblem::Empty),
        ("\n", 1, TraceProblem::Empty),
        ("1\n\n2\n", 2, TraceProblem::Blank),
        ("1\n3\n2\n", 3, TraceProblem::Backwards),
        ("1\nx\n", 2, TraceProblem::NotNumbers),
        ("-1\n", 1, TraceProblem::NotNumbers),
        ("1\n2 3\n", 2, TraceProblem::NotNumbers),
        ("99999999999999999999\n", 1, TraceProblem::TooLarge),
        ("0\n0\n", 2, TraceProblem::NoLength),
        ("1 100\n5 end\n", 1, TraceProblem::LateStart),
        ("0 100\n5 200\n", 2, TraceProblem::NoEnd),
        ("0 100\n5 200\n4 end\n", 3, TraceProblem::Backwards),
        ("0 100\n5 200\n5 end\n", 3, TraceProblem::NoTime),
        ("0 0\n5 end\n", 2, TraceProblem::NothingPasses),
        ("0 end\n", 1, TraceProblem::Empty),
        ("0 100\n5 end\n6 100\n", 3, TraceProblem::AfterEnd),
        ("0 100 7\n5 end\n", 1, TraceProblem::NotNumbers),
        ("0 1e3\n5 end\n", 1, TraceProblem::NotNumbers),
    ];
    for (text, line, problem) in cases {
        assert_eq!(RateTrace::parse(text.as_bytes()), Err(TraceError { line, problem }), "{text:?}");
    }
}

#[test]
fn rates_of_traces() {
    let rates = |text: &str| {
        let trace = RateTrace::parse(text.as_bytes()).unwrap();
        (trace.mean().bps(), trace.peak().bps())
    };
    assert_eq!(rates("0 12000\n5 800\n10 end\n"), (6_400_000, 12_000_000));
    // Three packets per second, two of them within one window of 100 ms.
    assert_eq!(rates("100\n150\n1000\n"), (3 * 12_032, 2 * 120_320));
    // The window may reach over the end of the trace, where it starts again.
    assert_eq!(rates("10\n50\n1000\n"), (3 * 12_032, 3 * 120_320));
    assert_eq!(rates("1\n7\n"), (2 * 12_032_000 / 7, 30 * 120_320));
    let constant = Opportunities::constant(Bitrate::from_bps(12_032_000), Duration::from_secs(1)).unwrap();
    assert_eq!((constant.at_ms().len(), constant.mean().bps()), (1000, 12_032_000));
}

#[test]
fn the_rate_at_a_moment_is_that_of_its_piece_or_of_the_opportunities_of_the_100_ms_before() {
    let rate = |text: &str, ms| {
        let trace = RateTrace::parse(text.as_bytes()).unwrap();
        trace.rate_at(Instant::from_millis(ms)).bps() / 1000
    };
    let pieces = "0 12000\n500 800\n800 end\n";
    let at = [0, 499, 500, 799, 800, 1300].map(|ms| rate(pieces, ms));
    assert_eq!(at, [12_000, 12_000, 800, 800, 12_000, 800]);
    // One packet of 1504 B each ms for 200 ms, then none for 200 ms.
    let opportunities: String = (1..=200).chain([400]).map(|ms: u64| ms.to_string() + "\n").collect();
    let at = [50, 150, 250, 350, 550].map(|ms| rate(&opportunities, ms));
    assert_eq!(at, [6016, 12_032, 6016, 0, 12_032]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = RateTrace::parse(&text);
    }

    #[test]
    fn any_numbers_are_answered(text in "[0-9 end\\n]{0,30}") {
        if let Ok(trace) = RateTrace::parse(text.as_bytes()) {
            prop_assert!(trace.peak() >= trace.mean());
        }
    }

    #[test]
    fn opportunities_survive_being_written(gaps in prop::collection::vec(0u64..50, 1..200)) {
        let at: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        prop_assume!(at.last() > Some(&0));
        let trace = Opportunities::new(at).unwrap();
        let mut text = String::new();
        trace.write(&mut text).unwrap();
        prop_assert_eq!(Opportunities::parse(text.as_bytes()), Ok(trace));
    }

    #[test]
    fn pieces_survive_being_written(pieces in prop::collection::vec((1u64..500, 0u64..100_000), 1..50)) {
        let mut at = 0;
        let mut rows = Vec::new();
        for (length, kbit) in pieces {
            rows.push((at, Bitrate::from_bps(kbit * 1000)));
            at += length;
        }
        prop_assume!(rows.iter().any(|(_, rate)| rate.bps() > 0));
        let trace = RatePieces::new(rows, at).unwrap();
        let mut text = String::new();
        trace.write(&mut text).unwrap();
        prop_assert_eq!(RatePieces::parse(text.as_bytes()), Ok(trace));
    }

    /// Compares with the loop of mahimahi's `link_queue.cc`, written again here: each opportunity is used for the
    /// packets that wait.
    #[test]
    fn packets_arrive_when_mahimahi_delivers_them(
        at in prop::collection::vec(0u64..60, 1..40),
        packets in prop::collection::vec((IPV4_HEADER + UDP_HEADER..=1500, 0u64..40), 1..60),
    ) {
        let mut at = at;
        at.sort_unstable();
        prop_assume!(at.last() > Some(&0));
        let text = at.iter().map(|at| at.to_string() + "\n").collect::<String>();
        let mut ours = bench(&text);
        let mut now = 0;
        let mut waiting = Vec::new();
        for (len, gap) in packets {
            now += gap;
            ours.send(0, len, Instant::from_millis(now));
            waiting.push((now, u64::from(len) + 4));
        }
        let mut expected = Vec::new();
        let (mut base, mut next, mut first) = (0, 0, 0);
        while first < waiting.len() {
            let moment = base + at[next];
            let mut left = 1504;
            while left > 0 && first < waiting.len() && waiting[first].0 < moment {
                let take = left.min(waiting[first].1);
                left -= take;
                waiting[first].1 -= take;
                if waiting[first].1 == 0 {
                    expected.push(moment as f64 + 5.0);
                    first += 1;
                }
            }
            next += 1;
            if next == at.len() {
                (next, base) = (0, base + at[at.len() - 1]);
            }
        }
        prop_assert_eq!(millis(&mut ours), expected);
    }
}
