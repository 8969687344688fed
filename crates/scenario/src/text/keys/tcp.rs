//! `[tcp]`: TCP settings of both ends of a flow.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::Duration;
use gamelane_tcp::{Control, RecoveryKind, Stack, Timer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::text::error::Fault;
use crate::text::from_text::in_text;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::{Size, Span, Time};
use crate::text::words::{Word, words};

/// TCP settings of both ends of a flow. A key that is not given in `flow.tcp` takes the value of the top-level `[tcp]`,
/// and there the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Row of mechanisms that the other keys start from. `tcp = "linux"` is short for a table with this key alone. A
    /// flow that names a stack does not take the keys of the top-level `[tcp]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "linux"))]
    pub stack: Option<Word<Stack>>,
    /// Congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "cubic"))]
    pub congestion: Option<Word<Control>>,
    /// Loss recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "rack"))]
    pub recovery: Option<Word<RecoveryKind>>,
    /// Retransmission timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "linux-6"))]
    pub timer: Option<Word<Timer>>,
    /// Retransmission timeout of `timer = "fixed"`. Required there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_rto: Option<Span>,
    /// `timer = "modified"` applies while fewer segments than this are in flight, 1 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "3"))]
    pub modified_in_flight: Option<u32>,
    /// `timer = "modified"` adds a margin of at most RTT / 2^n to the RTT. This is n, 0 to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "1"))]
    pub modified_margin_shift: Option<u8>,
    /// Unit of the congestion window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "segments"))]
    pub window_counts: Option<WindowCounts>,
    /// HyStart of CUBIC: ends slow start when the round trip grows, or when ACKs arrive for half of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub hystart: Option<bool>,
    /// How the congestion window falls in fast recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "prr"))]
    pub reduction: Option<Reduction>,
    /// What becomes of a congestion window that is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "rfc2861"))]
    pub window_validation: Option<WindowValidation>,
    /// How much an ACK adds to the congestion window in slow start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "linux"))]
    pub slow_start: Option<SlowStart>,
    /// Receive buffer, which limits the bytes in flight. Up to `1GiB`. `"auto"` grows with the data, as in Linux: from
    /// 64 KiB up to a buffer of 6 MiB. `"freebsd"`: from 64 KiB in steps of 16 KiB, as in FreeBSD 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "auto"))]
    pub receive_window: Option<ReceiveWindow>,
    /// Initial congestion window in segments, 1 to 1000. `"rfc5681"`: 2 to 4 segments, depending on their size.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10"))]
    pub initial_window: Option<InitialWindow>,
    /// Longest time that an ACK waits for a second segment, up to `500ms`. `"off"` acknowledges every segment at once.
    /// `"linux"`: 40 to 200 ms, and small segments that were read are acknowledged at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "linux"))]
    pub delayed_ack: Option<DelayedAck>,
    /// Timestamps (RFC 7323), 12 B in each segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub timestamps: Option<bool>,
    /// Limited Transmit (RFC 3042): sends new data on the first two duplicate ACKs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub limited_transmit: Option<bool>,
    /// Nagle's algorithm: holds back small segments while data is unacknowledged. In the stack `linux`, only while
    /// another small segment is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub nagle: Option<bool>,
    /// Negotiates ECN (RFC 3168).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub ecn: Option<bool>,
    /// Segments that are acknowledged at once at the start of a connection, and after a gap longer than the
    /// retransmission timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "16"))]
    pub quick_acks: Option<u32>,
    /// Makes the congestion window smaller after an idle time longer than the retransmission timeout. By how much
    /// depends on `window_validation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub restart_after_idle: Option<bool>,
    /// A stream is thin while fewer segments than this are in flight, after its first slow start. 1 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "4"))]
    pub thin_below: Option<u32>,
    /// Thin streams: no exponential back-off for the first six timeouts in a row (Linux `tcp_thin_linear_timeouts`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub linear_timeouts: Option<bool>,
    /// Thin streams: the first duplicate ACK counts as a loss (Linux `TCP_THIN_DUPACK`, removed in 4.11).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub thin_dupack: Option<bool>,
    /// Early Retransmit (RFC 5827): with few segments in flight, fewer duplicate ACKs count as a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub early_retransmit: Option<bool>,
    /// DSACK (RFC 2883): the receiver reports segments that arrived twice, and the sender counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub dsack: Option<bool>,
    /// F-RTO (RFC 5682): detects whether a timeout was spurious.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub frto: Option<bool>,
    /// Eifel detection (RFC 3522): finds spurious retransmissions by timestamps, those of a SYN too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "true"))]
    pub eifel: Option<bool>,
    /// Retransmissions of a SYN that do not double the wait (Linux `tcp_syn_linear_timeouts`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "4"))]
    pub linear_syns: Option<u32>,
    /// Writes that wait are merged into one segment, even without Nagle's algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub merge_writes: Option<bool>,
    /// Small segments that a retransmission carries along.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "sent"))]
    pub piggyback: Option<Piggyback>,
    /// Redundant data bundling, on thin streams: new segments repeat unacknowledged data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub rdb: Option<bool>,
    /// Redundant data bundling: most earlier segments that a new one repeats, 1 to 255. Default: as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdb_segments: Option<u8>,
    /// Redundant data bundling: applies while fewer segments than RTT / this time are in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10ms"))]
    pub rdb_shortest_interval: Option<Span>,
}

