//! The recorder that keeps columns: per-flow samples, one-second windows, drops, queue and TCP samples, application
//! reports, and whole packets on request.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Bitrate, Direction, DropReason, Duration, FlowId, Instant, PacketMeta};
use gamelane_qdisc::Backlog;
use gamelane_scenario::Model;
use gamelane_tcp::TcpObservation;
use gamelane_tcp::accounting::PacketHistory;
use gamelane_traffic::AppReport;

use crate::payload::{Payload, Tap};
use crate::recorder::{Event, Recorder, Side};

/// Length of a throughput and loss window.
pub const WINDOW: Duration = Duration::from_secs(1);

/// Everything recorded of a run. Rows are in order of time.
#[derive(Debug)]
pub struct Records {
    /// Per flow of the scenario.
    pub flows: Vec<FlowRecords>,
    /// Every lost packet.
    pub drops: Vec<DropRow>,
    /// TCP state every 100 ms.
    pub tcp: Vec<TcpRow>,
    /// Backlogs every 100 ms.
    pub queues: Vec<QueueRow>,
    /// Rates of shapers that follow their link, every 100 ms.
    pub rates: Vec<RateRow>,
    /// Application reports.
    pub app: Vec<AppRow>,
    /// Messages of games over TCP that were delivered.
    pub deliveries: Vec<DeliveryRow>,
    /// Packets of games over TCP that the server sent more than once.
    pub retransmissions: Vec<RetransmissionRow>,
    /// Every packet at every tap, if asked for.
    pub packets: Option<Vec<PassedRow>>,
    /// Flow of each connection, by [`FlowId::index`], and which of the flow's it is.
    lanes: Vec<(u32, u32)>,
    warmup: Instant,
}

/// Records of one flow.
#[derive(Debug)]
pub struct FlowRecords {
    /// Round-trip times: when, and how long.
    pub rtt: Vec<(Instant, Duration)>,
    /// By direction.
    pub directions: [DirectionRecords; 2],
    /// Application bytes delivered, both ways, after the warm-up.
    pub goodput_bytes: u64,
}

/// Records of one flow in one direction.
#[derive(Debug, Default)]
pub struct DirectionRecords {
    /// Every packet that arrived.
    pub arrivals: Vec<ArrivalRow>,
    /// One-second windows from the start of the run.
    pub windows: Vec<Window>,
    /// Totals over packets sent after the warm-up.
    pub totals: Window,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalRow {
    /// When.
    pub at: Instant,
    /// How long it waited in queues.
    pub queue_delay: Duration,
    /// How long it took from host to host.
    pub one_way: Duration,
}

/// Packets of a window: sent, lost and marked by when they were sent, received by when they arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Handed to the network.
    pub sent: u32,
    /// Arrived.
    pub received: u32,
    /// Lost.
    pub lost: u32,
    /// Marked by a queue.
    pub marked: u32,
    /// IP bytes handed to the network.
    pub sent_bytes: u64,
    /// IP bytes that arrived.
    pub received_bytes: u64,
}

/// A lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRow {
    /// When.
    pub at: Instant,
    /// Of which flow.
    pub flow: FlowId,
    /// Which way it went.
    pub direction: Direction,
    /// Why.
    pub reason: DropReason,
}

/// TCP state at a moment.
#[derive(Clone, Copy, Debug)]
pub struct TcpRow {
    /// When.
    pub at: Instant,
    /// Of which flow.
    pub flow: FlowId,
    /// Which of its connections.
    pub connection: u32,
    /// Which end.
    pub side: Side,
    /// The state.
    pub observation: TcpObservation,
}

/// A backlog at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// When.
    pub at: Instant,
    /// Which queue.
    pub direction: Direction,
    /// What waits.
    pub backlog: Backlog,
}

/// The rate of a shaper at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateRow {
    /// When.
    pub at: Instant,
    /// Which shaper.
    pub direction: Direction,
    /// What it shapes to.
    pub shaped: Bitrate,
    /// What the link behind it has, where that is known.
    pub link: Option<Bitrate>,
}

/// An application report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppRow {
    /// When.
    pub at: Instant,
    /// Of which flow.
    pub flow: FlowId,
    /// What.
    pub report: AppReport,
}

/// A delivered message of a game over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRow {
    /// When.
    pub at: Instant,
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Which way it went.
    pub direction: Direction,
    /// Whose it is.
    pub player: u32,
    /// From the write to the delivery.
    pub delay: Duration,
    /// How long of that it lay complete behind what was lost before it.
    pub held: Duration,
}

/// A packet of a game over TCP that the server sent more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionRow {
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Which of the flow's connections.
    pub connection: u32,
    /// The packet's life; it was acknowledged at `acknowledged_at`.
    pub history: PacketHistory,
}

/// A packet at a tap.
#[derive(Clone, Copy, Debug)]
pub struct PassedRow {
    /// When.
    pub at: Instant,
    /// Where.
    pub tap: Tap,
    /// Which way it goes.
    pub direction: Direction,
    /// What queues see of it.
    pub meta: PacketMeta,
    /// What it carries.
    pub payload: Payload,
}

