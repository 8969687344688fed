//! Quantities as text: a number and a unit, as `tc` writes them, such as `12mbit`, `40ms`, `64KiB` or `1%`.
//!
//! Scenarios, the proxy's configuration and the Python command all read through the [`Kind`]s below. A value is a whole
//! number of the base unit of its kind. Leaves out `kbps` and its like: `tc` reads them as bytes, most people as bits.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A kind of quantity: its units, its bounds, and what its errors say.
pub struct Kind {
    /// Its name, without an article.
    noun: &'static str,
    /// Names of units and how many of the base unit each is, ascending. The last `spoken` are read but never written.
    units: &'static [(&'static str, u64)],
    spoken: usize,
    /// Units that are refused, with the reason and the unit to write instead.
    refused: &'static [(&'static [&'static str], &'static str, &'static str)],
    /// Units to suggest where none is given.
    likely: &'static [&'static str],
    /// Zero as it is written.
    zero: &'static str,
    /// Largest value in the base unit, and as it is written.
    most: (u64, &'static str),
    /// The accepted forms and an example.
    forms: &'static str,
}

/// A rate; the base unit is one bit per second.
pub const RATE: Kind = Kind {
    noun: "rate",
    units: &[("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)],
    spoken: 0,
    refused: &[
        (&["bps", "Bps"], "tc reads bps as bytes per second", "bit"),
        (&["kbps", "Kbps", "KBps"], "tc reads kbps as kilobytes per second", "kbit"),
        (&["mbps", "Mbps", "MBps"], "tc reads mbps as megabytes per second", "mbit"),
        (&["gbps", "Gbps", "GBps"], "tc reads gbps as gigabytes per second", "gbit"),
        (&["k", "K", "kb", "Kb", "kb/s", "kbit/s"], "rates are in bits per second", "kbit"),
        (&["m", "M", "mb", "Mb", "Mb/s", "mbit/s", "Mbit/s"], "rates are in bits per second", "mbit"),
        (&["g", "G", "gb", "Gb", "Gb/s", "gbit/s", "Gbit/s"], "rates are in bits per second", "gbit"),
    ],
    likely: &["mbit", "kbit"],
    zero: "0bit",
    most: (1_000_000_000_000, "1000gbit"),
    forms: "a number and bit, kbit, mbit or gbit, such as \"12mbit\"",
};

/// A time; the base unit is one nanosecond.
pub const TIME: Kind = Kind {
    noun: "time",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    spoken: 3,
    refused: &[
        (&["µs", "μs", "usec", "usecs"], "microseconds are us", "us"),
        (&["msec", "msecs"], "milliseconds are ms", "ms"),
        (&["sec", "secs", "second", "seconds"], "seconds are s", "s"),
        (&["m", "mins", "minute", "minutes"], "minutes are min", "min"),
        (&["hr", "hrs", "hour", "hours"], "hours are h", "h"),
        (&["day", "days"], "days are d", "d"),
    ],
    likely: &["ms", "s"],
    zero: "0s",
    most: (1_000_000 * 1_000_000_000, "1000000s"),
    forms: "a number and ns, us, ms, s, min, h or d, such as \"40ms\"",
};

/// A size; the base unit is one byte.
pub const SIZE: Kind = Kind {
    noun: "size",
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    spoken: 0,
    refused: &[
        (&["b"], "b may mean bits", "B"),
        (&["kb", "kB", "KB", "k", "K"], "tc reads kb as 1024 bytes, others as 1000", "KiB"),
        (&["mb", "mB", "MB", "m", "M"], "tc reads mb as 1048576 bytes, others as 1000000", "MiB"),
        (&["gb", "gB", "GB", "g", "G"], "tc reads gb as 2^30 bytes, others as 10^9", "GiB"),
    ],
    likely: &["KiB", "B"],
    zero: "0B",
    most: (1 << 50, "1048576GiB"),
    forms: "a number and B, KiB, MiB or GiB, such as \"64KiB\"",
};

/// The limit of a queue; the base unit is one packet or one byte, see [`Kind::read_with_unit`].
pub const LIMIT: Kind = Kind {
    noun: "queue limit",
    units: &[("p", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    spoken: 0,
    refused: SIZE.refused,
    likely: &["p", "KiB"],
    zero: "0p",
    most: (1 << 50, "1048576GiB"),
    forms: "a number and p (packets), B, KiB, MiB or GiB, such as \"100p\"",
};

/// A percentage of at most 100; the base unit is one millionth of a per cent.
pub const PERCENTAGE: Kind = Kind {
    noun: "percentage",
    units: &[("%", 1_000_000)],
    spoken: 0,
    refused: &[],
    likely: &["%"],
    zero: "0%",
    most: (100_000_000, "100%"),
    forms: "a number and %, such as \"1%\"",
};

/// Every kind.
pub const KINDS: [&Kind; 5] = [&RATE, &TIME, &SIZE, &LIMIT, &PERCENTAGE];

impl Kind {
    /// Its name in errors: "rate", "time", "size", "queue limit" or "percentage".
    pub const fn noun(&self) -> &'static str {
        self.noun
    }

    /// Names of its units, ascending.
    pub fn units(&self) -> impl Iterator<Item = &'static str> {
        self.units.iter().map(|(name, _)| *name)
    }

    /// What a value looks like, to finish "this takes …".
    pub fn expecting(&self) -> String {
        format!("a {}: {}", self.noun, self.forms)
    }

    /// A regular expression for the accepted texts, without the blanks around them.
    pub fn pattern(&self) -> String {
        let names: Vec<&str> = self.units().collect();
        format!(r"^[0-9]+(\.[0-9]+)? *({})$", names.join("|"))
    }

    /// Reads a text, in the base unit.
    ///
    /// # Errors
    /// The text is not a decimal number with a unit of this kind, or the value is too large.
    pub fn read(&self, text: &str) -> Result<u64, Refused> {
        self.read_with_unit(text).map(|(value, _)| value)
    }

    /// Like [`Kind::read`], for values that must not be zero.
    ///
    /// # Errors
    /// As [`Kind::read`], and for zero.
    pub fn read_above_zero(&self, text: &str) -> Result<u64, Refused> {
        match self.read(text)? {
            0 => Err(self.refuse(format!("the {} must be more than zero", self.noun))),
            value => Ok(value),
        }
    }

    /// Like [`Kind::read`], with the unit the text has.
    ///
    /// # Errors
    /// As [`Kind::read`].
    pub fn read_with_unit(&self, text: &str) -> Result<(u64, &'static str), Refused> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(self.refuse(format!("a {} cannot be negative", self.noun)));
        }
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let unit = unit.trim_start();
        if !number.contains(|c: char| c.is_ascii_digit()) {
            return Err(self.refuse(format!("this is not a {}", self.noun)));
        }
        if unit.is_empty() {
            return Err(self.without_unit(number));
        }
        let Some((unit, scale)) = self.units.iter().copied().find(|(name, _)| *name == unit) else {
            return Err(self.unknown_unit(number, unit));
        };
        let value =
            scaled(number, scale).ok_or_else(|| self.refuse(format!("`{number}` is not a number")))?;
        match u64::try_from(value) {
            Ok(value) if value <= self.most.0 => Ok((value, unit)),
            _ => Err(Refused {
                allowed: format!("up to \"{}\"", self.most.1),
                ..self.refuse(format!("this {} is too large", self.noun))
            }),
        }
    }

    /// A value of the base unit as text: in the largest unit it is a whole number of, else as a decimal of the smallest.
    pub const fn text(&self, value: u64) -> Text<'_> {
        Text { kind: self, value }
    }

    fn refuse(&self, message: String) -> Refused {
        Refused { message, allowed: self.forms.to_owned(), hint: None }
    }

    fn without_unit(&self, number: &str) -> Refused {
        let mut likely: Vec<String> = self.likely.iter().map(|unit| format!("\"{number}{unit}\"")).collect();
        // Somebody who writes 0.01 for a percentage most likely means the fraction.
        if self.noun == PERCENTAGE.noun
            && let Some(fraction) = scaled(number, self.most.0).and_then(|value| u64::try_from(value).ok())
            && fraction <= self.most.0
        {
            likely = [format!("\"{}\" for a fraction of {number}", self.text(fraction))].into();
        }
        Refused {
            hint: Some(format!("write {}", likely.join(" or "))),
            ..self.refuse(format!("a {} needs a unit", self.noun))
        }
    }

    fn unknown_unit(&self, number: &str, unit: &str) -> Refused {
        let refused = self.refused.iter().find(|(names, ..)| names.contains(&unit));
        let meant = || {
            let alike = |name: &str| {
                name.eq_ignore_ascii_case(unit) || unit.strip_suffix('s').is_some_and(|one| one == name)
            };
            self.units.iter().find(|(name, _)| alike(name))
        };
        let hint = match refused {
            Some((_, reason, instead)) => Some(format!("{reason}; write \"{number}{instead}\"")),
            None => meant().map(|(name, _)| format!("did you mean \"{number}{name}\"?")),
        };
        Refused { hint, ..self.refuse(format!("`{unit}` is not a unit for a {}", self.noun)) }
    }
}

