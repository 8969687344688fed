//! Counts allocations: in steady state neither a queue nor the classifier allocates memory for a packet or a flow.

use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS};
use gamelane_core::{
    AckKind, Bitrate, ByteCount, ClassId, Direction, DropReason, Duration, Ecn, FlowId, FlowKey, Instant,
    IpLen, Outlet, Overhead, Packet, PacketMeta, Protocol, Seed,
};
use gamelane_qdisc::classify::{Behaviour, Conditions, Rule};
use gamelane_qdisc::drr::DrrClass;
use gamelane_qdisc::htb::HtbClass;
use gamelane_qdisc::{
    AckFilterConfig, AckFilterMode, AnyQueue, CakeConfig, ClassMap, Classifier, ClassifierConfig,
    DisciplineConfig, DrrConfig, DualPi2Config, HtbConfig, Limit, ParameterSet, PriorityConfig, QueueConfig,
    QueueDiscipline, QueueKind,
};

/// Rate of the shapers. 1500 B each millisecond are 12 Mbit/s, so a third of the packets is dropped.
const RATE: Bitrate = Bitrate::from_bps(8_000_000);

/// Length of a pure ACK with timestamps over IPv4, in bytes.
const ACK: u32 = IPV4_HEADER + TCP_HEADER + TCP_TIMESTAMPS;

struct Forget;

impl Outlet<u32> for Forget {
    fn dropped(&mut self, _: Packet<u32>, _: DropReason) {}
}

fn packet(number: u64, now: Instant) -> Packet<u32> {
    let flow = (number % 7) as u32;
    let meta = PacketMeta {
        sent_at: now,
        queued_at: now,
        waited: Duration::ZERO,
        flow: FlowId(flow),
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        hosts: [flow % 2, flow % 3],
        len: IpLen(if flow == 3 { ACK } else { 1500 }),
        protocol: Protocol::Tcp,
        ecn: if flow == 1 { Ecn::Ect1 } else { Ecn::NotEct },
        dscp: if flow == 2 { 46 } else { 0 },
        class: ClassId((flow % 3) as u8),
        ack: if flow == 3 { AckKind::Plain } else { AckKind::NotPure },
        ack_number: number as u32,
    };
    Packet { meta, body: flow }
}

fn queues() -> Vec<(&'static str, DisciplineConfig)> {
    let leaf = || {
        DisciplineConfig::Leaf(QueueConfig {
            limit: Some(Limit::Packets(100)),
            ..QueueConfig::new(QueueKind::FqCodel, ParameterSet::Linux)
        })
    };
    let classes = ClassMap::default;
    let share = |_| DrrClass { quantum: ByteCount(1514), queue: leaf() };
    let mut tree = vec![HtbClass::new("root", None, RATE)];
    tree.extend((0..3).map(|_| HtbClass {
        ceil: RATE,
        queue: Some(Box::new(leaf())),
        ..HtbClass::new("leaf", Some(0), Bitrate::from_bps(RATE.bps() / 4))
    }));
    let filter = AckFilterConfig { mode: AckFilterMode::Aggressive, limit: Limit::Packets(100) };
    let limit = Limit::Packets(100);
    let memory = Some(ByteCount(150_000));
    let ack_filter = AckFilterMode::Aggressive;
    vec![
        ("ack filter", DisciplineConfig::AckFilter(filter)),
        (
            "priority",
            DisciplineConfig::Priority(PriorityConfig {
                bands: vec![leaf(), leaf(), leaf()],
                classes: classes(),
            }),
        ),
        ("drr", DisciplineConfig::Drr(DrrConfig { shares: (0..3).map(share).collect(), classes: classes() })),
        ("htb", DisciplineConfig::Htb(HtbConfig { tree, classes: classes(), overhead: Overhead::None })),
        ("dualpi2", DisciplineConfig::DualPi2(DualPi2Config { limit, ..DualPi2Config::default() })),
        (
            "cake",
            DisciplineConfig::Cake(CakeConfig {
                bandwidth: Some(RATE),
                memory,
                ack_filter,
                ingress: true,
                ..CakeConfig::default()
            }),
        ),
    ]
}

#[test]
fn no_queue_allocates_in_steady_state() {
    for (name, config) in queues() {
        let mut queue: AnyQueue<u32> = AnyQueue::build(&config, 3, IpLen(1500), Seed(1), "queue").unwrap();
        let mut now = Instant::ZERO;
        let (mut sent, mut link_free_at) = (0, Instant::ZERO);
        let mut run = |packets: std::ops::Range<u64>| {
            for number in packets {
                now += Duration::from_millis(1);
                queue.enqueue(packet(number, now), now, &mut Forget);
                if queue.poll_timeout().is_some_and(|at| at <= now) {
                    queue.handle_timeout(now);
                }
                while queue.ready_at().is_some_and(|at| at.max(link_free_at) <= now) {
                    let Some(packet) = queue.dequeue(now, &mut Forget) else { continue };
                    link_free_at =
                        now.max(link_free_at) + RATE.time_to_send(Overhead::None.wire_len(packet.meta.len));
                    sent += 1;
                }
            }
        };
        run(0..20_000);
        let allocated = allocation_counter::measure(|| run(20_000..60_000));
        assert_eq!(allocated.count_total, 0, "{name}");
        assert!(sent > 30_000, "{name} sent only {sent} packets");
    }
}

#[test]
fn a_flood_of_flows_allocates_nothing() {
    let when = Conditions { behaviour: Some(Behaviour::RealTime), ..Conditions::default() };
    let rules = vec![Rule { name: "game".into(), class: ClassId(0), when }];
    let config = ClassifierConfig { rules, default: ClassId(1), ..ClassifierConfig::default() };
    let mut classifier = Classifier::new(&config, 2).unwrap();
    let allocated = allocation_counter::measure(|| {
        for number in 0..100_000u32 {
            let key = FlowKey {
                source: (std::net::Ipv4Addr::from_bits(number), 1000).into(),
                destination: ([203, 0, 113, 7], 53).into(),
                protocol: Protocol::Udp,
            };
            let now = Instant::from_micros(u64::from(number));
            let meta = packet(0, now).meta;
            assert_eq!(classifier.classify(&meta, &key, Direction::Up, now), ClassId(1));
        }
    });
    assert_eq!(allocated.count_total, 0);
}
