//! Conformance tests that every discipline with every parameter set must pass. Packets are conserved and stay in order
//! within a flow. Limits hold. Late and early calls are harmless. The same input gives the same decisions. A
//! work-conserving queue sends whenever it has packets; a shaped one says when it is ready. Flow queues starve no flow.

use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{
    AckKind, Bitrate, ByteCount, ClassId, DropReason, Duration, Ecn, FlowId, Instant, IpLen, Overhead,
    Packet, PacketMeta, Seed,
};
use proptest::prelude::*;
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use crate::ack_filter::{AckFilterConfig, AckFilterMode};
use crate::cake::{CakeConfig, Diffserv, Isolation};
use crate::catalogue::DisciplineConfig;
use crate::class_map::ClassMap;
use crate::config::{Limit, ParameterSet, QueueConfig, QueueKind};
use crate::drr::{DrrClass, DrrConfig};
use crate::dualpi2::{DualPi2Config, L4sMarking, Scheduler};
use crate::fixture::Ledger;
use crate::htb::{HtbClass, HtbConfig};
use crate::priority::PriorityConfig;
use crate::{AnyQueue, QueueDiscipline};

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
    /// Advances time until the queue is ready, then dequeues. The drain at the end uses this.
    DequeueWhenReady,
    Advance {
        micros: u64,
    },
    /// Handles the next timeout this long after it was due.
    Timeout {
        late_micros: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => (0..FLOWS, IPV4_HEADER + UDP_HEADER..=1500, any::<bool>()).prop_map(|(flow, len, ecn)| Operation::Enqueue { flow, len, ecn }),
        3 => Just(Operation::Dequeue),
        1 => Just(Operation::DequeueWhenReady),
        2 => (0u64..20_000).prop_map(|micros| Operation::Advance { micros }),
        1 => (0u64..2_000_000).prop_map(|late_micros| Operation::Timeout { late_micros }),
    ]
}

fn plain() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1u32..60).prop_map(Limit::Packets),
        (1500u64..60_000).prop_map(|bytes| Limit::Bytes(ByteCount(bytes))),
    ];
    let kind = prop::sample::select(QueueKind::all().collect::<Vec<_>>());
    (kind, prop::sample::select(&SETS), limit, any::<Option<bool>>(), 1u32..9).prop_map(
        |(kind, set, limit, ecn, flows)| QueueConfig {
            limit: Some(limit),
            ecn,
            flows: Some(flows),
            ..QueueConfig::new(kind, set)
        },
    )
}

fn ack_filter() -> impl Strategy<Value = AckFilterMode> {
    prop_oneof![Just(AckFilterMode::Off), Just(AckFilterMode::Conservative), Just(AckFilterMode::Aggressive)]
}

/// From 64 kbit/s to 10 Mbit/s.
fn rate() -> impl Strategy<Value = Bitrate> {
    (64u64..10_000).prop_map(|kbps| Bitrate::from_bps(kbps * 1000))
}

fn cake() -> impl Strategy<Value = DisciplineConfig> {
    let diffserv = prop_oneof![
        Just(Diffserv::BestEffort),
        Just(Diffserv::Three),
        Just(Diffserv::Four),
        Just(Diffserv::Eight),
        Just(Diffserv::Precedence)
    ];
    let isolation = prop_oneof![
        Just(Isolation::Blind),
        Just(Isolation::Sources),
        Just(Isolation::Destinations),
        Just(Isolation::Hosts),
        Just(Isolation::Flows),
        Just(Isolation::DualSource),
        Just(Isolation::DualDestination),
        Just(Isolation::Triple)
    ];
    (
        prop::option::of(rate()),
        diffserv,
        isolation,
        ack_filter(),
        any::<[bool; 2]>(),
        prop::option::of(1514u64..60_000),
    )
        .prop_map(|(bandwidth, diffserv, isolation, ack_filter, [ingress, wash], memory)| {
            DisciplineConfig::Cake(CakeConfig {
                bandwidth,
                diffserv,
                isolation,
                overhead: Overhead::Docsis,
                ack_filter,
                ingress,
                wash,
                memory: memory.map(ByteCount),
                ..CakeConfig::default()
            })
        })
}

