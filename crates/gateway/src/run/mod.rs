//! `gamelane-gateway run`: forwards frames by a checked plan until a signal.

mod check;
mod engine;
mod kernel;
mod meter;
mod outside;
mod policies;
mod recording;
mod seen;
mod signals;
mod truth;

use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_device::guard::{self, Guard};
use gamelane_device::preflight::Plan;
use gamelane_device::{Engine, Turn, run_in_real_time};
use gamelane_policy::Policy;
use gamelane_service::http::{Address, Listener, spawn};
use gamelane_service::mailbox::{self, Mailbox};
use gamelane_service::privileges::{Keep, User, calls, give_up};
use gamelane_service::systemd::Notify;
use rustix::event::{PollFd, PollFlags, poll};

use crate::gateway::Gateway;
use crate::http::Pages;
use crate::status::{IoStatus, LinkStatus, SelfTest, Status};
use crate::tap::{self, EngineKind, Tap, Tapped};
pub use check::{CheckError, describe, lines};
pub use engine::{Asked, Engine as ChosenEngine, EngineChoice, Setup, choose};
pub use kernel::{run as run_kernel, undo, undo_word};
use outside::Outside;
use policies::Policies;
use recording::Subject;
use signals::Signals;
pub use truth::{Live, TruthOptions, truth};

/// What the command line says besides the policy.
#[derive(Clone, Debug)]
pub struct Options {
    /// File of the policy, read again when it changes.
    pub file: PathBuf,
    /// Keys and values that override the file's.
    pub overrides: Vec<(String, String)>,
    /// Address where status is served; `None` serves nothing.
    pub listen: Option<SocketAddr>,
    /// Bytes of memory for frames.
    pub memory: usize,
    /// Records frames and decisions.
    pub tap: Option<tap::Options>,
    /// User to become.
    pub user: User,
    /// The log is JSON.
    pub json_log: bool,
    /// Settings of others may be removed.
    pub replace: bool,
    /// Settings stay at the end.
    pub persist: bool,
}

/// Time between two looks at the policy file and the shaper.
const LOOK: Duration = Duration::from_millis(200);

