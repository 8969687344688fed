//! A flow in numbers: round trips, and the packets of each direction.

use alloc::vec::Vec;

use gamelane_core::{Direction, Duration, Instant, Protocol};
use gamelane_traffic::AppReport;
use serde::Serialize;

use super::ThinSummary;
use crate::records::{ArrivalRow, DirectionRecords, Flow, Records, View, WINDOW};
use crate::statistics::{Distribution, NANOS_PER_MILLI, Variation, mean_deviation};
use crate::totals::FlowTotals;

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSummary {
    /// Application: its word in the scenario (`flow.app`); a recorded flow counts as `game`. In records of a gateway: what the
    /// conversation behaves like, `real-time`, `other` or `unknown`.
    pub app: &'static str,
    /// Packets from the home to the internet.
    pub up: DirectionSummary,
    /// Packets from the internet to the home.
    pub down: DirectionSummary,
    /// Network round trip in milliseconds, as two taps at the hosts see it.
    pub rtt_ms: Distribution,
    /// Mean distance of `rtt_ms` from its mean, milliseconds; null without samples.
    pub rtt_deviation_ms: Option<f64>,
    /// Number of round-trip samples.
    pub rtt_samples: usize,
    /// Round trip in milliseconds as the application measures it, by echoes in its packets. Only in the lab, of flows over UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_echo_ms: Option<Distribution>,
    /// Application bits delivered per second of activity, both directions.
    pub goodput_bps: f64,
    /// Segments sent again, both ends; null if the engine does not see TCP.
    pub retransmissions: Option<u64>,
    /// Retransmission timeouts, both ends; null if the engine cannot count them.
    pub timeouts: Option<u64>,
    /// Video chunks that arrived (`dash`).
    pub chunks: u32,
    /// Time the video stood still after the warm-up, seconds (`dash`). Waiting for the first chunk counts (ITU-T P.1203).
    pub stall_seconds: f64,
    /// Transfers of a known size that arrived whole (`web`, `bulk` with `size`).
    pub transfers: usize,
    /// Time from opening the connection to the last byte of these transfers, milliseconds. Transfers that began in the warm-up do not count.
    pub transfer_ms: Distribution,
    /// Messages of a game over TCP, all its connections together. Only with `app = "mmo"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thin: Option<ThinSummary>,
}

/// Packets of a flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSummary {
    /// Packets handed to the network.
    pub sent: u32,
    /// IP bytes of the packets `sent`.
    pub sent_bytes: u64,
    /// Packets that arrived.
    pub received: u32,
    /// Packets that were lost.
    pub lost: u32,
    /// Packets that a queue marked (ECN).
    pub marked: u32,
    /// `lost` over `sent`: 0 to 1.
    pub loss: f64,
    /// IP bits received per second, over full one-second windows in which the flow is active.
    pub throughput_bps: Variation,
    /// Time in queues of packets that arrived, milliseconds.
    pub queue_delay_ms: Distribution,
    /// Interarrival jitter after each packet (RFC 3550 section 6.4.1), milliseconds. Null over TCP, and in records of a gateway.
    pub jitter_ms: Distribution,
}

impl FlowSummary {
    /// Summarises the flow at `position`.
    pub(super) fn new(position: usize, records: &Records, totals: Option<&FlowTotals>) -> Self {
        let own = &records.flows[position];
        let flow = &own.flow;
        let active = Activity::of(flow, records);
        let warmup = records.warmup();
        let rtts: Vec<u64> =
            own.rtt.iter().filter(|(at, _)| *at >= warmup).map(|(_, rtt)| rtt.as_nanos()).collect();
        let reports = Reports::of(records, position as u32);
        let jitters = flow.protocol != Protocol::Tcp && records.view != View::Gateway;
        let direction = |direction: Direction| {
            DirectionSummary::new(&own.directions[direction.index()], records, active, jitters)
        };
        let echoes: Vec<u64> = own.echoes.iter().map(|rtt| rtt.as_nanos()).collect();
        let thin = totals.and_then(|totals| totals.thin.as_ref());
        Self {
            app: flow.app,
            up: direction(Direction::Up),
            down: direction(Direction::Down),
            rtt_deviation_ms: mean_deviation(&rtts).map(|nanos| nanos / NANOS_PER_MILLI),
            rtt_samples: rtts.len(),
            rtt_ms: Distribution::of_nanos(rtts),
            rtt_echo_ms: (!echoes.is_empty()).then(|| Distribution::of_nanos(echoes)),
            goodput_bps: active.per_second(own.goodput_bytes as f64 * 8.0),
            retransmissions: totals.map(|totals| totals.retransmissions),
            timeouts: totals.and_then(|totals| totals.timeouts),
            chunks: reports.chunks,
            stall_seconds: reports.stalled.as_secs_f64(),
            transfers: reports.transfers.len(),
            transfer_ms: Distribution::of_nanos(reports.transfers),
            thin: thin.map(|own| ThinSummary::new(flow, position as u32, records, own)),
        }
    }

