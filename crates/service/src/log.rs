//! The log of a program that runs until it is stopped: lines or JSON on stderr.

use tracing_subscriber::EnvFilter;

/// Starts the log, once, at the start of `main`. The variable `GAMELANE_LOG` sets what is logged, such as `debug`; without it, `info`.
pub fn start(json: bool) {
    let filter = EnvFilter::try_from_env("GAMELANE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        // Otherwise it panics if nobody reads stderr any more.
        .log_internal_errors(false);
    if json { builder.json().init() } else { builder.init() }
}
