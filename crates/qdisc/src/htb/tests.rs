use super::*;
use crate::AnyQueue;
use crate::catalogue::DisciplineConfig;
use crate::config::{Limit, ParameterSet, QueueConfig, QueueKind};
use crate::config_error::ConfigError;
use crate::fixture::{Ledger, in_class};
use gamelane_core::{Bitrate, Seed};
use std::boxed::Box;
use std::vec;

fn kbit(kbps: u64) -> Bitrate {
    Bitrate::from_bps(kbps * 1000)
}

fn leaf(name: &str, rate: u64, ceil: u64, priority: u8) -> HtbClass {
    let queue = QueueConfig {
        limit: Some(Limit::Packets(100_000)),
        ..QueueConfig::new(QueueKind::Fifo, ParameterSet::Linux)
    };
    HtbClass {
        ceil: kbit(ceil),
        priority,
        queue: Some(Box::new(queue.into())),
        ..HtbClass::new(name, Some(0), kbit(rate))
    }
}

/// Makes a tree with a root of 1 Mbit/s and these leaves.
fn config(leaves: Vec<HtbClass>) -> HtbConfig {
    let mut tree = vec![HtbClass::new("root", None, kbit(1000))];
    tree.extend(leaves);
    HtbConfig { tree, classes: ClassMap::default(), overhead: Overhead::None }
}

fn queue(config: &HtbConfig) -> AnyQueue<u64> {
    AnyQueue::build(
        &DisciplineConfig::Htb(config.clone()),
        config.leaves().count(),
        IpLen(1500),
        Seed(1),
        "queue",
    )
    .unwrap()
}

/// Offers load to each class, given as (kbit/s, packet length), for ten seconds. Returns the kbit/s that each gets.
fn shares(config: &HtbConfig, offered: &[(u64, u32)]) -> Vec<u64> {
    let mut queue = queue(config);
    let mut ledger = Ledger::default();
    let (mut sent, mut now, end) = (vec![0u64; offered.len()], Instant::ZERO, Instant::from_secs(10));
    let mut next: Vec<Instant> = vec![Instant::ZERO; offered.len()];
    loop {
        let arrival = (0..offered.len())
            .filter(|&class| offered[class].0 > 0)
            .min_by_key(|&class| next[class])
            .unwrap();
        let ready = queue.ready_at().map(|ready| ready.max(now)).filter(|&ready| ready < next[arrival]);
        if ready.unwrap_or(next[arrival]) >= end {
            return sent.iter().map(|bytes| bytes * 8 / 10_000).collect();
        }
        if let Some(ready) = ready {
            now = ready;
            let packet = queue.dequeue(now, &mut ledger).expect("a packet at the time `ready_at` returned");
            sent[packet.meta.class.index()] += packet.meta.len.bytes();
        } else {
            now = next[arrival];
            let (rate, len) = offered[arrival];
            queue.enqueue(in_class(arrival as u8, len, 0), now, &mut ledger);
            next[arrival] += kbit(rate).time_to_send(WireLen(len));
        }
    }
}

fn near(got: &[u64], due: &[u64]) {
    // One packet of 1500 B in ten seconds is 1.2 kbit/s. Bursts and packets left at the end may differ by a few of
    // these.
    assert!(got.iter().zip(due).all(|(got, due)| got.abs_diff(*due) <= 5), "got {got:?}, expected {due:?}");
}

#[test]
fn classes_get_their_rates_and_share_the_rest() {
    let game_and_bulk = config(vec![leaf("game", 200, 1000, 0), leaf("bulk", 300, 1000, 1)]);
    // The game gets what it offers. If it offers more than its rate, its priority lets it borrow before bulk.
    near(&shares(&game_and_bulk, &[(64, 100), (5000, 1500)]), &[64, 936]);
    near(&shares(&game_and_bulk, &[(5000, 1500), (5000, 1500)]), &[700, 300]);
    // Classes of equal priority share the unused capacity in the ratio of their quanta.
    let equals = config(vec![leaf("a", 200, 1000, 0), leaf("b", 200, 1000, 0), leaf("c", 200, 1000, 0)]);
    near(&shares(&equals, &[(5000, 1500), (5000, 1500), (0, 1500)]), &[500, 500, 0]);
    near(&shares(&equals, &[(5000, 1500), (5000, 300), (100, 100)]), &[450, 450, 100]);
}

