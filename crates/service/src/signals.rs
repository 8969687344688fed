//! Signals that end a program in order.

/// SIGTERM and Ctrl-C, and SIGHUP: a closed terminal. Not SIGHUP if the program was started with that ignored, as `nohup` does.
pub fn endings() -> impl Iterator<Item = i32> {
    [SIGTERM, SIGINT].into_iter().chain((!is_ignored(SIGHUP)).then_some(SIGHUP))
}

/// Whether this process ignores a signal.
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_in(&status, signal)
}

fn is_in(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_counts_from_one() {
        let status = "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001002\nSigCgt:\t0000000000004001\n";
        assert!(is_in(status, SIGINT));
        assert!(!is_in(status, SIGHUP) && !is_in(status, SIGTERM) && !is_in("", SIGHUP));
    }
}