fn dualpi2() -> impl Strategy<Value = DisciplineConfig> {
    let scheduler = prop_oneof![
        (1u8..100).prop_map(|classic_percent| Scheduler::Weighted { classic_percent }),
        (0u64..100).prop_map(|ms| Scheduler::TimeShifted { shift: Duration::from_millis(ms) }),
    ];
    let marking = prop_oneof![Just(L4sMarking::STEP), Just(L4sMarking::RAMP)];
    (1u32..60, scheduler, marking).prop_map(|(limit, scheduler, marking)| {
        let limit = Limit::Packets(limit);
        DisciplineConfig::DualPi2(DualPi2Config { limit, scheduler, marking, ..DualPi2Config::default() })
    })
}

/// An HTB root with three leaves. The last leaf may not borrow.
fn htb(rate: Bitrate, leaves: Vec<DisciplineConfig>, burst: u64) -> DisciplineConfig {
    let share = Bitrate::from_bps(rate.bps() / 4);
    let mut tree = vec![HtbClass::new("root", None, rate)];
    tree.extend(leaves.into_iter().enumerate().map(|(index, queue)| HtbClass {
        ceil: if index == 2 { share } else { rate },
        priority: index as u8 % 2,
        burst: Some(ByteCount(burst)),
        queue: Some(Box::new(queue)),
        ..HtbClass::new("leaf", Some(0), share)
    }));
    DisciplineConfig::Htb(HtbConfig { tree, classes: ClassMap::default(), overhead: Overhead::Ethernet })
}

/// Any discipline, with disciplines inside each other up to three levels deep.
fn queue() -> impl Strategy<Value = DisciplineConfig> {
    let filter = (ack_filter(), 1u32..60).prop_map(|(mode, limit)| {
        DisciplineConfig::AckFilter(AckFilterConfig { mode, limit: Limit::Packets(limit) })
    });
    let single =
        prop_oneof![4 => plain().prop_map(DisciplineConfig::Leaf), 1 => filter, 2 => cake(), 1 => dualpi2()];
    single.prop_recursive(2, 16, 3, |part| {
        let parts = prop::collection::vec(part, CLASSES);
        let quanta = prop::collection::vec(1u64..4000, CLASSES);
        prop_oneof![
            parts.clone().prop_map(|bands| {
                DisciplineConfig::Priority(PriorityConfig { bands, classes: ClassMap::default() })
            }),
            (parts.clone(), quanta).prop_map(|(parts, quanta)| {
                let share = |(queue, quantum)| DrrClass { quantum: ByteCount(quantum), queue };
                let shares = parts.into_iter().zip(quanta).map(share).collect();
                DisciplineConfig::Drr(DrrConfig { shares, classes: ClassMap::default() })
            }),
            (rate(), parts, 0u64..5000).prop_map(|(rate, parts, burst)| htb(rate, parts, burst)),
        ]
    })
}

/// Limit over the whole discipline; `None` if only its parts have limits.
fn limit(config: &DisciplineConfig) -> Option<Limit> {
    match config {
        DisciplineConfig::Leaf(config) => Some(config.resolved_limit()),
        DisciplineConfig::AckFilter(config) => Some(config.limit),
        DisciplineConfig::DualPi2(config) => Some(config.limit),
        DisciplineConfig::Cake(config) => config.memory.map(Limit::Bytes),
        DisciplineConfig::Priority(_) | DisciplineConfig::Drr(_) | DisciplineConfig::Htb(_) => None,
    }
}

fn build(config: &DisciplineConfig) -> AnyQueue<u64> {
    AnyQueue::build(config, CLASSES, IpLen(1500), Seed(1), "queue")
        .expect("the strategy makes valid configurations")
}

/// Number of classes; fewer than flows, so that flows share a class. Flow 1 has DSCP EF, flow 2 is L4S, flow 3 sends
/// ACKs.
const CLASSES: usize = 3;

/// Makes a packet of a flow. Every field by which a queue may sort depends on the flow only; otherwise a queue could
/// rightly reorder packets within a flow.
fn packet(flow: u32, len: u32, ecn: bool, number: u64, now: Instant) -> Packet<u64> {
    let ect = if flow == 2 { Ecn::Ect1 } else { Ecn::Ect0 };
    let ecn = if ecn || flow == 2 { ect } else { Ecn::NotEct };
    let meta = PacketMeta {
        sent_at: now,
        flow: FlowId(flow),
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        hosts: [flow % 2, 100 + flow % 3],
        class: ClassId((flow % CLASSES as u32) as u8),
        dscp: if flow == 1 { 46 } else { 0 },
        ack: if flow == 3 { AckKind::Plain } else { AckKind::NotPure },
        ack_number: number as u32,
        ..crate::fixture::packet(len, ecn)
    };
    Packet { meta, body: number }
}

