//! What a gateway says of itself, schema 1: queues with the key names of `tc -s -j qdisc`, what became of flows, and whether
//! the games among them are fine.

use std::collections::BTreeMap;

use gamelane_core::{Direction, DropReason, Duration, Instant};
use gamelane_qdisc::{DisciplineConfig, QueueKind};
use gamelane_stage::autorate::Cause;
use gamelane_stage::following::Follower;
use gamelane_stage::voap::VoapCounters;
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, EngineCounters};
use crate::frames::Frames;
use crate::gateway::Gateway;
use crate::policy::Policy;
use crate::preflight::Plan;
use crate::tap::TapStatus;
use crate::truth::histogram::Histogram;
use crate::truth::{Conversation, Way};
use crate::verdict::{Verdict, judge};
use gamelane_qdisc::classify::Behaviour;

/// Flows listed, those with the most recent packets first; games come before others.
const LISTED: usize = 50;

/// What `/status` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Of this document.
    pub schema: u32,
    /// Of the program.
    pub version: String,
    /// The policy's name.
    pub policy: String,
    /// Changes when the policy does.
    pub policy_hash: String,
    /// Why the last changed policy file was refused; the policy before it still holds.
    pub policy_refused: Option<String>,
    /// Times the policy changed.
    pub reloads: u64,
    /// Since the start.
    pub uptime_s: f64,
    /// Interfaces: `lan`, `wan`.
    pub interfaces: BTreeMap<String, String>,
    /// How frames come and go.
    #[serde(default)]
    pub io: IoStatus,
    /// `up` and `down`.
    pub queues: BTreeMap<String, QueueStatus>,
    /// What window control did, if there is one.
    pub voap: Option<VoapStatus>,
    /// Whether the games are fine.
    pub verdict: Verdict,
    /// Conversations, games first.
    pub flows: Vec<FlowStatus>,
    /// Conversations that made room for others.
    pub flows_forgotten: u64,
    /// Frames of the pool that are taken, and all.
    pub pool: [usize; 2],
    /// The loop itself.
    pub engine: EngineStatus,
    /// Whether shaping works, by direction.
    pub shaper: BTreeMap<String, ShaperStatus>,
    /// Shapers that follow their link, by direction.
    #[serde(default)]
    pub autorate: BTreeMap<String, AutorateStatus>,
    /// How the recording fares, if there is one.
    pub tap: Option<TapStatus>,
}

/// The way to the frames of the interfaces.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IoStatus {
    /// `AF_PACKET`, or `AF_XDP`.
    pub kind: String,
    /// Whether the interfaces read and write the gateway's memory themselves.
    pub zero_copy: bool,
    /// Why this way.
    pub why: String,
}

impl IoStatus {
    /// Of what was planned and opened.
    pub fn of(plan: &Plan, engine: &Engine) -> Self {
        Self { kind: plan.io.to_string(), zero_copy: engine.is_zero_copy(), why: plan.why.clone() }
    }
}

/// A queue, with the names `tc -s -j qdisc show` has for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Discipline.
    pub kind: String,
    /// IP bytes that left.
    pub bytes: u64,
    /// Packets that left.
    pub packets: u64,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Times a packet that waited was held back by the shaper.
    pub overlimits: u64,
    /// Always 0: nothing goes back.
    pub requeues: u64,
    /// Bytes that wait.
    pub backlog: u64,
    /// Packets that wait.
    pub qlen: u32,
    /// Packets marked.
    pub ecn_mark: u64,
    /// Drops by reason.
    pub drop_reasons: BTreeMap<String, u64>,
    /// Packets that arrived.
    pub arrived: u64,
    /// Most packets that waited.
    pub peak_qlen: u32,
    /// Time in the queue of packets that left.
    pub sojourn_ms: Spread,
    /// Frames that were no whole IP packet.
    pub not_ip: u64,
    /// Frames that found no place in the pool.
    pub no_room: u64,
    /// Frames the interface refused.
    pub not_sent: u64,
}

