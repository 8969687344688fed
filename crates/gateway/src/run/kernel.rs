//! `run --engine kernel`: sets Linux's queues up, answers for them, follows the policy file, and undoes all of it.

use std::sync::Arc;

use anyhow::Context as _;
use gamelane_core::{Bitrate, Direction, Duration, FlowKey, Instant};
use gamelane_device::Clock;
use gamelane_device::guard::{self, Guard};
use gamelane_policy::Policy;
use gamelane_policy::kernel::operation::Table;
use gamelane_policy::kernel::{self, Operation, Place};
use gamelane_qdisc::classify::Behaviour;
use gamelane_service::http::spawn;
use gamelane_service::mailbox::{self, Mailbox};
use gamelane_service::privileges::{CapabilitySet, Keep, calls, give_up};
use gamelane_service::systemd::Notify;

use super::engine::Setup;
use super::meter::Meter;
use super::policies::Policies;
use super::recording::{self, Subject};
use super::seen::Seen;
use super::signals::Signals;
use super::{LOOK, Options, draw_seed, listener, lock, wait_for};
use crate::http::Pages;
use crate::netlink::{Counters, Kernel, KernelError, Undo};
use crate::status::{AutorateStatus, KernelQueue, KernelView, Status};
use crate::tap::{EngineKind, Tap};
use crate::truth::Conversation;

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// The kernel refused something, or an interface was removed.
pub fn run(setup: &Setup, policy: Policy, text: String, options: &Options) -> anyhow::Result<()> {
    let Place { lan, wan, .. } = &setup.place;
    let _locks = [lock(lan)?, lock(wan)?];
    let listener = listener(options.listen)?;
    let offloads =
        if kernel::joins_hurt(&setup.plan.operations) { &setup.forwarded.offloads[..] } else { &[] };
    let undo: Vec<String> = Undo::any(lan, wan).iter().rev().map(Undo::to_string).collect();
    // The guard undoes whatever a later policy sets up, too.
    let guard = Guard::start(offloads, &undo, &options.user);
    let mut guard = Some(guard.context("cannot start the process that undoes the settings")?);
    let policies = Policies::new(options, policy, text);
    let result = Watching::open(setup, policies, offloads, options).and_then(|(watching, asker)| {
        if let Some(guard) = guard.take_if(|_| options.persist) {
            guard.keep()?;
        }
        if let Some(listener) = listener {
            spawn(listener, Pages(asker))?;
        }
        watching.run()
    });
    if let Some(guard) = guard {
        guard.finish().context("settings may not be undone")?;
    }
    if options.persist && result.is_ok() {
        tracing::info!("the settings stay; `gamelane-gateway undo --lan {lan} --wan {wan}` removes them");
    }
    result
}

/// Undoes what gateways left on two interfaces.
///
/// # Errors
/// The kernel refused something, or a gateway runs there.
pub fn undo(lan: &str, wan: &str) -> anyhow::Result<Vec<Undo>> {
    let _locks = [lock(lan)?, lock(wan)?];
    Ok(Kernel::default().undo_all(&Undo::any(lan, wan))?)
}

/// Undoes for a guard what one word names; opens the sockets for an empty word.
pub fn undo_word(kernel: &mut Kernel, word: &str) -> std::io::Result<()> {
    match word.parse() {
        Ok(undo) => kernel.undo(&undo).map(|_| ()).map_err(std::io::Error::other),
        // The first questions open both sockets.
        Err(()) => kernel.open().map_err(std::io::Error::other),
    }
}

/// A gateway that watches Linux's queues.
struct Watching<'a> {
    setup: &'a Setup,
    policies: Policies<'a>,
    replace: bool,
    kernel: Kernel,
    /// What is set up now.
    operations: Vec<Operation>,
    devices: [String; 2],
    /// Games that the kernel knows, and when it is told all of them again.
    games: Vec<FlowKey>,
    games_due: Instant,
    /// Rates that the shapers have.
    rates: [Option<Bitrate>; 2],
    /// The kernel refused the last rates or games; the log has it.
    refused: bool,
    /// What others removed, when it was looked at last.
    lost: Vec<Undo>,
    counters: [Counters; 2],
    meter: Meter,
    seen: Seen,
    tap: Option<Tap>,
    signals: Signals,
    systemd: Notify,
    mailbox: Mailbox<(), Arc<Status>>,
    clock: Clock,
    reloads: u64,
}

