//! What a gateway tells about itself: [`Status`] is the document that `status --json` and `GET /status` give, with [`page`] for
//! people and [`metrics`] for Prometheus. [`Verdict`] says whether games suffer, [`SelfTest`] whether the shaper shapes.

mod engine;
mod flow;
#[cfg(feature = "program")]
mod kernel;
pub mod metrics;
mod page;
mod queue;
mod selftest;
mod shaper;
mod verdict;

use std::collections::BTreeMap;

use gamelane_core::{Direction, Instant};
use gamelane_device::preflight::Plan;
use gamelane_device::{Engine, EngineCounters, Frames, Interface};
use gamelane_policy::Policy;
use gamelane_qdisc::classify::Behaviour;
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;
use crate::tap::TapStatus;
use crate::truth::{Conversation, Truth};
pub use engine::{BothWays, EngineStatus, Lateness};
pub use flow::{FlowStatus, Passing, WayStatus};
pub(crate) use flow::{behaviour_name, protocol_name};
#[cfg(feature = "program")]
pub use kernel::{KernelQueue, KernelView};
pub use page::{page, refreshed};
pub use queue::{QueueStatus, Spread, VoapStatus};
pub use selftest::SelfTest;
pub use shaper::{AutorateStatus, MoveStatus, ShaperStatus};
pub use verdict::{QueueScene, Scene, State, Verdict, judge};

/// Most flows listed. Games come first, then the flows with the most recent packet.
const LISTED: usize = 50;

/// Version of [`Status`].
const SCHEMA: u32 = 3;

/// The document of `status --json` and `GET /status`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Version of this document: 3.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the policy; `null` if somebody else set the queues up.
    pub policy: Option<String>,
    /// Hash of the policy. It changes when the policy does.
    pub policy_hash: Option<String>,
    /// Why the last changed policy file was refused; the policy before it is still in force.
    pub policy_refused: Option<String>,
    /// Number of times the policy changed.
    pub reloads: u64,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Names of the interfaces: `lan`, `wan`.
    pub interfaces: BTreeMap<String, String>,
    /// Condition of the interfaces: `lan`, `wan`.
    #[serde(default)]
    pub links: BTreeMap<String, LinkStatus>,
    /// How frames are received and sent.
    #[serde(default)]
    pub io: IoStatus,
    /// Queues: `up` and `down`.
    pub queues: BTreeMap<String, QueueStatus>,
    /// Window control, if the policy has it.
    pub voap: Option<VoapStatus>,
    /// Whether games suffer.
    pub verdict: Verdict,
    /// Conversations, games first.
    pub flows: Vec<FlowStatus>,
    /// Conversations removed to make room for others.
    pub flows_forgotten: u64,
    /// The pool of frames; `null` if Linux forwards.
    pub pool: Option<PoolStatus>,
    /// The loop; `null` if Linux forwards.
    pub engine: Option<EngineStatus>,
    /// How single packets of Linux's queues are seen; `null` in user space.
    #[serde(default)]
    pub watch: Option<WatchStatus>,
    /// Shapers: `up` and `down`.
    pub shaper: BTreeMap<String, ShaperStatus>,
    /// Shapers that follow their link: `up` and `down`, where the policy says so.
    #[serde(default)]
    pub autorate: BTreeMap<String, AutorateStatus>,
    /// The recording, if there is one.
    pub tap: Option<TapStatus>,
}

/// Condition of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// It is switched on.
    pub up: bool,
    /// Something answers at the other end of its cable.
    pub link: bool,
    /// Longest packet in bytes.
    pub mtu: u32,
}

impl LinkStatus {
    /// Describes an interface.
    pub const fn of(interface: &Interface) -> Self {
        Self { up: interface.is_up, link: interface.has_link, mtu: interface.mtu }
    }
}

/// How frames are received and sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IoStatus {
    /// `AF_PACKET` or `AF_XDP`; `kernel` if Linux forwards.
    pub kind: String,
    /// Whether the interfaces read and write the gateway's memory themselves.
    pub zero_copy: bool,
    /// Why this way was chosen.
    pub why: String,
}

impl IoStatus {
    /// Describes an engine that was opened by a plan.
    pub fn of(plan: &Plan, engine: &Engine) -> Self {
        Self { kind: plan.io.to_string(), zero_copy: engine.is_zero_copy(), why: plan.why.into() }
    }
}

/// The pool of frames.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PoolStatus {
    /// Frames in it.
    pub taken: usize,
    /// Frames that it has room for.
    pub capacity: usize,
}

/// How single packets of Linux's queues are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchStatus {
    /// Events that were lost because there were too many at once. Flows and delays leave their packets out.
    pub lost: u64,
    /// Packets that came and were not seen to leave or to be dropped.
    pub unseen: u64,
    /// Why they are not seen.
    pub error: Option<String>,
}

impl Status {
    /// Describes a gateway at `now`. What the gateway does not know (interfaces, shaper, tap) is left empty.
    pub fn of(
        gateway: &Gateway,
        policy: &Policy,
        frames: &Frames,
        engine: &EngineCounters,
        now: Instant,
    ) -> Self {
        let queues = Direction::BOTH.map(|direction| {
            QueueScene::of(&policy.lanes[direction.index()], gateway.backlog(direction).packets)
        });
        let scene = Scene { truth: gateway.truth(), queues };
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            policy: Some(policy.name.clone()),
            policy_hash: Some(policy.hash.clone()),
            policy_refused: None,
            reloads: gateway.reloads(),
            uptime_s: now.as_secs_f64(),
            interfaces: BTreeMap::new(),
            links: BTreeMap::new(),
            io: IoStatus::default(),
            queues: Direction::BOTH
                .map(|direction| (direction.name().into(), QueueStatus::of(gateway, policy, direction)))
                .into(),
            voap: gateway.voap().map(VoapStatus::from),
            verdict: judge(&scene, now),
            flows: listed(gateway.truth(), now),
            flows_forgotten: gateway.truth().forgotten(),
            pool: Some(PoolStatus { taken: frames.taken(), capacity: frames.capacity() }),
            engine: Some(EngineStatus::from(engine)),
            watch: None,
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

fn listed(truth: &Truth, now: Instant) -> Vec<FlowStatus> {
    let mut flows: Vec<&Conversation> = truth.conversations().collect();
    flows.sort_by_key(|flow| (flow.behaviour != Behaviour::RealTime, std::cmp::Reverse(flow.seen)));
    flows.truncate(LISTED);
    flows.into_iter().map(|flow| FlowStatus::of(flow, now)).collect()
}
