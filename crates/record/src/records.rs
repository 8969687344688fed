//! The recorder that keeps columns: samples of each flow, one-second windows, drops, samples of queues and TCP, and reports of
//! applications.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gamelane_core::{Bitrate, Catalogued, Direction, DropReason, Duration, FlowId, Instant, Protocol};
use gamelane_qdisc::Backlog;
use gamelane_scenario::{FlowModel, Model};
use gamelane_tcp::accounting::PacketHistory;
use gamelane_traffic::AppReport;
use gamelane_traffic::config::Schedule;

use crate::event::{Event, Recorder, Seen, Side, TcpState};
use crate::parts::Parts;

/// Length of a window.
pub const WINDOW: Duration = Duration::from_secs(1);

/// Everything recorded of a run. Rows are in order of time.
#[derive(Debug)]
pub struct Records {
    /// Flows, in the order given.
    pub flows: Vec<FlowRecords>,
    /// Lost packets.
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
    /// Where the engine stands.
    pub view: View,
    /// Flow of each connection, by [`FlowId::index`], and its number within the flow.
    lanes: Vec<(u32, u32)>,
    warmup: Instant,
    end: Instant,
}

/// What an engine sees of a packet's way. What it does not see is null in tables and summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Both hosts and the queues between them: the simulator and the lab.
    #[default]
    Everything,
    /// The hosts alone. Time in queues is unknown.
    Hosts,
    /// One gateway. A packet is sent when it comes and has arrived when it leaves; the time from host to host is unknown.
    Gateway,
}

/// What is known of a flow apart from its packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Kind of application, as the summary names it.
    pub app: &'static str,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Start and stop. Throughput and goodput are means over this time.
    pub schedule: Schedule,
    /// Players of a game over TCP; 1 for other applications.
    pub players: u32,
    /// Number of transport connections or datagram flows.
    pub connections: u32,
}

impl From<&FlowModel> for Flow {
    fn from(model: &FlowModel) -> Self {
        Self {
            name: model.name.clone(),
            app: model.app.app().word(),
            protocol: model.key.protocol,
            schedule: model.schedule,
            players: model.players,
            connections: model.lanes(),
        }
    }
}

/// Records of one flow.
#[derive(Debug)]
pub struct FlowRecords {
    /// The flow.
    pub flow: Flow,
    /// Round-trip times of packet pairs: when, and how long.
    pub rtt: Vec<(Instant, Duration)>,
    /// Round-trip times the application measured, after the warm-up.
    pub echoes: Vec<Duration>,
    /// By direction.
    pub directions: [DirectionRecords; 2],
    /// Application bytes delivered, both ways, from the warm-up to the end.
    pub goodput_bytes: u64,
    /// Connections of its transfer that are done.
    parts: Parts,
    /// Whether tables and summary leave the flow out.
    left_out: bool,
}

impl FlowRecords {
    /// Whether tables and summary leave the flow out, because the engine did not play it.
    pub const fn is_left_out(&self) -> bool {
        self.left_out
    }
}

/// Records of one flow in one direction.
#[derive(Debug, Default)]
pub struct DirectionRecords {
    /// Packets that arrived.
    pub arrivals: Vec<ArrivalRow>,
    /// One-second windows from the start of the run.
    pub windows: Vec<Window>,
    /// Totals over packets sent after the warm-up.
    pub totals: Window,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalRow {
    /// Arrival time.
    pub at: Instant,
    /// Time spent in queues.
    pub queue_delay: Duration,
    /// Time from host to host.
    pub one_way: Duration,
}

/// Packets of a window: sent, lost and marked by when they were sent, received by when they arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Packets handed to the network.
    pub sent: u32,
    /// Packets that arrived.
    pub received: u32,
    /// Packets that were lost.
    pub lost: u32,
    /// Packets marked by a queue.
    pub marked: u32,
    /// IP bytes handed to the network.
    pub sent_bytes: u64,
    /// IP bytes that arrived.
    pub received_bytes: u64,
}

/// A lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRow {
    /// When it was lost.
    pub at: Instant,
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Direction of the packet.
    pub direction: Direction,
    /// Why.
    pub reason: DropReason,
}

