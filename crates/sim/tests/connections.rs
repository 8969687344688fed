//! Transfers over several connections.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::common;

use gamelane_core::{Direction, Seed};
use gamelane_record::{Records, RunSummary};
use gamelane_scenario::Model;
use gamelane_sim::payload::{Content, lane_key};
use gamelane_sim::{Household, Tap};
use proptest::prelude::*;

/// Two hosts, of which one has a transfer of `connections` connections with these further keys. The other host is silent.
fn model(connections: u32, keys: &str, overrides: &[(&str, &str)]) -> Model {
    let mut flow = String::from("\n[[flow]]\nname = \"many\"\napp = \"bulk\"\nhost = \"phone\"\n");
    write!(flow, "connections = {connections}\n{keys}\n").expect("text takes everything");
    let quiet = [("flow.quake3.enabled", "false"), ("flow.upload.enabled", "false"), ("warmup", "0s")];
    common::with("household", &flow, &[&quiet, overrides].concat())
}

fn summary(model: &Model) -> RunSummary {
    Household::new(model, Seed(1), Records::new(model)).run().summary(model, 1)
}

/// Bytes of payload that arrived on each connection of the only flow, with repeats, by the client's port.
fn carried(model: &Model, direction: Direction) -> BTreeMap<u16, u64> {
    let outcome = Household::with_packets(model, Seed(1), ()).run();
    let mut bytes = BTreeMap::new();
    for packet in outcome.packets.iter().filter(|packet| packet.direction == direction) {
        let Content::Segment(segment) = &packet.payload.content else { continue };
        if packet.tap == Tap::after(direction) {
            let key = lane_key(&model.flows[0], packet.meta.flow.index() as u32);
            *bytes.entry(key.source.port()).or_default() += u64::from(segment.len);
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// A fair queue gives each connection the same share, because each has ports of its own.
    #[test]
    fn the_connections_share_a_link_evenly(connections in 2..=64u32, up: bool) {
        let (word, direction) = if up { ("up", Direction::Up) } else { ("down", Direction::Down) };
        let queue = [
            ("gateway.*.queue", "cake"), ("gateway.*.limit", "4MiB"), ("link.up", "20mbit"),
            ("link.down", "20mbit"), ("duration", "20s"),
        ];
        let model = model(connections, &format!("direction = \"{word}\""), &queue);
        let carried = carried(&model, direction);
        prop_assert_eq!(carried.len(), connections as usize);
        let mean = carried.values().sum::<u64>() as f64 / f64::from(connections);
        for bytes in carried.values() {
            prop_assert!((*bytes as f64 / mean - 1.0).abs() < 0.25, "{} of {}", bytes, mean);
        }
    }

    /// Each byte arrives once, and the transfer is one.
    #[test]
    fn a_size_arrives_whole_over_any_number_of_connections(
        connections in 1..=64u32,
        kib in 64..4096u64,
        limit in 20..200u32,
        up: bool,
    ) {
        let word = if up { "up" } else { "down" };
        let limit = format!("{limit}p");
        let queue = [
            ("gateway.*.queue", "fifo"), ("gateway.*.limit", limit.as_str()), ("link.up", "20mbit"),
            ("link.down", "20mbit"), ("duration", "60s"),
        ];
        let model = model(connections, &format!("direction = \"{word}\"\nsize = \"{kib}KiB\""), &queue);
        let flow = &summary(&model).flows[0];
        prop_assert_eq!((flow.goodput_bps * 60.0 / 8.0).round() as u64, kib << 10);
        prop_assert_eq!(flow.transfers, 1);
        let at_the_links_rate_ms = (kib << 10) as f64 * 8.0 / 20e3;
        prop_assert!(flow.transfer_ms.max > at_the_links_rate_ms, "{} < {}", flow.transfer_ms.max, at_the_links_rate_ms);
    }
}

/// Connections beside each other fill a path that loses packets better than one.
#[test]
fn four_connections_carry_more_than_one_over_a_lossy_path() {
    let goodput = |connections| {
        let lossy = [("link.down", "50mbit"), ("link.rtt", "100ms"), ("duration", "30s")];
        summary(&model(connections, "direction = \"down\"\nloss = \"1%\"", &lossy)).flows[0].goodput_bps
    };
    let (one, four) = (goodput(1), goodput(4));
    assert!(four > 3.0 * one, "{four} {one}");
}

#[test]
fn the_first_four_connections_are_sampled() {
    let model = model(6, "direction = \"up\"", &[("duration", "2s")]);
    let outcome = Household::new(&model, Seed(1), Records::new(&model)).run();
    let sampled: std::collections::BTreeSet<u32> =
        outcome.recorder.tcp.iter().map(|row| row.connection).collect();
    assert_eq!(sampled.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
}
