//! What the program runs: a scenario with every value checked, in units, and nothing left to default.

use crate::access::Access;
use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, FlowKey, IpLen, Seed};
use gamelane_link::{LinkConfig, PathConfig};
use gamelane_qdisc::{ClassifierConfig, DisciplineConfig};
use gamelane_stage::{FollowerConfig, VoapConfig};
use gamelane_tcp::TcpConfig;
use gamelane_traffic::config::{AppConfig, Schedule};

/// A household: an access link, the gateway's queues, and the flows that share them.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Length of the run.
    pub duration: Duration,
    /// Statistics leave out what was sent before this.
    pub warmup: Duration,
    /// Seed of the run; repeats count up from it.
    pub seed: Seed,
    /// Link and queue in front of it, indexed by [`Direction::index`].
    pub hops: [HopModel; 2],
    /// What carries the packets, and what stands around the gateway's two queues.
    pub access: Access,
    /// What the home gateway does beside queueing.
    pub gateway: GatewayModel,
    /// Flows, in the order of the file; their position is their [`gamelane_core::FlowId`].
    pub flows: Vec<FlowModel>,
}

impl Model {
    /// The hop of one direction.
    pub fn hop(&self, direction: Direction) -> &HopModel {
        &self.hops[direction.index()]
    }
}

/// What the home gateway does to packets beside queueing them.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayModel {
    /// Lowers the windows that passing TCP segments advertise.
    pub voap: Option<VoapConfig>,
    /// Shapers that follow their link, indexed by [`Direction::index`]; only where there is a shaper.
    pub autorate: [Option<FollowerConfig>; 2],
    /// How many classes there are for queues that tell them apart, 1 or more.
    pub classes: usize,
    /// Puts packets into them.
    pub classifier: Option<ClassifierConfig>,
}

/// A queue and the link it feeds.
#[derive(Clone, Debug, PartialEq)]
pub struct HopModel {
    /// Discipline, which may tell [`GatewayModel::classes`] apart.
    pub queue: DisciplineConfig,
    /// Largest IP packet, which CoDel's and PIE's guards depend on.
    pub mtu: IpLen,
    /// Medium.
    pub link: LinkConfig,
}

/// One application between a host at home and one on the internet.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowModel {
    /// Unique name.
    pub name: String,
    /// What it runs.
    pub app: AppConfig,
    /// When.
    pub schedule: Schedule,
    /// Both ends' TCP, for applications over TCP.
    pub tcp: TcpConfig,
    /// Home to internet; a flow that opens several connections counts the source port up.
    pub key: FlowKey,
    /// Beyond the link, indexed by [`Direction::index`].
    pub paths: [PathConfig; 2],
    /// Differentiated services code point its packets carry.
    pub dscp: u8,
    /// Players of a game over TCP; 1 for everything else.
    pub players: u32,
    /// How their messages reach them.
    pub carriage: Carriage,
    /// Paths that players have instead of `paths`, by weight; empty if all have the same.
    pub player_paths: Vec<(f64, [PathConfig; 2])>,
}

/// How the messages of a game over TCP reach its players.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carriage {
    /// A TCP connection for each of them.
    #[default]
    Direct,
    /// So many TCP connections that all share.
    Mux {
        /// How many.
        carriers: u32,
    },
    /// So many connections that all share, on which players do not wait for each other's losses.
    Streams {
        /// How many.
        carriers: u32,
    },
    /// A datagram flow for each of them, with repeats by the application.
    Datagrams,
}

impl FlowModel {
    /// Transport connections (or datagram flows) it has.
    pub const fn lanes(&self) -> u32 {
        match self.carriage {
            Carriage::Direct | Carriage::Datagrams => self.players,
            Carriage::Mux { carriers } | Carriage::Streams { carriers } => carriers,
        }
    }
}

impl Model {
    /// Transport connections of all flows, in the order in which a run numbers them: the flow each belongs to, and which of
    /// the flow's it is.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u32)> {
        self.flows
            .iter()
            .enumerate()
            .flat_map(|(flow, model)| (0..model.lanes()).map(move |lane| (flow, lane)))
    }
}
