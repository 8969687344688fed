//! What the program runs: a scenario with every value checked, in units, and nothing left to default.

use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::{Direction, Duration, FlowKey, IpLen, Seed};
use gamelane_link::{LinkConfig, PathConfig};
use gamelane_qdisc::QueueConfig;
use gamelane_tcp::TcpConfig;
use gamelane_traffic::config::{AppConfig, Schedule};

/// A household: one link with a queue at each end, and the flows that share it.
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
    /// Flows, in the order of the file; their position is their [`gamelane_core::FlowId`].
    pub flows: Vec<FlowModel>,
}

impl Model {
    /// The hop of one direction.
    pub fn hop(&self, direction: Direction) -> &HopModel {
        &self.hops[direction.index()]
    }
}

/// A queue and the link it feeds.
#[derive(Clone, Debug, PartialEq)]
pub struct HopModel {
    /// Discipline.
    pub queue: QueueConfig,
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
}
