//! `gamelane-impair run`: from one or two interfaces to frames that pass, late and not all of them, until a signal.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use anyhow::Context as _;
use gamelane_core::{Direction, DropReason, Duration, Seed};
use gamelane_gateway::device::{Io, Offload, Offloads, run_in_real_time};
use gamelane_gateway::engine::{Engine, Turn};
use gamelane_gateway::guard::Guard;
use gamelane_gateway::preflight::{Alone, Plan};
use gamelane_gateway::privileges;
use gamelane_scenario::Impair;
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::control::{self, Answer, Begin, Counters, Request};
use crate::detour::Detour;
use crate::plane::Impaired;

/// What the command line says.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is done to packets at first.
    pub impair: Impair,
    /// Seed of all randomness; `None` draws one.
    pub seed: Option<u64>,
    /// Bytes of frames there is room for.
    pub memory: usize,
    /// Ends by itself after this.
    pub duration: Option<Duration>,
    /// A line of JSON for each change goes there.
    pub log: Option<PathBuf>,
}

/// How often it is seen whether the one interface is still there.
const LOOK: Duration = Duration::from_millis(200);

/// Whose frames.
#[derive(Debug)]
pub enum Place {
    /// Those that go from one interface to another. What comes in at the plan's `home` goes up.
    Between(Plan),
    /// Those of one interface; what this machine sends goes up.
    At(Alone),
}

impl Place {
    /// What it is called by: `set` and `show` ask for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Between(plan) => &plan.home.name,
            Self::At(alone) => &alone.interface.name,
        }
    }

    fn offloads(&self) -> &[(String, Offload)] {
        match self {
            Self::Between(plan) => &plan.offloads,
            Self::At(alone) => &alone.offloads,
        }
    }
}

/// Runs until SIGTERM, SIGINT or the end of its time. What is on its way then is lost.
///
/// # Errors
/// If it cannot begin, or an interface is removed.
pub fn run(place: &Place, options: &Options) -> anyhow::Result<()> {
    let guard = Guard::start(place.offloads()).context("no process to restore offloads")?;
    let result = run_guarded(place, options);
    guard.finish().context("offloads may not be restored")?;
    result
}

fn run_guarded(place: &Place, options: &Options) -> anyhow::Result<()> {
    let name = place.name();
    let (mut wakes, wake) = UnixStream::pair()?;
    wakes.set_nonblocking(true)?;
    let listener = control::bind(name).with_context(|| {
        format!("{name}: it is impaired already\n  hint:    `gamelane impair set {name} …` changes how")
    })?;
    let stop = stopped(&wake)?;
    let mut log = Log::open(options.log.as_deref())?;
    for (interface, offload) in place.offloads() {
        Offloads::of(interface)?
            .switch(offload, false)
            .with_context(|| format!("{interface}: cannot switch {} off", offload.name))?;
    }
    let seed = options
        .seed
        .map_or_else(getrandom::u64, Ok)
        .map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let mut impair = options.impair.clone();
    let mut plane = Impaired::new(impair.to_configs()?, Seed(seed));
    let (mut detour, [home, internet], io) = match place {
        Place::Between(plan) => (None, [plan.home.clone(), plan.internet.clone()], plan.io),
        Place::At(alone) => {
            let detour = Detour::beside(&alone.interface)?;
            let ends = detour.ends();
            (Some(detour), ends, Io::Packet)
        }
    };
    let mut engine =
        Engine::open(home, internet, io, options.memory).context("cannot open the interfaces")?;
    engine.also_wait_for(&wakes)?;
    // Without it timers are up to 50 µs later.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    if let Err(error) = run_in_real_time() {
        eprintln!("note: no real-time priority, so other programs may delay packets: {error}");
    }
    if let Some(detour) = &mut detour {
        detour.begin().with_context(|| format!("{name}: cannot turn its frames aside"))?;
    }
    privileges::drop_all().context("cannot give privileges up")?;
    let requests = control::listen(listener, wake)?;
    let (began, mut looked) = (now(), engine.now());
    log.write("begin", &impair, &both(&plane, &mut engine))?;
    eprintln!("impairing {name}, seed {seed}");
    if std::io::stderr().is_terminal() {
        eprintln!("`gamelane impair tune {name}` changes it by keys, from another terminal; Ctrl-C ends it");
    }
    while !stop.load(Ordering::Relaxed)
        && options
            .duration
            .is_none_or(|duration| began.elapsed() < StdDuration::from_nanos(duration.as_nanos()))
    {
        let turn = engine.turn(&mut plane)?;
        if let Some(detour) = &detour {
            detour.is_alive();
            let at = engine.now();
            if at.saturating_since(looked) >= LOOK {
                looked = at;
                anyhow::ensure!(detour.lasts(), "the interface {name} was removed");
            }
        }
        match turn {
            Turn::Gone(_) if detour.is_some() => {
                anyhow::bail!("the virtual interfaces beside {name} were removed")
            }
            Turn::Gone(side) => anyhow::bail!("the interface {} was removed", engine.interface(side).name),
            Turn::Called => {}
            Turn::Done => continue,
        }
        let mut nothing = [0; 16];
        if wakes.read(&mut nothing).is_err() {
            continue;
        }
        while let Ok(asked) = requests.try_recv() {
            let changed = change(&impair, &asked.request);
            let error = changed.as_ref().err().map(ToString::to_string);
            if let Ok(Some((next, configs))) = changed {
                let at = engine.now();
                plane.set(configs, engine.frames_mut(), at);
                impair = next;
                log.write("set", &impair, &both(&plane, &mut engine))?;
            }
            let [up, down] = both(&plane, &mut engine);
            asked.answer(Answer { schema: 1, error, config: impair.to_toml(), up, down });
        }
    }
    drop(detour);
    log.write("end", &impair, &both(&plane, &mut engine))
}

