//! A drop of Linux, in the words of the simulator.

use gamelane_core::{DropReason, Duration};

/// The reason of a drop, by the kernel's name for it and the time that the packet had waited.
///
/// Before Linux 6.13 the names hardly differ (`QDISC_DROP`, `NOT_SPECIFIED`); since 7.0 they begin with `QDISC_DROP_`. Where they do
/// not tell, the wait does: a full queue drops what arrives, and a law drops what has waited. FQ-CoDel over its limit drops what has
/// waited, too.
pub(super) fn of(name: Option<&str>, waited: Duration) -> DropReason {
    let is_new = waited <= AT_ONCE;
    match name.map(|name| name.trim_start_matches("QDISC_").trim_start_matches("DROP_")) {
        Some("CONGESTED") if is_new => DropReason::AqmEnqueue,
        Some("OVERLIMIT") if !is_new => DropReason::Overlimit,
        _ if is_new => DropReason::Tail,
        _ => DropReason::AqmDequeue,
    }
}

/// A packet dropped within this time was dropped as it arrived. The laws of Linux let a packet wait for milliseconds first.
const AT_ONCE: Duration = Duration::from_micros(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_names() {
        for (name, waited_us, reason) in [
            (Some("QDISC_DROP"), 3, DropReason::Tail),
            (Some("NOT_SPECIFIED"), 20_000, DropReason::AqmDequeue),
            (Some("QDISC_OVERLIMIT"), 3, DropReason::Tail),
            (Some("QDISC_OVERLIMIT"), 90_000, DropReason::Overlimit),
            (Some("QDISC_CONGESTED"), 3, DropReason::AqmEnqueue),
            (Some("QDISC_CONGESTED"), 9_000, DropReason::AqmDequeue),
            (Some("QDISC_DROP_CONGESTED"), 3, DropReason::AqmEnqueue),
            (Some("QDISC_DROP_OVERLIMIT"), 90_000, DropReason::Overlimit),
            (None, 3, DropReason::Tail),
        ] {
            assert_eq!(of(name, Duration::from_micros(waited_us)), reason, "{name:?} {waited_us}");
        }
    }
}
