//! Times and sizes of a configuration as serde types: `5ms`, `30s`, `2h`, `64KiB`. [`gamelane_core::quantity`] reads them.

use gamelane_core::quantity::{Kind, SIZE, TIME};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// A time, possibly zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub gamelane_core::Duration);

impl Span {
    /// From milliseconds.
    pub const fn millis(ms: u64) -> Self {
        Self(gamelane_core::Duration::from_millis(ms))
    }

    /// For the standard library.
    pub const fn std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.as_nanos())
    }
}

/// A number of bytes, possibly zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanos = deserializer.deserialize_any(Text(&TIME))?;
        Ok(Self(gamelane_core::Duration::from_nanos(nanos)))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text(&SIZE)).map(Self)
    }
}

/// Reads a text of its kind, and refuses a bare number with the units to choose from.
struct Text(&'static Kind);

impl Visitor<'_> for Text {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.expecting())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        self.0.read(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        self.visit_str(&number.to_string())
    }
}