impl<'a> Watching<'a> {
    /// Sets everything up, then gives up privileges.
    fn open(
        setup: &'a Setup,
        mut policies: Policies<'a>,
        offloads: &[(String, gamelane_device::Offload)],
        options: &'a Options,
    ) -> anyhow::Result<(Self, mailbox::Asker<(), Arc<Status>>)> {
        let mut kernel = Kernel::default();
        kernel.open()?;
        let operations = setup.plan.operations.clone();
        let clock = Clock::start();
        let seed = draw_seed()?;
        let mut seen = Seen::start([0; 2], 0, Some(&policies.current), seed, clock);
        needs_packets(&policies.current, &operations, &seen).map_err(anyhow::Error::msg)?;
        if let Some(error) = seen.status().error {
            if options.tap.is_some() {
                anyhow::bail!(
                    "--tap: single packets are not seen: {error}\n  hint:    --engine user can record"
                );
            }
            tracing::warn!("whether a game is fine cannot be told: single packets are not seen: {error}");
        }
        for foreign in kernel.make_room(&operations, options.replace)? {
            tracing::warn!("removed: {foreign}");
        }
        for (interface, offload) in offloads {
            tracing::info!(interface, offload = offload.name, "switched off while this runs");
        }
        guard::switch_off(offloads)?;
        kernel.apply(&operations)?;
        let signals = Signals::register()?;
        let systemd = Notify::from_environment().context("NOTIFY_SOCKET: cannot tell systemd")?;
        let (mailbox, asker) = mailbox::new()?;
        seen.turn_to(setup.plan.devices.each_ref().map(|device| kernel.number(device)));
        let opened = recording::open(options.tap.as_ref(), &options.user)?;
        confine(options)?;
        policies.check_readable();
        let [up, down] = setup.plan.devices.clone();
        let subject = Subject {
            engine: EngineKind::Kernel,
            interfaces: [down, up],
            epoch_ns: clock.epoch_ns(),
            pool: [0; 2],
            policy: &policies.current,
            text: &policies.text,
            overrides: policies.overrides(),
            seed,
        };
        let tap = opened.map(|opened| opened.start(subject)).transpose()?;
        let watching = Self {
            setup,
            policies,
            replace: options.replace,
            kernel,
            operations,
            devices: setup.plan.devices.clone(),
            games: Vec::new(),
            games_due: Instant::ZERO,
            rates: [None; 2],
            refused: false,
            lost: Vec::new(),
            counters: Default::default(),
            meter: Meter::new(Instant::ZERO),
            seen,
            tap,
            signals,
            systemd,
            mailbox,
            clock,
            reloads: 0,
        };
        Ok((watching, asker))
    }

    fn run(mut self) -> anyhow::Result<()> {
        let Place { lan, wan, .. } = &self.setup.place;
        tracing::info!(
            lan,
            wan,
            engine = "kernel",
            why = self.setup.why,
            policy = self.policies.current.name,
            user = self.policies.user(),
            "queueing"
        );
        self.systemd.ready();
        let (mut looked, mut turn) = (Instant::ZERO, Duration::ZERO);
        while !self.signals.end_asked() {
            wait_for(&self.signals, &self.mailbox, turn)?;
            turn = self.seen.drain(self.tap.as_mut());
            let hung_up = self.signals.reload_asked();
            let now = self.clock.now();
            self.follow(now);
            if now.saturating_since(looked) >= LOOK || hung_up {
                looked = now;
                self.look(hung_up, now)?;
            }
            self.answer(now)?;
        }
        // Only a gateway that runs knows when a game is over.
        if let Some(table) = table(&self.operations) {
            let _ = self.kernel.set_games(table, &[]);
        }
        tracing::info!("stopping");
        self.systemd.stopping();
        if let Some(tap) = self.tap.take() {
            recording::report(&tap.finish(self.clock.now()));
        }
        Ok(())
    }

