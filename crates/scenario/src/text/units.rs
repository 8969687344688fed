//! Values with units as serde types: `12mbit`, `40ms`, `64KiB`, `100p`, `1%`. [`gamelane_core::quantity`] reads and writes
//! the texts; each type here stands for one kind, so a bare number is always refused.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::quantity::{LIMIT, PERCENTAGE, RATE, Refused, SIZE, TIME};
use gamelane_core::{Bitrate, ByteCount, Duration};
use gamelane_qdisc::Limit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::error::Fault;
use super::from_text::in_text;

/// A rate above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Bitrate);

/// A time, possibly zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time(pub Duration);

/// A time above zero: of a run, a period, an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A size in bytes, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub ByteCount);

/// The limit of a queue, in packets or bytes, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit(pub Limit);

/// A percentage, 0 to 100, in millionths of a per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percent(u64);

impl Percent {
    /// 100 %.
    pub const ALL: Self = Self(100_000_000);

    /// As a number, 0 to 100.
    pub fn percent(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// As a probability, 0 to 1.
    pub fn probability(self) -> f64 {
        self.percent() / 100.0
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        Self { message: refused.message, allowed: Some(refused.allowed), hint: refused.hint }
    }
}

impl FromStr for QueueLimit {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        LIMIT.read_above_zero(text)?;
        let (value, unit) = LIMIT.read_with_unit(text)?;
        if unit != "p" {
            return Ok(Self(Limit::Bytes(ByteCount(value))));
        }
        let too_many = |_| Fault::new("this queue limit is too large").allowed("up to \"4294967295p\"");
        u32::try_from(value).map(|packets| Self(Limit::Packets(packets))).map_err(too_many)
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Limit::Packets(packets) => write!(f, "{packets}p"),
            Limit::Bytes(bytes) => Size(bytes).fmt(f),
        }
    }
}

macro_rules! text {
    ($($name:ident: $kind:ident.$read:ident, |$number:ident| $value:expr, |$own:ident| $base:expr;)*) => {$(
        impl FromStr for $name {
            type Err = Fault;
            fn from_str(text: &str) -> Result<Self, Fault> {
                let $number = $kind.$read(text)?;
                Ok(Self($value))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $own = self.0;
                $kind.text($base).fmt(f)
            }
        }
    )*};
}

text! {
    Rate: RATE.read_above_zero, |bps| Bitrate::from_bps(bps), |rate| rate.bps();
    Time: TIME.read, |nanos| Duration::from_nanos(nanos), |time| time.as_nanos();
    Span: TIME.read_above_zero, |nanos| Duration::from_nanos(nanos), |time| time.as_nanos();
    Size: SIZE.read_above_zero, |bytes| ByteCount(bytes), |size| size.bytes();
    Percent: PERCENTAGE.read, |millionths| millionths, |millionths| millionths;
}

macro_rules! with_unit {
    ($($name:ident: $kind:ident;)*) => {$(
        in_text!($name, $kind.expecting());

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let (description, pattern) = ($kind.expecting(), $kind.pattern());
                json_schema!({ "type": "string", "description": description, "pattern": pattern })
            }
        }
    )*};
}

with_unit! {
    Rate: RATE;
    Time: TIME;
    Span: TIME;
    Size: SIZE;
    QueueLimit: LIMIT;
    Percent: PERCENTAGE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_reads_and_prints_its_own_kind() {
        let printed = |text: &str| {
            let read = [
                text.parse::<Rate>().map(|v| v.to_string()),
                text.parse::<Time>().map(|v| v.to_string()),
                text.parse::<QueueLimit>().map(|v| v.to_string()),
                text.parse::<Percent>().map(|v| v.to_string()),
            ];
            read.into_iter().flatten().collect::<Vec<String>>()
        };
        assert_eq!(printed("1.5mbit"), ["1500kbit"]);
        assert_eq!(printed("2min"), ["120s"]);
        assert_eq!(printed("65536B"), ["64KiB"]);
        assert_eq!(printed(" 100p "), ["100p"]);
        assert_eq!(printed("0.1%"), ["0.1%"]);
    }

    #[test]
    fn zero_is_a_time_and_nothing_else() {
        assert_eq!("0ms".parse::<Time>().map(|time| time.0), Ok(Duration::ZERO));
        assert!("0ms".parse::<Span>().is_err() && "0.1ns".parse::<Span>().is_err());
        assert!("0p".parse::<QueueLimit>().is_err() && "0bit".parse::<Rate>().is_err());
    }
}
