//! Tests of an impaired path in virtual time, most of all of changes while packets are in flight.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Overhead};
use gamelane_qdisc::Limit;
use proptest::prelude::*;

use super::*;
use crate::fixture::packet;

#[derive(Default)]
struct Out(Vec<(u32, DropReason)>);

impl Outlet<u32> for Out {
    fn dropped(&mut self, packet: Packet<u32>, reason: DropReason) {
        self.0.push((packet.body, reason));
    }
}

impl ImpairOutlet<u32> for Out {
    fn copy(&mut self, packet: &Packet<u32>) -> Option<Packet<u32>> {
        Some(*packet)
    }
}

/// A path in virtual time, and the packets that arrived: number and time in microseconds.
struct Bench {
    path: Impairment<u32>,
    arrived: Vec<(u32, u64)>,
    out: Out,
    sent: u32,
}

impl Bench {
    fn new(config: ImpairConfig) -> Self {
        let path = Impairment::new(config, Seed(1), "impair/up");
        Self { path, arrived: Vec::new(), out: Out::default(), sent: 0 }
    }

    fn send(&mut self, len: u32, at: Instant) {
        self.run_until(at);
        self.path.handle_packet(packet(self.sent, 0, len, at), at, &mut self.out);
        self.sent += 1;
    }

    fn send_at_ms(&mut self, at_ms: &[u64]) {
        for at in at_ms {
            self.send(1250, Instant::from_millis(*at));
        }
    }

    fn set_at_ms(&mut self, config: ImpairConfig, at_ms: u64) {
        let at = Instant::from_millis(at_ms);
        self.run_until(at);
        self.path.set(config, at, &mut self.out);
    }

    fn run_until(&mut self, until: Instant) {
        while let Some(now) = self.path.poll_timeout().filter(|at| *at <= until) {
            self.path.handle_timeout(now, &mut self.out);
            self.deliver(now);
        }
    }

    fn deliver(&mut self, now: Instant) {
        while let Some(packet) = self.path.poll_deliver(now) {
            self.arrived.push((packet.body, now.as_nanos() / 1000));
        }
    }

    fn finish(mut self) -> Vec<(u32, u64)> {
        self.run_until(Instant::MAX);
        assert!(self.path.counters().balance(0), "{:?}", self.path.counters());
        assert_eq!(self.path.poll_timeout(), None);
        self.arrived
    }
}

fn delay(ms: u64) -> ImpairConfig {
    ImpairConfig { delay: Duration::from_millis(ms), ..ImpairConfig::default() }
}

fn rate(kbit: u64, queue: Limit) -> Option<RateLimit> {
    Some(RateLimit { rate: Bitrate::from_bps(kbit * 1000), queue, overhead: Overhead::None })
}

#[test]
fn nothing_set_does_nothing() {
    let mut bench = Bench::new(ImpairConfig::default());
    bench.send_at_ms(&[0, 1]);
    assert_eq!(bench.finish(), [(0, 0), (1, 1000)]);
}

#[test]
fn a_longer_delay_holds_for_what_comes_after_it() {
    let mut bench = Bench::new(delay(10));
    bench.send_at_ms(&[0, 5]);
    bench.set_at_ms(delay(40), 6);
    bench.send_at_ms(&[6, 7]);
    assert_eq!(bench.finish(), [(0, 10_000), (1, 15_000), (2, 46_000), (3, 47_000)]);
}

#[test]
fn a_shorter_delay_waits_for_what_is_on_its_way() {
    let mut bench = Bench::new(delay(100));
    bench.send_at_ms(&[0, 50]);
    bench.set_at_ms(delay(10), 60);
    bench.send_at_ms(&[60, 70, 145]);
    let together = 150_000;
    assert_eq!(bench.finish(), [(0, 100_000), (1, together), (2, together), (3, together), (4, 155_000)]);
}

