//! `gamelane-gateway run`: from a checked plan to frames that pass, until a signal.

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context as _;
use gamelane_core::{Direction, Duration, Seed};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::device::{Offloads, run_in_real_time};
use crate::engine::{Engine, Turn};
use crate::gateway::Gateway;
use crate::guard::Guard;
use crate::http::{self, Board};
use crate::policy::Policy;
use crate::preflight::Plan;
use crate::privileges;
use crate::selftest::SelfTest;
use crate::status::{IoStatus, Status};
use crate::tap::{self, About, Tap, Tapped};

/// What the command line says beside the policy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policy's file, read again when it changes.
    pub file: PathBuf,
    /// Keys and values put over the file's.
    pub overrides: Vec<(String, String)>,
    /// Where status is served; `None` nowhere.
    pub listen: Option<SocketAddr>,
    /// Bytes of frames there is room for.
    pub memory: usize,
    /// Records what comes, goes and is decided.
    pub tap: Option<tap::Options>,
}

/// How often the world outside is looked at: the policy file, the shaper.
const LOOK: Duration = Duration::from_millis(200);

/// Runs until SIGTERM or SIGINT. `text` is what the policy was read from.
///
/// # Errors
/// If it cannot begin, or an interface is removed.
pub fn run(plan: &Plan, policy: Policy, text: String, options: &Options) -> anyhow::Result<()> {
    let _locks = [lock(&plan.home.name)?, lock(&plan.internet.name)?];
    let listener = options
        .listen
        .map(|address| TcpListener::bind(address).with_context(|| format!("cannot listen on {address}")))
        .transpose()?;
    let guard = Guard::start(&plan.offloads).context("no process to restore offloads")?;
    let result = run_guarded(plan, policy, text, options, listener);
    guard.finish().context("offloads may not be restored")?;
    result
}

fn run_guarded(
    plan: &Plan,
    policy: Policy,
    text: String,
    options: &Options,
    listener: Option<TcpListener>,
) -> anyhow::Result<()> {
    for (interface, offload) in &plan.offloads {
        tracing::info!(interface, offload = offload.name, "switched off while this runs");
        Offloads::of(interface)?
            .switch(offload, false)
            .with_context(|| format!("{interface}: cannot switch {} off", offload.name))?;
    }
    let mut engine = Engine::open(plan.home.clone(), plan.internet.clone(), plan.io, options.memory)
        .with_context(|| format!("cannot open the interfaces by {}", plan.io))?;
    let (mut signals, writer) = UnixStream::pair()?;
    signals.set_nonblocking(true)?;
    engine.also_wait_for(&signals)?;
    let told = Told::register(&writer)?;
    let board = Board::new()?;
    engine.also_wait_for(board.wake())?;
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    if let Err(error) = run_in_real_time() {
        tracing::warn!(
            "other programs may make the shaper late, and so slow: no real-time priority: {error}"
        );
    }
    privileges::drop_all().context("cannot give privileges up")?;
    if let Some(listener) = listener {
        let board = Arc::clone(&board);
        std::thread::Builder::new().name("status".into()).spawn(move || http::serve(&listener, &board))?;
    }
    let mut salt = [0; 8];
    getrandom::fill(&mut salt).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let seed = Seed(u64::from_ne_bytes(salt));
    let mut gateway = Gateway::new(&policy, seed);
    let mut policies = Policies::new(options, policy, text);
    let mut tap = start_tap(plan, options, &policies, &engine, seed)?;
    if tap.is_some() {
        gateway.watch_drops();
    }
    let mut self_test = SelfTest::new(engine.now());
    let mut looked = engine.now();
    let io = IoStatus::of(plan, &engine);
    tracing::info!(
        lan = plan.home.name,
        wan = plan.internet.name,
        io = io.kind,
        why = io.why,
        policy = policies.current.name,
        "forwarding"
    );
    while !told.to_end() {
        let turn = match &mut tap {
            None => engine.turn(&mut gateway)?,
            Some(tap) => engine.turn(&mut Tapped { gateway: &mut gateway, tap })?,
        };
        if let Turn::Gone(side) = turn {
            anyhow::bail!("the interface {} was removed", engine.interface(side).name);
        }
        let now = engine.now();
        let mut nothing = [0; 16];
        let called = turn == Turn::Called;
        let hung_up = called && signals.read(&mut nothing).is_ok() && told.to_reload();
        if now.saturating_since(looked) >= LOOK || hung_up {
            looked = now;
            if policies.read_again(hung_up) {
                match &mut tap {
                    None => gateway.reload(&policies.current, now),
                    Some(tap) => {
                        Tapped { gateway: &mut gateway, tap }.reload(&policies.current, &policies.text, now)
                    }
                }
            }
            if let Some(tap) = &mut tap {
                tap.flush();
            }
            let counters = engine.counters();
            self_test.look(
                &gateway,
                &policies.current,
                &counters,
                [&plan.home.name, &plan.internet.name],
                now,
            );
        }
        if called && board.is_asked() {
            let counters = engine.counters();
            let mut status = Status::of(&gateway, &policies.current, engine.frames(), &counters, now);
            status.policy_refused = policies.refused.clone();
            status.tap = tap.as_ref().map(Tap::status);
            status.io = io.clone();
            status.interfaces =
                [("lan".into(), plan.home.name.clone()), ("wan".into(), plan.internet.name.clone())].into();
            let names = Direction::BOTH.map(|direction| direction.name().to_string());
            status.shaper = names.into_iter().zip(*self_test.result()).collect();
            board.post(status);
        }
    }
    tracing::info!("stopping");
    if let Some(tap) = tap {
        report(&tap.finish(engine.now()));
    }
    Ok(())
}

