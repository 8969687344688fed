//! Records until a limit, a signal or an error, and shows how it goes.

use std::io::{self, IsTerminal as _, Stderr, Write as _, stderr};
use std::time::{Duration, Instant};

use gamelane_capture::Sink;
use gamelane_capture::numbers::{count, grouped};
use gamelane_live::screen::{Order, page};
use gamelane_live::{LiveError, Progress, Recorder};
use gamelane_service::exit::{Failure, cannot_run};
use gamelane_service::output::say;
use gamelane_service::terminal::{self, CtrlC, Screen, typed};

use crate::clock;
use crate::stop::Stop;

/// The number of packets or the time after which a recording stops.
#[derive(Debug)]
pub(crate) struct Limits {
    packets: Option<u64>,
    until: Option<Instant>,
}

impl Limits {
    pub(crate) fn new(packets: Option<u64>, duration: Option<Duration>) -> Self {
        Self { packets, until: duration.and_then(|duration| clock::now().checked_add(duration)) }
    }

    fn are_reached(&self, seen: &Progress, now: Instant) -> bool {
        self.packets.is_some_and(|most| seen.packets >= most) || self.until.is_some_and(|until| now >= until)
    }

    /// How long to wait for packets.
    fn wait(&self, longest: Duration, now: Instant) -> Duration {
        self.until.map_or(longest, |until| until.saturating_duration_since(now).min(longest))
    }
}

/// Records. What was recorded before an error is kept.
///
/// # Errors
/// The interface failed, or a file cannot be written.
pub(crate) fn record<S: Sink + Send + 'static>(
    recorder: &mut Recorder<S>,
    interface: &str,
    limits: &Limits,
    stop: &Stop,
    mut shown: Shown,
) -> Result<(), LiveError> {
    let began = clock::now();
    let mut now = began;
    while !stop.is_asked() {
        let step = if matches!(shown, Shown::Live(_)) { KEY } else { STEP };
        let seen = recorder.step(limits.wait(step, now))?;
        now = clock::now();
        let is_over = shown.update(recorder, now, || progress(interface, &seen, now - began));
        if is_over || limits.are_reached(&seen, now) {
            break;
        }
    }
    Ok(())
}

/// What is shown meanwhile, on stderr, and when it was shown last.
pub(crate) enum Shown {
    Nothing,
    /// A line in place.
    InPlace(Option<Instant>),
    /// A line a minute.
    Log(Option<Instant>),
    /// The screen of `--live`, until q is pressed.
    Live(Live),
}

impl Shown {
    /// Chooses by the options, and by whether stderr is a terminal.
    ///
    /// # Errors
    /// There is no screen for `--live`.
    pub(crate) fn new(is_live: bool, is_quiet: bool) -> Result<Self, Failure> {
        if is_live {
            let refused = |error| cannot_run(format!("--live: the terminal cannot be used: {error}"));
            return Live::open().map(Self::Live).map_err(refused);
        }
        Ok(match (is_quiet, stderr().is_terminal()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::InPlace(None),
            (false, false) => Self::Log(None),
        })
    }

    /// Shows how it goes; returns whether the user has left.
    fn update<S: Sink + Send + 'static>(
        &mut self,
        recorder: &Recorder<S>,
        now: Instant,
        line: impl FnOnce() -> String,
    ) -> bool {
        match self {
            Self::Nothing => {}
            Self::InPlace(last) => {
                if is_due(last, STEP / 2, now) {
                    let columns = terminal::size(stderr()).map_or(80, |[columns, _]| columns);
                    let line: String = line().chars().take(columns.saturating_sub(1)).collect();
                    in_place(&line);
                }
            }
            Self::Log(last) => {
                if is_due(last, LOG, now) {
                    say(&line());
                }
            }
            Self::Live(live) => return live.update(recorder, now, line),
        }
        false
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Self::InPlace(Some(_)) = self {
            in_place("");
        }
    }
}

fn is_due(last: &mut Option<Instant>, every: Duration, now: Instant) -> bool {
    let is_due = last.is_none_or(|last| now - last >= every);
    if is_due {
        *last = Some(now);
    }
    is_due
}

fn in_place(line: &str) {
    // A terminal that was closed shows nothing more.
    let _ = write!(stderr(), "\r\x1b[K{line}");
}

/// The screen of `--live`.
pub(crate) struct Live {
    screen: Screen<Stderr>,
    order: Order,
    is_paused: bool,
    flows: Vec<gamelane_live::FlowNow>,
    drawn: Option<Instant>,
}

impl Live {
    fn open() -> io::Result<Self> {
        let screen = Screen::open(stderr(), CtrlC::Signal)?;
        Ok(Self { screen, order: Order::Wait, is_paused: false, flows: Vec::new(), drawn: None })
    }

    fn update<S: Sink + Send + 'static>(
        &mut self,
        recorder: &Recorder<S>,
        now: Instant,
        line: impl FnOnce() -> String,
    ) -> bool {
        // A terminal that was closed has no keys any more.
        let keys = typed(Duration::ZERO).ok().flatten().unwrap_or_default();
        for key in &keys {
            match key {
                b'q' => return true,
                b's' => self.order = self.order.next(),
                b'p' => self.is_paused ^= true,
                _ => {}
            }
        }
        if keys.is_empty() && !is_due(&mut self.drawn, STEP, now) {
            return false;
        }
        if !self.is_paused {
            self.flows = recorder.top(clock::since_1970_ns());
        }
        let size = terminal::size(stderr()).unwrap_or([80, 24]);
        let _ = self.screen.draw(&page(&self.flows, &line(), self.order, size, self.is_paused));
        false
    }
}

/// How the recording goes, in one line.
fn progress(interface: &str, seen: &Progress, lasted: Duration) -> String {
    let seconds = lasted.as_secs();
    let mut parts = vec![
        format!("{interface} {}:{:02}", seconds / 60, seconds % 60),
        format!("{} packets", grouped(seen.packets)),
        format!("{:.1} MB", seen.bytes as f64 / 1e6),
        format!("{} dropped", grouped(seen.dropped)),
        format!("{} flows", grouped(seen.flows.into())),
        count(seen.games as u64, "game"),
    ];
    if seen.files > 0 {
        parts.push(format!("file {}", seen.files));
    }
    if seen.put_together > 0 {
        parts.push(format!("{} merged by offloading", grouped(seen.put_together)));
    }
    parts.join(", ")
}

/// Longest wait for packets.
const STEP: Duration = Duration::from_millis(500);
/// Longest time until a key is noticed.
const KEY: Duration = Duration::from_millis(100);
/// Time between two lines of a log.
const LOG: Duration = Duration::from_secs(60);