#[test]
fn a_rate_serialises_and_its_queue_drops_at_the_tail() {
    // 1250 B at 1 Mbit/s take 10 ms. The queue holds two packets.
    let mut bench = Bench::new(ImpairConfig { rate: rate(1000, Limit::Packets(2)), ..delay(5) });
    bench.send_at_ms(&[0, 0, 0, 0, 12]);
    assert_eq!(bench.out.0, [(3, DropReason::Tail)]);
    assert_eq!(bench.finish(), [(0, 15_000), (1, 25_000), (2, 35_000), (4, 45_000)]);
}

#[test]
fn a_new_rate_takes_over_in_the_middle_of_a_packet() {
    let mut bench = Bench::new(ImpairConfig { rate: rate(1000, Limit::Packets(9)), ..delay(0) });
    bench.send_at_ms(&[0, 0, 0]);
    // 4 of 10 ms are over. The other 6 ms of work take 3 ms at twice the rate.
    bench.set_at_ms(ImpairConfig { rate: rate(2000, Limit::Packets(1)), ..delay(0) }, 4);
    bench.run_until(Instant::from_millis(8));
    bench.set_at_ms(delay(0), 9);
    assert_eq!(bench.finish(), [(0, 7_000), (1, 9_000), (2, 9_000)]);
}

#[test]
fn a_late_driver_changes_arrivals_not_schedules() {
    let config = ImpairConfig { rate: rate(1000, Limit::Packets(9)), ..delay(5) };
    let mut bench = Bench::new(config);
    bench.send_at_ms(&[0, 0, 0]);
    let late = Instant::from_millis(28);
    bench.path.handle_timeout(late, &mut bench.out);
    bench.deliver(late);
    assert_eq!(bench.finish(), [(0, 28_000), (1, 28_000), (2, 35_000)]);
}

#[test]
fn held_back_packets_are_overtaken_and_nothing_else_is() {
    let reorder = Reorder { share: 0.02, by: Duration::from_millis(25) };
    let mut bench = Bench::new(ImpairConfig { reorder, ..delay(10) });
    let times: Vec<u64> = (0..20_000).map(|n| n * 10).collect();
    bench.send_at_ms(&times);
    let counted = bench.path.counters().reordered;
    let arrived = bench.finish();
    // RFC 4737 section 3.3: a packet is reordered if a packet sent after it arrived before it.
    let mut next = 0;
    let mut late = Vec::new();
    for (number, at_us) in arrived {
        if number >= next {
            next = number + 1;
            assert_eq!(at_us, u64::from(number) * 10_000 + 10_000);
        } else {
            late.push(at_us - u64::from(number) * 10_000);
        }
    }
    assert!(late.iter().all(|took_us| *took_us == 35_000));
    // Consecutive packets that are both held back stay in order, so a few of those counted are not overtaken.
    let share = late.len() as f64 / 20_000.0;
    assert!((share - 0.02).abs() < 0.003, "{share}");
    assert!(late.len() as u64 <= counted && counted < late.len() as u64 + 40, "{} of {counted}", late.len());
}

#[test]
fn a_copy_arrives_with_its_original() {
    let mut bench = Bench::new(ImpairConfig { duplicate: 1.0, ..delay(10) });
    bench.send_at_ms(&[0, 1]);
    assert_eq!(bench.path.counters().duplicated, 2);
    assert_eq!(bench.finish(), [(0, 10_000), (0, 10_000), (1, 11_000), (1, 11_000)]);
}

#[test]
fn jitter_overtakes_only_if_told_to() {
    let with = |order| {
        let jitter = Jitter { spread: Duration::from_millis(5), order, ..Jitter::default() };
        let mut bench = Bench::new(ImpairConfig { jitter, ..delay(10) });
        let times: Vec<u64> = (0..1000).collect();
        bench.send_at_ms(&times);
        bench.finish()
    };
    assert!(with(Order::Kept).is_sorted_by_key(|(number, _)| *number));
    let free = with(Order::AsDelayed);
    assert!(!free.is_sorted_by_key(|(number, _)| *number));
    let mean = free.iter().map(|(number, at)| *at as f64 - f64::from(*number) * 1000.0).sum::<f64>() / 1000.0;
    assert!((mean - 10_000.0).abs() < 300.0, "{mean}");
}

