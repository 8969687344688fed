//! `gamelane-impair run`: impairs the frames of one interface, or between two, until a signal.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use anyhow::Context as _;
use gamelane_core::{Direction, DropReason, Duration, Instant, Seed};
use gamelane_device::guard::{self, Guard};
use gamelane_device::preflight::{Alone, Plan};
use gamelane_device::{Engine, EngineCounters, Io, Offload, Turn, run_in_real_time};
use gamelane_scenario::Impair;
use gamelane_service::exit::{Exit, Failure};
use gamelane_service::http::spawn;
use gamelane_service::mailbox::{self, Mailbox};
use gamelane_service::output::say;
use gamelane_service::privileges::{Keep, User, calls, give_up};
use gamelane_service::signals::endings;
use serde_json::json;

use crate::control::{self, Answer, Begin, Control, Counters, Request};
use crate::detour::Detour;
use crate::plane::Impaired;

/// What the command line says.
#[derive(Clone, Debug)]
pub struct Options {
    /// Impairment at the start.
    pub impair: Impair,
    /// Seed of all randomness; one is drawn if there is none.
    pub seed: Option<u64>,
    /// Bytes of memory for frames.
    pub memory: usize,
    /// Time after which it ends by itself.
    pub duration: Option<Duration>,
    /// File that gets a line of JSON for each change.
    pub log: Option<PathBuf>,
    /// Whether it ends when its standard input ends: with the program that holds the other end, however that ends.
    pub until_input_ends: bool,
    /// User to become.
    pub user: User,
}

/// Time between two looks whether the one interface still exists.
const LOOK: Duration = Duration::from_millis(200);

/// Whose frames are impaired.
#[derive(Debug)]
pub enum Place {
    /// Frames between two interfaces. What arrives at the plan's `home` goes up.
    Between(Plan),
    /// Frames of one interface. What this machine sends goes up.
    At(Alone),
}

impl Place {
    /// Name of the interface by which `set` and `show` find this process.
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

/// Runs until SIGTERM, SIGINT, SIGHUP or the end of its time. Packets on their way are lost then.
///
/// # Errors
/// If it cannot start, or an interface is removed.
pub fn run(place: &Place, options: &Options) -> anyhow::Result<()> {
    let guard = Guard::start(place.offloads(), &[], &options.user)
        .context("cannot start the process that restores offloads")?;
    let result = Impairing::open(place, options).and_then(Impairing::run);
    guard.finish().context("offloads may not be restored")?;
    result
}

/// A path that is impaired.
struct Impairing<'a> {
    place: &'a Place,
    options: &'a Options,
    impair: Impair,
    plane: Impaired,
    engine: Engine,
    detour: Option<Detour>,
    stop: Arc<AtomicBool>,
    requests: Mailbox<Request, Answer>,
    log: Log,
    seed: u64,
    began: StdInstant,
    /// When the one interface was looked at last.
    looked: Instant,
}

impl<'a> Impairing<'a> {
    /// Opens everything, then gives up privileges.
    fn open(place: &'a Place, options: &'a Options) -> anyhow::Result<Self> {
        let name = place.name();
        let listener = control::bind(name).with_context(|| {
            format!("{name}: it is impaired already\n  hint:    `gamelane-impair set {name} …` changes how")
        })?;
        let (stop, signalled) = stopped()?;
        let log = Log::open(options.log.as_deref())?;
        guard::switch_off(place.offloads())?;
        let seed = options
            .seed
            .map_or_else(getrandom::u64, Ok)
            .map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let impair = options.impair.clone();
        let plane = Impaired::new(impair.to_configs()?, Seed(seed));
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
        engine.also_wait_for(&signalled)?;
        let (requests, asker) = mailbox::new()?;
        engine.also_wait_for(requests.wake())?;
        if options.until_input_ends {
            rustix::io::ioctl_fionbio(io::stdin(), true)?;
            engine.also_wait_for(io::stdin())?;
        }
        keep_time();
        if let Some(detour) = &mut detour {
            detour.begin().with_context(|| format!("{name}: cannot divert its frames"))?;
        }
        confine(&options.user)?;
        spawn(listener, Control(asker))?;
        let (began, looked) = (now(), engine.now());
        Ok(Self { place, options, impair, plane, engine, detour, stop, requests, log, seed, began, looked })
    }

    fn run(mut self) -> anyhow::Result<()> {
        let name = self.place.name();
        self.note("begin")?;
        say(&format!("impairing {name}, seed {}", self.seed));
        if std::io::stderr().is_terminal() {
            say(&format!(
                "`gamelane-impair tune {name}` in another terminal changes it by keys; Ctrl-C ends it"
            ));
        }
        while !self.is_over() {
            let turn = self.engine.turn(&mut self.plane)?;
            self.tend_detour()?;
            match turn {
                Turn::Gone(_) if self.detour.is_some() => {
                    anyhow::bail!("the virtual interfaces beside {name} were removed")
                }
                Turn::Gone(side) => {
                    anyhow::bail!("the interface {} was removed", self.engine.interface(side).name)
                }
                Turn::Called if self.options.until_input_ends && has_input_ended() => break,
                Turn::Called => self.answer_all()?,
                Turn::Done | Turn::StoodStill(_) => {}
            }
        }
        self.detour = None;
        Ok(self.note("end")?)
    }

