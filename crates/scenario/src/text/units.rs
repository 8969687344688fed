//! Values with units, as `tc` writes them: `12mbit`, `40ms`, `64KiB`, `100p`, `1%`. Each kind is a type of its own that
//! reads and prints itself, so that a bare number never gets in. Left out on purpose: `kbps` and its like, which `tc`
//! reads as bytes and most people as bits.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::{Bitrate, ByteCount, Duration};
use gamelane_qdisc::Limit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::error::Fault;
use super::from_text::in_text;
use super::measure::{LIMIT, PERCENT, RATE, SIZE, TIME};

/// Bits per second, more than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Bitrate);

/// A length of time, which may be none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time(pub Duration);

/// A length of time that cannot be none: of a run, a period, an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// Bytes, more than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub ByteCount);

/// What a queue may hold, in packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit(pub Limit);

/// A share of one hundred.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percent(f64);

impl Percent {
    /// Everything.
    pub const ALL: Self = Self(100.0);

    /// As a probability, 0 to 1.
    pub fn probability(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Rate {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        RATE.read(text).and_then(|bps| RATE.more_than_zero(bps)).map(|bps| Self(Bitrate::from_bps(bps)))
    }
}

impl FromStr for Time {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        TIME.read(text).map(|nanos| Self(Duration::from_nanos(nanos)))
    }
}

impl FromStr for Span {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        TIME.read(text)
            .and_then(|nanos| TIME.more_than_zero(nanos))
            .map(|nanos| Self(Duration::from_nanos(nanos)))
    }
}

impl FromStr for Size {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        SIZE.read(text).and_then(|bytes| SIZE.more_than_zero(bytes)).map(|bytes| Self(ByteCount(bytes)))
    }
}

impl FromStr for QueueLimit {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let value = LIMIT.read(text).and_then(|value| LIMIT.more_than_zero(value))?;
        if !text.ends_with('p') {
            return Ok(Self(Limit::Bytes(ByteCount(value))));
        }
        let too_many =
            |_| Fault::new("a queue of so many packets is out of reach").allowed("up to 4294967295p");
        u32::try_from(value).map(|packets| Self(Limit::Packets(packets))).map_err(too_many)
    }
}

impl FromStr for Percent {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let fraction = text.parse().ok().filter(|fraction: &f64| (0.0..=1.0).contains(fraction));
        PERCENT.read(text).map(|millionths| Self(millionths as f64 / 1e6)).map_err(|fault| match fraction {
            Some(fraction) => {
                let share = Self((fraction * 1e8).round() / 1e6);
                fault.hint(format!("write \"{share}\" for a fraction of {text}"))
            }
            None => fault,
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.bytes();
        let whole = SIZE.units.iter().rev().find(|(_, unit)| bytes.is_multiple_of(*unit));
        let (name, unit) = whole.copied().unwrap_or(("B", 1));
        write!(f, "{}{name}", bytes / unit)
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

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

macro_rules! with_unit {
    ($($name:ident: $kind:expr, $pattern:literal;)*) => {$(
        in_text!($name, $kind.expecting());

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $kind.expecting(), "pattern": $pattern })
            }
        }
    )*};
}

with_unit! {
    Rate: RATE, r"^[0-9]+(\.[0-9]+)? *[kmg]?bit$";
    Time: TIME, r"^[0-9]+(\.[0-9]+)? *[mun]?s$";
    Span: TIME, r"^[0-9]+(\.[0-9]+)? *[mun]?s$";
    Size: SIZE, r"^[0-9]+(\.[0-9]+)? *([KMG]i)?B$";
    QueueLimit: LIMIT, r"^[0-9]+(\.[0-9]+)? *(p|([KMG]i)?B)$";
    Percent: PERCENT, r"^[0-9]+(\.[0-9]+)? *%$";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_and_print_in_their_largest_whole_unit() {
        let same = |text: &str, printed: &str| {
            let read = [
                text.parse::<Rate>().map(|v| v.to_string()),
                text.parse::<Time>().map(|v| v.to_string()),
                text.parse::<QueueLimit>().map(|v| v.to_string()),
                text.parse::<Percent>().map(|v| v.to_string()),
            ];
            let read: Vec<String> = read.into_iter().flatten().collect();
            assert_eq!(read, [printed], "{text}");
        };
        same("12mbit", "12mbit");
        same("1.5mbit", "1500kbit");
        same("1000kbit", "1mbit");
        same("0.5 ms", "500us");
        same("16.6666666667ms", "16666667ns");
        same("65536B", "64KiB");
        same("1500B", "1500B");
        same("100p", "100p");
        same("0.1%", "0.1%");
        same("100%", "100%");
    }

    #[test]
    fn a_time_may_be_none_and_a_span_may_not() {
        assert_eq!("0ms".parse::<Time>().map(|time| time.0), Ok(Duration::ZERO));
        assert!("0ms".parse::<Span>().is_err());
        assert!("0.1ns".parse::<Span>().is_err());
        assert!("0p".parse::<QueueLimit>().is_err());
        assert!("0bit".parse::<Rate>().is_err());
    }

    #[test]
    fn what_is_not_a_value_is_refused() {
        for text in ["", ".", "1.", ".5s", "1.2.3s", "1e3s", "s", "+1s", "99999999999999999999s", "١s", "1s "]
        {
            let whole = text == "1s ";
            assert_eq!(text.parse::<Time>().is_ok(), whole, "{text:?}");
        }
    }
}
