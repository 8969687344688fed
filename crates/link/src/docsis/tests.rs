//! Requests and grants at scripted times, compared with the latency formula of `docs/models/docsis.md`.

use super::*;
use crate::fixture::{Arrival, Bench};
use gamelane_core::{Bitrate, DropReason, Duration, IpLen};
use std::vec::Vec;

/// Configuration without backoff: an idle modem takes the first request opportunity.
fn config() -> DocsisConfig {
    DocsisConfig { backoff_start: 0, ..DocsisConfig::new(Bitrate::from_bps(5_000_000)) }
}

fn bench(config: DocsisConfig) -> Bench {
    Bench::new(DocsisUpstream::new(config, Seed(1), "link/up"), 1)
}

fn micros(arrivals: &[Arrival]) -> Vec<u64> {
    arrivals.iter().map(|arrival| arrival.at_us).collect()
}

/// Latency of a packet at an idle modem. The request leaves in the next interval. The CMTS has read it after
/// opportunity, delay and processing. The grant is in the first interval whose MAP is fixed after that, behind the
/// opportunities.
fn idle_latency_us(config: &DocsisConfig, at_us: u64, len: u64) -> u64 {
    let us = |duration: Duration| duration.as_nanos() / 1000;
    let period = us(config.map_interval);
    let asked = at_us / period + 1;
    let known = us(config.minislot) + us(config.delay) + us(config.processing) + us(config.map_lead);
    let granted = asked + known.div_ceil(period);
    let bits = ((len + 18).max(64) + 10) * 8;
    let frame = bits * 1_000_000 / config.channel.bps();
    let start = granted * period + us(config.minislot) * u64::from(config.contention);
    start + frame + us(config.delay) - at_us
}

#[test]
fn idle_latency_is_the_request_grant_arithmetic() {
    // 100 B: (100 + 18 + 10) * 8 / 10.24 Mbit/s = 100 us. The request leaves at 2 ms and is read at 2.325 ms. The grant
    // is in the interval at 4 ms, whose MAP is fixed at 3.143 ms. The packet is sent at 4.2 ms and arrives at 4.4 ms.
    let mut bench_ = bench(config());
    bench_.send(0, 100, Instant::from_micros(500));
    assert_eq!(micros(&bench_.finish()), [4_400]);

    for (interval_ms, lead_us) in [(2, 857), (1, 857), (1, 3000), (5, 857), (10, 2500)] {
        let config = DocsisConfig {
            map_interval: Duration::from_millis(interval_ms),
            map_lead: Duration::from_micros(lead_us),
            ..config()
        };
        for (at_us, len) in [(1, 100), (499, 100), (1_999, 900), (50_001, 40), (77_777, 900)] {
            let mut bench = bench(config.clone());
            bench.send(0, len, Instant::from_micros(at_us));
            let latency = bench.finish()[0].at_us - at_us;
            let expected = idle_latency_us(&config, at_us, u64::from(len));
            assert!(
                latency.abs_diff(expected) <= 1,
                "{latency} us, expected {expected} us: interval {interval_ms} ms, lead {lead_us} us, sent at {at_us} us"
            );
        }
    }
}

#[test]
fn mean_idle_latency_is_one_and_a_half_to_two_and_a_half_intervals_and_the_fixed_times() {
    // By the formula the latency is 1.2 to 2.2 intervals of 2 ms. A thin flow has this latency for every packet,
    // because it has no packet on which a request could be piggy-backed.
    let mut bench = bench(DocsisConfig::new(Bitrate::from_bps(5_000_000)));
    let mut at = Instant::from_micros(100);
    let mut sent = Vec::new();
    for _ in 0..2000 {
        bench.send(0, 100, at);
        sent.push(at.as_nanos() / 1000);
        at += Duration::from_micros(20_007);
    }
    let arrived = bench.finish();
    let latencies: Vec<u64> = arrived.iter().zip(&sent).map(|(arrival, sent)| arrival.at_us - sent).collect();
    let mean = latencies.iter().sum::<u64>() as f64 / 2000.0;
    // Wait for the next interval 1 ms in the mean, one interval until the grant, opportunities 200 us, frame 100 us,
    // propagation 100 us.
    assert!((mean - 3_400.0).abs() < 5.0, "{mean}");
    assert!(latencies.iter().all(|latency| (2_400..=4_400).contains(latency)));
}

#[test]
fn a_packet_behind_another_is_asked_for_by_piggy_back() {
    let mut bench = bench(config());
    bench.send(0, 100, Instant::from_micros(500));
    // Too late for the request at 2 ms, but in time for the frame at 4.2 ms. That frame ends at 4.3 ms and is read at
    // 4.6 ms. The MAP of the interval at 6 ms is fixed at 5.143 ms.
    bench.send(0, 100, Instant::from_micros(3_000));
    assert_eq!(micros(&bench.finish()), [4_400, 6_400]);
}

#[test]
fn several_packets_share_a_grant() {
    let mut bench = bench(config());
    for _ in 0..3 {
        bench.send(0, 100, Instant::from_micros(500));
    }
    assert_eq!(micros(&bench.finish()), [4_400, 4_500, 4_600]);
}

#[test]
fn without_concatenation_each_packet_has_a_grant_of_its_own() {
    let mut bench = bench(DocsisConfig { concatenation: false, ..config() });
    for _ in 0..3 {
        bench.send(0, 100, Instant::from_micros(500));
    }
    // The frame at 4.2 ms ends at 4.3 ms and carries the request for the next packet, which is read at 4.6 ms. The MAP
    // of the interval at 6 ms is fixed at 5.143 ms.
    assert_eq!(micros(&bench.finish()), [4_400, 6_400, 8_400]);
}