    /// Packets of one direction.
    pub const fn direction(&self, direction: Direction) -> &DirectionSummary {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl DirectionSummary {
    fn new(own: &DirectionRecords, records: &Records, active: Activity, jitters: bool) -> Self {
        let totals = own.totals;
        let measured: Vec<&ArrivalRow> = own
            .arrivals
            .iter()
            .filter(|row| {
                row.at.as_nanos().saturating_sub(row.one_way.as_nanos()) >= records.warmup().as_nanos()
            })
            .collect();
        let waits = match records.view {
            View::Hosts => Vec::new(),
            View::Everything | View::Gateway => {
                measured.iter().map(|row| row.queue_delay.as_nanos()).collect()
            }
        };
        let jitter = if jitters { jitter(&measured) } else { Vec::new() };
        Self {
            sent: totals.sent,
            sent_bytes: totals.sent_bytes,
            received: totals.received,
            lost: totals.lost,
            marked: totals.marked,
            loss: if totals.sent == 0 { 0.0 } else { f64::from(totals.lost) / f64::from(totals.sent) },
            throughput_bps: Variation::of(&active.rates(own)),
            queue_delay_ms: Distribution::of_nanos(waits),
            jitter_ms: Distribution::of_nanos(jitter),
        }
    }
}

/// The time in which a flow was active and measured: from its start or the warm-up to its stop or the end.
#[derive(Clone, Copy)]
struct Activity {
    from: Instant,
    to: Instant,
}

impl Activity {
    fn of(flow: &Flow, records: &Records) -> Self {
        let stop = flow.schedule.stop.map_or(records.end(), |stop| Instant::ZERO + stop);
        Self {
            from: (Instant::ZERO + flow.schedule.start).max(records.warmup()),
            to: stop.min(records.end()),
        }
    }

    /// Spreads a quantity over the time of activity; 0 if there is none.
    fn per_second(self, quantity: f64) -> f64 {
        let active = self.to.saturating_since(self.from).as_secs_f64();
        if active > 0.0 { quantity / active } else { 0.0 }
    }

    /// Received bits per second in each full window of activity.
    fn rates(self, own: &DirectionRecords) -> Vec<f64> {
        let first = self.from.as_nanos().div_ceil(WINDOW.as_nanos()) as usize;
        let last = ((self.to.as_nanos() / WINDOW.as_nanos()) as usize).max(first).min(own.windows.len());
        let windows = own.windows.get(first..last).unwrap_or_default();
        windows.iter().map(|window| window.received_bytes as f64 * 8.0 / WINDOW.as_secs_f64()).collect()
    }
}

/// RFC 3550's running estimate in nanoseconds after each packet, from 0 at the first.
fn jitter(arrivals: &[&ArrivalRow]) -> Vec<u64> {
    let mut estimate = 0.0;
    let changes =
        arrivals.windows(2).map(|pair| pair[1].one_way.as_nanos().abs_diff(pair[0].one_way.as_nanos()));
    changes
        .map(|change| {
            estimate += (change as f64 - estimate) / 16.0;
            estimate as u64
        })
        .collect()
}

/// What the application of a flow reported.
#[derive(Default)]
struct Reports {
    chunks: u32,
    stalled: Duration,
    /// Durations, nanoseconds.
    transfers: Vec<u64>,
}

impl Reports {
    fn of(records: &Records, flow: u32) -> Self {
        let mut found = Self::default();
        for row in records.app.iter().filter(|row| row.flow == flow) {
            match row.report {
                AppReport::Chunk { .. } => found.chunks += 1,
                AppReport::Stall { lasted } => {
                    found.stalled += lasted.min(row.at.saturating_since(records.warmup()));
                }
                AppReport::Transfer { took, .. } if row.at >= records.warmup() + took => {
                    found.transfers.push(took.as_nanos());
                }
                AppReport::Transfer { .. } => {}
            }
        }
        found
    }
}
