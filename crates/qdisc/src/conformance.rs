//! One suite that every queue under every parameter set must pass: conservation, order within a flow, work
//! conservation, limits, no starvation where it is promised, late calls, and the same decisions for the same input.

use gamelane_core::{
    ByteCount, DropReason, Duration, Ecn, FlowId, Instant, IpLen, Outlet, Packet, PacketMeta, Seed,
};
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

use crate::config::{Limit, ParameterSet, QueueConfig, QueueKind};
use crate::{AnyQueue, QueueDiscipline};

const KINDS: [QueueKind; 5] =
    [QueueKind::Fifo, QueueKind::Codel, QueueKind::Pie, QueueKind::FqCodel, QueueKind::FqPie];
const SETS: [ParameterSet; 4] =
    [ParameterSet::Rfc, ParameterSet::Linux, ParameterSet::Dummynet, ParameterSet::Ns3];
const FLOWS: u32 = 5;

#[derive(Clone, Debug)]
enum Operation {
    Enqueue {
        flow: u32,
        len: u32,
        ecn: bool,
    },
    Dequeue,
    Advance {
        micros: u64,
    },
    /// Handle timeouts this long after they were due.
    Timeout {
        late_micros: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => (0..FLOWS, 28u32..=1500, any::<bool>()).prop_map(|(flow, len, ecn)| Operation::Enqueue { flow, len, ecn }),
        3 => Just(Operation::Dequeue),
        2 => (0u64..20_000).prop_map(|micros| Operation::Advance { micros }),
        1 => (0u64..2_000_000).prop_map(|late_micros| Operation::Timeout { late_micros }),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1u32..60).prop_map(Limit::Packets),
        (1500u64..60_000).prop_map(|bytes| Limit::Bytes(ByteCount(bytes))),
    ];
    (0..KINDS.len(), 0..SETS.len(), limit, any::<Option<bool>>(), 1u32..9).prop_map(
        |(kind, set, limit, ecn, flows)| QueueConfig {
            limit: Some(limit),
            ecn,
            flows: Some(flows),
            ..QueueConfig::new(KINDS[kind], SETS[set])
        },
    )
}

fn packet(flow: u32, len: u32, ecn: bool, number: u64, now: Instant) -> Packet<u64> {
    let meta = PacketMeta {
        sent_at: now,
        flow: FlowId(flow),
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        ..crate::fixture::packet(len, if ecn { Ecn::Ect0 } else { Ecn::NotEct })
    };
    Packet { meta, body: number }
}

#[derive(Default)]
struct Ledger {
    dropped: Vec<(u64, DropReason)>,
    dropped_bytes: u64,
    marked: u64,
}

impl Outlet<u64> for Ledger {
    fn dropped(&mut self, packet: Packet<u64>, reason: DropReason) {
        self.dropped.push((packet.body, reason));
        self.dropped_bytes += packet.meta.len.bytes();
    }

    fn marked(&mut self, meta: &PacketMeta, _: gamelane_core::MarkReason) {
        assert_eq!(meta.ecn, Ecn::Ce);
        self.marked += 1;
    }
}

