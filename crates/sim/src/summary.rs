//! The numbers of one run, as `gamelane run --json` prints them (docs/json-schema.md).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Direction, DropReason, Duration, FlowId, Protocol};
use gamelane_link::wifi::StationCounters;
use gamelane_scenario::{FlowModel, Medium, Model, Station};
use gamelane_stage::voap::VoapCounters;
use gamelane_traffic::AppReport;
use gamelane_traffic::config::AppConfig;

use crate::following::FollowingOutcome;
use crate::household::Outcome;
use crate::network::HopOutcome;
use crate::records::{DirectionRecords, Records, WINDOW};
use crate::statistics::{Distribution, mean_and_cv};
use crate::thin_summary::ThinSummary;

/// A run in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Flows, in the order of the model.
    pub flows: Vec<FlowSummary>,
    /// The gateway's queues by direction.
    pub queues: [QueueSummary; 2],
    /// The other queues on the way, by name: `modem`, `isp`, `station/NAME`, `relay/N/up`.
    pub others: Vec<(String, QueueSummary)>,
    /// What each station cost the air, where there is any.
    pub stations: Vec<StationSummary>,
    /// What VoAP did over the whole run, if the gateway has it.
    pub voap: Option<VoapCounters>,
    /// What shapers that follow their link did over the whole run, indexed by direction.
    pub autorate: [Option<FollowingOutcome>; 2],
}

/// A station of a Wi-Fi in numbers, over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct StationSummary {
    /// The host it is.
    pub name: String,
    /// Share of the run its exchanges held the medium, uplink and downlink together.
    pub airtime: f64,
    /// Frames.
    pub counters: StationCounters,
}

/// A flow in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSummary {
    /// By direction.
    pub directions: [DirectionSummary; 2],
    /// Network round trips, milliseconds.
    pub rtt_ms: Distribution,
    /// Their mean distance from their mean, milliseconds; 0 without samples.
    pub rtt_deviation_ms: f64,
    /// Application bytes delivered, both ways, in bits per second of activity.
    pub goodput_bps: f64,
    /// Segments sent again, both ends.
    pub retransmissions: u64,
    /// Retransmission timeouts, both ends.
    pub timeouts: u64,
    /// Video chunks that arrived.
    pub chunks: u32,
    /// How long video stood still, seconds.
    pub stall_seconds: f64,
    /// How long transfers of a known size took, milliseconds: those that arrived whole and began after the warm-up.
    pub transfer_ms: Distribution,
    /// Of a game over TCP.
    pub thin: Option<ThinSummary>,
}

/// A flow's packets one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionSummary {
    /// Packets handed to the network after the warm-up.
    pub sent: u32,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Of those, packets that arrived.
    pub received: u32,
    /// Of those, packets that were lost.
    pub lost: u32,
    /// Of those, packets that were marked.
    pub marked: u32,
    /// Lost over sent.
    pub loss: f64,
    /// Received IP bits per second: mean over full windows of activity.
    pub throughput_bps: f64,
    /// Its coefficient of variation over those windows.
    pub throughput_cv: f64,
    /// Time in queues of packets that arrived, milliseconds.
    pub queue_delay_ms: Distribution,
    /// Interarrival jitter after each packet (RFC 3550 section 6.4.1), milliseconds; empty over TCP.
    pub jitter_ms: Distribution,
}

/// A queue in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSummary {
    /// Packets that arrived at it.
    pub packets: u64,
    /// Packets it could not hold.
    pub tail_drops: u64,
    /// Packets a full flow-queueing discipline dropped from the head of its longest flow.
    pub overlimit_drops: u64,
    /// Packets the AQM law dropped.
    pub aqm_drops: u64,
    /// ACKs dropped because a later one said all they said.
    pub ack_filter_drops: u64,
    /// Packets lost on the link below.
    pub link_losses: u64,
    /// Packets the AQM law marked.
    pub marks: u64,
    /// Mean packets waiting.
    pub mean_backlog: f64,
    /// Most packets waiting.
    pub peak_backlog: u32,
}

impl Summary {
    /// Of a finished run.
    pub fn new(model: &Model, outcome: &Outcome<Records>) -> Self {
        let mut resent: Vec<(u64, u64)> = vec![(0, 0); model.flows.len()];
        for ((flow, _), ends) in model.lanes().zip(&outcome.tcp) {
            for counters in ends.iter().flatten() {
                resent[flow].0 += counters.retransmissions();
                resent[flow].1 += counters.timeouts;
            }
        }
        let flows = (0u32..)
            .zip(&model.flows)
            .zip(resent)
            .map(|((id, flow), resent)| flow_summary(model, FlowId(id), flow, resent, outcome));
        let others = outcome.others.iter().map(|(name, other)| (name.clone(), queue_summary(other)));
        Self {
            flows: flows.collect(),
            queues: outcome.hops.each_ref().map(queue_summary),
            others: others.collect(),
            stations: station_summaries(model, &outcome.stations),
            voap: outcome.voap,
            autorate: outcome.autorate,
        }
    }
}

fn queue_summary(hop: &HopOutcome) -> QueueSummary {
    let dropped = |reason| hop.counters.dropped.of(reason);
    QueueSummary {
        packets: hop.counters.arrived,
        tail_drops: dropped(DropReason::Tail),
        overlimit_drops: dropped(DropReason::Overlimit),
        aqm_drops: dropped(DropReason::AqmEnqueue) + dropped(DropReason::AqmDequeue),
        ack_filter_drops: dropped(DropReason::AckFilter),
        link_losses: dropped(DropReason::Link),
        marks: hop.counters.marked,
        mean_backlog: hop.mean_backlog,
        peak_backlog: hop.peak_backlog,
    }
}

