//! `truth`: watches the queues that somebody else set up, and changes nothing.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use gamelane_core::{Bitrate, Direction, Duration, Instant};
use gamelane_device::{Clock, Interface};
use gamelane_policy::Policy;
use gamelane_service::http::spawn;
use gamelane_service::mailbox::{self, Mailbox};
use gamelane_service::output::print_to_reader;
use gamelane_service::privileges::{Keep, User, calls, give_up};

use super::meter::Meter;
use super::recording::{self, Subject};
use super::seen::Seen;
use super::signals::Signals;
use super::{LOOK, draw_seed, listener, wait_for};
use crate::http::Pages;
use crate::netlink::{Counters, Discipline, Kernel};
use crate::status::{KernelQueue, KernelView, Status, refreshed};
use crate::tap::{self, EngineKind, Tap};

/// What the command line says.
#[derive(Debug)]
pub struct TruthOptions {
    /// Interface towards the internet.
    pub wan: String,
    /// Interface whose queue holds packets to the home; `None`: what the WAN's ingress is redirected to.
    pub down: Option<String>,
    /// How long; `None`: until SIGTERM or SIGINT.
    pub span: Option<Duration>,
    /// Whether the page is shown each second.
    pub live: Option<Live>,
    /// Records packets.
    pub tap: Option<tap::Options>,
    /// User to become.
    pub user: User,
    /// The log is JSON.
    pub json_log: bool,
}

/// A page that is shown each second.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// In colours.
    pub colour: bool,
}

/// Watches until a signal or the end of the time. Returns the last status.
///
/// # Errors
/// There is no such interface, or it was removed; the kernel does not show its packets.
pub fn truth(options: &TruthOptions, listen: Option<SocketAddr>) -> anyhow::Result<Status> {
    let listener = listener(listen)?;
    let (watching, asker) = Looking::open(options)?;
    if let Some(listener) = listener {
        spawn(listener, Pages(asker))?;
    }
    watching.run(options)
}

struct Looking {
    wan: String,
    /// Interfaces and disciplines, indexed by [`Direction::index`].
    queues: [Option<(String, Discipline)>; 2],
    counters: [Counters; 2],
    kernel: Kernel,
    meter: Meter,
    seen: Seen,
    tap: Option<Tap>,
    signals: Signals,
    mailbox: Mailbox<(), Arc<Status>>,
    clock: Clock,
}

impl Looking {
    fn open(options: &TruthOptions) -> anyhow::Result<(Self, mailbox::Asker<(), Arc<Status>>)> {
        let mut kernel = Kernel::default();
        let named = |name: &str| Interface::find(name).with_context(|| name.to_owned());
        named(&options.wan)?;
        options.down.as_deref().map(named).transpose()?;
        let down = options.down.clone().or_else(|| kernel.redirected(&options.wan));
        if down.is_none() {
            tracing::warn!(
                "no queue holds what arrives at {0}\n  hint:    if packets to the home queue where they leave, name that interface: --down br-lan",
                options.wan
            );
        }
        let mut queue = |name: Option<&str>| {
            name.map(|name| Ok::<_, anyhow::Error>((name.to_owned(), kernel.discipline(name)?))).transpose()
        };
        let queues = [queue(Some(&options.wan))?, queue(down.as_deref())?];
        let numbers =
            [Some(&options.wan), down.as_ref()].map(|name| name.map_or(0, |name| kernel.number(name)));
        let arrivals = if down.is_none() { numbers[0] } else { 0 };
        let signals = Signals::register()?;
        let (mailbox, asker) = mailbox::new()?;
        let clock = Clock::start();
        // Later it may not ask for a speed.
        let described = options.tap.as_ref().map(|_| described(&options.wan, &queues));
        let seed = draw_seed()?;
        let seen = Seen::start(numbers, arrivals, None, seed, clock);
        if let Some(error) = seen.status().error {
            anyhow::bail!(
                "single packets are not seen: {error}\n  hint:    `gamelane doctor` says what is missing"
            );
        }
        let opened = recording::open(options.tap.as_ref(), &options.user)?;
        let mut lists = vec![calls::common(), calls::waiting(), calls::netlink()];
        lists.extend(opened.is_some().then(calls::files));
        let keep = Keep { json_log: options.json_log, ..Keep::only(lists) };
        for note in give_up(&options.user, &keep).context("cannot give up privileges")? {
            tracing::warn!("{note}");
        }
        let tap = match (opened, described) {
            (Some(opened), Some(text)) => Some(opened.start(Subject {
                engine: EngineKind::Kernel,
                interfaces: [down.unwrap_or_default(), options.wan.clone()],
                epoch_ns: clock.epoch_ns(),
                pool: [0; 2],
                policy: &Policy::parse(&text, "the description of the queues", &[])?,
                text: &text,
                overrides: &[],
                seed,
            })?),
            _ => None,
        };
        let looking = Self {
            wan: options.wan.clone(),
            queues,
            counters: Default::default(),
            kernel,
            meter: Meter::new(Instant::ZERO),
            seen,
            tap,
            signals,
            mailbox,
            clock,
        };
        Ok((looking, asker))
    }

    fn run(mut self, options: &TruthOptions) -> anyhow::Result<Status> {
        let [up, down] = self.queues.each_ref().map(|queue| queue.as_ref().map_or("none", |(name, _)| name));
        tracing::info!(up, down, "watching");
        let last = self.watch(options);
        if let Some(tap) = self.tap.take() {
            recording::report(&tap.finish(self.clock.now()));
        }
        last
    }

