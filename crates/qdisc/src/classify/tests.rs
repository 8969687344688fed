use super::*;
use gamelane_core::{AckKind, Bitrate, Duration, Ecn, IpLen, Protocol};
use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

fn key(source: &str, destination: &str, protocol: Protocol) -> FlowKey {
    FlowKey { source: source.parse().unwrap(), destination: destination.parse().unwrap(), protocol }
}

fn game() -> FlowKey {
    key("192.168.1.2:27005", "203.0.113.7:27960", Protocol::Udp)
}

fn meta(key: &FlowKey, len: u32) -> PacketMeta {
    PacketMeta { protocol: key.protocol, flow_hash: key.hash(), ..crate::fixture::packet(len, Ecn::NotEct) }
}

fn rule(name: &str, class: u8, when: Conditions) -> Rule {
    Rule { name: name.to_string(), class: ClassId(class), when }
}

fn config(rules: Vec<Rule>) -> ClassifierConfig {
    ClassifierConfig { rules, default: ClassId(3), ..ClassifierConfig::default() }
}

const ANY: Conditions = Conditions {
    direction: None,
    protocol: None,
    source: None,
    destination: None,
    address: None,
    source_port: None,
    destination_port: None,
    port: None,
    dscp: None,
    len: None,
    pure_ack: None,
    rate: None,
    gap_deviation_percent: None,
    behaviour: None,
};

fn prefix(address: &str, len: u8) -> Option<Prefix> {
    Some(Prefix { address: address.parse().unwrap(), len })
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules = vec![
        rule("acks", 0, Conditions { pure_ack: Some(true), ..ANY }),
        rule("game port", 1, Conditions { port: Some(Span::new(27_000, 27_999)), ..ANY }),
        rule(
            "small udp",
            2,
            Conditions { protocol: Some(Protocol::Udp), len: Some(Span::new(IpLen(0), IpLen(200))), ..ANY },
        ),
        rule("to the nas", 2, Conditions { destination: prefix("192.168.1.64", 26), ..ANY }),
        rule("ef", 1, Conditions { dscp: Some(Span::only(46)), direction: Some(Direction::Up), ..ANY }),
    ];
    let mut classifier = Classifier::new(&config(rules), 4).unwrap();
    let mut class = |key: FlowKey, edit: &dyn Fn(&mut PacketMeta), direction| {
        let mut meta = meta(&key, 1000);
        edit(&mut meta);
        classifier.classify(&meta, &key, direction, Instant::ZERO).0
    };
    let (up, down) = (Direction::Up, Direction::Down);
    let web = key("192.168.1.2:50000", "203.0.113.7:443", Protocol::Tcp);
    let quic = key("192.168.1.2:50000", "203.0.113.7:443", Protocol::Udp);
    let nas = key("203.0.113.7:443", "192.168.1.65:50000", Protocol::Tcp);
    assert_eq!(
        class(web, &|meta| (meta.ack, meta.len) = (AckKind::Plain, IpLen(crate::fixture::ACK)), up),
        0
    );
    assert_eq!(class(game(), &|_| {}, up), 1);
    assert_eq!(class(game().reverse(), &|_| {}, down), 1, "`port` matches the source port too");
    assert_eq!(class(quic, &|meta| meta.len = IpLen(200), up), 2);
    assert_eq!(class(quic, &|_| {}, up), 3);
    assert_eq!(class(nas, &|_| {}, down), 2);
    assert_eq!(class(nas.reverse(), &|_| {}, up), 3, "`destination` does not match the source");
    assert_eq!(class(web, &|meta| meta.dscp = 46, up), 1);
    assert_eq!(class(web, &|meta| meta.dscp = 46, down), 3);
}