impl Records {
    /// Empty records for a run of `model`; `packets` keeps every packet at every tap.
    pub fn new(model: &Model, packets: bool) -> Self {
        let windows = model.duration.as_nanos().div_ceil(WINDOW.as_nanos()) as usize;
        let direction = || DirectionRecords {
            arrivals: Vec::new(),
            windows: vec![Window::default(); windows],
            totals: Window::default(),
        };
        let flow =
            |_| FlowRecords { rtt: Vec::new(), directions: [direction(), direction()], goodput_bytes: 0 };
        Self {
            flows: model.flows.iter().map(flow).collect(),
            drops: Vec::new(),
            tcp: Vec::new(),
            queues: Vec::new(),
            rates: Vec::new(),
            app: Vec::new(),
            deliveries: Vec::new(),
            retransmissions: Vec::new(),
            packets: packets.then(Vec::new),
            lanes: model.lanes().map(|(flow, number)| (flow as u32, number)).collect(),
            warmup: Instant::ZERO + model.warmup,
        }
    }

    /// Lets go of per-packet samples, keeping windows, drops, samples of queues and TCP, and totals.
    pub fn forget_samples(&mut self) {
        for flow in &mut self.flows {
            flow.rtt = Vec::new();
            for direction in &mut flow.directions {
                direction.arrivals = Vec::new();
            }
        }
    }

    /// The flow of the scenario that a connection belongs to.
    fn flow_of(&self, lane: FlowId) -> FlowId {
        FlowId(self.lanes[lane.index()].0)
    }

    /// The flow of the scenario, and the connection within it, by [`FlowId::index`].
    pub fn lane(&self, lane: FlowId) -> (u32, u32) {
        self.lanes[lane.index()]
    }

    /// Counts a packet in the window of `at` and, if it was sent after the warm-up, in the totals.
    fn count(&mut self, direction: Direction, meta: &PacketMeta, at: Instant, count: impl Fn(&mut Window)) {
        let records = &mut self.flows[self.lanes[meta.flow.index()].0 as usize].directions[direction.index()];
        // Packets that arrive after the end of the run count in the totals alone.
        if let Some(window) = records.windows.get_mut((at.as_nanos() / WINDOW.as_nanos()) as usize) {
            count(window);
        }
        if meta.sent_at >= self.warmup {
            count(&mut records.totals);
        }
    }
}

impl Recorder for Records {
    fn wants_packets(&self) -> bool {
        self.packets.is_some()
    }

    fn record(&mut self, at: Instant, event: &Event<'_>) {
        match *event {
            Event::Sent { direction, meta } => self.count(direction, meta, at, |window| {
                window.sent += 1;
                window.sent_bytes += meta.len.bytes();
            }),
            Event::Received { direction, meta } => {
                self.count(direction, meta, at, |window| {
                    window.received += 1;
                    window.received_bytes += meta.len.bytes();
                });
                let one_way = at.saturating_since(meta.sent_at);
                let flow = self.flow_of(meta.flow).index();
                self.flows[flow].directions[direction.index()].arrivals.push(ArrivalRow {
                    at,
                    queue_delay: meta.waited,
                    one_way,
                });
            }
            Event::Dropped { direction, meta, reason } => {
                self.count(direction, meta, meta.sent_at, |window| window.lost += 1);
                let flow = self.flow_of(meta.flow);
                self.drops.push(DropRow { at, flow, direction, reason });
            }
            Event::Marked { direction, meta } => {
                self.count(direction, meta, meta.sent_at, |window| window.marked += 1);
            }
            Event::Rtt { flow, rtt } => {
                let flow = self.flow_of(flow).index();
                self.flows[flow].rtt.push((at, rtt));
            }
            Event::Goodput { flow, bytes } => {
                if at >= self.warmup {
                    let flow = self.flow_of(flow).index();
                    self.flows[flow].goodput_bytes += bytes;
                }
            }
            Event::App { flow, report } => {
                let flow = self.flow_of(flow);
                self.app.push(AppRow { at, flow, report });
            }
            Event::Queue { direction, backlog } => self.queues.push(QueueRow { at, direction, backlog }),
            Event::Rate { direction, shaped, link } => {
                self.rates.push(RateRow { at, direction, shaped, link });
            }
            Event::Tcp { flow, side, observation } => {
                let (flow, connection) = self.lanes[flow.index()];
                self.tcp.push(TcpRow { at, flow: FlowId(flow), connection, side, observation });
            }
            Event::Delivered { flow, direction, player, delay, held } => {
                let flow = self.lanes[flow.index()].0;
                self.deliveries.push(DeliveryRow { at, flow, direction, player, delay, held });
            }
            Event::Retransmitted { flow, history } => {
                let (flow, connection) = self.lanes[flow.index()];
                self.retransmissions.push(RetransmissionRow { flow, connection, history: *history });
            }
            Event::Passed { tap, direction, meta, payload } => {
                if let Some(packets) = &mut self.packets {
                    packets.push(PassedRow { at, tap, direction, meta: *meta, payload: *payload });
                }
            }
        }
    }
}
