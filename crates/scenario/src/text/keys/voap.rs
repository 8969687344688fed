//! `[gateway] voap`: control of the TCP windows in passing segments.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::Duration;
use gamelane_stage::voap::{Period, VoapConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::text::error::Fault;
use crate::text::from_text::in_text;
use crate::text::units::{Span, Time};
use crate::text::words::words;

/// VoAP (palazzi-voap): the gateway lowers the windows in passing TCP segments, to keep the delay of its queue between
/// `alpha` and `beta`. It cannot slow down UDP, and so not QUIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Voap {
    /// Queueing delay below which windows grow. At most `beta`.
    pub alpha: Time,
    /// Queueing delay above which windows shrink.
    pub beta: Span,
    /// Segments by which a window grows or shrinks at a time, 1 to 1000. Our choice: the paper does not give it.
    pub step: u32,
    /// Time between steps of a window. `"ack"`: one step per segment that acknowledges new data. `"rtt"`: one step per
    /// round trip of the connection. Our choice: the paper does not give it.
    pub period: StepPeriod,
    /// Smallest window that VoAP sets, in segments, 2 to 1000.
    pub floor: u32,
    /// Makes larger windows shrink first and smaller ones grow first, so that downloads come to equal shares. `false`
    /// is the law of the paper.
    pub even: bool,
    /// Direction of the data to slow down. Downloads go down.
    pub data: SteeredData,
}

impl Default for Voap {
    fn default() -> Self {
        let config = VoapConfig::default();
        Self {
            alpha: Time(config.alpha),
            beta: Span(config.beta),
            step: config.step,
            period: StepPeriod(config.period),
            floor: config.floor,
            even: config.even,
            data: SteeredData::Down,
        }
    }
}

words! {
    /// Direction of the data that VoAP slows down.
    SteeredData "value of `data`" {
        /// From the internet to the home.
        Down = "down",
        /// From the home to the internet.
        Up = "up",
        /// Both directions.
        Both = "both",
    }
}

/// Time between steps of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPeriod(pub Period);

impl FromStr for StepPeriod {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "ack" => Ok(Self(Period::Ack)),
            "rtt" => Ok(Self(Period::RoundTrip)),
            _ => match text.parse() {
                Ok(Time(Duration::ZERO)) => {
                    Err(Fault::new("the period must be more than zero").allowed(PERIODS))
                }
                Ok(Time(time)) => Ok(Self(Period::Every(time))),
                Err(fault) => Err(fault.one_of(text, ["ack", "rtt"]).allowed(PERIODS)),
            },
        }
    }
}

impl fmt::Display for StepPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Period::Ack => f.write_str("ack"),
            Period::RoundTrip => f.write_str("rtt"),
            Period::Every(time) => time.fmt(f),
        }
    }
}

in_text!(StepPeriod, PERIODS);

impl JsonSchema for StepPeriod {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "StepPeriod".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "ack" }, { "const": "rtt" }, generator.subschema_for::<Span>()] })
    }
}

const PERIODS: &str = "\"ack\", \"rtt\", or a time such as \"50ms\"";
