//! Benchmark of every queue: packets per CPU second through enqueue and dequeue, with 64 flows in three classes and 200
//! packets waiting. Prints the median of five repeats; compare the ratios, not the absolute numbers. Run it with
//! `cargo bench -p gamelane-qdisc`.

use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS};
use gamelane_core::{
    AckKind, Bitrate, ByteCount, ClassId, Direction, DropReason, Duration, Ecn, FlowId, FlowKey, Instant,
    IpLen, Outlet, Overhead, Packet, PacketMeta, Protocol, Seed,
};
use gamelane_qdisc::cake::Diffserv;
use gamelane_qdisc::classify::{Behaviour, Conditions, Rule, Span};
use gamelane_qdisc::drr::DrrClass;
use gamelane_qdisc::htb::HtbClass;
use gamelane_qdisc::{
    AckFilterConfig, AckFilterMode, AnyQueue, CakeConfig, ClassMap, Classifier, ClassifierConfig,
    DisciplineConfig, DrrConfig, DualPi2Config, HtbConfig, Limit, ParameterSet, PriorityConfig, QueueConfig,
    QueueDiscipline, QueueKind,
};
use rustix::time::{ClockId, clock_gettime};

const FLOWS: u32 = 64;
const CLASSES: usize = 3;
const WAITING: usize = 200;
const PACKETS: u64 = 1_000_000;
const REPEATS: usize = 5;
/// Rate of the shapers: above the offered load, so that they hardly ever hold a packet back.
const RATE: Bitrate = Bitrate::from_bps(2_000_000_000);

/// Length of a pure ACK with timestamps over IPv4, in bytes.
const ACK: u32 = IPV4_HEADER + TCP_HEADER + TCP_TIMESTAMPS;

struct Count(u64);

impl Outlet<u32> for Count {
    fn dropped(&mut self, _: Packet<u32>, _: DropReason) {
        self.0 += 1;
    }
}