/// Mean and quantiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl From<&Histogram> for Spread {
    fn from(histogram: &Histogram) -> Self {
        let ms = |delay: Duration| delay.as_millis_f64();
        Self {
            mean: ms(histogram.mean()),
            p50: ms(histogram.quantile(0.5)),
            p95: ms(histogram.quantile(0.95)),
            p99: ms(histogram.quantile(0.99)),
            max: ms(histogram.max()),
        }
    }
}

/// Window control.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct VoapStatus {
    /// TCP segments shown to it.
    pub segments: u64,
    /// Windows lowered.
    pub lowered: u64,
    /// Segments of connections that began before the gateway or found no room.
    pub unknown: u64,
    /// Connections it saw begin.
    pub opened: u64,
    /// Bytes of QUIC in steered directions, which hides its windows.
    pub quic_bytes: u64,
}

impl From<&VoapCounters> for VoapStatus {
    fn from(counters: &VoapCounters) -> Self {
        Self {
            segments: counters.segments,
            lowered: counters.lowered,
            unknown: counters.unknown,
            opened: counters.opened,
            quic_bytes: counters.quic.iter().map(|bytes| bytes.bytes()).sum(),
        }
    }
}

/// A conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowStatus {
    /// The end at home.
    pub home: String,
    /// The other.
    pub server: String,
    /// `tcp`, `udp`, or a protocol number.
    pub protocol: String,
    /// `real-time`, `other` or `unknown`.
    pub behaviour: String,
    /// Class of its last packet.
    pub class: u8,
    /// Since its last packet.
    pub silent_s: f64,
    /// Latest round trip between here and the server, by TCP's time stamps.
    pub rtt_internet_ms: Option<f64>,
    /// Latest round trip between here and the host at home.
    pub rtt_home_ms: Option<f64>,
    /// From home.
    pub up: WayStatus,
    /// To home.
    pub down: WayStatus,
}

/// One direction of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WayStatus {
    /// Packets that left.
    pub packets: u64,
    /// IP bytes that left.
    pub bytes: u64,
    /// Drops by reason; only those there were.
    pub drops: BTreeMap<String, u64>,
    /// Packets marked.
    pub ecn_mark: u64,
    /// Time in the queue.
    pub sojourn_ms: Spread,
    /// The same of the last five to ten seconds.
    pub recent_sojourn_ms: Spread,
    /// Time between packets.
    pub interval_ms: f64,
    /// How much that varies as they arrive, and as they leave.
    pub jitter_ms: [f64; 2],
    /// Longest time between two packets as they leave.
    pub longest_gap_ms: f64,
    /// Times of more than three intervals without a packet, as they arrive and as they leave.
    pub gaps: [u32; 2],
}

/// The loop.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct EngineStatus {
    /// Frames received, by direction.
    pub received: [u64; 2],
    /// Frames the kernel dropped because the ring was full.
    pub ring_full: [u64; 2],
    /// Frames for this machine itself.
    pub own: [u64; 2],
    /// Frames too long for the ring: put together by an offload.
    pub too_long: [u64; 2],
    /// Frames sent.
    pub sent: [u64; 2],
    /// Times an interface took nothing for a while.
    pub stalls: [u64; 2],
    /// How late the shaper was called, mean and largest.
    pub late_us: [f64; 2],
}

/// Is it shaping, to what, is anything bypassing it?
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ShaperStatus {
    /// Rate it was set to at the end of that second; `null` if it does not shape.
    pub rate_bps: Option<u64>,
    /// Rate on the wire, framing included, over the last whole second.
    pub measured_bps: u64,
    /// Whether packets waited all that second: only then should the two be the same.
    pub busy: bool,
    /// Bytes a second that others send out of the same interface, past the shaper.
    pub bypass_bps: u64,
}

