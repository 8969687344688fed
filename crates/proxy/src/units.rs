//! Durations and sizes as a configuration writes them: `5ms`, `30s`, `2h`, `64KiB`.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// A span of time.
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

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const SPANS: [(&str, u64); 6] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const SIZES: [(&str, u64); 5] = [("b", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let scale = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    number.parse::<u64>().ok()?.checked_mul(scale)
}

macro_rules! text {
    ($name:ident, $expected:literal, |$text:ident| $read:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: Error>(self, $text: &str) -> Result<$name, E> {
                        $read.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str($text), &$expected))
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

text!(Span, "a time such as \"5ms\", \"30s\", \"10min\" or \"2h\"", |text| {
    scaled(text, &SPANS).map(|nanos| Span(gamelane_core::Duration::from_nanos(nanos)))
});
text!(Size, "a size such as \"1400B\", \"64KiB\" or \"256MiB\"", |text| scaled(text, &SIZES).map(Size));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale() {
        assert_eq!(scaled("5ms", &SPANS), Some(5_000_000));
        assert_eq!(scaled("64KiB", &SIZES), Some(65_536));
        for wrong in ["", "5", "ms", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(scaled(wrong, &SPANS), None, "{wrong}");
        }
    }
}