/// Reads the keys, or the word of a stack alone.
pub(crate) fn stack_or_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tcp, D::Error> {
    Ok(match TextOrTable::<Word<Stack>, Tcp>::deserialize(deserializer)? {
        TextOrTable::Text(stack) => Tcp { stack: Some(stack), ..Tcp::default() },
        TextOrTable::Table(keys) => keys,
    })
}

/// The same for a key that may be absent.
pub(crate) fn maybe_stack_or_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Tcp>, D::Error> {
    stack_or_keys(deserializer).map(Some)
}

impl Tcp {
    /// These keys; a key that is not given here is taken from `base`.
    pub(crate) fn over(&self, base: &Self) -> Self {
        macro_rules! either {
            ($($key:ident),+) => { Self { $($key: self.$key.or(base.$key)),+ } };
        }
        if self.stack.is_some() {
            return self.clone();
        }
        either!(
            stack,
            congestion,
            recovery,
            timer,
            fixed_rto,
            modified_in_flight,
            modified_margin_shift,
            window_counts,
            hystart,
            reduction,
            window_validation,
            slow_start,
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
            eifel,
            linear_syns,
            merge_writes,
            piggyback,
            rdb,
            rdb_segments,
            rdb_shortest_interval
        )
    }
}

words! {
    /// Unit of the congestion window.
    WindowCounts "unit of the congestion window" {
        /// Bytes, as in RFC 5681.
        Bytes = "bytes",
        /// Segments of any size, as in Linux.
        Segments = "segments",
    }
}

words! {
    /// How much an ACK adds to the congestion window in slow start.
    SlowStart "growth in slow start" {
        /// At most one segment (RFC 5681). With delayed ACKs the window grows by half each round trip.
        Rfc5681 = "rfc5681",
        /// At most two segments (RFC 3465 with L = 2, FreeBSD). The window doubles each round trip.
        Rfc3465 = "rfc3465",
        /// All that it acknowledges. The window doubles each round trip.
        Linux = "linux",
    }
}

words! {
    /// How the congestion window falls in fast recovery.
    Reduction "reduction of the window" {
        /// At once, to a part of the bytes in flight (RFC 5681).
        Rfc5681 = "rfc5681",
        /// Over a round trip, to a part of the window (proportional rate reduction, RFC 6937).
        Prr = "prr",
    }
}

words! {
    /// What becomes of a congestion window that is not used.
    WindowValidation "validation of the window" {
        /// After an idle time it is the initial window again (RFC 5681).
        Rfc5681 = "rfc5681",
        /// An idle time halves it for each retransmission timeout, and partial use brings it halfway to what was used
        /// (RFC 2861, Linux).
        Rfc2861 = "rfc2861",
    }
}

words! {
    /// Small segments that a retransmission carries along.
    Piggyback "value of `piggyback`" {
        /// No segment.
        Off = "off",
        /// The next segment, as in Linux 2.6 (griwodz2006 Fig. 6).
        Next = "next",
        /// All following segments that fit, as in Linux 6.12.
        Sent = "sent",
        /// All following segments that fit, then unsent writes.
        All = "all",
    }
}

/// Initial congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// A number of segments.
    Segments(u32),
    /// RFC 5681 section 3.1.
    Rfc5681,
}

/// Longest time that an ACK waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    Off,
    /// An ACK waits at most this long.
    After(Duration),
    /// Linux's rules.
    Linux,
}

/// Receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// Linux's automatic one.
    Auto,
    /// FreeBSD's, which grows in steps.
    FreeBsd,
    /// A buffer of this size.
    Fixed(Size),
}

impl FromStr for InitialWindow {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        match text.parse() {
            _ if text == "rfc5681" => Ok(Self::Rfc5681),
            Ok(segments @ 1..=1000) => Ok(Self::Segments(segments)),
            _ => {
                Err(Fault::new("this is not an initial window")
                    .allowed("1 to 1000 (segments), or \"rfc5681\""))
            }
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
        const ALLOWED: &str = "a time up to \"500ms\", such as \"40ms\", or \"off\" or \"linux\"";
        match text {
            "off" => return Ok(Self::Off),
            "linux" => return Ok(Self::Linux),
            _ => {}
        }
        let Time(wait) = text.parse().map_err(|fault: Fault| fault.allowed(ALLOWED))?;
        match wait {
            Duration::ZERO => Ok(Self::Off),
            _ if wait <= Duration::from_millis(500) => Ok(Self::After(wait)),
            _ => Err(Fault::new("an ACK may wait 500 ms at most (RFC 5681 section 4.2)").allowed(ALLOWED)),
        }
    }
}

impl fmt::Display for DelayedAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Linux => f.write_str("linux"),
            Self::After(wait) => wait.fmt(f),
        }
    }
}

in_text!(DelayedAck, "a time such as \"40ms\", or \"off\" or \"linux\"");

impl JsonSchema for DelayedAck {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DelayedAck".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Time>(), { "const": "off" }, { "const": "linux" }] })
    }
}

impl FromStr for ReceiveWindow {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "auto" => Ok(Self::Auto),
            "freebsd" => Ok(Self::FreeBsd),
            size => size.parse().map(Self::Fixed),
        }
    }
}

impl fmt::Display for ReceiveWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::FreeBsd => f.write_str("freebsd"),
            Self::Fixed(size) => size.fmt(f),
        }
    }
}

in_text!(ReceiveWindow, "a size such as \"64KiB\", or \"auto\" or \"freebsd\"");

impl JsonSchema for ReceiveWindow {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ReceiveWindow".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Size>(), { "const": "auto" }, { "const": "freebsd" }] })
    }
}
