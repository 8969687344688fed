//! `[tcp]`: how the hosts' TCP behaves; both ends of a flow alike.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::text::error::Fault;
use crate::text::from_text::in_text;
use crate::text::units::{Size, Span, Time};
use crate::text::words::words;

/// TCP of a host. A key left out takes the value of the top-level `[tcp]`, and there that of a present-day Linux.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// How the congestion window grows and shrinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "newreno"))]
    pub congestion: Option<Congestion>,
    /// How losses are found and repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "sack"))]
    pub recovery: Option<Recovery>,
    /// How the retransmission timeout follows the round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "linux-6"))]
    pub timer: Option<Timer>,
    /// The timeout of `timer = "fixed"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_rto: Option<Span>,
    /// `timer = "modified"` holds while fewer segments than this are in flight, 1 to 1000. Left out: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_in_flight: Option<u32>,
    /// The margin of `timer = "modified"` is at most the round trip shifted right by this, 0 to 16. Left out: 1, half of
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_margin_shift: Option<u8>,
    /// What the congestion window counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "bytes"))]
    pub window_counts: Option<WindowCounts>,
    /// Receive buffer, which is the most the sender may have in flight; up to 1GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "4MiB"))]
    pub receive_window: Option<Size>,
    /// Congestion window at the start, in segments, or `"rfc5681"` for 2 to 4 by their size.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10"))]
    pub initial_window: Option<InitialWindow>,
    /// How long an ACK may wait for a second segment, up to 500 ms; `"off"` acknowledges each at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "40ms"))]
    pub delayed_ack: Option<DelayedAck>,
    /// RFC 7323 timestamps, 12 bytes in each segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub timestamps: Option<bool>,
    /// RFC 3042: new data on the first two duplicate ACKs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub limited_transmit: Option<bool>,
    /// Hold back small segments while data is unacknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub nagle: Option<bool>,
    /// Negotiate ECN (RFC 3168).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub ecn: Option<bool>,
    /// Segments acknowledged at once at the start of a connection, and after a gap longer than the timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "16"))]
    pub quick_acks: Option<u32>,
    /// RFC 5681: back to the initial window after an idle retransmission timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub restart_after_idle: Option<bool>,
    /// A stream is thin with fewer segments than this in flight, 1 to 1000, its first slow start behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "4"))]
    pub thin_below: Option<u32>,
    /// Thin streams: no back-off on the first six timeouts in a row (Linux `tcp_thin_linear_timeouts`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub linear_timeouts: Option<bool>,
    /// Thin streams: the first duplicate ACK means a loss (Linux `TCP_THIN_DUPACK`, until 4.11).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub thin_dupack: Option<bool>,
    /// RFC 5827: with few segments in flight fewer duplicate ACKs mean a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub early_retransmit: Option<bool>,
    /// RFC 2883: report and count what arrived twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub dsack: Option<bool>,
    /// RFC 5682: after a timeout, find out whether it was needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub frto: Option<bool>,
    /// Writes that wait share a segment, without Nagle too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub merge_writes: Option<bool>,
    /// What a retransmission takes along of the small segments behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "off"))]
    pub piggyback: Option<Piggyback>,
    /// Thin streams: new segments repeat what is not yet acknowledged (redundant data bundling).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub rdb: Option<bool>,
    /// Earlier segments that a new one repeats at most, 1 to 255. Left out: as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdb_segments: Option<u8>,
    /// A stream bundles while fewer segments are in flight than the round trip over this. Left out: 10 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdb_shortest_interval: Option<Span>,
}

impl Tcp {
    /// These keys, and those of `base` where there are none.
    pub(crate) fn over(&self, base: &Self) -> Self {
        macro_rules! either {
            ($($key:ident),+) => { Self { $($key: self.$key.or(base.$key)),+ } };
        }
        either!(
            congestion,
            recovery,
            timer,
            fixed_rto,
            modified_in_flight,
            modified_margin_shift,
            window_counts,
            receive_window,
            initial_window,
            delayed_ack,
            timestamps,
            limited_transmit,
            nagle,
            ecn,
            quick_acks,
            restart_after_idle,
            thin_below,
            linear_timeouts,
            thin_dupack,
            early_retransmit,
            dsack,
            frto,
            merge_writes,
            piggyback,
            rdb,
            rdb_segments,
            rdb_shortest_interval
        )
    }
}

