//! Ranges as text: `"27960..27970"`, both ends included. `"..200B"` and `"100kbit.."` are open at one end. A single
//! value is a range of one.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_qdisc::classify::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::dscp::Dscp;
use super::error::Fault;
use super::from_text::{from_text, in_text};
use super::units::{Rate, Size, Time};

/// A range of values; an end without a value is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    /// Smallest value.
    pub low: Option<T>,
    /// Largest value.
    pub high: Option<T>,
}

impl<T: Copy> Range<T> {
    /// The range in another type. `open` has the values for open ends.
    pub(crate) fn span<U>(&self, value: impl Fn(T) -> U, open: [U; 2]) -> Span<U> {
        let [low, high] = open;
        Span { low: self.low.map_or(low, &value), high: self.high.map_or(high, &value) }
    }
}

/// A type that a range can have.
pub trait Bound: FromStr<Err = Fault> + fmt::Display + PartialEq {
    /// Name of the range in the schema.
    const NAME: &'static str;
    /// A range with two ends, for messages.
    const EXAMPLE: &'static str;
}

impl<T: Bound> FromStr for Range<T> {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let Some((low, high)) = text.split_once("..") else {
            let value = |text: &str| text.parse().map(Some);
            return Ok(Self { low: value(text)?, high: value(text)? });
        };
        let end = |text: &str| match text.trim() {
            "" => Ok(None),
            end => end.parse().map(Some),
        };
        match (end(low)?, end(high)?) {
            (None, None) => Err(Fault::new("a range needs at least one end").allowed(expecting::<T>())),
            (low, high) => Ok(Self { low, high }),
        }
    }
}

impl<T: Bound> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) if low == high => low.fmt(f),
            (low, high) => {
                low.iter().try_for_each(|low| low.fmt(f))?;
                f.write_str("..")?;
                high.iter().try_for_each(|high| high.fmt(f))
            }
        }
    }
}

impl<'de, T: Bound> Deserialize<'de> for Range<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, &expecting::<T>())
    }
}

impl<T: Bound> Serialize for Range<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<T: Bound> JsonSchema for Range<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (description, kind) = (expecting::<T>(), format!("value, or range such as `{}`", T::EXAMPLE));
        json_schema!({ "type": ["string", "integer"], "description": description, "x-type": kind })
    }
}

fn expecting<T: Bound>() -> String {
    format!("a value, or a range such as \"{}\"; either end may be omitted", T::EXAMPLE)
}

impl Bound for Size {
    const NAME: &'static str = "SizeRange";
    const EXAMPLE: &'static str = "40B..200B";
}

impl Bound for Rate {
    const NAME: &'static str = "RateRange";
    const EXAMPLE: &'static str = "10kbit..200kbit";
}

impl Bound for Time {
    const NAME: &'static str = "TimeRange";
    const EXAMPLE: &'static str = "800us..1200us";
}

impl Bound for Dscp {
    const NAME: &'static str = "DscpRange";
    const EXAMPLE: &'static str = "AF41..AF43";
}

/// A port of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub u16);

impl FromStr for Port {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let fault = |_| {
            Fault::new("this is not a port number").allowed("0 to 65535, or a range such as \"27960..27970\"")
        };
        text.parse().map(Self).map_err(fault)
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Bound for Port {
    const NAME: &'static str = "PortRange";
    const EXAMPLE: &'static str = "27960..27970";
}

/// A standard deviation in whole per cent of a mean. It can exceed 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation(pub u32);

impl FromStr for Deviation {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
        let fault = || {
            Fault::new("this is not a whole percentage")
                .allowed("0% to 1000000%, such as \"30%\", or a range such as \"..30%\"")
        };
        percent.filter(|percent| *percent <= 1_000_000).map(Self).ok_or_else(fault)
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

in_text!(Deviation, "a whole percentage such as \"110%\"");

impl JsonSchema for Deviation {
    fn schema_name() -> Cow<'static, str> {
        "Deviation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+ *%$" })
    }
}

impl Bound for Deviation {
    const NAME: &'static str = "DeviationRange";
    const EXAMPLE: &'static str = "0%..110%";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<T: Bound>(text: &str, printed: &str) {
        assert_eq!(text.parse::<Range<T>>().map(|range| range.to_string()), Ok(printed.into()), "{text}");
    }

    #[test]
    fn ranges_read_and_print() {
        same::<Port>("27960", "27960");
        same::<Port>("27960..27970", "27960..27970");
        same::<Port>("1..1", "1");
        same::<Size>(" .. 200 B", "..200B");
        same::<Rate>("1.5mbit..2mbit", "1500kbit..2mbit");
        same::<Dscp>("af41..AF43", "AF41..AF43");
        same::<Deviation>("110%..", "110%..");
        for text in ["..", "", "1..70000", "65536", "a..b", "1...3"] {
            assert!(text.parse::<Range<Port>>().is_err(), "{text}");
        }
    }

    #[test]
    fn open_ends_take_what_there_is() {
        let range: Range<Port> = "100..".parse().unwrap();
        assert_eq!(range.span(|port| port.0, [0, u16::MAX]), Span::new(100, 65_535));
    }
}
