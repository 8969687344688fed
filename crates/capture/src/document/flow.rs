//! A flow in the document.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::summary::Summary;
use super::tcp::Tcp;
use super::{ms, seconds};
use crate::analysis::direction::Direction;
use crate::analysis::{Behaviour, FlowReport, Kind, TransportReport, Updates};
use crate::names::{Application, Known, application};

/// An element of `flows`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Flow {
    pub(crate) id: u32,
    pub(crate) kind: Kind,
    pub(crate) application: Application,
    protocol: Cow<'static, str>,
    pub(crate) client: String,
    pub(crate) server: String,
    client_by: Cow<'static, str>,
    interface: u32,
    start_s: f64,
    end_s: f64,
    up: FlowDirection,
    down: FlowDirection,
    pub(crate) trouble: Trouble,
    #[serde(flatten)]
    pub(crate) transport: Transport,
}

/// `trouble` of a flow: whether it suffered, and the time by which each direction of a game was behind.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Trouble {
    pub(crate) suffered: bool,
    pub(crate) up_behind_ms: f64,
    pub(crate) down_behind_ms: f64,
}

/// `tcp` or `udp`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    Tcp(Box<Tcp>),
    Udp(Box<Udp>),
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct FlowDirection {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    payload_bytes: u64,
    fragments: u64,
    duplicates: u64,
    copies: Option<Copies>,
    payload_size_bytes: Summary,
    gap_ms: Summary,
    throughput_bps: Throughput,
    ecn: Ecn,
    dscp: Dscp,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Copies {
    packets: u64,
    after_ms: Summary,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Throughput {
    mean: Option<f64>,
    peak_1s: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Ecn {
    not_ect: u64,
    ect1: u64,
    ect0: u64,
    ce: u64,
}

/// Packets by code point.
#[derive(Clone, Copy, Debug)]
struct Dscp([(u8, u64); 4]);

/// `udp` of a flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Udp {
    pub(crate) behaviour: Cow<'static, str>,
    pub(crate) up: Option<FlowUpdates>,
    pub(crate) down: Option<FlowUpdates>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct FlowUpdates {
    pub(crate) tick_ms: f64,
    regular: f64,
    jitter_ms: f64,
    pub(crate) mean_jitter_ms: f64,
    pub(crate) steady: bool,
    pub(crate) late: u64,
    pub(crate) gaps: u64,
    pub(crate) longest_gap_ms: f64,
    pub(crate) missing_by_pace: u64,
    pub(crate) numbered: Option<Numbered>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Numbered {
    pub(crate) arrived: u64,
    pub(crate) missing: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
}

impl Flow {
    pub(super) fn of(report: &FlowReport, known: &Known) -> Self {
        let lasted_ns = report.last_ns - report.first_ns;
        let [up, down] = &report.directions;
        let (protocol, transport) = match &report.transport {
            TransportReport::Tcp(tcp) => ("tcp", Transport::Tcp(Box::new(Tcp::of(tcp)))),
            TransportReport::Udp { behaviour, updates } => {
                ("udp", Transport::Udp(Box::new(Udp::of(*behaviour, updates))))
            }
        };
        Self {
            id: report.flow,
            kind: report.kind(),
            application: application(report, known),
            protocol: protocol.into(),
            client: report.key.source.to_string(),
            server: report.key.destination.to_string(),
            client_by: report.client_by.name().into(),
            interface: report.interface,
            start_s: seconds(report.first_ns),
            end_s: seconds(report.last_ns),
            up: FlowDirection::of(up, lasted_ns),
            down: FlowDirection::of(down, lasted_ns),
            // Judged when all captures are read.
            trouble: Trouble::default(),
            transport,
        }
    }

    /// Packets of a direction: 0 from the client, 1 from the server.
    pub(crate) const fn way(&self, direction: usize) -> &FlowDirection {
        if direction == 0 { &self.up } else { &self.down }
    }
}

impl Trouble {
    /// Time by which both directions were behind.
    pub(crate) fn behind_ms(&self) -> f64 {
        self.up_behind_ms + self.down_behind_ms
    }
}

impl FlowDirection {
    fn of(direction: &Direction, lasted_ns: u64) -> Self {
        let [not_ect, ect1, ect0, ce] = direction.ecn;
        let copies = direction.copies.as_ref();
        Self {
            packets: direction.packets,
            bytes: direction.bytes,
            payload_bytes: direction.payload_bytes,
            fragments: direction.fragments,
            duplicates: direction.duplicates,
            copies: copies
                .map(|of| Copies { packets: of.packets, after_ms: Summary::of(&of.after, NS_PER_MS) }),
            payload_size_bytes: Summary::of(&direction.sizes, 1.0),
            gap_ms: Summary::of(&direction.gaps, NS_PER_MS),
            throughput_bps: Throughput {
                mean: (lasted_ns > 0).then(|| direction.bytes as f64 * 8e9 / lasted_ns as f64),
                peak_1s: direction.peak_bytes_per_second * 8,
            },
            ecn: Ecn { not_ect, ect1, ect0, ce },
            dscp: Dscp(direction.dscp),
        }
    }
}

impl Udp {
    fn of(behaviour: Behaviour, updates: &[Option<Updates>; 2]) -> Self {
        let [up, down] = updates;
        Self {
            behaviour: match behaviour {
                Behaviour::Game => "game",
                Behaviour::Voice => "voice",
                Behaviour::Other => "other",
            }
            .into(),
            up: up.as_ref().map(FlowUpdates::of),
            down: down.as_ref().map(FlowUpdates::of),
        }
    }

    /// Updates of a direction: 0 from the client, 1 from the server.
    pub(crate) const fn updates(&self, direction: usize) -> Option<&FlowUpdates> {
        if direction == 0 { self.up.as_ref() } else { self.down.as_ref() }
    }
}

impl FlowUpdates {
    fn of(updates: &Updates) -> Self {
        Self {
            tick_ms: updates.tick_ns / NS_PER_MS,
            regular: updates.regular,
            jitter_ms: updates.jitter_ns / NS_PER_MS,
            mean_jitter_ms: updates.mean_jitter_ns / NS_PER_MS,
            steady: updates.is_steady,
            late: updates.late,
            gaps: updates.gaps,
            longest_gap_ms: ms(updates.longest_gap_ns),
            missing_by_pace: updates.missing_by_pace,
            numbered: updates.numbered.map(|of| Numbered {
                arrived: of.arrived,
                missing: of.missing,
                duplicated: of.duplicated,
                reordered: of.reordered,
            }),
        }
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(_, packets)| *packets > 0).copied())
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut of = Self([(0, 0); 4]);
        for (place, each) in of.0.iter_mut().zip(BTreeMap::deserialize(deserializer)?) {
            *place = each;
        }
        Ok(of)
    }
}

pub(super) const NS_PER_MS: f64 = 1e6;