/// A TCP endpoint at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpRow {
    /// When.
    pub at: Instant,
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Number of the connection within the flow.
    pub connection: u32,
    /// Which end.
    pub side: Side,
    /// Its state.
    pub state: TcpState,
}

/// Backlog of a direction at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// When.
    pub at: Instant,
    /// Direction.
    pub direction: Direction,
    /// Packets and bytes that wait.
    pub backlog: Backlog,
}

/// Rate of a shaper at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateRow {
    /// When.
    pub at: Instant,
    /// Direction.
    pub direction: Direction,
    /// Rate of the shaper.
    pub shaped: Bitrate,
    /// Rate of the link behind it, where one is known.
    pub link: Option<Bitrate>,
}

/// An application report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppRow {
    /// When.
    pub at: Instant,
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// The report.
    pub report: AppReport,
}

/// A delivered message of a game over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRow {
    /// When it was delivered.
    pub at: Instant,
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Direction of the message.
    pub direction: Direction,
    /// Player the message belongs to.
    pub player: u32,
    /// Time from the write to the delivery.
    pub delay: Duration,
    /// Part of `delay` that the complete message waited for earlier, lost data.
    pub held: Duration,
}

/// A packet of a game over TCP that the server sent more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionRow {
    /// Position of the flow in the scenario.
    pub flow: u32,
    /// Number of the connection within the flow.
    pub connection: u32,
    /// When and how often it was sent; it was acknowledged at `acknowledged_at`.
    pub history: PacketHistory,
}

impl Records {
    /// Empty records for a run of `model`.
    pub fn new(model: &Model) -> Self {
        Self::of(model.flows.iter().map(Flow::from), model.warmup, model.duration)
    }

    /// Empty records for a run of `duration` with these flows. Their connections are numbered in this order, from 0.
    pub fn of(flows: impl Iterator<Item = Flow>, warmup: Duration, duration: Duration) -> Self {
        let windows = duration.as_nanos().div_ceil(WINDOW.as_nanos()) as usize;
        let direction =
            || DirectionRecords { windows: vec![Window::default(); windows], ..DirectionRecords::default() };
        let flows: Vec<FlowRecords> = flows
            .map(|flow| FlowRecords {
                flow,
                rtt: Vec::new(),
                echoes: Vec::new(),
                directions: [direction(), direction()],
                goodput_bytes: 0,
                parts: Parts::default(),
                left_out: false,
            })
            .collect();
        let lanes = (0u32..).zip(&flows).flat_map(|(position, own)| {
            (0..own.flow.connections).map(move |connection| (position, connection))
        });
        Self {
            lanes: lanes.collect(),
            flows,
            drops: Vec::new(),
            tcp: Vec::new(),
            queues: Vec::new(),
            rates: Vec::new(),
            app: Vec::new(),
            deliveries: Vec::new(),
            retransmissions: Vec::new(),
            view: View::Everything,
            warmup: Instant::ZERO + warmup,
            end: Instant::ZERO + duration,
        }
    }

    /// When the warm-up ended. Statistics leave out what was sent before.
    pub const fn warmup(&self) -> Instant {
        self.warmup
    }

    /// When the run ended.
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// Ends the run early: windows after `at` are forgotten, and statistics cover the time until then.
    pub fn cut(&mut self, at: Instant) {
        self.end = self.end.min(at);
        let windows = self.end.as_nanos().div_ceil(WINDOW.as_nanos()) as usize;
        for direction in self.flows.iter_mut().flat_map(|flow| &mut flow.directions) {
            direction.windows.truncate(windows);
        }
    }

    /// Leaves flows without any packet out of tables and summary: an engine may play only some flows of a scenario.
    pub fn leave_out_silent_flows(&mut self) {
        for flow in &mut self.flows {
            let silent =
                |own: &DirectionRecords| own.windows.iter().all(|window| *window == Window::default());
            flow.left_out = flow.directions.iter().all(silent);
            if flow.left_out {
                flow.directions = Default::default();
            }
        }
    }

    /// Forgets per-packet samples; keeps windows, drops, samples of queues and TCP, and totals.
    pub fn forget_samples(&mut self) {
        for flow in &mut self.flows {
            flow.rtt = Vec::new();
            flow.echoes = Vec::new();
            for direction in &mut flow.directions {
                direction.arrivals = Vec::new();
            }
        }
    }