fn config() -> impl Strategy<Value = ImpairConfig> {
    let loss = prop_oneof![
        Just(LossModel::None),
        (0.0..0.3).prop_map(LossModel::Random),
        Just(LossModel::GilbertElliott { good_to_bad: 0.1, bad_to_good: 0.4, loss_good: 0.0, loss_bad: 1.0 }),
    ];
    let rate = proptest::option::of((100u64..20_000, 1u32..50).prop_map(|(kbit, packets)| RateLimit {
        rate: Bitrate::from_bps(kbit * 1000),
        queue: Limit::Packets(packets),
        overhead: Overhead::Ethernet,
    }));
    (0u64..200, 0u64..50, loss, rate, 0.0..0.5, 0.0..0.3).prop_map(
        |(ms, spread, loss, rate, correlation, duplicate)| {
            let jitter = Jitter {
                spread: Duration::from_millis(spread),
                shape: JitterShape::ParetoNormal,
                correlation,
                order: Order::Kept,
            };
            ImpairConfig { jitter, loss, rate, duplicate, ..delay(ms) }
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    Set(ImpairConfig),
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    /// Any change while packets are in flight conserves packets and their order and loses none.
    #[test]
    fn live_changes_conserve_and_keep_order(
        first in config(),
        steps in prop::collection::vec((0u64..30_000, prop_oneof![
            4 => (IPV4_HEADER + UDP_HEADER..=1500).prop_map(Step::Send),
            1 => config().prop_map(Step::Set),
        ]), 1..150),
    ) {
        let mut bench = Bench::new(first);
        let mut now = Instant::ZERO;
        let mut sent_us = Vec::new();
        for (gap_us, step) in steps {
            now += Duration::from_micros(gap_us);
            bench.run_until(now);
            match step {
                Step::Send(len) => {
                    bench.send(len, now);
                    sent_us.push(now.as_nanos() / 1000);
                }
                Step::Set(config) => {
                    let dropped = bench.out.0.len();
                    bench.path.set(config, now, &mut bench.out);
                    prop_assert_eq!(bench.out.0.len(), dropped);
                }
            }
            prop_assert!(bench.path.counters().balance(bench.path.inside()));
        }
        let lost: Vec<u32> = bench.out.0.iter().map(|(number, _)| *number).collect();
        let arrived = bench.finish();
        prop_assert!(arrived.is_sorted_by_key(|(number, _)| *number));
        prop_assert!(arrived.is_sorted_by_key(|(_, at)| *at));
        for (number, at_us) in &arrived {
            prop_assert!(*at_us >= sent_us[*number as usize]);
        }
        let mut seen: Vec<u32> = arrived.iter().map(|(number, _)| *number).collect();
        seen.dedup();
        seen.extend(lost);
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..sent_us.len() as u32).collect::<Vec<_>>());
    }

    /// Calls between two events change nothing.
    #[test]
    fn early_calls_change_nothing(
        config in config(),
        packets in prop::collection::vec((IPV4_HEADER + UDP_HEADER..=1500, 0u64..20_000), 1..60),
    ) {
        let (mut plain, mut nudged) = (Bench::new(config.clone()), Bench::new(config));
        let mut now = Instant::ZERO;
        for (len, gap_us) in packets {
            let between = now + Duration::from_micros(gap_us / 2);
            now += Duration::from_micros(gap_us);
            plain.send(len, now);
            nudged.run_until(between);
            nudged.path.handle_timeout(between, &mut nudged.out);
            nudged.send(len, now);
        }
        prop_assert_eq!(&plain.out.0, &nudged.out.0);
        prop_assert_eq!(plain.finish(), nudged.finish());
    }
}

#[test]
fn the_names_of_streams_part_the_directions() {
    let lossy = || ImpairConfig { loss: LossModel::Random(0.5), ..delay(0) };
    let lost = |path: &str| {
        let mut bench = Bench::new(lossy());
        bench.path = Impairment::new(lossy(), Seed(1), path);
        bench.send_at_ms(&vec![0; 64]);
        bench.out.0
    };
    assert_ne!(lost("impair/up"), lost("impair/down"));
}