/// Runs `operations`, checks every invariant on the way, returns what left and what was dropped.
fn check(config: &QueueConfig, operations: &[Operation]) -> (Vec<u64>, Vec<(u64, DropReason)>) {
    let mut queue: AnyQueue<u64> = AnyQueue::new(config, IpLen(1500), Seed(1), "queue");
    let mut ledger = Ledger::default();
    let mut now = Instant::ZERO;
    let (mut arrived, mut arrived_bytes, mut left_bytes) = (0u64, 0u64, 0u64);
    let mut left = Vec::new();
    let mut last_of_flow = [None; FLOWS as usize];
    for operation in operations.iter().chain(&vec![Operation::Dequeue; operations.len() + 1]) {
        match *operation {
            Operation::Enqueue { flow, len, ecn } => {
                queue.enqueue(packet(flow, len, ecn, arrived, now), now, &mut ledger);
                arrived += 1;
                arrived_bytes += u64::from(len);
            }
            Operation::Dequeue => match queue.dequeue(now, &mut ledger) {
                Some(packet) => {
                    let last = &mut last_of_flow[packet.meta.flow.index()];
                    assert!(*last < Some(packet.body), "packets of a flow left out of order");
                    *last = Some(packet.body);
                    left.push(packet.body);
                    left_bytes += packet.meta.len.bytes();
                }
                None => assert!(queue.backlog().is_empty(), "a queue with packets gave none"),
            },
            Operation::Advance { micros } => now += Duration::from_micros(micros),
            Operation::Timeout { late_micros } => {
                if let Some(at) = queue.poll_timeout() {
                    now = now.max(at) + Duration::from_micros(late_micros);
                    queue.handle_timeout(now);
                    assert!(queue.poll_timeout().is_none_or(|next| next > now), "a timeout lies in the past");
                }
            }
        }
        let backlog = queue.backlog();
        let gone = left.len() as u64 + ledger.dropped.len() as u64;
        assert_eq!(arrived, gone + u64::from(backlog.packets), "packets are conserved");
        assert_eq!(arrived_bytes, left_bytes + ledger.dropped_bytes + backlog.bytes, "bytes are conserved");
        match config.resolved_limit() {
            Limit::Packets(packets) => assert!(backlog.packets <= packets),
            Limit::Bytes(bytes) => assert!(backlog.bytes <= bytes.bytes()),
        }
    }
    assert!(queue.backlog().is_empty(), "draining leaves nothing");
    if matches!(config.kind, QueueKind::Fifo) {
        assert!(ledger.dropped.iter().all(|(_, reason)| *reason == DropReason::Tail));
        assert_eq!(ledger.marked, 0);
    }
    (left, ledger.dropped)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_queue_keeps_the_contract(config in queue(), operations in prop::collection::vec(operation(), 1..400)) {
        let first = check(&config, &operations);
        prop_assert_eq!(first, check(&config, &operations), "same input, same decisions");
    }

    #[test]
    fn an_early_timeout_changes_nothing(config in queue(), operations in prop::collection::vec(operation(), 1..100)) {
        let mut nagged = Vec::new();
        for operation in &operations {
            nagged.push(Operation::Advance { micros: 0 });
            nagged.push(operation.clone());
        }
        prop_assert_eq!(check(&config, &operations), check(&config, &nagged));
    }
}

/// Bytes each of `flows` gets of `rounds` full packets when all of them always have packets waiting.
fn shares(config: &QueueConfig, lens: &[u32], rounds: usize) -> Vec<u64> {
    let mut queue: AnyQueue<u64> = AnyQueue::new(config, IpLen(1500), Seed(1), "queue");
    let mut ledger = Ledger::default();
    let (mut number, mut got) = (0, vec![0; lens.len()]);
    let mut now = Instant::ZERO;
    let mut waiting = vec![0u32; lens.len()];
    for _ in 0..rounds {
        for (flow, &len) in lens.iter().enumerate() {
            while waiting[flow] < 20 {
                queue.enqueue(packet(flow as u32, len, false, number, now), now, &mut ledger);
                waiting[flow] += 1;
                number += 1;
            }
        }
        if let Some(packet) = queue.dequeue(now, &mut ledger) {
            got[packet.meta.flow.index()] += packet.meta.len.bytes();
            waiting[packet.meta.flow.index()] -= 1;
        }
        // Far below every target, so that only the scheduler decides.
        now += Duration::from_micros(1);
    }
    got
}

#[test]
fn flow_queues_share_bytes_whatever_the_packet_size() {
    for kind in [QueueKind::FqCodel, QueueKind::FqPie] {
        for set in SETS {
            let got = shares(&QueueConfig::new(kind, set), &[1500, 1500, 200, 64], 20_000);
            // Linux, RFC and ns-3 charge 14 B of Ethernet a packet: 64 B packets pay for 78.
            let (least, most) = (*got.iter().min().unwrap(), *got.iter().max().unwrap());
            assert!(least * 5 >= most * 4, "{kind:?} {set:?}: {got:?}");
        }
    }
}

