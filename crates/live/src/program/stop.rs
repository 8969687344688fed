//! The end of a recording in order: Ctrl-C, SIGTERM (systemd, `timeout`) and SIGHUP (a terminal that is closed).

use std::io::{IsTerminal as _, PipeReader, Read as _, Result, pipe, stderr, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gamelane_service::exit::{Exit, Failure, cannot_run};
use gamelane_service::signals::{endings, is_ignored};
use gamelane_service::terminal;
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

/// Whether a signal asked for the end.
#[derive(Debug)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    /// Gets a byte for each Ctrl-C; `None` if it is ignored.
    pressed: Option<PipeReader>,
    had_terminal: bool,
}

impl Stop {
    /// Notes the signals from now on. A second one may come from `timeout` or a shell, and changes nothing; a second Ctrl-C ends the
    /// process at once. A signal that the process ignores from its start stays ignored: SIGINT in a script's job, SIGHUP under nohup.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn listen() -> std::result::Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        let pressed = register(&asked).map_err(refused)?;
        Ok(Self { asked, pressed, had_terminal: stdout().is_terminal() })
    }

    /// Minds Ctrl-C from now on, in a thread: the other threads may wait for each other when it comes again.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn mind_ctrl_c(&mut self) -> std::result::Result<(), Failure> {
        let Some(mut pressed) = self.pressed.take() else { return Ok(()) };
        let asked = Arc::clone(&self.asked);
        let minder = std::thread::Builder::new().name("ctrl-c".into()).spawn(move || {
            let mut byte = [0];
            while pressed.read_exact(&mut byte).is_ok() {
                if asked.swap(true, Ordering::Relaxed) {
                    terminal::leave(stderr());
                    std::process::exit(Exit::Interrupted as i32);
                }
            }
        });
        minder.map(|_| ()).map_err(refused)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// False if results would go to a terminal that was closed.
    pub(crate) fn has_stdout(&self) -> bool {
        !self.had_terminal || stdout().is_terminal()
    }
}

fn register(asked: &Arc<AtomicBool>) -> Result<Option<PipeReader>> {
    let mut pressed = None;
    for signal in endings().filter(|signal| !is_ignored(*signal)) {
        if signal == SIGINT {
            let (reader, writer) = pipe()?;
            low_level::pipe::register(signal, writer)?;
            pressed = Some(reader);
        } else {
            flag::register(signal, Arc::clone(asked))?;
        }
    }
    Ok(pressed)
}

fn refused(error: std::io::Error) -> Failure {
    cannot_run(format!("cannot handle signals: {error}"))
}
