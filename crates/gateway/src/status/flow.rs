//! A conversation, as the gateway saw it pass.

use std::collections::BTreeMap;

use gamelane_core::{Direction, Instant, Protocol};
use gamelane_qdisc::classify::Behaviour;
use serde::{Deserialize, Serialize};

use super::queue::{Spread, reasons};
use crate::truth::{Conversation, Way};

/// A conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Address and port at home.
    pub home: String,
    /// Address and port of the other end.
    pub server: String,
    /// `tcp`, `udp`, or a protocol number.
    pub protocol: String,
    /// `real-time`, `other` or `unknown`.
    pub behaviour: String,
    /// Class of its last packet.
    pub class: u8,
    /// Seconds since its last packet.
    pub silent_s: f64,
    /// Latest round trip between the gateway and the server, by TCP timestamps.
    pub rtt_internet_ms: Option<f64>,
    /// Latest round trip between the gateway and the host at home, by TCP timestamps.
    pub rtt_home_ms: Option<f64>,
    /// Packets from home.
    pub up: WayStatus,
    /// Packets to home.
    pub down: WayStatus,
}

/// One direction of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WayStatus {
    /// Packets that left.
    pub packets: u64,
    /// IP bytes that left.
    pub bytes: u64,
    /// Drops by reason; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
    /// Packets marked.
    pub ecn_mark: u64,
    /// Queueing delay since the start.
    pub sojourn_ms: Spread,
    /// Queueing delay in the last five to ten seconds.
    pub recent_sojourn_ms: Spread,
    /// Time between packets as they leave.
    pub interval_ms: f64,
    /// Variation of the time between packets.
    pub jitter_ms: Passing<f64>,
    /// Longest time between two packets as they leave.
    pub longest_gap_ms: f64,
    /// Times without a packet for more than three intervals.
    pub gaps: Passing<u32>,
}

/// A value measured before and after the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing<T> {
    /// As packets arrive at the gateway.
    pub arriving: T,
    /// As packets leave the gateway.
    pub leaving: T,
}

impl FlowStatus {
    pub(super) fn of(flow: &Conversation, now: Instant) -> Self {
        let [up, down] = &flow.ways;
        let rtt = |direction| flow.round_trips.of(direction).map(|(latest, _)| latest.as_millis_f64());
        Self {
            home: flow.key.source.to_string(),
            server: flow.key.destination.to_string(),
            protocol: protocol_name(flow.key.protocol),
            behaviour: behaviour_name(flow.behaviour).into(),
            class: flow.class.0,
            silent_s: now.saturating_since(flow.seen).as_secs_f64(),
            rtt_internet_ms: rtt(Direction::Up),
            rtt_home_ms: rtt(Direction::Down),
            up: WayStatus::of(up, now),
            down: WayStatus::of(down, now),
        }
    }
}

pub(crate) fn protocol_name(protocol: Protocol) -> String {
    match protocol {
        Protocol::Tcp => "tcp".into(),
        Protocol::Udp => "udp".into(),
        Protocol::Other(number) => number.to_string(),
    }
}

pub(crate) const fn behaviour_name(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::RealTime => "real-time",
        Behaviour::Other => "other",
        Behaviour::Unknown => "unknown",
    }
}

impl WayStatus {
    fn of(way: &Way, now: Instant) -> Self {
        Self {
            packets: way.packets,
            bytes: way.bytes.bytes(),
            drops: reasons(&way.drops),
            ecn_mark: way.marks,
            sojourn_ms: Spread::from(&way.sojourn),
            recent_sojourn_ms: Spread::from(&way.recent.histogram(now)),
            interval_ms: way.leaving.interval().as_millis_f64(),
            jitter_ms: Passing {
                arriving: way.arriving.jitter().as_millis_f64(),
                leaving: way.leaving.jitter().as_millis_f64(),
            },
            longest_gap_ms: way.leaving.longest().as_millis_f64(),
            gaps: Passing { arriving: way.arriving.gaps(), leaving: way.leaving.gaps() },
        }
    }
}