#[test]
fn rules_that_can_never_match_are_refused() {
    let wide = rule("wide", 0, Conditions { port: Some(Span::new(1, 1023)), ..ANY });
    let cases = [
        (
            vec![wide.clone(), rule("narrow", 1, Conditions { source_port: Some(Span::only(53)), ..ANY })],
            "rule `narrow` never matches: the earlier rule `wide` matches all its packets; move `narrow` before `wide` or remove it",
        ),
        (
            vec![rule("all", 0, ANY), wide.clone()],
            "rule `wide` never matches: the earlier rule `all` matches all its packets; move `wide` before `all` or remove it",
        ),
        (
            vec![
                rule("tcp", 0, Conditions { protocol: Some(Protocol::Tcp), ..ANY }),
                rule("acks", 1, Conditions { pure_ack: Some(true), ..ANY }),
            ],
            "rule `acks` never matches: the earlier rule `tcp` matches all its packets; move `acks` before `tcp` or remove it",
        ),
        (
            vec![
                rule("net", 0, Conditions { address: prefix("10.0.0.0", 8), ..ANY }),
                rule("host", 1, Conditions { source: prefix("10.1.2.3", 32), ..ANY }),
            ],
            "rule `host` never matches: the earlier rule `net` matches all its packets; move `host` before `net` or remove it",
        ),
        (
            vec![rule("odd", 0, Conditions { pure_ack: Some(true), protocol: Some(Protocol::Udp), ..ANY })],
            "rule `odd` never matches: its `pure_ack` contradicts its `protocol`; change or remove one of them",
        ),
        (
            vec![rule(
                "big acks",
                0,
                Conditions { pure_ack: Some(true), len: Some(Span::new(IpLen(500), IpLen(1500))), ..ANY },
            )],
            "rule `big acks` never matches: its `pure_ack` contradicts its `len`; change or remove one of them",
        ),
        (
            vec![rule(
                "icmp",
                0,
                Conditions { protocol: Some(Protocol::Other(1)), port: Some(Span::only(7)), ..ANY },
            )],
            "rule `icmp` never matches: its `port` contradicts its `protocol`; change or remove one of them",
        ),
        (
            vec![rule(
                "mixed",
                0,
                Conditions { source: prefix("10.0.0.0", 8), destination: prefix("2001:db8::", 32), ..ANY },
            )],
            "rule `mixed` never matches: its `source` contradicts its `destination`; change or remove one of them",
        ),
        (
            vec![rule("upside down", 0, Conditions { len: Some(Span::new(IpLen(9), IpLen(8))), ..ANY })],
            "rule `upside down` never matches: no packet has its `len`; change or remove `len`",
        ),
        (
            vec![rule("dscp", 0, Conditions { dscp: Some(Span::only(64)), ..ANY })],
            "rule `dscp` never matches: no packet has its `dscp`; change or remove `dscp`",
        ),
        (vec![rule("nowhere", 4, ANY)], "rule `nowhere` names class 4; allowed: 0 to 3"),
    ];
    for (rules, error) in cases {
        assert_eq!(config(rules).check(4).unwrap_err().to_string(), error);
    }
    // Rules that overlap only in part are accepted.
    let overlapping = rule("high", 1, Conditions { port: Some(Span::new(1000, 2000)), ..ANY });
    assert_eq!(config(vec![wide, overlapping]).check(4), Ok(()));
    assert!(config(Vec::new()).check(3).is_err(), "the default class must exist too");
}

/// Feeds packets of both directions, each given as (time in ms, length), to a classifier in order of time. Returns the
/// time and the new class of each change of class.
fn classes(
    config: &ClassifierConfig,
    up: &[(u64, u32)],
    down: &[(u64, u32)],
    key: FlowKey,
) -> Vec<(u64, u8)> {
    let mut classifier = Classifier::new(config, 4).unwrap();
    let mut packets: Vec<_> = up.iter().map(|&(at, len)| (at, len, Direction::Up)).collect();
    packets.extend(down.iter().map(|&(at, len)| (at, len, Direction::Down)));
    packets.sort_by_key(|packet| packet.0);
    let mut changes: Vec<(u64, u8)> = Vec::new();
    for (at, len, direction) in packets {
        let key = if direction == Direction::Up { key } else { key.reverse() };
        let class = classifier.classify(&meta(&key, len), &key, direction, Instant::from_millis(at)).0;
        if changes.last().is_none_or(|last| last.1 != class) {
            changes.push((at, class));
        }
    }
    changes
}

fn every(step: u64, len: u32, until: u64) -> Vec<(u64, u32)> {
    (0..until / step).map(|n| (n * step, len)).collect()
}