/// Waits until a signal or a question arrives, at most for `most`.
fn wait_for(signals: &Signals, mailbox: &Mailbox<(), Arc<Status>>, most: Duration) -> anyhow::Result<()> {
    let wake = mailbox.wake();
    let mut sources =
        [signals.as_fd(), wake.as_fd()].map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
    let most = rustix::event::Timespec { tv_sec: 0, tv_nsec: most.as_nanos() as i64 };
    match poll(&mut sources, Some(&most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Runs until SIGTERM or SIGINT. `text` is what the policy was read from.
///
/// # Errors
/// If the gateway cannot start, or an interface is removed while it runs.
pub fn run(plan: &Plan, why: &str, policy: Policy, text: String, options: &Options) -> anyhow::Result<()> {
    let _locks = [lock(&plan.home.name)?, lock(&plan.internet.name)?];
    let listener = listener(options.listen)?;
    let guard = Guard::start(&plan.offloads, &[], &options.user)
        .context("cannot start the process that restores offloads")?;
    let policies = Policies::new(options, policy, text);
    let result =
        Forwarding::open(plan, policies, options, listener).and_then(|forwarding| forwarding.run(why));
    guard.finish().context("offloads may not be restored")?;
    result
}

/// Where status is asked for.
fn listener(address: Option<SocketAddr>) -> anyhow::Result<Option<Listener>> {
    let listen = |address| {
        Listener::bind(&Address::Tcp(address)).with_context(|| format!("cannot listen on {address}"))
    };
    address.map(listen).transpose()
}

/// A gateway that forwards.
struct Forwarding<'a> {
    plan: &'a Plan,
    policies: Policies<'a>,
    engine: Engine,
    gateway: Gateway,
    tap: Option<Tap>,
    signals: Signals,
    systemd: Notify,
    mailbox: Mailbox<(), Arc<Status>>,
    io: IoStatus,
    self_test: SelfTest,
    outside: Outside,
    /// When policy file and shaper were looked at last.
    looked: Instant,
}

impl<'a> Forwarding<'a> {
    /// Opens everything, then gives up privileges.
    fn open(
        plan: &'a Plan,
        mut policies: Policies<'a>,
        options: &'a Options,
        listener: Option<Listener>,
    ) -> anyhow::Result<Self> {
        for (interface, offload) in &plan.offloads {
            tracing::info!(interface, offload = offload.name, "switched off while this runs");
        }
        guard::switch_off(&plan.offloads)?;
        let mut engine = Engine::open(plan.home.clone(), plan.internet.clone(), plan.io, options.memory)
            .with_context(|| format!("cannot open the interfaces by {}", plan.io))?;
        let signals = Signals::register()?;
        let systemd = Notify::from_environment().context("NOTIFY_SOCKET: cannot tell systemd")?;
        engine.also_wait_for(&signals)?;
        let (mailbox, asker) = mailbox::new()?;
        engine.also_wait_for(mailbox.wake())?;
        keep_time();
        let opened = recording::open(options.tap.as_ref(), &options.user)?;
        confine(options)?;
        policies.check_readable();
        if let Some(listener) = listener {
            spawn(listener, Pages(asker))?;
        }
        let seed = draw_seed()?;
        let mut gateway = Gateway::new(&policies.current, seed);
        let frames = engine.frames();
        let subject = Subject {
            engine: EngineKind::User,
            interfaces: [plan.home.name.clone(), plan.internet.name.clone()],
            epoch_ns: engine.epoch_ns(),
            pool: [frames.capacity(), frames.slot()],
            policy: &policies.current,
            text: &policies.text,
            overrides: policies.overrides(),
            seed,
        };
        let tap = opened.map(|opened| opened.start(subject)).transpose()?;
        if tap.is_some() {
            gateway.watch_drops();
        }
        let now = engine.now();
        let (io, self_test, outside) =
            (IoStatus::of(plan, &engine), SelfTest::new(now), Outside::new(&engine));
        Ok(Self {
            plan,
            policies,
            engine,
            gateway,
            tap,
            signals,
            systemd,
            mailbox,
            io,
            self_test,
            outside,
            looked: now,
        })
    }

    fn run(mut self, why: &str) -> anyhow::Result<()> {
        if let Some(error) = self.engine.no_bypass() {
            tracing::warn!("if this program stands still, frames do too: {error}");
        }
        tracing::info!(
            lan = self.plan.home.name,
            wan = self.plan.internet.name,
            engine = "user",
            why,
            io = self.io.kind,
            io_why = self.io.why,
            policy = self.policies.current.name,
            user = self.policies.user(),
            "forwarding"
        );
        self.systemd.ready();
        while !self.signals.end_asked() {
            let called = match self.turn()? {
                Turn::Gone(side) => {
                    anyhow::bail!("the interface {} was removed", self.engine.interface(side).name)
                }
                Turn::StoodStill(span) => {
                    let seconds = span.as_secs_f64();
                    match self.engine.no_bypass() {
                        None => tracing::warn!(
                            "it stood still for {seconds:.1} s; after the first, frames passed without a queue"
                        ),
                        Some(_) => tracing::warn!("it stood still for {seconds:.1} s, and frames with it"),
                    }
                    false
                }
                turn => turn == Turn::Called,
            };
            let now = self.engine.now();
            let hung_up = called && self.signals.reload_asked();
            if now.saturating_since(self.looked) >= LOOK || hung_up {
                self.look(hung_up, now);
            }
            if called {
                self.answer(now);
            }
        }
        tracing::info!("stopping");
        self.systemd.stopping();
        if let Some(tap) = self.tap {
            recording::report(&tap.finish(self.engine.now()));
        }
        Ok(())
    }

    fn turn(&mut self) -> std::io::Result<Turn> {
        let Self { engine, gateway, tap, .. } = self;
        match tap {
            None => engine.turn(gateway),
            Some(tap) => engine.turn(&mut Tapped { gateway, tap }),
        }
    }

    /// Looks at the policy file, the recording and the shaper.
    fn look(&mut self, hung_up: bool, now: Instant) {
        self.looked = now;
        self.systemd.alive();
        let Self { plan, policies, engine, gateway, tap, self_test, outside, .. } = self;
        if policies.read_again(hung_up) {
            match tap {
                None => gateway.reload(&policies.current, now),
                Some(tap) => Tapped { gateway, tap }.reload(&policies.current, &policies.text, now),
            }
        }
        if let Some(tap) = tap {
            tap.flush();
        }
        outside.look(engine, gateway, now);
        let names = [plan.home.name.as_str(), &plan.internet.name];
        self_test.look(gateway, &policies.current, &engine.counters(), names, now);
    }

    /// Answers all who asked for the status.
    fn answer(&mut self, now: Instant) {
        let mut status = None;
        while let Some(asked) = self.mailbox.take() {
            asked.answer(Arc::clone(status.get_or_insert_with(|| Arc::new(self.status(now)))));
        }
    }

    fn status(&mut self, now: Instant) -> Status {
        let counters = self.engine.counters();
        let Self { plan, policies, engine, gateway, .. } = self;
        let names = Direction::BOTH.map(|direction| direction.name().to_string());
        Status {
            policy_refused: policies.refused.clone(),
            tap: self.tap.as_ref().map(Tap::status),
            io: self.io.clone(),
            interfaces: [("lan".into(), plan.home.name.clone()), ("wan".into(), plan.internet.name.clone())]
                .into(),
            links: [("lan", Direction::Up), ("wan", Direction::Down)]
                .map(|(side, direction)| (side.into(), LinkStatus::of(engine.interface(direction))))
                .into(),
            shaper: names.into_iter().zip(*self.self_test.result()).collect(),
            ..Status::of(gateway, &policies.current, engine.frames(), &counters, now)
        }
    }
}

/// Asks for exact timers and real-time priority. Forwarding works without them, with more delay.
fn keep_time() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    if let Err(error) = run_in_real_time() {
        tracing::warn!(
            "no real-time priority: other programs may delay the shaper and so lower its rate: {error}"
        );
    }
}

fn draw_seed() -> anyhow::Result<Seed> {
    let seed = getrandom::u64().map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(Seed(seed))
}

/// Becomes the user of `options`, and keeps what forwarding, status, reloads and the recording need.
fn confine(options: &Options) -> anyhow::Result<()> {
    let mut lists =
        vec![calls::common(), calls::waiting(), calls::sockets(), calls::presence(), calls::children()];
    lists.extend(options.tap.is_some().then(calls::files));
    let keep = Keep { json_log: options.json_log, ..Keep::only(lists) };
    for note in give_up(&options.user, &keep).context("cannot give up privileges")? {
        tracing::warn!("{note}");
    }
    Ok(())
}

/// Makes sure that only one gateway runs on an interface: two would pass each other's frames round and round. The kernel keeps one
/// list of such names for each network namespace, as it does for interfaces, and forgets a name with its process.
fn lock(interface: &str) -> anyhow::Result<UnixDatagram> {
    let address =
        std::os::unix::net::SocketAddr::from_abstract_name(format!("gamelane-gateway/{interface}"))?;
    UnixDatagram::bind_addr(&address).with_context(|| {
        format!(
            "{interface}: another gateway runs on it\n  hint:    `gamelane-gateway status` shows what it does"
        )
    })
}
