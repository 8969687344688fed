//! A rate, or a share of a rate that is given elsewhere: `"200kbit"`, `"20%"`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::Bitrate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::error::Fault;
use super::from_text::in_text;
use super::units::{Percent, Rate};

/// A rate, or a share of a whole rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateShare {
    /// A rate.
    Rate(Rate),
    /// A share of the whole rate.
    Share(Percent),
}

impl RateShare {
    /// The rate, if `whole` is the whole rate. Rounded down, so that shares never add up to more than the whole.
    pub fn of(self, whole: Bitrate) -> Bitrate {
        match self {
            Self::Rate(rate) => rate.0,
            Self::Share(share) => Bitrate::from_bps((share.probability() * whole.bps() as f64) as u64),
        }
    }
}

impl FromStr for RateShare {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        if text.trim_end().ends_with('%') {
            return text.parse().map(Self::Share);
        }
        text.parse().map(Self::Rate).map_err(|fault: Fault| fault.allowed(EXAMPLES))
    }
}

impl fmt::Display for RateShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

const EXAMPLES: &str = "a rate such as \"200kbit\", or a share of the whole rate such as \"20%\"";

in_text!(RateShare, EXAMPLES);

impl JsonSchema for RateShare {
    fn schema_name() -> Cow<'static, str> {
        "RateShare".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": EXAMPLES,
            "pattern": r"^[0-9]+(\.[0-9]+)? *([kmg]?bit|%)$",
            "x-type": "[rate or percentage](#units)",
        })
    }
}