/// What is in force after `request`; `None` if it asks for no change.
fn change(
    now: &Impair,
    request: &Request,
) -> anyhow::Result<Option<(Impair, [gamelane_link::ImpairConfig; 2])>> {
    if request.begin.is_none() && request.set.is_empty() {
        return Ok(None);
    }
    let next = match &request.begin {
        None => Impair::parse(&now.to_toml(), "what is in force", &request.set)?,
        Some(Begin::Nothing) => Impair::parse("", "nothing", &request.set)?,
        Some(Begin::Text(text)) => Impair::parse(text, "what is asked for", &request.set)?,
        Some(Begin::Profile(name)) => Impair::shipped(name, &request.set)?,
    };
    let configs = next.to_configs()?;
    Ok(Some((next, configs)))
}

/// What was counted each way.
fn both(plane: &Impaired, engine: &mut Engine) -> [Counters; 2] {
    let ring = engine.counters().ring;
    Direction::BOTH.map(|direction| {
        let (of, missed) = (plane.counters(direction), plane.missed(direction));
        Counters {
            arrived: of.hop.arrived,
            delivered: of.hop.delivered,
            lost: of.hop.dropped.of(DropReason::Path),
            tail: of.hop.dropped.of(DropReason::Tail),
            duplicated: of.duplicated,
            reordered: of.reordered,
            inside: plane.inside(direction),
            no_room: missed.no_room,
            ring_full: ring[direction.index()].dropped,
            not_sent: missed.not_sent,
        }
    })
}

/// What was set when: a line of JSON for each change, `unix_s` by the wall clock.
struct Log(Option<File>);

impl Log {
    fn open(path: Option<&std::path::Path>) -> anyhow::Result<Self> {
        let open = |path: &std::path::Path| {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .with_context(|| path.display().to_string())
        };
        Ok(Self(path.map(open).transpose()?))
    }

    fn write(&mut self, what: &str, impair: &Impair, [up, down]: &[Counters; 2]) -> anyhow::Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let line = json!({
            "unix_s": unix_s(), "what": what, "config": impair.to_toml(), "up": up, "down": down,
        });
        writeln!(file, "{line}").context("the log cannot be written to")
    }
}

#[expect(clippy::disallowed_methods, reason = "a log says when by the wall clock")]
fn unix_s() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "a driver: it ends by the clock")]
fn now() -> StdInstant {
    StdInstant::now()
}

fn stopped(wake: &UnixStream) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
        signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
    }
    Ok(stop)
}
