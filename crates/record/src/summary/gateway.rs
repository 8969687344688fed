//! Queues, stations and the gateway's mechanisms in numbers, over the whole run.

use gamelane_core::{ByteCount, Direction, DropReason};
use gamelane_link::wifi::StationCounters;
use gamelane_stage::voap::VoapCounters;
use serde::Serialize;

use crate::records::Records;
use crate::statistics::mean;
use crate::totals::{FollowerTotals, QueueTotals};

/// A queue and the link below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueSummary {
    /// Packets that arrived at the queue.
    pub packets: u64,
    /// Packets dropped, by reason.
    pub drops: QueueDrops,
    /// Packets the AQM law marked.
    pub marks: u64,
    /// Packets waiting.
    pub backlog_packets: BacklogSummary,
}

/// Packets dropped, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueDrops {
    /// The queue was full, and the packet that arrived was refused.
    pub tail: u64,
    /// The queue was full, and the packet at the head of the longest flow made room.
    pub overlimit: u64,
    /// The AQM law dropped the packet.
    pub aqm: u64,
    /// The link below the queue lost the packet.
    pub link: u64,
    /// A later ACK in the queue made this one redundant.
    pub ack_filter: u64,
    /// Dropped after a real gateway had stood still: they had waited too long. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<u64>,
}

/// Packets waiting in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BacklogSummary {
    /// Mean over time.
    pub mean: f64,
    /// Most at once.
    pub max: u32,
}

impl QueueSummary {
    pub(super) fn new(name: &str, own: &QueueTotals, records: &Records) -> Self {
        let dropped = |reason| own.counters.dropped.of(reason);
        let sampled = || {
            let of_name = records.queues.iter().filter(|row| row.direction.name() == name);
            mean(of_name.map(|row| f64::from(row.backlog.packets)))
        };
        Self {
            packets: own.counters.arrived,
            drops: QueueDrops {
                tail: dropped(DropReason::Tail),
                overlimit: dropped(DropReason::Overlimit),
                aqm: dropped(DropReason::AqmEnqueue) + dropped(DropReason::AqmDequeue),
                link: dropped(DropReason::Link),
                ack_filter: dropped(DropReason::AckFilter),
                stale: Some(dropped(DropReason::Stale)).filter(|count| *count > 0),
            },
            marks: own.counters.marked,
            backlog_packets: BacklogSummary {
                mean: own.mean_backlog.or_else(sampled).unwrap_or(0.0),
                max: own.peak_backlog,
            },
        }
    }
}

/// A Wi-Fi station.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationSummary {
    /// Share of the run in which its exchanges held the medium, uplink and downlink together: 0 to 1.
    pub airtime: f64,
    /// Frames put on the medium.
    pub frames: u64,
    /// Frames that collided.
    pub collisions: u64,
    /// Frames damaged without a collision.
    pub damaged: u64,
    /// Frames given up after the last retry.
    pub given_up: u64,
}

impl StationSummary {
    pub(super) fn new(own: &StationCounters, records: &Records) -> Self {
        Self {
            airtime: own.airtime.as_secs_f64() / records.end().as_secs_f64(),
            frames: own.attempts,
            collisions: own.collisions,
            damaged: own.errors,
            given_up: own.drops,
        }
    }
}

/// Window control at the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoapSummary {
    /// TCP segments inspected.
    pub segments: u64,
    /// Segments whose advertised window VoAP lowered.
    pub lowered: u64,
    /// Segments that VoAP never changes: SYNs, resets, keep-alives.
    pub not_ours: u64,
    /// Segments of connections whose SYNs VoAP did not see or could not store.
    pub unknown: u64,
    /// Connections opened.
    pub connections: u64,
    /// SYNs that found the connection table full.
    pub no_room: u64,
    /// Bytes in the directions that VoAP controls.
    pub bytes: VoapBytes,
}

/// Bytes in the directions that VoAP controls, by what it can do about them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoapBytes {
    /// TCP: VoAP can set the window.
    pub tcp: BothWays,
    /// UDP to or from port 443, taken for QUIC: VoAP cannot.
    pub quic: BothWays,
    /// Everything else: VoAP cannot.
    pub other: BothWays,
}

/// A count by direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BothWays {
    /// From the home to the internet.
    pub up: u64,
    /// From the internet to the home.
    pub down: u64,
}

impl From<[ByteCount; 2]> for BothWays {
    fn from([up, down]: [ByteCount; 2]) -> Self {
        Self { up: up.bytes(), down: down.bytes() }
    }
}

impl VoapSummary {
    pub(super) fn new(own: &VoapCounters) -> Self {
        Self {
            segments: own.segments,
            lowered: own.lowered,
            not_ours: own.not_ours,
            unknown: own.unknown,
            connections: own.opened,
            no_room: own.no_room,
            bytes: VoapBytes { tcp: own.tcp.into(), quic: own.quic.into(), other: own.other.into() },
        }
    }
}

/// A shaper that follows its link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowerSummary {
    /// Rate of the shaper, bits per second.
    pub rate_bps: RateSummary,
    /// Signals heard in passing traffic.
    pub signals: u64,
    /// Answers to its own probes.
    pub probes: u64,
    /// Decisions that lowered the rate.
    pub lowered: u64,
    /// Decisions that raised the rate.
    pub raised: u64,
    /// Windows with traffic; each ends in a decision.
    pub windows: u64,
    /// Windows with traffic and without a signal.
    pub unheard: u64,
}

/// Rate of a shaper, bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSummary {
    /// Mean over the run.
    pub mean: f64,
    /// At the end of the run.
    pub last: u64,
}

impl FollowerSummary {
    pub(super) fn new(own: &FollowerTotals, direction: Direction, records: &Records) -> Self {
        let sampled = || {
            let rows = records.rates.iter().filter(|row| row.direction == direction);
            mean(rows.map(|row| row.shaped.bps() as f64))
        };
        let last = own.last_rate_bps;
        Self {
            rate_bps: RateSummary { mean: own.mean_rate_bps.or_else(sampled).unwrap_or(last as f64), last },
            signals: own.counters.passive,
            probes: own.counters.probes,
            lowered: own.counters.lowered,
            raised: own.counters.raised,
            windows: own.counters.windows,
            unheard: own.counters.unheard,
        }
    }
}