/// A value with its kind, for printing. See [`Kind::text`].
pub struct Text<'a> {
    kind: &'a Kind,
    value: u64,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, value) = (self.kind, self.value);
        if value == 0 {
            return f.write_str(kind.zero);
        }
        let written = &kind.units[..kind.units.len() - kind.spoken];
        if let Some((name, unit)) = written.iter().rev().find(|(_, unit)| value.is_multiple_of(*unit)) {
            return write!(f, "{}{name}", value / unit);
        }
        let (name, unit) = written[0];
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", value % unit);
        write!(f, "{}.{}{name}", value / unit, fraction.trim_end_matches('0'))
    }
}

/// Why a text is not a quantity of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// What is accepted.
    pub allowed: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  allowed: {}", self.message, self.allowed)?;
        self.hint.iter().try_for_each(|hint| write!(f, "\n  hint:    {hint}"))
    }
}

impl core::error::Error for Refused {}

/// `number` times `scale`, rounded to the nearest whole number; `None` unless `number` is a plain decimal. Numbers of
/// 20 digits or more are [`u128::MAX`], which is too large for every kind.
fn scaled(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    if whole.trim_start_matches('0').len() > 19 {
        return Some(u128::MAX);
    }
    // No unit here is 10^12 times its base unit, so further digits hardly change the value.
    let fraction = fraction.get(..12).unwrap_or(fraction);
    let parts = 10u128.pow(fraction.len() as u32);
    let value = whole.parse::<u128>().ok()? * parts + fraction.parse::<u128>().ok()?;
    // A number that leaves the range of `u128` is too large for every kind.
    Some(value.saturating_mul(scale.into()).saturating_add(parts / 2) / parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn printed(kind: &Kind, text: &str) -> Result<String, String> {
        kind.read(text).map(|value| kind.text(value).to_string()).map_err(|refused| refused.to_string())
    }

    #[test]
    fn a_number_beyond_every_range_is_too_large() {
        for text in ["9999999999999999999.000000000000h", "9999999999999999999.9d", "99999999999999999999.5s"]
        {
            let refused = TIME.read(text).unwrap_err();
            assert_eq!(refused.message, "this time is too large", "{text}");
        }
    }

    #[test]
    fn values_print_in_their_largest_whole_unit() {
        for (kind, text, expected) in [
            (&RATE, "12mbit", "12mbit"),
            (&RATE, "1.5mbit", "1500kbit"),
            (&RATE, "1000kbit", "1mbit"),
            (&TIME, "0.5 ms", "500us"),
            (&TIME, "16.6666666667ms", "16666667ns"),
            (&TIME, " 2h ", "7200s"),
            (&TIME, "0ms", "0s"),
            (&SIZE, "65536B", "64KiB"),
            (&SIZE, "1500B", "1500B"),
            (&PERCENTAGE, "0.1%", "0.1%"),
            (&PERCENTAGE, "99.000001%", "99.000001%"),
            (&PERCENTAGE, "100%", "100%"),
        ] {
            assert_eq!(printed(kind, text), Ok(expected.into()), "{text}");
        }
        assert_eq!(LIMIT.read_with_unit("100p "), Ok((100, "p")));
    }

    #[test]
    fn what_is_not_a_value_is_refused() {
        let wrong =
            ["", ".", "1.", ".5s", "1.2.3s", "1e3s", "s", "+1s", "99999999999999999999s", "١s", "-1s"];
        for text in wrong {
            assert!(TIME.read(text).is_err(), "{text:?}");
        }
        for text in ["0ms", "0.1ns"] {
            assert!(TIME.read(text).is_ok() && TIME.read_above_zero(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_allowed_forms_and_what_was_meant() {
        for (kind, text, hint) in [
            (&RATE, "12", "write \"12mbit\" or \"12kbit\""),
            (&RATE, "12Mbit", "did you mean \"12mbit\"?"),
            (&RATE, "12mbits", "did you mean \"12mbit\"?"),
            (&RATE, "12kbps", "tc reads kbps as kilobytes per second; write \"12kbit\""),
            (&TIME, "5m", "minutes are min; write \"5min\""),
            (&SIZE, "64kb", "tc reads kb as 1024 bytes, others as 1000; write \"64KiB\""),
            (&PERCENTAGE, "0.01", "write \"1%\" for a fraction of 0.01"),
            (&PERCENTAGE, "3", "write \"3%\""),
        ] {
            let refused = kind.read(text).unwrap_err();
            assert_eq!(
                (refused.allowed.as_str(), refused.hint.as_deref()),
                (kind.forms, Some(hint)),
                "{text}"
            );
        }
        assert_eq!(RATE.read("2000gbit").unwrap_err().allowed, "up to \"1000gbit\"");
    }

    fn a_quantity() -> impl Strategy<Value = (usize, String)> {
        (0..KINDS.len()).prop_flat_map(|kind| {
            let unit = (0..KINDS[kind].units.len()).prop_map(move |unit| KINDS[kind].units[unit].0);
            ("[0-9]{1,7}(\\.[0-9]{1,14})?", " {0,2}", unit)
                .prop_map(move |(number, blank, unit)| (kind, format!("{number}{blank}{unit}")))
        })
    }

    proptest! {
        #[test]
        fn a_printed_value_reads_as_itself((kind, text) in a_quantity()) {
            let kind = KINDS[kind];
            if let Ok(value) = kind.read(&text) {
                let printed = kind.text(value).to_string();
                prop_assert_eq!(kind.read(&printed), Ok(value));
                prop_assert_eq!(kind.text(value).to_string(), printed);
            }
        }

        #[test]
        fn any_value_survives_being_text(kind in 0..KINDS.len(), share in 0.0..=1.0f64) {
            let kind = KINDS[kind];
            let value = (kind.most.0 as f64 * share) as u64;
            prop_assert_eq!(kind.read(&kind.text(value).to_string()), Ok(value));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,16}") {
            for kind in KINDS {
                let _ = kind.read(&text);
            }
        }
    }
}