#[test]
fn without_concatenation_a_large_packet_still_comes_in_parts() {
    let slow = DocsisConfig { channel: Bitrate::from_bps(2_560_000), concatenation: false, ..config() };
    let mut bench = bench(slow);
    bench.send(0, 1500, Instant::from_micros(500));
    bench.send(0, 100, Instant::from_micros(500));
    // The first packet is sent as with concatenation. Its last part ends at 9.375 ms and is read at 9.675 ms. The MAP
    // of the interval at 10 ms is already fixed at 9.143 ms, so the 128 B (400 us) are sent at 12.2 ms.
    assert_eq!(micros(&bench.finish()), [8_000 + 200 + 1_175 + 100, 12_000 + 200 + 400 + 100]);
}

#[test]
fn a_large_packet_is_sent_in_parts_over_small_intervals() {
    // 1528 B at 2.56 Mbit/s take 4.775 ms. An interval has room for 1.8 ms, so the parts are 576 B, 576 B and 376 B
    // (1175 us).
    let mut bench = bench(DocsisConfig { channel: Bitrate::from_bps(2_560_000), ..config() });
    bench.send(0, 1500, Instant::from_micros(500));
    let arrived = bench.finish();
    assert_eq!(micros(&arrived), [8_000 + 200 + 1_175 + 100]);
}

#[test]
fn the_token_bucket_holds_the_sustained_rate() {
    // but2006's upstream: 192 kbit/s over Ethernet frames of 1518 B.
    let mut bench = bench(DocsisConfig::new(Bitrate::from_bps(192_000)));
    for _ in 0..200 {
        bench.send(0, 1500, Instant::ZERO);
    }
    let arrived = bench.finish();
    let span = (arrived[199].at_us - arrived[1].at_us) as f64 / 1e6;
    let rate = 198.0 * 1518.0 * 8.0 / span;
    assert!(rate <= 192_000.0 && rate > 190_000.0, "{rate}");
    // The burst has two frames. Then one frame leaves each 63.25 ms, plus or minus an interval and the backoff.
    for pair in arrived[2..].windows(2) {
        let gap = pair[1].at_us - pair[0].at_us;
        assert!((61_000..=66_000).contains(&gap), "{gap}");
    }
}

#[test]
fn a_modem_of_any_rate_reaches_it_on_its_default_channel() {
    for mbps in [5, 6, 10, 20, 50] {
        let mut bench = bench(DocsisConfig::new(Bitrate::from_bps(mbps * 1_000_000)));
        bench.saturate(0..1, 1500, Instant::from_secs(2));
        let bits = bench.hop.counters(PortId(0)).delivered as f64 * 1518.0 * 8.0;
        let share = bits / 2.0 / (mbps as f64 * 1e6);
        assert!(share <= 1.01 && share > 0.97, "{mbps} Mbit/s: {share}");
    }
}

#[test]
fn alone_on_the_channel_a_fast_modem_fills_what_round_trips_leave() {
    // The modem requests capacity for all waiting packets, so nearly every interval after the first is full of data.
    let rate = Bitrate::from_bps(100_000_000);
    let mut bench = bench(DocsisConfig { channel: Bitrate::from_bps(10_240_000), ..DocsisConfig::new(rate) });
    bench.saturate(0..1, 1500, Instant::from_secs(2));
    let bits: f64 = bench.hop.counters(PortId(0)).delivered as f64 * 1528.0 * 8.0;
    let share = bits / 2.0 / 10_240_000.0;
    assert!(share <= 0.9 && share > 0.85, "{share}");
}

fn with_neighbours(load: f64) -> DocsisConfig {
    DocsisConfig {
        neighbours: Neighbours { modems: 50, load, packet: IpLen(500) },
        ..DocsisConfig::new(Bitrate::from_bps(1_000_000))
    }
}

fn mean_latency(config: DocsisConfig) -> f64 {
    let mut bench = bench(config);
    let mut sum = 0;
    let mut at = Instant::from_micros(100);
    for _ in 0..2000 {
        bench.send(0, 100, at);
        sum += at.as_nanos() / 1000;
        at += Duration::from_micros(20_007);
    }
    let arrived = bench.finish();
    assert_eq!(arrived.len(), 2000);
    (arrived.iter().map(|arrival| arrival.at_us).sum::<u64>() - sum) as f64 / 2000.0
}

#[test]
fn neighbours_collide_and_take_grants() {
    let latencies = [0.0, 0.3, 0.6, 0.9].map(|load| mean_latency(with_neighbours(load)));
    assert!(latencies.is_sorted(), "{latencies:?}");
    assert!(latencies[0] < 3_450.0 && latencies[3] > 1.5 * latencies[0], "{latencies:?}");
}

#[test]
fn one_of_two_modems_that_always_collide_gives_up() {
    // One opportunity and no backoff: requests of two modems collide each time, until they give up after 16 tries.
    let config = DocsisConfig {
        contention: 1,
        backoff_end: 0,
        backoff_start: 0,
        neighbours: Neighbours { modems: 200, load: 5.0, packet: IpLen(100) },
        ..config()
    };
    let mut bench = bench(config);
    bench.send(0, 100, Instant::from_millis(100));
    bench.run_until(Instant::from_secs(2));
    assert_eq!(bench.lost.0, [(0, 0, DropReason::Link)]);
}

#[test]
fn an_idle_modem_wants_nothing() {
    let mut bench = bench(with_neighbours(0.5));
    bench.send(0, 100, Instant::from_millis(1));
    bench.finish();
    assert_eq!(bench.hop.poll_timeout(), None);
}