fn start_tap(
    plan: &Plan,
    options: &Options,
    policies: &Policies<'_>,
    engine: &Engine,
    seed: Seed,
) -> anyhow::Result<Option<Tap>> {
    let Some(tap) = &options.tap else { return Ok(None) };
    let frames = engine.frames();
    let about = About {
        schema: tap::about::SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        policy: policies.current.name.clone(),
        policy_hash: policies.current.hash.clone(),
        overrides: options.overrides.clone(),
        seed: seed.0,
        epoch_ns: engine.epoch_ns(),
        snap: tap.snap,
        interfaces: [plan.home.name.clone(), plan.internet.name.clone()],
        pool: [frames.capacity(), frames.slot()],
    };
    let started = Tap::start(tap, &about, &policies.text, frames);
    Ok(Some(started.with_context(|| format!("cannot record to {}", tap.folder.display()))?))
}

fn report(tap: &tap::TapStatus) {
    let tap::TapStatus { folder, frames, bytes, lost, full, error } = tap;
    tracing::info!(folder, frames, bytes, "recorded");
    if *lost > 0 && !full && error.is_none() {
        tracing::warn!(
            lost,
            "the disk was too slow for the recording; it can be replayed up to the first event lost"
        );
    }
    if *full {
        tracing::warn!("the recording reached its size before the end");
    }
    if let Some(error) = error {
        tracing::error!("the recording ended early: {error}");
    }
}

/// One gateway to an interface: two would pass each other's frames round and round. The kernel forgets the name with the
/// process, and keeps one list of names for each network namespace, as it does interfaces.
fn lock(interface: &str) -> anyhow::Result<UnixDatagram> {
    let address =
        std::os::unix::net::SocketAddr::from_abstract_name(format!("gamelane-gateway/{interface}"))?;
    UnixDatagram::bind_addr(&address).with_context(|| {
        format!(
            "{interface}: another gateway runs on it\n  hint:    `gamelane-gateway status` shows what it does"
        )
    })
}

/// What signals asked for.
struct Told {
    end: Arc<std::sync::atomic::AtomicBool>,
    reload: Arc<std::sync::atomic::AtomicBool>,
}

impl Told {
    /// From now on signals set flags and write to `wake`.
    fn register(wake: &UnixStream) -> anyhow::Result<Self> {
        let told = Self { end: Arc::default(), reload: Arc::default() };
        for (signal, flag) in [(SIGTERM, &told.end), (SIGINT, &told.end), (SIGHUP, &told.reload)] {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(told)
    }

    fn to_end(&self) -> bool {
        self.end.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn to_reload(&self) -> bool {
        self.reload.swap(false, std::sync::atomic::Ordering::Relaxed)
    }
}

/// The policy at hand, and its file.
struct Policies<'a> {
    options: &'a Options,
    current: Policy,
    /// What its file said.
    text: String,
    /// Why the file, as it stands, is not the current policy.
    refused: Option<String>,
    changed: Option<SystemTime>,
}

impl<'a> Policies<'a> {
    fn new(options: &'a Options, current: Policy, text: String) -> Self {
        Self { options, current, text, refused: None, changed: changed(&options.file) }
    }

    /// Reads the file again if it changed, or if told to; true if there is another policy. One that is refused is said
    /// once, and nothing changes.
    fn read_again(&mut self, told: bool) -> bool {
        let changed = changed(&self.options.file);
        if !told && changed == self.changed {
            return false;
        }
        self.changed = changed;
        let name = self.options.file.display().to_string();
        let read = Policy::text(&self.options.file).and_then(|text| {
            Policy::parse(&text, &name, &self.options.overrides).map(|policy| (policy, text))
        });
        match read {
            Ok((policy, text)) => {
                self.text = text;
                self.refused = None;
                let is_other = policy != self.current;
                tracing::info!(policy = policy.name, hash = policy.hash, is_other, "policy read again");
                for note in &policy.notes {
                    tracing::warn!("{note}");
                }
                self.current = policy;
                is_other
            }
            Err(error) => {
                tracing::error!("the policy before it still holds: {error}");
                self.refused = Some(error.to_string());
                false
            }
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|about| about.modified()).ok()
}
