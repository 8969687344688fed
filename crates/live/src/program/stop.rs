//! The end of a recording in order: Ctrl-C, SIGTERM (systemd, `timeout`) and SIGHUP (a terminal that is closed).

use std::io::{IsTerminal as _, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gamelane_service::exit::{Exit, Failure, cannot_run};
use gamelane_service::signals::{endings, is_ignored};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// Whether a signal asked for the end.
#[derive(Debug)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    had_terminal: bool,
}

impl Stop {
    /// Notes the signals from now on. A second one may come from `timeout` or a shell, and changes nothing; a second Ctrl-C ends the
    /// process at once. A signal that the process ignores from its start stays ignored: SIGINT in a script's job, SIGHUP under nohup.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        let failed = |error| cannot_run(format!("cannot handle signals: {error}"));
        for signal in endings().filter(|signal| !is_ignored(*signal)) {
            if signal == SIGINT {
                let code = Exit::Interrupted as i32;
                flag::register_conditional_shutdown(signal, code, Arc::clone(&asked)).map_err(failed)?;
            }
            flag::register(signal, Arc::clone(&asked)).map_err(failed)?;
        }
        Ok(Self { asked, had_terminal: stdout().is_terminal() })
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// False if results would go to a terminal that was closed.
    pub(crate) fn has_stdout(&self) -> bool {
        !self.had_terminal || stdout().is_terminal()
    }
}