#[test]
fn a_sparse_flow_waits_for_one_quantum_at_most() {
    for kind in [QueueKind::FqCodel, QueueKind::FqPie] {
        for set in SETS {
            let mut queue: AnyQueue<u64> =
                AnyQueue::new(&QueueConfig::new(kind, set), IpLen(1500), Seed(1), "queue");
            let mut ledger = Ledger::default();
            let mut now = Instant::ZERO;
            for number in 0..200 {
                queue.enqueue(packet(0, 1500, false, number, now), now, &mut ledger);
            }
            for round in 0..100 {
                now += Duration::from_millis(12);
                assert_eq!(queue.dequeue(now, &mut ledger).unwrap().meta.flow, FlowId(0));
                queue.handle_timeout(now);
                queue.enqueue(packet(1, 100, false, 1000 + round, now), now, &mut ledger);
                let mut next = queue.dequeue(now, &mut ledger).unwrap();
                if set == ParameterSet::Dummynet && next.meta.flow == FlowId(0) {
                    // A quantum of 1514 B buys 1500 B of IP and leaves 14, enough to start a second packet.
                    next = queue.dequeue(now, &mut ledger).unwrap();
                }
                assert_eq!(next.meta.flow, FlowId(1), "{kind:?} {set:?}: the game packet goes next");
                queue.enqueue(packet(0, 1500, false, 2000 + round, now), now, &mut ledger);
            }
        }
    }
}

#[test]
fn a_flow_of_one_packet_a_round_cannot_starve_another() {
    for kind in [QueueKind::FqCodel, QueueKind::FqPie] {
        for set in SETS {
            let mut queue: AnyQueue<u64> =
                AnyQueue::new(&QueueConfig::new(kind, set), IpLen(1500), Seed(1), "queue");
            let mut ledger = Ledger::default();
            let now = Instant::ZERO;
            for number in 0..10 {
                queue.enqueue(packet(0, 1500, false, number, now), now, &mut ledger);
            }
            let mut served = 0;
            for round in 0..40 {
                queue.enqueue(packet(1, 1500, false, 100 + round, now), now, &mut ledger);
                served += u32::from(queue.dequeue(now, &mut ledger).unwrap().meta.flow == FlowId(0));
            }
            assert_eq!(served, 10, "{kind:?} {set:?}");
        }
    }
}

#[test]
fn a_full_queue_takes_from_whom_its_kind_says() {
    let full = |kind, set| {
        let config = QueueConfig { limit: Some(Limit::Packets(100)), ..QueueConfig::new(kind, set) };
        let mut queue: AnyQueue<u64> = AnyQueue::new(&config, IpLen(1500), Seed(1), "queue");
        let mut ledger = Ledger::default();
        for number in 0..100 {
            queue.enqueue(packet(0, 1500, false, number, Instant::ZERO), Instant::ZERO, &mut ledger);
        }
        queue.enqueue(packet(1, 100, false, 100, Instant::ZERO), Instant::ZERO, &mut ledger);
        ledger.dropped
    };
    assert_eq!(full(QueueKind::Fifo, ParameterSet::Linux), [(100, DropReason::Tail)]);
    assert_eq!(full(QueueKind::FqPie, ParameterSet::Linux), [(100, DropReason::Tail)]);
    assert_eq!(full(QueueKind::FqCodel, ParameterSet::Dummynet), [(0, DropReason::Overlimit)]);
    assert_eq!(full(QueueKind::FqCodel, ParameterSet::Rfc), [(0, DropReason::Overlimit)]);
    // Linux takes up to 64 packets but at most half of the bytes: 50 of 100.
    assert_eq!(full(QueueKind::FqCodel, ParameterSet::Linux).len(), 50);
}