    fn watch(&mut self, options: &TruthOptions) -> anyhow::Result<Status> {
        let (mut looked, mut shown) = (None, Instant::ZERO);
        loop {
            let now = self.clock.now();
            let turn = self.seen.drain(self.tap.as_mut());
            let is_over =
                self.signals.end_asked() || options.span.is_some_and(|span| now >= Instant::ZERO + span);
            self.signals.reload_asked();
            if is_over || looked.is_none_or(|looked| now.saturating_since(looked) >= LOOK) {
                looked = Some(now);
                self.look(now)?;
            }
            let mut status = None;
            while let Some(asked) = self.mailbox.take() {
                asked.answer(Arc::clone(status.get_or_insert_with(|| Arc::new(self.status(now)))));
            }
            if is_over {
                return Ok(self.status(now));
            }
            if let Some(live) = options.live
                && now.saturating_since(shown) >= SHOWN_EVERY
            {
                shown = now;
                if !print_to_reader(&refreshed(&self.status(now), live.colour))? {
                    return Ok(self.status(now));
                }
            }
            wait_for(&self.signals, &self.mailbox, turn)?;
        }
    }

    /// Reads disciplines and counters.
    fn look(&mut self, now: Instant) -> anyhow::Result<()> {
        let Self { queues, kernel, seen, .. } = self;
        seen.turn_to(
            queues.each_ref().map(|queue| queue.as_ref().map_or(0, |(name, _)| kernel.number(name))),
        );
        for (queue, counters) in self.queues.iter_mut().zip(&mut self.counters) {
            let Some((device, discipline)) = queue else { continue };
            let gone = || format!("{device}: it was removed");
            *discipline = self.kernel.discipline(device).with_context(gone)?;
            *counters = self.kernel.counters(device).with_context(gone)?;
        }
        let rates =
            self.queues.each_ref().map(|queue| queue.as_ref().and_then(|(_, discipline)| discipline.rate));
        self.meter.look(&self.counters, rates, now);
        self.seen.look(now);
        if let Some(tap) = &mut self.tap {
            tap.flush();
        }
        Ok(())
    }

    fn status(&mut self, now: Instant) -> Status {
        let Self { wan, queues, counters, kernel, meter, seen, .. } = self;
        let down = queues[1].as_ref().map(|(device, _)| device.clone());
        let sides: Vec<(String, String)> =
            down.map(|name| ("lan".into(), name)).into_iter().chain([("wan".into(), wan.clone())]).collect();
        let links =
            sides.iter().filter_map(|(side, name)| Some((side.clone(), kernel.link(name)?))).collect();
        let queue = |direction: Direction| {
            let index = direction.index();
            let (_, discipline) = queues[index].as_ref()?;
            Some(KernelQueue {
                kind: &discipline.names,
                isolates: discipline.isolates,
                counters: &counters[index],
                most: meter.most()[index],
                shaper: meter.result()[index],
                reasons: seen.reasons(direction),
            })
        };
        let view = KernelView {
            policy: None,
            queues: Direction::BOTH.map(queue),
            reloads: 0,
            why: "somebody else set its queues up",
            watched: seen.watched(),
            watch: seen.status(),
        };
        let tap = self.tap.as_ref().map(Tap::status);
        Status { interfaces: sides.into_iter().collect(), links, tap, ..Status::of_kernel(&view, now) }
    }
}

/// The policy of a recording, which says what the queues were when it began. Classes and their rules are not known, so it has the
/// innermost queue alone.
fn described(wan: &str, queues: &[Option<(String, Discipline)>; 2]) -> String {
    let speed = Interface::find(wan).ok().and_then(|wan| wan.speed()).filter(|speed| SPEEDS.contains(speed));
    let (mut link, mut gateway, mut names) = (String::new(), String::new(), Vec::new());
    for direction in Direction::BOTH {
        let (way, queue) = (direction.name(), queues[direction.index()].as_ref());
        let own = queue.map(|(_, discipline)| discipline);
        let rate = own.and_then(|own| own.rate).or(speed).unwrap_or(UNKNOWN);
        let kind = own.and_then(|own| own.names.split(' ').next_back()).filter(|kind| PLAIN.contains(kind));
        let _ = writeln!(link, "{way} = \"{}bit\"", rate.bps());
        let _ = writeln!(gateway, "{way}.queue = \"{}\"", kind.unwrap_or("fifo"));
        names.extend(queue.map(|(device, own)| format!("{way} {} at {device}", own.names)));
    }
    let question = serde_json::Value::from(format!("Queues that somebody else set up: {}", names.join(", ")));
    let name = serde_json::Value::from(wan);
    format!("name = {name}\nquestion = {question}\n[link]\n{link}[gateway]\n{gateway}")
}

/// Queues without classes that a policy has by the same name.
const PLAIN: [&str; 6] = ["codel", "pie", "fq_codel", "fq_pie", "cake", "dualpi2"];

/// Speeds of interfaces that a link can have.
const SPEEDS: std::ops::Range<Bitrate> = Bitrate::from_bps(1)..Bitrate::from_bps(1_000_000_000_000);

/// Rate of a link that nothing tells.
const UNKNOWN: Bitrate = Bitrate::from_bps(1_000_000_000);

const SHOWN_EVERY: Duration = Duration::from_secs(1);
