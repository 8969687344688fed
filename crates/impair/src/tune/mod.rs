//! `gamelane-impair tune`: shows the impairment in a terminal, and changes it by keys while a game is played.

pub mod knobs;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use gamelane_core::Duration;
use gamelane_link::ImpairConfig;
use gamelane_scenario::Impair;
use gamelane_service::terminal::{CtrlC, Screen, typed};
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
        "{interface}: this needs a terminal\n  hint:    `gamelane-impair set {interface} …` changes it without one"
    );
    let mut answer = control::ask(interface, &Request::default())?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut kept = None;
    let mut said = None;
    let screen = Screen::open(io::stdout(), CtrlC::Key);
    let mut screen = screen.with_context(|| format!("{interface}: the terminal cannot be used"))?;
    while !stop.load(Ordering::Relaxed) {
        screen.draw(&page(interface, &answer, &configs(&answer)?, said.as_deref()))?;
        // At the end of input the terminal is gone.
        let Some(typed) = typed(LOOK)? else { return Ok(()) };
        let pressed = keys(&typed);
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

/// Time between two looks at the counters.
const LOOK: std::time::Duration = std::time::Duration::from_millis(500);