words! {
    /// Congestion control.
    Congestion "congestion control" {
        /// RFC 5681: slow start, congestion avoidance, halving on loss.
        NewReno = "newreno",
        /// RFC 9438: a cubic of the time since the last loss.
        Cubic = "cubic",
        /// Binary increase towards the window of the last loss.
        Bic = "bic",
        /// Two to four segments in the queue, seen in the round trip.
        Vegas = "vegas",
        /// Westwood+: after a loss, what the measured bandwidth fills.
        Westwood = "westwood",
    }
}

words! {
    /// Loss recovery.
    Recovery "loss recovery" {
        /// RFC 6582: one hole in a round trip, from duplicate ACKs alone.
        NewReno = "newreno",
        /// RFC 6675: every hole the selective acknowledgements show.
        Sack = "sack",
        /// Forward acknowledgement: lost by distance from the highest byte received.
        Fack = "fack",
        /// RFC 8985, RACK-TLP: lost by time, with a probe at the tail.
        Rack = "rack",
    }
}

words! {
    /// Retransmission timer.
    Timer "retransmission timer" {
        /// RFC 6298: at least one second.
        Rfc6298 = "rfc6298",
        /// Linux 6.1: at least 200 ms above the round trip.
        Linux = "linux-6",
        /// Linux 2.6: the same estimator, three seconds before the first sample.
        Linux26 = "linux-2.6",
        /// The modified timeout of griwodz2006: a round trip and a half, no back-off, while the stream is thin.
        Modified = "modified",
        /// Always `fixed_rto`, never backed off.
        Fixed = "fixed",
    }
}

words! {
    /// What a congestion window counts.
    WindowCounts "way to count" {
        /// Bytes, as RFC 5681.
        Bytes = "bytes",
        /// Segments, however small, as Linux.
        Segments = "segments",
    }
}

words! {
    /// What a retransmission takes along.
    Piggyback "piggy-backing" {
        /// Nothing.
        Off = "off",
        /// The next segment, as Linux 2.6 (griwodz2006 Fig. 6).
        Next = "next",
        /// All that follow and fit.
        All = "all",
    }
}

/// Congestion window at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// A number of segments.
    Segments(u32),
    /// RFC 5681 section 3.1.
    Rfc5681,
}

/// How long an ACK may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// It does not.
    Off,
    /// At most this long.
    After(Duration),
}

impl FromStr for InitialWindow {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        match text.parse() {
            _ if text == "rfc5681" => Ok(Self::Rfc5681),
            Ok(segments @ 1..=1000) => Ok(Self::Segments(segments)),
            _ => Err(Fault::new("this is not a window to start with")
                .allowed("1 to 1000 (segments), or \"rfc5681\"")),
        }
    }
}

impl fmt::Display for InitialWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segments(segments) => segments.fmt(f),
            Self::Rfc5681 => f.write_str("rfc5681"),
        }
    }
}

in_text!(InitialWindow, "a number of segments, or \"rfc5681\"");

impl JsonSchema for InitialWindow {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "InitialWindow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1, "maximum": 1000 }, { "const": "rfc5681" }] })
    }
}

impl FromStr for DelayedAck {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        const ALLOWED: &str = "a time up to \"500ms\", such as \"40ms\", or \"off\"";
        if text == "off" {
            return Ok(Self::Off);
        }
        let Time(wait) = text.parse().map_err(|fault: Fault| fault.allowed(ALLOWED))?;
        match wait {
            Duration::ZERO => Ok(Self::Off),
            _ if wait <= Duration::from_millis(500) => Ok(Self::After(wait)),
            _ => Err(Fault::new("no ACK may wait that long (RFC 5681 section 4.2)").allowed(ALLOWED)),
        }
    }
}

impl fmt::Display for DelayedAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::After(wait) => wait.fmt(f),
        }
    }
}

in_text!(DelayedAck, "a time such as \"40ms\", or \"off\"");

impl JsonSchema for DelayedAck {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DelayedAck".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Time>(), { "const": "off" }] })
    }
}
