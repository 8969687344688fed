//! A game over TCP in numbers: how late its messages were, and what its retransmissions cost (griwodz2006, tables 1 and 2).

use alloc::string::ToString;
use alloc::vec::Vec;

use gamelane_core::{Direction, Duration};
use gamelane_tcp::accounting::NthRetransmission;
use serde::Serialize;

use crate::named::Named;
use crate::records::{DeliveryRow, Flow, Records};
use crate::statistics::{Distribution, NANOS_PER_MILLI};
use crate::totals::ThinTotals;

/// A game over TCP. Retransmissions are those of the servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThinSummary {
    /// Players.
    pub players: u32,
    /// Connections that carry them.
    pub connections: u32,
    /// Messages from the players.
    pub up: DeliverySummary,
    /// Messages to the players.
    pub down: DeliverySummary,
    /// Data packets sent for the first time.
    pub packets: u64,
    /// Segments that carried nothing new.
    pub retransmitted_segments: u64,
    /// Most retransmissions of one packet.
    pub most_retransmissions: u16,
    /// The n-th retransmission of a packet, by n: `1` to `8`; later ones count with `8`.
    pub nth: Named<NthSummary>,
    /// Copies of packets in front of new data (redundant data bundling).
    pub bundled_copies: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments sent again by fast retransmit and fast recovery.
    pub fast_retransmissions: u64,
    /// Segments sent again after a timeout.
    pub timeout_retransmissions: u64,
    /// Tail loss probes (RFC 8985 section 7).
    pub tail_probes: u64,
    /// Times fast recovery was entered.
    pub fast_recoveries: u64,
    /// Data segments that reached a player and held nothing new.
    pub duplicate_segments: u64,
    /// Timeouts that were not needed (RFC 5682).
    pub spurious_timeouts: u64,
}

/// Messages of one direction. Messages written in the warm-up do not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeliverySummary {
    /// Messages delivered.
    pub messages: usize,
    /// Time from the write to the delivery in order, milliseconds.
    pub delivery_ms: DelaySummary,
    /// Part of it that the complete message waited for earlier, lost data (head-of-line blocking), milliseconds.
    pub held_ms: Distribution,
}

/// A delay, with one more quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// The usual quantiles.
    #[serde(flatten)]
    pub all: Distribution,
    /// 99.9 % quantile; null without samples.
    pub p999: Option<f64>,
}

/// The n-th retransmission of packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NthSummary {
    /// n-th retransmissions: `self` and `included` together.
    pub total: u64,
    /// Those at the head of a segment.
    #[serde(rename = "self")]
    pub itself: u64,
    /// Those inside another packet's retransmission.
    pub included: u64,
    /// Packets for which it was the last.
    pub successful: u64,
    /// Mean time of these packets from the first transmission to the last, milliseconds; null if there are none.
    pub delay_ms: Option<f64>,
    /// `delay_ms` of only those packets that were never included in another packet's retransmission.
    pub delay_ms_self: Option<f64>,
}

impl ThinSummary {
    /// Summarises the flow at `position`.
    pub(super) fn new(flow: &Flow, position: u32, records: &Records, totals: &ThinTotals) -> Self {
        let again = &totals.retransmissions;
        let sent = &totals.server;
        let direction = |direction| DeliverySummary::new(records, position, direction);
        let numbered = (1u32..).zip(&again.nth);
        Self {
            players: flow.players,
            connections: flow.connections,
            up: direction(Direction::Up),
            down: direction(Direction::Down),
            packets: again.packets,
            retransmitted_segments: again.retransmitted_segments,
            most_retransmissions: again.most,
            nth: numbered.map(|(n, own)| (n.to_string(), NthSummary::new(own))).collect(),
            bundled_copies: again.bundled,
            timeouts: sent.timeouts,
            fast_retransmissions: sent.fast_retransmissions,
            timeout_retransmissions: sent.timeout_retransmissions,
            tail_probes: sent.tail_probes,
            fast_recoveries: sent.fast_recoveries,
            duplicate_segments: totals.duplicate_segments,
            spurious_timeouts: sent.spurious_timeouts,
        }
    }
}

impl DeliverySummary {
    fn new(records: &Records, flow: u32, direction: Direction) -> Self {
        let since = records.warmup().as_nanos();
        let rows: Vec<&DeliveryRow> = records
            .deliveries
            .iter()
            .filter(|row| row.flow == flow && row.direction == direction)
            .filter(|row| row.at.as_nanos().saturating_sub(row.delay.as_nanos()) >= since)
            .collect();
        let mut delays: Vec<u64> = rows.iter().map(|row| row.delay.as_nanos()).collect();
        let p999 = Distribution::quantile(&mut delays, 0.999).map(|nanos| nanos / NANOS_PER_MILLI);
        Self {
            messages: rows.len(),
            delivery_ms: DelaySummary { all: Distribution::of_nanos(delays), p999 },
            held_ms: Distribution::of_nanos(rows.iter().map(|row| row.held.as_nanos()).collect()),
        }
    }
}

impl NthSummary {
    fn new(own: &NthRetransmission) -> Self {
        let mean = |sum: Duration, count: u64| (count > 0).then(|| sum.as_millis_f64() / count as f64);
        Self {
            total: own.itself + own.included,
            itself: own.itself,
            included: own.included,
            successful: own.successful,
            delay_ms: mean(own.delay, own.successful),
            delay_ms_self: mean(own.delay_itself, own.successful_itself),
        }
    }
}
