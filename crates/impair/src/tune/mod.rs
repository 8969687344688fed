//! `gamelane-impair tune`: shows the impairment in a terminal, and changes it by keys while a game is played.

pub mod knobs;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use gamelane_core::Duration;
use gamelane_link::ImpairConfig;
use gamelane_scenario::Impair;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGTERM};

use crate::control::{self, Answer, Request};
use crate::page::counters;
use knobs::{Key, is_nothing, keys, loss_percent, press};

/// Shows and changes the impairment of `interface` until the user leaves. The impairment then stays in force.
///
/// # Errors
/// If there is no terminal. A [`Failure`](gamelane_service::exit::Failure) if no process impairs the interface any more.
pub fn tune(interface: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        io::stdin().is_terminal() && io::stdout().is_terminal(),
        "{interface}: this needs a terminal\n  hint:    `gamelane impair set {interface} …` changes it without one"
    );
    let mut answer = control::ask(interface, &Request::default())?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut kept = None;
    let mut said = None;
    let _terminal = Terminal::open().with_context(|| format!("{interface}: the terminal cannot be used"))?;
    while !stop.load(Ordering::Relaxed) {
        draw(&page(interface, &answer, &configs(&answer)?, said.as_deref()))?;
        let pressed = pressed()?;
        if pressed.is_empty() {
            answer = control::ask(interface, &Request::default())?;
        }
        for key in pressed {
            if key == Key::Quit {
                return Ok(());
            }
            // Each key starts from the result of the key before.
            if let Some(request) = press(key, &configs(&answer)?, &answer.config, &mut kept) {
                answer = control::ask(interface, &request)?;
                said = answer.error.take();
            }
        }
    }
    Ok(())
}

fn configs(answer: &Answer) -> anyhow::Result<[ImpairConfig; 2]> {
    let impair = Impair::parse(&answer.config, "what is in force", &[])?;
    impair.to_configs().context("what is in force cannot be read here")
}

/// Returns the page to show.
fn page(interface: &str, answer: &Answer, configs: &[ImpairConfig; 2], said: Option<&str>) -> String {
    let mut out = String::new();
    let ms = |time: Duration| format!("{} ms", time.as_nanos() as f64 / 1e6);
    let [up, down] = configs;
    let mut row = |name: &str, value: &dyn Fn(&ImpairConfig) -> String| {
        let _ = writeln!(out, "{name:<10}{:>14}{:>14}", value(up), value(down));
    };
    row(interface, &|_| String::new());
    row("", &|config| if std::ptr::eq(config, up) { "up".into() } else { "down".into() });
    row("delay", &|config| ms(config.delay));
    row("loss", &|config| {
        loss_percent(&config.loss)
            .map_or("in bursts".into(), |percent| format!("{} %", (percent * 1e5).round() / 1e5))
    });
    row("jitter", &|config| ms(config.jitter.spread));
    row("rate", &|config| config.rate.as_ref().map_or("as it is".into(), |limit| limit.rate.to_string()));
    let round_trip = up.delay + down.delay;
    let _ = match is_nothing(configs) {
        true => writeln!(out, "\npackets pass as they come"),
        false => writeln!(out, "\na round trip takes {} longer", ms(round_trip)),
    };
    let _ = writeln!(out, "\n{}", counters(answer));
    if let Some(said) = said {
        let _ = writeln!(out, "{said}\n");
    }
    let _ = writeln!(
        out,
        "up, down: delay by {}   right, left: loss by {} %   (each way)",
        ms(knobs::DELAY_STEP),
        knobs::LOSS_STEP_PERCENT
    );
    let _ = writeln!(out, "space: without, and with it again   r: nothing   q: leave it so");
    out
}

fn draw(page: &str) -> io::Result<()> {
    // Cursor to the top left, then the page; the rest of each line and of the screen is cleared.
    let mut out = io::stdout().lock();
    write!(out, "\x1b[H{}\x1b[J", page.replace('\n', "\x1b[K\r\n"))?;
    out.flush()
}

/// Waits half a second for keys.
fn pressed() -> io::Result<Vec<Key>> {
    let wait = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
    let input = io::stdin();
    let mut sources = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut sources, Some(&wait)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bytes = [0; 64];
    match rustix::io::read(&input, &mut bytes)? {
        // End of input: the terminal is gone.
        0 => Ok(vec![Key::Quit]),
        count => Ok(keys(&bytes[..count])),
    }
}

/// A separate screen with unbuffered keys. Dropping it restores the terminal.
struct Terminal {
    before: Termios,
}

impl Terminal {
    fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        let this = Self { before };
        io::stdout().write_all(b"\x1b[?1049h\x1b[?25l")?;
        io::stdout().flush()?;
        Ok(this)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = io::stdout().write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = io::stdout().flush();
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
