//! The log of a program that runs until it is stopped: lines or JSON on stderr.

use std::env;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

const VARIABLE: &str = "GAMELANE_LOG";

/// Starts the log, once, at the start of `main`. The variable `GAMELANE_LOG` sets what is logged, such as `debug`; without it, `info`.
pub fn start(json: bool) {
    let given = env::var(VARIABLE).unwrap_or_default();
    let shown = levels(&given);
    let is_refused = shown.is_none();
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        // Otherwise it panics if nobody reads stderr any more.
        .log_internal_errors(false);
    let lines = if json { lines.json().boxed() } else { lines.boxed() };
    let shown = shown.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    tracing_subscriber::registry().with(lines.with_filter(shown)).init();
    if is_refused {
        tracing::warn!(
            "{VARIABLE}={given}: these are no levels, so `info` applies; allowed: for example debug, or gamelane_proxy=debug,warn"
        );
    }
}

/// Reads levels, each alone or for a target, between commas. `None` if that is something else.
fn levels(text: &str) -> Option<Targets> {
    let mut shown = Targets::new().with_default(LevelFilter::INFO);
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        shown = match part.split_once('=') {
            None => shown.with_default(part.parse::<LevelFilter>().ok()?),
            Some((target, _)) if target.contains('[') => return None,
            Some((target, level)) => shown.with_target(target, level.parse::<LevelFilter>().ok()?),
        };
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_hold_for_all_or_for_a_target() {
        let shows =
            |text: &str, target, level| levels(text).map(|levels| levels.would_enable(target, &level));
        assert_eq!(shows("", "a", Level::INFO), Some(true));
        assert_eq!(shows("", "a", Level::DEBUG), Some(false));
        assert_eq!(shows(" debug ,", "a", Level::DEBUG), Some(true));
        assert_eq!(shows("gamelane_proxy=debug", "gamelane_proxy::far", Level::DEBUG), Some(true));
        assert_eq!(shows("gamelane_proxy=debug", "gamelane_gateway", Level::INFO), Some(true));
        assert_eq!(shows("off", "a", Level::ERROR), Some(false));
        for text in ["loud", "a[span]=debug", "a[{field}]=debug", "gamelane_proxy=loud"] {
            assert_eq!(levels(text), None, "{text}");
        }
    }
}
