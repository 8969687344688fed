//! Values with units, as `tc` writes them: `12mbit`, `40ms`, `64KiB`, `100p`, `1%`. Each kind is a type of its own that
//! reads and prints itself, so that a bare number never gets in. Left out on purpose: `kbps` and its like, which `tc`
//! reads as bytes and most people as bits.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::{Bitrate, ByteCount, Duration};
use gamelane_qdisc::Limit;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::error::{Fault, nearest};
use super::from_text::in_text;

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
        RATE.read(text).and_then(|bps| RATE.more_than_none(bps)).map(|bps| Self(Bitrate::from_bps(bps)))
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
            .and_then(|nanos| TIME.more_than_none(nanos))
            .map(|nanos| Self(Duration::from_nanos(nanos)))
    }
}

impl FromStr for Size {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        SIZE.read(text).and_then(|bytes| SIZE.more_than_none(bytes)).map(|bytes| Self(ByteCount(bytes)))
    }
}

impl FromStr for QueueLimit {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let value = LIMIT.read(text).and_then(|value| LIMIT.more_than_none(value))?;
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
        let millionths = PERCENT.read(text)?;
        if millionths > 100_000_000 {
            return Err(Fault::new("there is no more than 100%").allowed("0% to 100%"));
        }
        Ok(Self(millionths as f64 / 1e6))
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

/// A kind of value that is written as a number and a unit.
struct Kind {
    /// With its article, to begin a sentence.
    name: &'static str,
    /// Names and how many of the base unit each is, ascending.
    units: &'static [(&'static str, u64)],
    /// Units people write that we refuse, with the reason and what to write.
    refused: &'static [(&'static [&'static str], &'static str, &'static str)],
    /// The most of the base unit.
    most: u64,
    /// Shown in messages.
    examples: &'static str,
}

impl Kind {
    fn expecting(&self) -> String {
        format!("{}: {}", self.name, self.examples)
    }

    /// The value in the base unit.
    fn read(&self, text: &str) -> Result<u64, Fault> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(Fault::new(format!("{} cannot be negative", self.name)).allowed(self.examples));
        }
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let unit = unit.trim_start();
        if !number.contains(|c: char| c.is_ascii_digit()) {
            return Err(Fault::new(format!("this is not {}", self.name)).allowed(self.examples));
        }
        if unit.is_empty() {
            return Err(self.without_unit(number));
        }
        let Some((_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(self.unknown_unit(number, unit));
        };
        scaled(number, *scale)
            .ok_or_else(|| Fault::new(format!("`{number}` is not a number")).allowed(self.examples))
            .and_then(|value| {
                let too_much = || Fault::new(format!("{} so large is out of reach", self.name));
                u64::try_from(value).ok().filter(|value| *value <= self.most).ok_or_else(too_much)
            })
    }

    fn more_than_none(&self, value: u64) -> Result<u64, Fault> {
        if value > 0 {
            return Ok(value);
        }
        Err(Fault::new(format!("{} of none makes no sense here", self.name)).allowed(self.examples))
    }

    fn without_unit(&self, number: &str) -> Fault {
        let likely: Vec<String> = match self.units {
            [(only, _)] => vec![format!("\"{number}{only}\"")],
            // Milliseconds and seconds, kbit and mbit, KiB and B: the pair people mean.
            units => units
                .iter()
                .rev()
                .filter(|(name, _)| LIKELY.contains(name))
                .map(|(name, _)| format!("\"{number}{name}\""))
                .collect(),
        };
        Fault::new(format!("{} needs a unit", self.name))
            .allowed(self.examples)
            .hint(format!("write {}", likely.join(" or ")))
    }

    fn unknown_unit(&self, number: &str, unit: &str) -> Fault {
        let fault = Fault::new(format!("`{unit}` is not a unit we read here")).allowed(self.examples);
        if let Some((_, reason, instead)) = self.refused.iter().find(|(names, ..)| names.contains(&unit)) {
            return fault.hint(format!("{reason}; write \"{number}{instead}\""));
        }
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        match nearest(unit, &names) {
            Some(name) => fault.hint(format!("did you mean \"{number}{name}\"?")),
            None => fault,
        }
    }
}

/// `number` times `scale`, rounded to the nearest whole; `None` if it is not a plain decimal number.
fn scaled(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') || whole.len() > 19 {
        return None;
    }
    // Twelve digits behind the point are more than any unit here can tell apart.
    let fraction = fraction.get(..12).unwrap_or(fraction);
    let parts = 10u128.pow(fraction.len() as u32);
    let value = whole.parse::<u128>().ok()? * parts + fraction.parse::<u128>().ok()?;
    Some((value * u128::from(scale) + parts / 2) / parts)
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

const LIKELY: [&str; 7] = ["s", "ms", "mbit", "kbit", "KiB", "B", "p"];

const RATE: Kind = Kind {
    name: "a rate",
    units: &[("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)],
    refused: &[
        (&["bps", "Bps"], "tc reads bps as bytes per second", "bit"),
        (&["kbps", "Kbps", "KBps"], "tc reads kbps as kilobytes per second", "kbit"),
        (&["mbps", "Mbps", "MBps"], "tc reads mbps as megabytes per second", "mbit"),
        (&["gbps", "Gbps", "GBps"], "tc reads gbps as gigabytes per second", "gbit"),
        (&["k", "K", "kb", "Kb", "kb/s", "kbit/s"], "rates are in bits per second", "kbit"),
        (&["m", "M", "mb", "Mb", "Mb/s", "mbit/s", "Mbit/s"], "rates are in bits per second", "mbit"),
        (&["g", "G", "gb", "Gb", "Gb/s", "gbit/s", "Gbit/s"], "rates are in bits per second", "gbit"),
    ],
    most: 1_000_000_000_000,
    examples: "a number and bit, kbit, mbit or gbit, such as \"12mbit\"",
};

const TIME: Kind = Kind {
    name: "a time",
    units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
    refused: &[
        (&["µs", "μs", "usec", "usecs"], "microseconds are us", "us"),
        (&["msec", "msecs"], "milliseconds are ms", "ms"),
        (&["sec", "secs", "second", "seconds"], "seconds are s", "s"),
    ],
    most: 1_000_000 * 1_000_000_000,
    examples: "a number and s, ms, us or ns, such as \"40ms\"",
};

const SIZE: Kind = Kind {
    name: "a size",
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    refused: &[
        (&["b"], "b may mean bits", "B"),
        (&["kb", "kB", "KB", "k", "K"], "tc reads kb as 1024 bytes, others as 1000", "KiB"),
        (&["mb", "mB", "MB", "m", "M"], "tc reads mb as 1048576 bytes, others as 1000000", "MiB"),
        (&["gb", "gB", "GB", "g", "G"], "tc reads gb as 2^30 bytes, others as 10^9", "GiB"),
    ],
    most: 1 << 50,
    examples: "a number and B, KiB, MiB or GiB, such as \"64KiB\"",
};

const LIMIT: Kind = Kind {
    name: "a queue limit",
    units: &[("p", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    refused: SIZE.refused,
    most: 1 << 50,
    examples: "a number and p (packets), B, KiB, MiB or GiB, such as \"100p\"",
};

const PERCENT: Kind = Kind {
    name: "a share",
    units: &[("%", 1_000_000)],
    refused: &[],
    most: u64::MAX,
    examples: "a number and %, such as \"1%\"",
};

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