fn station_summaries(model: &Model, counters: &[StationCounters]) -> Vec<StationSummary> {
    let Medium::WifiG(wifi) = &model.access.medium else { return Vec::new() };
    let station = |(station, counters): (&Station, &StationCounters)| StationSummary {
        name: station.name.clone(),
        airtime: counters.airtime.as_secs_f64() / model.duration.as_secs_f64(),
        counters: *counters,
    };
    wifi.stations.iter().zip(counters).map(station).collect()
}

fn flow_summary(
    model: &Model,
    id: FlowId,
    flow: &FlowModel,
    (retransmissions, timeouts): (u64, u64),
    outcome: &Outcome<Records>,
) -> FlowSummary {
    let records = &outcome.recorder;
    let own = &records.flows[id.index()];
    let (from, to) = activity(model, flow);
    let active = to.saturating_sub(from).as_secs_f64();
    let warmup = model.warmup.as_nanos();
    let rtts: Vec<u64> =
        own.rtt.iter().filter(|(at, _)| at.as_nanos() >= warmup).map(|(_, rtt)| rtt.as_nanos()).collect();
    let (mut chunks, mut stalled, mut transfers) = (0, Duration::ZERO, Vec::new());
    for row in records.app.iter().filter(|row| row.flow == id) {
        match row.report {
            AppReport::Chunk { .. } => chunks += 1,
            AppReport::Stall { lasted } => stalled += lasted,
            AppReport::Transfer { took, .. } if row.at.as_nanos() >= warmup + took.as_nanos() => {
                transfers.push(took.as_nanos());
            }
            AppReport::Transfer { .. } => {}
        }
    }
    let over_tcp = flow.key.protocol == Protocol::Tcp;
    let directions = Direction::BOTH.map(|direction| {
        let records = &own.directions[direction.index()];
        let jitter_ms = if over_tcp { Distribution::default() } else { jitter(records, warmup) };
        DirectionSummary { jitter_ms, ..direction_summary(records, warmup, from, to) }
    });
    FlowSummary {
        directions,
        rtt_deviation_ms: mean_deviation(&rtts) / 1e6,
        rtt_ms: Distribution::of(rtts).scaled(1e6),
        goodput_bps: if active > 0.0 { own.goodput_bytes as f64 * 8.0 / active } else { 0.0 },
        retransmissions,
        timeouts,
        chunks,
        stall_seconds: stalled.as_secs_f64(),
        transfer_ms: Distribution::of(transfers).scaled(1e6),
        thin: matches!(flow.app, AppConfig::Mmo(_)).then(|| ThinSummary::new(model, id.index(), outcome)),
    }
}

/// Mean distance from the mean.
fn mean_deviation(samples: &[u64]) -> f64 {
    if samples.is_empty() {
        return 0.0;
    }
    let count = samples.len() as f64;
    let mean = samples.iter().map(|sample| *sample as f64).sum::<f64>() / count;
    samples.iter().map(|sample| (*sample as f64 - mean).abs()).sum::<f64>() / count
}

/// RFC 3550's running estimate after each packet, from 0 at the first.
fn jitter(records: &DirectionRecords, warmup: u64) -> Distribution {
    let (mut before, mut estimate, mut estimates) = (None, 0.0, Vec::new());
    for row in &records.arrivals {
        let transit = row.one_way.as_nanos();
        if row.at.as_nanos().saturating_sub(transit) < warmup {
            continue;
        }
        if let Some(before) = before.replace(transit) {
            estimate += (transit.abs_diff(before) as f64 - estimate) / 16.0;
            estimates.push(estimate as u64);
        }
    }
    Distribution::of(estimates).scaled(1e6)
}

/// When a flow was active and measured: from its start or the warm-up to its stop or the end.
fn activity(model: &Model, flow: &FlowModel) -> (Duration, Duration) {
    let stop = flow.schedule.stop.unwrap_or(model.duration).min(model.duration);
    (flow.schedule.start.max(model.warmup), stop)
}

fn direction_summary(
    records: &DirectionRecords,
    warmup: u64,
    from: Duration,
    to: Duration,
) -> DirectionSummary {
    let totals = records.totals;
    let first = from.as_nanos().div_ceil(WINDOW.as_nanos()) as usize;
    let last = (to.as_nanos() / WINDOW.as_nanos()) as usize;
    let rates: Vec<f64> = records
        .windows
        .get(first..last.max(first).min(records.windows.len()))
        .unwrap_or_default()
        .iter()
        .map(|window| window.received_bytes as f64 * 8.0 / WINDOW.as_secs_f64())
        .collect();
    let (throughput_bps, throughput_cv) = mean_and_cv(&rates);
    let delays = records
        .arrivals
        .iter()
        .filter(|row| row.at.as_nanos().saturating_sub(row.one_way.as_nanos()) >= warmup)
        .map(|row| row.queue_delay.as_nanos())
        .collect();
    DirectionSummary {
        sent: totals.sent,
        sent_bytes: totals.sent_bytes,
        received: totals.received,
        lost: totals.lost,
        marked: totals.marked,
        loss: if totals.sent == 0 { 0.0 } else { f64::from(totals.lost) / f64::from(totals.sent) },
        throughput_bps,
        throughput_cv,
        queue_delay_ms: Distribution::of(delays).scaled(1e6),
        jitter_ms: Distribution::default(),
    }
}