/// A shaper that follows its link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutorateStatus {
    /// What it shapes to now.
    pub rate_bps: u64,
    /// Never below this.
    pub lowest_bps: u64,
    /// Never above this.
    pub highest_bps: u64,
    /// How it moved last; `null` while it stands where it began.
    pub moved: Option<MoveStatus>,
    /// Signals heard.
    pub signals: u64,
    /// Times it was lowered.
    pub lowered: u64,
    /// Times it was raised.
    pub raised: u64,
    /// Windows in which there was traffic.
    pub windows: u64,
    /// Those of them in which nothing was heard: under load the rate then stays.
    pub windows_unheard: u64,
}

/// A move of a shaper's rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MoveStatus {
    /// So long ago.
    pub ago_s: f64,
    /// The rate before.
    pub from_bps: u64,
    /// `delay`, `load`, or `idle`: it drifts to where it began.
    pub cause: String,
    /// What told: `tcp` or `game`; `null` if `idle`.
    pub signal: Option<String>,
}

impl AutorateStatus {
    fn of(follower: &Follower, now: Instant) -> Self {
        let autorate = follower.autorate();
        let (config, counters) = (autorate.config(), autorate.counters());
        Self {
            rate_bps: autorate.rate().bps(),
            lowest_bps: config.lowest.bps(),
            highest_bps: config.highest.bps(),
            moved: autorate.moved().map(|moved| {
                let (cause, source) = match moved.cause {
                    Cause::Delay(source) => ("delay", Some(source)),
                    Cause::Load(source) => ("load", Some(source)),
                    Cause::Idle => ("idle", None),
                };
                MoveStatus {
                    ago_s: now.saturating_since(moved.at).as_secs_f64(),
                    from_bps: moved.from.bps(),
                    cause: cause.into(),
                    signal: source.map(|source| source.name().into()),
                }
            }),
            signals: counters.passive,
            lowered: counters.lowered,
            raised: counters.raised,
            windows: counters.windows,
            windows_unheard: counters.unheard,
        }
    }
}

impl Status {
    /// Of a gateway now.
    pub fn of(
        gateway: &Gateway,
        policy: &Policy,
        frames: &Frames,
        engine: &EngineCounters,
        now: Instant,
    ) -> Self {
        let mut flows: Vec<&Conversation> = gateway.truth().conversations().collect();
        flows.sort_by_key(|flow| (flow.behaviour != Behaviour::RealTime, std::cmp::Reverse(flow.seen)));
        let verdict = judge(gateway, policy, now);
        flows.truncate(LISTED);
        let late = engine.late.as_nanos() as f64 / engine.deadlines.max(1) as f64 / 1e3;
        Self {
            schema: 1,
            version: env!("CARGO_PKG_VERSION").into(),
            policy: policy.name.clone(),
            policy_hash: policy.hash.clone(),
            policy_refused: None,
            reloads: gateway.reloads(),
            uptime_s: now.as_secs_f64(),
            interfaces: BTreeMap::new(),
            io: IoStatus::default(),
            queues: Direction::BOTH
                .map(|direction| (direction.name().into(), QueueStatus::of(gateway, policy, direction)))
                .into(),
            voap: gateway.voap().map(VoapStatus::from),
            verdict,
            flows: flows.into_iter().map(|flow| FlowStatus::of(flow, now)).collect(),
            flows_forgotten: gateway.truth().forgotten(),
            pool: [frames.taken(), frames.capacity()],
            engine: EngineStatus {
                received: engine.ring.map(|ring| ring.frames),
                ring_full: engine.ring.map(|ring| ring.dropped),
                own: engine.own,
                too_long: engine.too_long,
                sent: engine.sent,
                stalls: engine.stalls,
                late_us: [late, engine.latest.as_nanos() as f64 / 1e3],
            },
            shaper: BTreeMap::new(),
            autorate: Direction::BOTH
                .into_iter()
                .filter_map(|direction| {
                    let follower = gateway.follower(direction)?;
                    Some((direction.name().into(), AutorateStatus::of(follower, now)))
                })
                .collect(),
            tap: None,
        }
    }
}