/// Runs `operations` and checks the invariants after each. Returns the packets that left and those dropped.
fn check(config: &DisciplineConfig, operations: &[Operation]) -> (Vec<u64>, Vec<(u64, DropReason)>) {
    let mut queue = build(config);
    let conserving = config.is_work_conserving();
    let mut ledger = Ledger::default();
    let mut now = Instant::ZERO;
    let (mut arrived, mut arrived_bytes, mut left_bytes) = (0u64, 0u64, 0u64);
    let mut left = Vec::new();
    let mut last_of_flow = [None; FLOWS as usize];
    let drain = vec![Operation::DequeueWhenReady; operations.len() + 1];
    for operation in operations.iter().chain(&drain) {
        if let Operation::DequeueWhenReady = operation {
            now = now.max(queue.ready_at().unwrap_or(now));
        }
        match *operation {
            Operation::Enqueue { flow, len, ecn } => {
                queue.enqueue(packet(flow, len, ecn, arrived, now), now, &mut ledger);
                arrived += 1;
                arrived_bytes += u64::from(len);
            }
            Operation::Dequeue | Operation::DequeueWhenReady => match queue.dequeue(now, &mut ledger) {
                Some(packet) => {
                    let last = &mut last_of_flow[packet.meta.flow.index()];
                    assert!(*last < Some(packet.body), "packets of a flow left out of order");
                    *last = Some(packet.body);
                    left.push(packet.body);
                    left_bytes += packet.meta.len.bytes();
                }
                None if conserving => {
                    assert!(queue.backlog().is_empty(), "a work-conserving queue with packets returned none")
                }
                None => assert!(
                    queue.ready_at().is_none_or(|at| at > now),
                    "the queue was ready but returned no packet"
                ),
            },
            Operation::Advance { micros } => now += Duration::from_micros(micros),
            Operation::Timeout { late_micros } => {
                if let Some(at) = queue.poll_timeout() {
                    now = now.max(at) + Duration::from_micros(late_micros);
                    queue.handle_timeout(now);
                    assert!(
                        queue.poll_timeout().is_none_or(|next| next > now),
                        "the next timeout is not after now"
                    );
                }
            }
        }
        let backlog = queue.backlog();
        let gone = left.len() as u64 + ledger.dropped.len() as u64;
        assert_eq!(arrived, gone + u64::from(backlog.packets), "packets must be conserved");
        assert_eq!(
            arrived_bytes,
            left_bytes + ledger.dropped_bytes + backlog.bytes,
            "bytes must be conserved"
        );
        match limit(config) {
            Some(Limit::Packets(packets)) => assert!(backlog.packets <= packets),
            Some(Limit::Bytes(bytes)) => assert!(backlog.bytes <= bytes.bytes()),
            None => {}
        }
        assert_eq!(
            queue.ready_at().is_none(),
            backlog.is_empty(),
            "`ready_at` must return a time exactly while packets wait"
        );
    }
    assert!(queue.backlog().is_empty(), "packets are left after the drain");
    if matches!(config, DisciplineConfig::Leaf(QueueConfig { kind: QueueKind::Fifo, .. })) {
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
        prop_assert_eq!(first, check(&config, &operations), "the same input must give the same decisions");
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

/// Sends `rounds` packets while flows with packets of `lens` bytes always have 20 waiting. Returns the bytes of each
/// flow.
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
        // Time advances so little that delays stay below every target, so only the scheduler decides.
        now += Duration::from_micros(1);
    }
    got
}

#[test]
fn flow_queues_share_bytes_whatever_the_packet_size() {
    for kind in [QueueKind::FqCodel, QueueKind::FqPie] {
        for set in SETS {
            let got = shares(&QueueConfig::new(kind, set), &[1500, 1500, 200, 64], 20_000);
            // Linux, RFC and ns-3 charge 14 B of Ethernet header per packet: packets of 64 B cost 78 B.
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
                    // A quantum of 1514 B minus 1500 B leaves a deficit of 14 B, with which flow 0 may send again.
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
    // Linux drops up to 64 packets but stops at half of the bytes: 50 of 100.
    assert_eq!(full(QueueKind::FqCodel, ParameterSet::Linux).len(), 50);
}