#[test]
fn nobody_passes_its_ceiling_even_alone() {
    let capped = config(vec![leaf("capped", 100, 250, 0), leaf("other", 100, 1000, 1)]);
    near(&shares(&capped, &[(5000, 1500), (0, 1500)]), &[250, 0]);
    near(&shares(&capped, &[(5000, 1500), (5000, 1500)]), &[250, 750]);
}

#[test]
fn a_class_borrows_from_its_own_family_first() {
    // root 1000: class A (600) with children a1 (300) and a2 (300), and leaf B (400). While B sends, a1 can borrow only
    // what a2 leaves of A's 600. While B sends nothing, a1 also gets B's 400.
    let mut tree = vec![HtbClass::new("root", None, kbit(1000))];
    tree.push(HtbClass { ceil: kbit(1000), ..HtbClass::new("A", Some(0), kbit(600)) });
    for name in ["a1", "a2"] {
        tree.push(HtbClass { parent: Some(1), ..leaf(name, 300, 1000, 0) });
    }
    tree.push(leaf("B", 400, 1000, 0));
    let config = HtbConfig { tree, classes: ClassMap::default(), overhead: Overhead::None };
    near(&shares(&config, &[(5000, 1500), (100, 500), (5000, 1500)]), &[500, 100, 400]);
    near(&shares(&config, &[(5000, 1500), (100, 500), (0, 1500)]), &[900, 100, 0]);
}

#[test]
fn a_packet_leaves_when_its_bucket_opens() {
    let mut queue = queue(&config(vec![leaf("only", 192, 192, 0)]));
    let mut ledger = Ledger::default();
    let mut now = Instant::from_secs(1);
    for number in 0..4 {
        queue.enqueue(in_class(0, 1500, number), now, &mut ledger);
    }
    // One packet each 62.5 ms. The second leaves 0.5 ms early: after idle time the bucket holds the credit for a late
    // driver.
    let mut times = Vec::new();
    while let Some(ready) = queue.ready_at() {
        assert!(ready <= now || queue.dequeue(now, &mut ledger).is_none(), "a packet left before its time");
        now = now.max(ready);
        assert!(queue.dequeue(now, &mut ledger).is_some());
        times.push(now.as_nanos() / 1000);
    }
    assert_eq!(times, [1_000_000, 1_062_000, 1_124_500, 1_187_000]);
}

#[test]
fn trees_that_promise_too_much_are_refused() {
    let check = |edit: &dyn Fn(&mut HtbConfig)| {
        let mut config = config(vec![leaf("game", 200, 1000, 0), leaf("bulk", 300, 1000, 1)]);
        edit(&mut config);
        config.check(2)
    };
    let name = |name: &str| name.into();
    assert_eq!(check(&|_| {}), Ok(()));
    assert_eq!(
        check(&|config| config.tree[2].rate = kbit(900)),
        Err(ConfigError::ChildrenAboveParent {
            parent: name("root"),
            rate: kbit(1000),
            children: kbit(1100)
        })
    );
    assert_eq!(
        check(&|config| config.tree[1].ceil = kbit(2000)),
        Err(ConfigError::CeilAboveParent { name: name("game"), ceil: kbit(2000), parent: kbit(1000) })
    );
    assert_eq!(
        check(&|config| config.tree[1].ceil = kbit(100)),
        Err(ConfigError::CeilBelowRate { name: name("game"), rate: kbit(200), ceil: kbit(100) })
    );
    assert_eq!(
        check(&|config| config.tree[1].rate = kbit(0)),
        Err(ConfigError::ZeroRate { name: name("game") })
    );
    assert_eq!(
        check(&|config| config.tree[1].parent = Some(2)),
        Err(ConfigError::NoSuchParent { name: name("game") })
    );
    assert_eq!(
        check(&|config| config.tree[2].queue = None),
        Err(ConfigError::QueueNotAtLeaf { name: name("bulk") })
    );
    assert!(check(&|config| config.tree[1].priority = 8).is_err());
    let mut deep = config(vec![leaf("deep", 1, 1, 0)]);
    for depth in 1..9 {
        let queue = deep.tree[depth].queue.take();
        deep.tree.push(HtbClass { parent: Some(depth), queue, ..leaf("deeper", 1, 1, 0) });
    }
    assert_eq!(deep.check(1), Err(ConfigError::TooDeep { name: name("deeper") }));
}