fn main() {
    println!("{:<26} {:>16} {:>9}", "queue", "packets/CPU-s", "dropped");
    for (name, config) in queues() {
        let mut runs: Vec<(f64, u64)> = (0..REPEATS).map(|_| run(&config)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (seconds, dropped) = runs[REPEATS / 2];
        println!("{name:<26} {:>16.0} {dropped:>9}", PACKETS as f64 / seconds);
    }
    let mut seconds: Vec<f64> = (0..REPEATS).map(|_| classify()).collect();
    seconds.sort_by(f64::total_cmp);
    println!("{:<26} {:>16.0}", "classifier, 5 rules", PACKETS as f64 / seconds[REPEATS / 2]);
}

fn queues() -> Vec<(&'static str, DisciplineConfig)> {
    let leaf = |kind| DisciplineConfig::Leaf(QueueConfig::new(kind, ParameterSet::Linux));
    let three = |kind| vec![leaf(kind), leaf(kind), leaf(kind)];
    let classes = ClassMap::default;
    let share = |queue| DrrClass { quantum: ByteCount(1514), queue };
    let mut tree = vec![HtbClass::new("root", None, RATE)];
    tree.extend(three(QueueKind::Fifo).into_iter().map(|queue| HtbClass {
        ceil: RATE,
        queue: Some(Box::new(queue)),
        ..HtbClass::new("leaf", Some(0), Bitrate::from_bps(RATE.bps() / 3))
    }));
    let cake = CakeConfig { bandwidth: Some(RATE), diffserv: Diffserv::Four, ..CakeConfig::default() };
    let filter = CakeConfig { ack_filter: AckFilterMode::Aggressive, ..cake };
    let fifo_filter = AckFilterConfig { mode: AckFilterMode::Conservative, limit: Limit::Packets(1000) };
    vec![
        ("fifo", leaf(QueueKind::Fifo)),
        ("codel", leaf(QueueKind::Codel)),
        ("pie", leaf(QueueKind::Pie)),
        ("fq_codel", leaf(QueueKind::FqCodel)),
        ("fq_pie", leaf(QueueKind::FqPie)),
        ("fifo + ack filter", DisciplineConfig::AckFilter(fifo_filter)),
        (
            "priority of fifo",
            DisciplineConfig::Priority(PriorityConfig { bands: three(QueueKind::Fifo), classes: classes() }),
        ),
        (
            "priority of fq_codel",
            DisciplineConfig::Priority(PriorityConfig {
                bands: three(QueueKind::FqCodel),
                classes: classes(),
            }),
        ),
        (
            "drr of fifo",
            DisciplineConfig::Drr(DrrConfig {
                shares: three(QueueKind::Fifo).into_iter().map(share).collect(),
                classes: classes(),
            }),
        ),
        (
            "htb of fifo",
            DisciplineConfig::Htb(HtbConfig { tree, classes: classes(), overhead: Overhead::None }),
        ),
        ("dualpi2", DisciplineConfig::DualPi2(DualPi2Config::default())),
        ("cake, unshaped", DisciplineConfig::Cake(CakeConfig::default())),
        ("cake, diffserv4", DisciplineConfig::Cake(cake)),
        ("cake, ack filter", DisciplineConfig::Cake(filter)),
    ]
}

fn packet(number: u64, now: Instant) -> Packet<u32> {
    let flow = (number % u64::from(FLOWS)) as u32;
    let pure = flow % 4 == 3;
    let meta = PacketMeta {
        sent_at: now,
        queued_at: now,
        waited: Duration::ZERO,
        flow: FlowId(flow),
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        hosts: [flow % 5, flow],
        len: IpLen(if pure { ACK } else { 1500 }),
        protocol: Protocol::Tcp,
        ecn: if flow % 4 == 1 { Ecn::Ect1 } else { Ecn::NotEct },
        dscp: if flow.is_multiple_of(8) { 46 } else { 0 },
        class: ClassId((flow % CLASSES as u32) as u8),
        ack: if pure { AckKind::Plain } else { AckKind::NotPure },
        ack_number: number as u32,
    };
    Packet { meta, body: flow }
}

/// Runs one queue and returns the CPU seconds and the number of dropped packets. Virtual time advances by 5 µs per
/// packet, a little more than an average packet takes at [`RATE`].
fn run(config: &DisciplineConfig) -> (f64, u64) {
    let mut queue: AnyQueue<u32> = AnyQueue::build(config, CLASSES, IpLen(1500), Seed(1), "bench")
        .expect("the benchmark has a valid configuration");
    let (mut now, mut out, mut number) = (Instant::ZERO, Count(0), 0);
    let started = cpu_seconds();
    for _ in 0..PACKETS {
        queue.enqueue(packet(number, now), now, &mut out);
        number += 1;
        now += Duration::from_micros(5);
        if queue.backlog().packets as usize > WAITING {
            queue.dequeue(now, &mut out);
        }
        if queue.poll_timeout().is_some_and(|at| at <= now) {
            queue.handle_timeout(now);
        }
    }
    (cpu_seconds() - started, out.0)
}

fn classify() -> f64 {
    let rule = |name: &str, class, when| Rule { name: name.into(), class: ClassId(class), when };
    let none = Conditions::default();
    let rules = vec![
        rule("acks", 1, Conditions { pure_ack: Some(true), ..none }),
        rule("ef", 0, Conditions { dscp: Some(Span::only(46)), ..none }),
        rule("game", 0, Conditions { behaviour: Some(Behaviour::RealTime), ..none }),
        rule("dns", 0, Conditions { port: Some(Span::only(53)), ..none }),
        rule("rest", 2, none),
    ];
    let config = ClassifierConfig { rules, ..ClassifierConfig::default() };
    let mut classifier = Classifier::new(&config, CLASSES).expect("the benchmark has valid rules");
    let keys: Vec<FlowKey> = (0..FLOWS as u16)
        .map(|flow| FlowKey {
            source: ([192, 168, 1, 2], 50_000 + flow).into(),
            destination: ([203, 0, 113, 7], 443).into(),
            protocol: Protocol::Tcp,
        })
        .collect();
    let (mut now, mut sum) = (Instant::ZERO, 0);
    let started = cpu_seconds();
    for number in 0..PACKETS {
        let packet = packet(number, now);
        let key = &keys[packet.body as usize];
        sum += u64::from(classifier.classify(&packet.meta, key, Direction::Up, now).0);
        now += Duration::from_micros(5);
    }
    assert!(sum > 0, "all packets were in class 0, so the rules were not used");
    cpu_seconds() - started
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
