//! The recorder that keeps columns: per-flow samples, one-second windows, drops, queue and TCP samples, application
//! reports, and whole packets on request.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Direction, DropReason, Duration, FlowId, Instant, PacketMeta};
use gamelane_qdisc::Backlog;
use gamelane_scenario::Model;
use gamelane_tcp::TcpObservation;
use gamelane_traffic::AppReport;

use crate::payload::{Payload, Tap};
use crate::recorder::{Event, Recorder, Side};

/// Length of a throughput and loss window.
pub const WINDOW: Duration = Duration::from_secs(1);

/// Everything recorded of a run. Rows are in order of time.
#[derive(Debug)]
pub struct Records {
    /// Per flow, by [`FlowId::index`].
    pub flows: Vec<FlowRecords>,
    /// Every lost packet.
    pub drops: Vec<DropRow>,
    /// TCP state every 100 ms.
    pub tcp: Vec<TcpRow>,
    /// Backlogs every 100 ms.
    pub queues: Vec<QueueRow>,
    /// Application reports.
    pub app: Vec<AppRow>,
    /// Every packet at every tap, if asked for.
    pub packets: Option<Vec<PassedRow>>,
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
            app: Vec::new(),
            packets: packets.then(Vec::new),
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

    /// Counts a packet in the window of `at` and, if it was sent after the warm-up, in the totals.
    fn count(&mut self, direction: Direction, meta: &PacketMeta, at: Instant, count: impl Fn(&mut Window)) {
        let records = &mut self.flows[meta.flow.index()].directions[direction.index()];
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
            Event::Sent { direction, meta } => self.count(direction, meta, at, |window| window.sent += 1),
            Event::Received { direction, meta } => {
                self.count(direction, meta, at, |window| {
                    window.received += 1;
                    window.received_bytes += meta.len.bytes();
                });
                let one_way = at.saturating_since(meta.sent_at);
                self.flows[meta.flow.index()].directions[direction.index()].arrivals.push(ArrivalRow {
                    at,
                    queue_delay: meta.waited,
                    one_way,
                });
            }
            Event::Dropped { direction, meta, reason } => {
                self.count(direction, meta, meta.sent_at, |window| window.lost += 1);
                self.drops.push(DropRow { at, flow: meta.flow, direction, reason });
            }
            Event::Marked { direction, meta } => {
                self.count(direction, meta, meta.sent_at, |window| window.marked += 1);
            }
            Event::Rtt { flow, rtt } => self.flows[flow.index()].rtt.push((at, rtt)),
            Event::Goodput { flow, bytes } => {
                if at >= self.warmup {
                    self.flows[flow.index()].goodput_bytes += bytes;
                }
            }
            Event::App { flow, report } => self.app.push(AppRow { at, flow, report }),
            Event::Queue { direction, backlog } => self.queues.push(QueueRow { at, direction, backlog }),
            Event::Tcp { flow, side, observation } => self.tcp.push(TcpRow { at, flow, side, observation }),
            Event::Passed { tap, direction, meta, payload } => {
                if let Some(packets) = &mut self.packets {
                    packets.push(PassedRow { at, tap, direction, meta: *meta, payload: *payload });
                }
            }
        }
    }
}