#[test]
fn a_game_is_known_after_two_windows_and_a_download_never() {
    let real_time = config(vec![rule("rt", 0, Conditions { behaviour: Some(Behaviour::RealTime), ..ANY })]);
    assert_eq!(
        classes(&real_time, &every(38, 73, 5_000), &every(66, 155, 5_000), game()),
        // A window closes at the first packet at least 1 s after its start: at 1026 ms (27 * 38), then at 2046 ms (31 *
        // 66).
        [(0, 3), (2046, 0)]
    );
    assert_eq!(classes(&real_time, &every(2, 60, 5_000), &every(1, 1400, 5_000), game()), [(0, 3)]);
    assert_eq!(classes(&real_time, &every(38, 73, 5_000), &[], game()), [(0, 3)], "one direction only");
    let tcp = FlowKey { protocol: Protocol::Tcp, ..game() };
    assert_eq!(classes(&real_time, &every(38, 73, 5_000), &every(66, 155, 5_000), tcp), [(0, 3)]);
}

#[test]
fn rate_and_regularity_can_be_asked_for_by_themselves() {
    let slow = Conditions { rate: Some(Span::new(Bitrate::from_bps(0), Bitrate::from_bps(100_000))), ..ANY };
    // 100 B every 10 ms are 80 kbit/s, every 5 ms 160 kbit/s.
    assert_eq!(
        classes(&config(vec![rule("slow", 0, slow)]), &every(10, 100, 3_000), &[], game()),
        [(0, 3), (1000, 0)]
    );
    assert_eq!(classes(&config(vec![rule("slow", 0, slow)]), &every(5, 100, 3_000), &[], game()), [(0, 3)]);
    let steady = Conditions { gap_deviation_percent: Some(Span::new(0, 20)), ..ANY };
    let bursts: Vec<_> = (0..300).map(|n| (n / 10 * 100, 100)).collect();
    assert_eq!(
        classes(&config(vec![rule("steady", 0, steady)]), &every(10, 100, 3_000), &[], game()).len(),
        2
    );
    assert_eq!(classes(&config(vec![rule("steady", 0, steady)]), &bursts, &[], game()), [(0, 3)]);
}

#[test]
fn a_full_table_forgets_whom_it_saw_longest_ago() {
    let behaviour = Conditions { behaviour: Some(Behaviour::Unknown), ..ANY };
    let mut config = config(vec![rule("unknown", 0, behaviour)]);
    config.flows.flows = 8;
    let mut classifier = Classifier::new(&config, 4).unwrap();
    let mut see = |host: u64, at: Instant| {
        let key = key(&format!("192.168.1.{host}:1000"), "203.0.113.7:53", Protocol::Udp);
        classifier.classify(&meta(&key, 60), &key, Direction::Up, at).0
    };
    // Eight flows for more than a window each, then a ninth flow that replaces the first.
    for second in 0..3 {
        for host in 1..=8 {
            see(host, Instant::ZERO + Duration::from_secs(second) + Duration::from_millis(host));
        }
    }
    let later = Instant::from_secs(3);
    assert_eq!(see(2, later), 3, "still in the table");
    assert_eq!(see(9, later + Duration::from_millis(1)), 0, "a new flow");
    assert_eq!(see(1, later + Duration::from_millis(2)), 0, "was replaced");
    // After more than 30 s without packets a flow counts as new.
    assert_eq!(see(2, Instant::from_secs(40)), 0);
}

#[test]
fn a_flood_of_new_flows_pushes_out_its_own_and_not_the_game() {
    let mut config = config(vec![rule("rt", 0, Conditions { behaviour: Some(Behaviour::RealTime), ..ANY })]);
    config.flows.flows = 64;
    let mut classifier = Classifier::new(&config, 4).unwrap();
    let mut classes = Vec::new();
    // The flood sends one datagram every 50 us, each in a new flow. The game sends 30 packets per second each way.
    for tick in 0..160_000_u64 {
        let at = Instant::from_micros(tick * 50);
        let host = (tick % 250 + 1, 1024 + tick / 250);
        let flood = key(&format!("192.168.2.{}:{}", host.0, host.1), "203.0.113.9:53", Protocol::Udp);
        classifier.classify(&meta(&flood, 90), &flood, Direction::Up, at);
        if tick % 660 == 0 {
            let back = game().reverse();
            classes.push(classifier.classify(&meta(&game(), 73), &game(), Direction::Up, at).0);
            classifier.classify(&meta(&back, 155), &back, Direction::Down, at);
        }
    }
    let known = classes.iter().position(|class| *class == 0).expect("the game is recognised");
    assert!(known < 70, "without the flood it takes two windows, with it {known} packets");
    assert!(classes[known..].iter().all(|class| *class == 0), "{classes:?}");
}
