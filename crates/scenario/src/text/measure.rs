//! How a number with a unit is read, and what is said about one that cannot be: a unit left out, one that means two
//! things, a value out of reach.

use super::error::{Fault, nearest};

/// A kind of value that is written as a number and a unit.
pub(crate) struct Kind {
    /// With its article, to begin a sentence.
    name: &'static str,
    /// Names and how many of the base unit each is, ascending.
    pub(crate) units: &'static [(&'static str, u64)],
    /// Units people write that we refuse, with the reason and what to write.
    refused: &'static [(&'static [&'static str], &'static str, &'static str)],
    /// What people mean who leave the unit out.
    likely: &'static [&'static str],
    /// The most of the base unit, and how to write it.
    most: (u64, &'static str),
    /// Shown in messages.
    examples: &'static str,
}

impl Kind {
    pub(crate) fn expecting(&self) -> String {
        format!("{}: {}", self.name, self.examples)
    }

    /// The value in the base unit.
    pub(crate) fn read(&self, text: &str) -> Result<u64, Fault> {
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
                let too_much = || {
                    Fault::new(format!("{} so large is out of reach", self.name))
                        .allowed(format!("up to \"{}\"", self.most.1))
                };
                u64::try_from(value).ok().filter(|value| *value <= self.most.0).ok_or_else(too_much)
            })
    }

    pub(crate) fn more_than_zero(&self, value: u64) -> Result<u64, Fault> {
        if value > 0 {
            return Ok(value);
        }
        Err(Fault::new(format!("{} of zero makes no sense here", self.name)).allowed(self.examples))
    }

    fn without_unit(&self, number: &str) -> Fault {
        let likely: Vec<String> = self.likely.iter().map(|unit| format!("\"{number}{unit}\"")).collect();
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

pub(crate) const RATE: Kind = Kind {
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
    likely: &["mbit", "kbit"],
    most: (1_000_000_000_000, "1000gbit"),
    examples: "a number and bit, kbit, mbit or gbit, such as \"12mbit\"",
};

pub(crate) const TIME: Kind = Kind {
    name: "a time",
    units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
    refused: &[
        (&["µs", "μs", "usec", "usecs"], "microseconds are us", "us"),
        (&["msec", "msecs"], "milliseconds are ms", "ms"),
        (&["sec", "secs", "second", "seconds"], "seconds are s", "s"),
    ],
    likely: &["ms", "s"],
    most: (1_000_000 * 1_000_000_000, "1000000s"),
    examples: "a number and s, ms, us or ns, such as \"40ms\"",
};

pub(crate) const SIZE: Kind = Kind {
    name: "a size",
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    refused: &[
        (&["b"], "b may mean bits", "B"),
        (&["kb", "kB", "KB", "k", "K"], "tc reads kb as 1024 bytes, others as 1000", "KiB"),
        (&["mb", "mB", "MB", "m", "M"], "tc reads mb as 1048576 bytes, others as 1000000", "MiB"),
        (&["gb", "gB", "GB", "g", "G"], "tc reads gb as 2^30 bytes, others as 10^9", "GiB"),
    ],
    likely: &["KiB", "B"],
    most: (1 << 50, "1048576GiB"),
    examples: "a number and B, KiB, MiB or GiB, such as \"64KiB\"",
};

pub(crate) const LIMIT: Kind = Kind {
    name: "a queue limit",
    units: &[("p", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    refused: SIZE.refused,
    likely: &["p", "KiB"],
    most: (1 << 50, "1048576GiB"),
    examples: "a number and p (packets), B, KiB, MiB or GiB, such as \"100p\"",
};

pub(crate) const PERCENT: Kind = Kind {
    name: "a share",
    units: &[("%", 1_000_000)],
    refused: &[],
    likely: &["%"],
    most: (100_000_000, "100%"),
    examples: "a number and %, such as \"1%\"",
};