impl QueueStatus {
    fn of(gateway: &Gateway, policy: &Policy, direction: Direction) -> Self {
        let (account, backlog) = (gateway.account(direction), gateway.backlog(direction));
        let counters = &account.counters;
        Self {
            kind: kind(&policy.lanes[direction.index()].queue).into(),
            bytes: account.bytes,
            packets: counters.delivered,
            drops: counters.dropped.total(),
            overlimits: gateway.held(direction),
            requeues: 0,
            backlog: backlog.bytes,
            qlen: backlog.packets,
            ecn_mark: counters.marked,
            drop_reasons: reasons(&counters.dropped),
            arrived: counters.arrived,
            peak_qlen: account.most,
            sojourn_ms: Spread::from(&account.sojourn),
            not_ip: account.not_ip,
            no_room: account.no_room,
            not_sent: account.not_sent,
        }
    }
}

impl FlowStatus {
    fn of(flow: &Conversation, now: Instant) -> Self {
        let [up, down] = &flow.ways;
        let rtt = |direction| flow.round_trips.of(direction).map(|(latest, _)| latest.as_millis_f64());
        Self {
            home: flow.key.source.to_string(),
            server: flow.key.destination.to_string(),
            protocol: match flow.key.protocol {
                gamelane_core::Protocol::Tcp => "tcp".into(),
                gamelane_core::Protocol::Udp => "udp".into(),
                gamelane_core::Protocol::Other(number) => number.to_string(),
            },
            behaviour: match flow.behaviour {
                Behaviour::RealTime => "real-time",
                Behaviour::Other => "other",
                Behaviour::Unknown => "unknown",
            }
            .into(),
            class: flow.class.0,
            silent_s: now.saturating_since(flow.seen).as_secs_f64(),
            rtt_internet_ms: rtt(Direction::Up),
            rtt_home_ms: rtt(Direction::Down),
            up: WayStatus::of(up, now),
            down: WayStatus::of(down, now),
        }
    }
}

impl WayStatus {
    fn of(way: &Way, now: Instant) -> Self {
        Self {
            packets: way.packets,
            bytes: way.bytes.bytes(),
            drops: reasons(&way.drops),
            ecn_mark: way.marks,
            sojourn_ms: Spread::from(&way.sojourn),
            recent_sojourn_ms: Spread::from(&way.recent.histogram(now)),
            interval_ms: way.leaving.interval().as_millis_f64(),
            jitter_ms: [&way.arriving, &way.leaving].map(|ticks| ticks.jitter().as_millis_f64()),
            longest_gap_ms: way.leaving.longest().as_millis_f64(),
            gaps: [way.arriving.gaps(), way.leaving.gaps()],
        }
    }
}

fn reasons(drops: &gamelane_core::DropCounts) -> BTreeMap<String, u64> {
    let counted = DropReason::ALL.into_iter().filter(|reason| drops.of(*reason) > 0);
    counted.map(|reason| (reason.name().into(), drops.of(reason))).collect()
}

/// The discipline's name in scenarios.
pub fn kind(queue: &DisciplineConfig) -> &'static str {
    match queue {
        DisciplineConfig::Leaf(config) => match config.kind {
            QueueKind::Fifo => "fifo",
            QueueKind::Codel => "codel",
            QueueKind::Pie => "pie",
            QueueKind::FqCodel => "fq_codel",
            QueueKind::FqPie => "fq_pie",
        },
        DisciplineConfig::AckFilter(_) => "ack_filter",
        DisciplineConfig::Priority(_) => "priority",
        DisciplineConfig::Drr(_) => "drr",
        DisciplineConfig::Htb(_) => "htb",
        DisciplineConfig::Shaped(_) => "shaped",
        DisciplineConfig::DualPi2(_) => "dualpi2",
        DisciplineConfig::Cake(_) => "cake",
    }
}