    /// Reads the policy file and the counters.
    fn look(&mut self, hung_up: bool, now: Instant) -> anyhow::Result<()> {
        self.systemd.alive();
        let Self { setup, policies, kernel, operations, devices, replace, seen, rates, games_due, .. } = self;
        let is_other = policies.read_if(hung_up, |policy| {
            let plan = kernel::plan(policy, &setup.place).map_err(|refused| refused.to_string())?;
            needs_packets(policy, &plan.operations, seen)?;
            let changed = kernel.change(operations, &plan.operations, *replace);
            // The table may be another now, also if the one before came back.
            *games_due = Instant::ZERO;
            if changed.map_err(|error| error.to_string())? {
                tracing::warn!("the new policy has other queues, so the packets that waited are lost");
            }
            if kernel::joins_hurt(&plan.operations) && !kernel::joins_hurt(&setup.plan.operations) {
                tracing::warn!(
                    "offloads are still on, and the new queues count what they join as one packet\n  hint:    start the gateway again"
                );
            }
            (*operations, *devices) = (plan.operations, plan.devices);
            seen.reload(policy, now);
            *rates = [None; 2];
            Ok(())
        });
        self.reloads += u64::from(is_other);
        if let Some(tap) = &mut self.tap {
            if is_other {
                tap.reloaded(&self.policies.text, now);
            }
            tap.flush();
        }
        self.heed_others()?;
        self.seen.turn_to(self.devices.each_ref().map(|device| self.kernel.number(device)));
        self.seen.look(now);
        self.mark_games(now);
        self.count(now)
    }

    /// Reads the counters of the queues.
    fn count(&mut self, now: Instant) -> anyhow::Result<()> {
        for (counters, device) in self.counters.iter_mut().zip(&self.devices) {
            *counters = self.kernel.counters(device).with_context(|| format!("{device}: it was removed"))?;
        }
        let shaped = self.policies.current.with_rates(self.rates);
        let rates = shaped.lanes.each_ref().map(|lane| lane.shaper().map(|(rate, _)| rate));
        self.meter.look(&self.counters, rates, now);
        Ok(())
    }

    /// Gives the shapers that follow their link the rates that they have chosen.
    fn follow(&mut self, now: Instant) {
        self.seen.follow(now);
        if let (Some(tap), true) = (&mut self.tap, self.policies.current.autorate.iter().any(Option::is_some))
        {
            tap.followed(now);
        }
        let rates = self.seen.rates();
        // Where somebody else has put a queue there is no shaper.
        if rates == self.rates || self.lost.iter().any(|lost| matches!(lost, Undo::Root(_))) {
            return;
        }
        let policy = self.policies.current.with_rates(rates);
        // A rate changes no structure, so the plan is as good as the one before.
        let Ok(plan) = kernel::plan(&policy, &self.setup.place) else { return };
        let changed = self.kernel.change(&self.operations, &plan.operations, self.replace);
        if self.is_done("the shaper's rate stays", changed.map(|_| ())) {
            self.operations = plan.operations;
        }
        self.rates = rates;
    }

    /// Tells the kernel which flows behave like games.
    fn mark_games(&mut self, now: Instant) {
        let (Some(table), Some(watched)) = (table(&self.operations), self.seen.watched()) else { return };
        if table.sets.is_empty() {
            return;
        }
        let is_played = |flow: &&Conversation| {
            flow.behaviour == Behaviour::RealTime && now.saturating_since(flow.seen) < FORGOTTEN
        };
        let games: Vec<FlowKey> =
            watched.truth().conversations().filter(is_played).map(|flow| flow.key).collect();
        let not_in = |others: &[FlowKey], flows: &[FlowKey]| -> Vec<FlowKey> {
            flows.iter().filter(|flow| !others.contains(flow)).copied().collect()
        };
        let (add, remove) = (not_in(&self.games, &games), not_in(&games, &self.games));
        // Now and then all of them, because others may change the set.
        let told = if now >= self.games_due {
            self.games_due = now + GAMES_EVERY;
            self.kernel.set_games(table, &games)
        } else if add.is_empty() && remove.is_empty() {
            return;
        } else {
            self.kernel.change_games(table, &add, &remove)
        };
        self.is_done("games may be in the wrong class", told);
        self.games = games;
    }

    /// Logs what the kernel refused, once until it accepts something.
    fn is_done(&mut self, so: &str, done: Result<(), KernelError>) -> bool {
        if let Err(error) = &done
            && !self.refused
        {
            tracing::error!("{so}: {error}");
        }
        self.refused = done.is_err();
        done.is_ok()
    }

