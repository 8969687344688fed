//! Conformance tests that every link must pass: packets are conserved, stay in order at their port and never arrive too
//! early. A link with nothing to send has no timeout.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Catalogued, Duration, Instant, IpLen, Seed};
use proptest::prelude::*;

use crate::docsis::{DocsisConfig, DocsisUpstream, Neighbours};
use crate::fixture::Bench;
use crate::link::PortId;
use crate::trace::{RateTrace, TraceLink};
use crate::wifi::{Dcf, PhyRate, Preamble, Radio, Slot, WifiConfig, WifiPort};
use crate::{LinkConfig, LinkKind, Overhead, WiredLink};

const PORTS: u16 = 3;
/// Length of the shortest packet, a UDP datagram without payload, in bytes.
const SHORTEST: u32 = IPV4_HEADER + UDP_HEADER;

fn wired() -> LinkConfig {
    LinkConfig {
        rate: Bitrate::from_bps(2_000_000),
        delay: Duration::from_millis(3),
        jitter: Duration::from_millis(2),
        loss: LossModel::Random(0.02),
        overhead: Overhead::Ethernet,
    }
}

fn plain(docsis: DocsisConfig) -> DocsisConfig {
    DocsisConfig { concatenation: false, ..docsis }
}

/// Shortest time in µs that a packet spends on a link.
#[derive(Clone, Copy)]
struct Least {
    /// If the link was idle for [`IDLE`] before the packet.
    idle: u64,
    /// In all other cases. A DOCSIS modem may send the packet in the rest of a grant. It may also request capacity by
    /// piggy-back late in an interval. Both take less than a MAP interval.
    busy: u64,
}

const fn always(least_us: u64) -> Least {
    Least { idle: least_us, busy: least_us }
}

/// Idle time after which a modem has no grant left: two MAP intervals.
const IDLE: Duration = Duration::from_millis(4);
/// The request of an idle modem takes a MAP interval of 2 ms. The frame of 74 B takes 57 µs, its propagation 100 µs.
const DOCSIS: Least = Least { idle: 2_000, busy: 157 };

/// Makes every kind of link: its name, bench, number of ports, and the shortest time that a packet spends on it.
fn links(seed: u64) -> Vec<(&'static str, Bench, u16, Least)> {
    let seed = Seed(seed);
    let docsis = DocsisConfig {
        loss: LossModel::Random(0.02),
        neighbours: Neighbours { modems: 10, load: 0.4, packet: IpLen(300) },
        ..DocsisConfig::new(Bitrate::from_bps(2_000_000))
    };
    let wifi = WifiConfig {
        slot: Slot::Long,
        protection: Some(PhyRate::Dsss(11_000_000)),
        preamble: Preamble::Short,
        retry_limit: 4,
        window_max: 1023,
        ports: vec![WifiPort { window_min: 15, backbone: false }; PORTS.into()],
        stations: vec![Radio { rate: PhyRate::Ofdm(48), error: 0.2 }; PORTS.into()],
        backbone: Radio { rate: PhyRate::Ofdm(48), error: 0.2 },
        station_of: (0..PORTS.into()).collect(),
    };
    let trace = |text: &[u8]| TraceLink::new(RateTrace::parse(text).unwrap(), wired(), seed, "link");
    vec![
        ("wired", Bench::new(WiredLink::new(wired(), seed, "link"), 1), 1, always(3_000)),
        ("docsis", Bench::new(DocsisUpstream::new(docsis.clone(), seed, "link"), 1), 1, DOCSIS),
        ("docsis 1.0", Bench::new(DocsisUpstream::new(plain(docsis), seed, "link"), 1), 1, DOCSIS),
        ("wifi-g", Bench::new(Dcf::new(wifi, seed, "link"), PORTS), PORTS, always(106 + 38)),
        ("trace of opportunities", Bench::new(trace(b"0\n7\n7\n30\n"), 1), 1, always(3_000)),
        ("trace of rates", Bench::new(trace(b"0 4000\n20 0\n30 300\n100 end\n"), 1), 1, always(3_000)),
    ]
}

#[test]
fn every_link_of_the_catalogue_is_here() {
    let names: Vec<_> = links(0).into_iter().map(|(name, ..)| name).collect();
    for one in LinkKind::ALL {
        assert!(names.iter().any(|name| name.starts_with(one.word())), "no row for `{}`", one.word());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_link_conserves_and_orders(
        seed in any::<u64>(),
        packets in prop::collection::vec((0..PORTS, SHORTEST..=1500, 0u64..20_000), 1..120),
    ) {
        for (name, mut bench, ports, least) in links(seed) {
            let mut now = Instant::ZERO;
            let mut sent = Vec::new();
            for (port, len, gap) in &packets {
                now += Duration::from_micros(*gap);
                let idle = Duration::from_micros(*gap) >= IDLE && {
                    bench.run_until(Instant::ZERO + now.saturating_since(Instant::ZERO + IDLE));
                    (0..ports).all(|port| bench.hop.inside(PortId(port)) == 0)
                };
                bench.send(port % ports, *len, now);
                sent.push((now.as_nanos() / 1000, if idle { least.idle } else { least.busy }));
                for port in (0..ports).map(PortId) {
                    prop_assert!(bench.hop.counters(port).balance(bench.hop.inside(port)), "{}", name);
                }
            }
            let arrived = bench.finish();
            prop_assert_eq!(arrived.len() + bench.lost.0.len(), packets.len(), "{}", name);
            prop_assert_eq!(bench.hop.poll_timeout(), None, "{}", name);
            prop_assert!(arrived.is_sorted_by_key(|arrival| arrival.at_us), "{}", name);
            for port in 0..ports {
                let own = arrived.iter().filter(|arrival| arrival.port == port);
                prop_assert!(own.is_sorted_by_key(|arrival| arrival.number), "{}", name);
            }
            for arrival in &arrived {
                let (sent_us, least_us) = sent[arrival.number as usize];
                let took = arrival.at_us - sent_us;
                prop_assert!(took >= least_us, "{}: {} us, at least {} expected", name, took, least_us);
            }
        }
    }

    #[test]
    fn early_calls_change_nothing(
        seed in any::<u64>(),
        packets in prop::collection::vec((0..PORTS, SHORTEST..=1500, 0u64..20_000), 1..40),
    ) {
        for ((name, mut plain, ports, _), (_, mut nudged, ..)) in links(seed).into_iter().zip(links(seed)) {
            let mut now = Instant::ZERO;
            for (port, len, gap) in &packets {
                let before = now;
                now += Duration::from_micros(*gap);
                plain.send(port % ports, *len, now);
                let between = before + Duration::from_micros(gap / 2);
                nudged.run_until(between);
                nudged.hop.handle_timeout(between, &mut nudged.lost);
                nudged.send(port % ports, *len, now);
            }
            prop_assert_eq!(plain.finish(), nudged.finish(), "{}", name);
        }
    }
}
