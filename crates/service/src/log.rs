//! The log of a program that runs until it is stopped: lines or JSON on stderr.

use std::env;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// Starts the log, once, at the start of `main`. The variable `GAMELANE_LOG` sets what is logged, such as `debug`; without it, `info`.
pub fn start(json: bool) {
    let named = env::var("GAMELANE_LOG").ok().filter(|levels| !levels.is_empty());
    let named = named.and_then(|levels| levels.parse().ok());
    let shown = named.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        // Otherwise it panics if nobody reads stderr any more.
        .log_internal_errors(false);
    let lines = if json { lines.json().boxed() } else { lines.boxed() };
    tracing_subscriber::registry().with(lines.with_filter(shown)).init();
}