    /// Looks whether others removed something. A firewall that starts again removes all tables, so that is put right.
    fn heed_others(&mut self) -> anyhow::Result<()> {
        let lost = self.kernel.lost(&self.operations);
        if let Some(at) =
            lost.iter().find_map(|lost| if let Undo::Table(at) = lost { Some(at) } else { None })
        {
            self.kernel.load_again(&self.operations)?;
            self.games_due = Instant::ZERO;
            tracing::warn!("somebody removed the table `{at}` of nftables; it is back");
        }
        for lost in lost.iter().filter(|lost| !self.lost.contains(lost)) {
            if let Undo::Root(device) | Undo::Ingress(device) = lost {
                tracing::error!(
                    "{device}: somebody replaced its queue, so this policy has no effect there\n  hint:    start the gateway again, \
                     with --replace if the other queue is to go"
                );
            }
        }
        self.lost = lost;
        Ok(())
    }

    /// Answers all who asked for the status.
    fn answer(&mut self, now: Instant) -> anyhow::Result<()> {
        let Some(first) = self.mailbox.take() else { return Ok(()) };
        self.count(now)?;
        let status = Arc::new(self.status(now));
        first.answer(Arc::clone(&status));
        while let Some(asked) = self.mailbox.take() {
            asked.answer(Arc::clone(&status));
        }
        Ok(())
    }

    fn status(&mut self, now: Instant) -> Status {
        let Self { setup, policies, counters, meter, kernel, seen, .. } = self;
        let Place { lan, wan, .. } = &setup.place;
        let links = [("lan", lan), ("wan", wan)]
            .into_iter()
            .filter_map(|(side, name)| Some((side.to_owned(), kernel.link(name)?)));
        let queue = |direction: Direction| {
            let index = direction.index();
            let descriptor = policies.current.lanes[index].discipline();
            Some(KernelQueue {
                kind: descriptor.word,
                isolates: Some(descriptor.facts.isolates),
                counters: &counters[index],
                most: meter.most()[index],
                shaper: meter.result()[index],
                reasons: seen.reasons(direction),
            })
        };
        let view = KernelView {
            policy: Some(&policies.current),
            queues: Direction::BOTH.map(queue),
            reloads: self.reloads,
            why: setup.why,
            watched: seen.watched(),
            watch: seen.status(),
        };
        let follower = |direction: Direction| {
            let own = seen.watched()?.follower(direction)?;
            Some((direction.name().to_owned(), AutorateStatus::of(own, now)))
        };
        Status {
            autorate: Direction::BOTH.into_iter().filter_map(follower).collect(),
            policy_refused: policies.refused.clone(),
            tap: self.tap.as_ref().map(Tap::status),
            interfaces: [("lan".into(), lan.clone()), ("wan".into(), wan.clone())].into(),
            links: links.collect(),
            ..Status::of_kernel(&view, now)
        }
    }
}

/// The table of a plan.
fn table(operations: &[Operation]) -> Option<&Table> {
    operations.iter().find_map(|operation| match operation {
        Operation::Table(table) => Some(table),
        _ => None,
    })
}

/// Refuses what needs single packets, if they are not seen: shapers that follow their link, and classes by behaviour.
fn needs_packets(policy: &Policy, operations: &[Operation], seen: &Seen) -> Result<(), String> {
    let Some(error) = seen.status().error else { return Ok(()) };
    let key = if policy.autorate.iter().any(Option::is_some) {
        "gateway.autorate"
    } else if table(operations).is_some_and(|table| !table.sets.is_empty()) {
        "gateway.priority"
    } else {
        return Ok(());
    };
    Err(format!("`{key}`: it needs to see single packets: {error}\n  hint:    --engine user can"))
}

/// Time after which the kernel is told all games again.
const GAMES_EVERY: Duration = Duration::from_secs(10);
/// A game silent for longer is over for the kernel.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Becomes the user of `options`, and keeps what queues, status and reloads need.
fn confine(options: &Options) -> anyhow::Result<()> {
    let mut lists = vec![calls::common(), calls::waiting(), calls::netlink(), calls::children()];
    lists.extend(options.tap.is_some().then(calls::files));
    let keep =
        Keep { json_log: options.json_log, capabilities: CapabilitySet::NET_ADMIN, ..Keep::only(lists) };
    for note in give_up(&options.user, &keep).context("cannot give up privileges")? {
        tracing::warn!("{note}");
    }
    Ok(())
}