    fn is_over(&self) -> bool {
        let is_late =
            |duration: Duration| self.began.elapsed() >= StdDuration::from_nanos(duration.as_nanos());
        self.stop.load(Ordering::Relaxed) || self.options.duration.is_some_and(is_late)
    }

    /// Tells the detour that frames are forwarded, and checks that the interface still exists.
    fn tend_detour(&mut self) -> anyhow::Result<()> {
        let Some(detour) = &self.detour else { return Ok(()) };
        detour.is_alive();
        let at = self.engine.now();
        if at.saturating_since(self.looked) >= LOOK {
            self.looked = at;
            anyhow::ensure!(detour.lasts(), "the interface {} was removed", self.place.name());
        }
        Ok(())
    }

    /// Answers the requests that arrived.
    fn answer_all(&mut self) -> anyhow::Result<()> {
        while let Some(asked) = self.requests.take() {
            let changed = change(&self.impair, &asked.question);
            let error = changed.as_ref().err().map(ToString::to_string);
            if let Ok(Some((next, configs))) = changed {
                let at = self.engine.now();
                self.plane.set(configs, self.engine.frames_mut(), at);
                self.impair = next;
                self.note("set")?;
            }
            let [up, down] = self.counters();
            asked.answer(Answer { schema: 1, error, config: self.impair.to_toml(), up, down });
        }
        Ok(())
    }

    /// Writes a line to the log.
    fn note(&mut self, what: &str) -> Result<(), Failure> {
        let counters = self.counters();
        self.log.write(what, &self.impair, &counters)
    }

    /// Counters of both directions.
    fn counters(&mut self) -> [Counters; 2] {
        let EngineCounters { ring, too_long, stale, .. } = self.engine.counters();
        Direction::BOTH.map(|direction| {
            let (of, missed) = (self.plane.counters(direction), self.plane.missed(direction));
            Counters {
                arrived: of.hop.arrived,
                delivered: of.hop.delivered,
                lost: of.hop.dropped.of(DropReason::Path),
                tail: of.hop.dropped.of(DropReason::Tail),
                duplicated: of.duplicated,
                reordered: of.reordered,
                inside: self.plane.inside(direction),
                no_room: missed.no_room + too_long[direction.index()],
                ring_full: ring[direction.index()].dropped + stale[direction.index()],
                not_sent: missed.not_sent,
            }
        })
    }
}

/// Whether standard input, which does not block, has ended. What it holds is thrown away.
fn has_input_ended() -> bool {
    let mut nothing = [0; 64];
    loop {
        match rustix::io::read(io::stdin(), &mut nothing) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Becomes `user`, and keeps what the path, requests and the log need.
fn confine(user: &User) -> anyhow::Result<()> {
    let keep = Keep::only([
        calls::common(),
        calls::waiting(),
        calls::sockets(),
        calls::presence(),
        calls::children(),
    ]);
    for note in give_up(user, &keep).context("cannot give up privileges")? {
        say(&format!("note: {note}"));
    }
    Ok(())
}

/// Asks for exact timers and real-time priority. Without them packets are later.
fn keep_time() {
    // Without this, timers are up to 50 µs later.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    if let Err(error) = run_in_real_time() {
        say(&format!("note: no real-time priority, so other programs may delay packets: {error}"));
    }
}

/// Returns what is in force after `request`; `None` if it asks for no change.
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

/// A log with a line of JSON for each change; `unix_s` is the wall clock.
struct Log(Option<(PathBuf, File)>);

impl Log {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| match OpenOptions::new().create(true).append(true).open(path) {
            Ok(file) => Ok((path.to_owned(), file)),
            Err(error) => Err(unwritable(path, &error)),
        };
        Ok(Self(path.map(open).transpose()?))
    }

    fn write(&mut self, what: &str, impair: &Impair, [up, down]: &[Counters; 2]) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.0 else { return Ok(()) };
        let line = json!({
            "unix_s": unix_s(), "what": what, "config": impair.to_toml(), "up": up, "down": down,
        });
        writeln!(file, "{line}").map_err(|error| unwritable(path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure(Exit::Output, format!("--log {}: cannot be written: {error}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "the log has wall-clock times")]
fn unix_s() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "a driver: `--duration` is real time")]
fn now() -> StdInstant {
    StdInstant::now()
}

/// Returns a flag that the signals of [`endings`] set, and a socket that is readable after one of them.
fn stopped() -> anyhow::Result<(Arc<AtomicBool>, UnixStream)> {
    let (arrived, writer) = UnixStream::pair()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in endings() {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
        signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    Ok((stop, arrived))
}
