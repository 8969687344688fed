//! Numbers as words of the verdict.

pub(super) use crate::numbers::{count, grouped};

/// A number, or "none".
pub(super) fn none(number: u64) -> String {
    if number == 0 { "none".to_owned() } else { grouped(number) }
}

/// A duration.
pub(super) fn duration(ms: f64) -> String {
    if ms >= 1000.0 {
        format!("{:.1} s", ms / 1000.0)
    } else if ms >= 1.0 {
        format!("{ms:.0} ms")
    } else {
        "under 1 ms".to_owned()
    }
}

/// A share in percent. Neither 0 nor 100 % is said of a share in between.
pub(super) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        "under 1 %".to_owned()
    } else if (0.995..1.0).contains(&share) {
        "over 99 %".to_owned()
    } else {
        format!("{:.0} %", 100.0 * share)
    }
}

/// The parts that are not empty, joined.
pub(super) fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_in_between_is_neither_none_nor_all() {
        assert_eq!(
            [0.0, 0.001, 0.5, 0.999, 1.0].map(percent),
            ["0 %", "under 1 %", "50 %", "over 99 %", "100 %"]
        );
    }
}
