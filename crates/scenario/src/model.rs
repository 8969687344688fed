//! The model that the program runs: a scenario with every value checked, in units, and with all defaults filled in.

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
    /// Start of the statistics. Packets sent before this time do not count.
    pub warmup: Duration,
    /// Seed of the run. A repetition adds 1.
    pub seed: Seed,
    /// The link and the queue in front of it, indexed by [`Direction::index`].
    pub hops: [HopModel; 2],
    /// The medium, and the queues outside the gateway.
    pub access: Access,
    /// The other functions of the home gateway.
    pub gateway: GatewayModel,
    /// Flows in the order of the file. Their position is their [`gamelane_core::FlowId`].
    pub flows: Vec<FlowModel>,
}

impl Model {
    /// The hop of one direction.
    pub fn hop(&self, direction: Direction) -> &HopModel {
        &self.hops[direction.index()]
    }
}

/// Functions of the home gateway besides its queues.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayModel {
    /// Lowers the windows in passing TCP segments.
    pub voap: Option<VoapConfig>,
    /// Autorate of each shaper, indexed by [`Direction::index`]. `None` without a shaper.
    pub autorate: [Option<FollowerConfig>; 2],
    /// Number of classes for queues with classes, at least 1.
    pub classes: usize,
    /// Assigns packets to classes.
    pub classifier: Option<ClassifierConfig>,
}

/// A queue and the link it feeds.
#[derive(Clone, Debug, PartialEq)]
pub struct HopModel {
    /// Discipline. It may use [`GatewayModel::classes`].
    pub queue: DisciplineConfig,
    /// Size of the largest IP packet, which the guards of CoDel and PIE depend on.
    pub mtu: IpLen,
    /// Medium.
    pub link: LinkConfig,
}

/// One application between a host at home and one on the internet.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowModel {
    /// Unique name.
    pub name: String,
    /// Application.
    pub app: AppConfig,
    /// Start and stop.
    pub schedule: Schedule,
    /// TCP of both ends, for applications over TCP.
    pub tcp: TcpConfig,
    /// Flow key from home to internet. A flow with several connections counts the source port up.
    pub key: FlowKey,
    /// Path beyond the link, indexed by [`Direction::index`].
    pub paths: [PathConfig; 2],
    /// DSCP of its packets.
    pub dscp: u8,
    /// Players of a game over TCP; 1 for other applications.
    pub players: u32,
    /// Way from the server to the players.
    pub carriage: Carriage,
    /// Paths of the players instead of `paths`, by weight. Empty if all players use `paths`.
    pub player_paths: Vec<(f64, [PathConfig; 2])>,
}

/// Way of a TCP game's messages to the players.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carriage {
    /// One TCP connection per player.
    #[default]
    Direct,
    /// TCP connections that all players share.
    Mux {
        /// Number of connections.
        carriers: u32,
    },
    /// Connections that all players share; a loss delays only the messages of its own player.
    Streams {
        /// Number of connections.
        carriers: u32,
    },
    /// One datagram flow per player, with repeats by the application.
    Datagrams,
}

impl FlowModel {
    /// Number of transport connections or datagram flows.
    pub const fn lanes(&self) -> u32 {
        match (&self.app, self.carriage) {
            (AppConfig::Bulk(bulk), _) => bulk.connections,
            (_, Carriage::Direct | Carriage::Datagrams) => self.players,
            (_, Carriage::Mux { carriers } | Carriage::Streams { carriers }) => carriers,
        }
    }
}

impl Model {
    /// Transport connections of all flows, in the order in which a run numbers them: the position of the flow, and the
    /// number of the connection within the flow.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u32)> {
        self.flows
            .iter()
            .enumerate()
            .flat_map(|(flow, model)| (0..model.lanes()).map(move |lane| (flow, lane)))
    }
}
