//! What only an engine can count: packets of a queue, retransmissions of a TCP stack, airtime of a station. An engine fills it
//! once, at the end of a run.

use alloc::string::String;
use alloc::vec::Vec;

use gamelane_core::HopCounters;
use gamelane_link::wifi::StationCounters;
use gamelane_stage::autorate::AutorateCounters;
use gamelane_stage::voap::VoapCounters;
use gamelane_tcp::TcpCounters;
use gamelane_tcp::accounting::RetransmissionTotals;

/// Totals of a run. An engine leaves out what it cannot see.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Queues by name: `up` and `down` of the gateway first, then `modem`, `isp`, `station/NAME`, `relay/N/up`.
    pub queues: Vec<(String, QueueTotals)>,
    /// Wi-Fi stations by host.
    pub stations: Vec<(String, StationCounters)>,
    /// Window control by VoAP, if the gateway has it.
    pub voap: Option<VoapCounters>,
    /// Shapers that follow their link, indexed by direction.
    pub autorate: [Option<FollowerTotals>; 2],
    /// Flows, in the order of the scenario; empty if the engine sees no transport.
    pub flows: Vec<FlowTotals>,
}

/// A queue and the link below it over the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueTotals {
    /// Conservation counters.
    pub counters: HopCounters,
    /// Mean packets waiting, weighted by time. `None`: the mean of the samples ([`crate::Event::Queue`]) stands in.
    pub mean_backlog: Option<f64>,
    /// Most packets waiting.
    pub peak_backlog: u32,
}

/// A shaper that follows its link over the whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FollowerTotals {
    /// Mean of its rate, weighted by time, bits per second. `None`: the mean of the samples ([`crate::Event::Rate`]) stands in.
    pub mean_rate_bps: Option<f64>,
    /// Its last rate, bits per second.
    pub last_rate_bps: u64,
    /// Signals heard and decisions made.
    pub counters: AutorateCounters,
}

/// Transport of a flow: both ends and all connections together.
#[derive(Clone, Debug, Default)]
pub struct FlowTotals {
    /// Segments sent again; 0 without TCP.
    pub retransmissions: u64,
    /// Retransmission timeouts; `None` if the engine cannot count them.
    pub timeouts: Option<u64>,
    /// A game over TCP alone.
    pub thin: Option<ThinTotals>,
}

/// Transport of a game over TCP.
#[derive(Clone, Debug, Default)]
pub struct ThinTotals {
    /// Retransmissions by the servers, packet by packet.
    pub retransmissions: RetransmissionTotals,
    /// Transport counters of the servers, summed.
    pub server: TcpCounters,
    /// Data segments that reached a client and held nothing new: retransmitted in vain, or bundled.
    pub duplicate_segments: u64,
}