    /// The connection of flow `flow` with the lowest number.
    pub fn first_lane(&self, flow: u32) -> Option<FlowId> {
        self.lanes.iter().position(|(own, _)| *own == flow).map(|lane| FlowId(lane as u32))
    }

    /// Position in the scenario of the flow that a connection belongs to.
    fn flow_of(&self, lane: FlowId) -> u32 {
        self.lanes[lane.index()].0
    }

    fn flow_mut(&mut self, lane: FlowId) -> &mut FlowRecords {
        &mut self.flows[self.lanes[lane.index()].0 as usize]
    }

    /// Counts a packet in the window of `at` and, if it was sent after the warm-up, in the totals.
    fn count(&mut self, direction: Direction, packet: &Seen, at: Instant, count: impl Fn(&mut Window)) {
        let warmup = self.warmup;
        let records = &mut self.flow_mut(packet.lane).directions[direction.index()];
        // Packets that arrive after the end of the run count in the totals alone.
        if let Some(window) = records.windows.get_mut((at.as_nanos() / WINDOW.as_nanos()) as usize) {
            count(window);
        }
        if packet.sent_at >= warmup {
            count(&mut records.totals);
        }
    }

    fn received(&mut self, at: Instant, direction: Direction, packet: &Seen) {
        self.count(direction, packet, at, |window| {
            window.received += 1;
            window.received_bytes += packet.len.bytes();
        });
        self.flow_mut(packet.lane).directions[direction.index()].arrivals.push(ArrivalRow {
            at,
            queue_delay: packet.waited,
            one_way: at.saturating_since(packet.sent_at),
        });
    }
}

impl Recorder for Records {
    fn record(&mut self, at: Instant, event: &Event<'_>) {
        match *event {
            Event::Sent { direction, packet } => self.count(direction, &packet, at, |window| {
                window.sent += 1;
                window.sent_bytes += packet.len.bytes();
            }),
            Event::Received { direction, packet } => self.received(at, direction, &packet),
            Event::Heard { direction, lane, len } => {
                let packet = Seen { lane, len, sent_at: at, waited: Duration::ZERO };
                self.count(direction, &packet, at, |window| {
                    window.received += 1;
                    window.received_bytes += len.bytes();
                });
            }
            Event::Dropped { direction, packet, reason } => {
                self.count(direction, &packet, packet.sent_at, |window| window.lost += 1);
                self.drops.push(DropRow { at, flow: self.flow_of(packet.lane), direction, reason });
            }
            Event::Marked { direction, packet } => {
                self.count(direction, &packet, packet.sent_at, |window| window.marked += 1);
            }
            Event::Rtt { lane, rtt } => self.flow_mut(lane).rtt.push((at, rtt)),
            Event::Echo { lane, rtt } => {
                if at >= self.warmup {
                    self.flow_mut(lane).echoes.push(rtt);
                }
            }
            Event::Goodput { lane, bytes } => {
                if (self.warmup..=self.end).contains(&at) {
                    self.flow_mut(lane).goodput_bytes += bytes;
                }
            }
            Event::App { lane, report } => {
                let flow = self.flow_of(lane);
                let own = self.flow_mut(lane);
                if let Some(report) = own.parts.whole(report, own.flow.connections, at) {
                    self.app.push(AppRow { at, flow, report });
                }
            }
            Event::Queue { direction, backlog } => self.queues.push(QueueRow { at, direction, backlog }),
            Event::Rate { direction, shaped, link } => {
                self.rates.push(RateRow { at, direction, shaped, link });
            }
            Event::Tcp { flow, connection, side, state } => {
                self.tcp.push(TcpRow { at, flow, connection, side, state });
            }
            Event::Delivered { lane, direction, player, delay, held } => {
                let flow = self.flow_of(lane);
                self.deliveries.push(DeliveryRow { at, flow, direction, player, delay, held });
            }
            Event::Retransmitted { lane, history } => {
                let (flow, connection) = self.lanes[lane.index()];
                self.retransmissions.push(RetransmissionRow { flow, connection, history: *history });
            }
        }
    }
}
