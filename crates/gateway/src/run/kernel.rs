//! `run --engine kernel`: sets Linux's queues up, answers for them, follows the policy file, and undoes all of it.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use anyhow::Context as _;
use gamelane_core::{Duration, Instant};
use gamelane_device::Clock;
use gamelane_device::guard::{self, Guard};
use gamelane_service::http::spawn;
use gamelane_service::mailbox::{self, Mailbox};
use gamelane_service::privileges::{CapabilitySet, Keep, calls, give_up};
use gamelane_service::systemd::Notify;
use rustix::event::{PollFd, PollFlags, poll};

use super::engine::Setup;
use super::meter::Meter;
use super::policies::Policies;
use super::signals::Signals;
use super::{LOOK, Options, listener, lock};
use crate::http::Pages;
use crate::kernel::netlink::{Counters, Kernel, Undo};
use crate::kernel::operation::Table;
use crate::kernel::{self, Operation, Place};
use crate::policy::Policy;
use crate::status::{KernelView, Status};

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// The kernel refused something, or an interface was removed.
pub fn run(setup: &Setup, policy: Policy, text: String, options: &Options) -> anyhow::Result<()> {
    let Place { lan, wan, .. } = &setup.place;
    let _locks = [lock(lan)?, lock(wan)?];
    let listener = listener(options)?;
    let offloads = if setup.plan.joins_hurt { &setup.forwarded.offloads[..] } else { &[] };
    let undo: Vec<String> = Undo::any(lan, wan).iter().rev().map(Undo::to_string).collect();
    // The guard undoes whatever a later policy sets up, too.
    let guard = match options.persist {
        true => Guard::start(&[], &[], &options.user),
        false => Guard::start(offloads, &undo, &options.user),
    };
    let guard = guard.context("cannot start the process that undoes the settings")?;
    let policies = Policies::new(options, policy, text);
    let result = Watching::open(setup, policies, offloads, options).and_then(|(watching, asker)| {
        if let Some(listener) = listener {
            spawn(listener, Pages(asker))?;
        }
        watching.run()
    });
    guard.finish().context("settings may not be undone")?;
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
    /// What others removed, when it was looked at last.
    lost: Vec<Undo>,
    counters: [Counters; 2],
    meter: Meter,
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
        confine(options)?;
        policies.check_readable();
        let clock = Clock::start();
        let watching = Self {
            setup,
            policies,
            replace: options.replace,
            kernel,
            operations,
            devices: setup.plan.devices.clone(),
            lost: Vec::new(),
            counters: Default::default(),
            meter: Meter::new(Instant::ZERO),
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
        let mut looked = Instant::ZERO;
        while !self.signals.end_asked() {
            let left = LOOK.saturating_sub(self.clock.now().saturating_since(looked));
            self.wait(left)?;
            let hung_up = self.signals.reload_asked();
            let now = self.clock.now();
            if now.saturating_since(looked) >= LOOK || hung_up {
                looked = now;
                self.look(hung_up, now)?;
            }
            self.answer(now);
        }
        tracing::info!("stopping");
        self.systemd.stopping();
        Ok(())
    }

    /// Waits until a signal or a question arrives, at most for `most`.
    fn wait(&self, most: Duration) -> anyhow::Result<()> {
        let wake = self.mailbox.wake();
        let mut sources = [self.signals.as_fd(), wake.as_fd()]
            .map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
        let most = rustix::event::Timespec { tv_sec: 0, tv_nsec: most.as_nanos() as i64 };
        match poll(&mut sources, Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the policy file and the counters.
    fn look(&mut self, hung_up: bool, now: Instant) -> anyhow::Result<()> {
        self.systemd.alive();
        let Self { setup, policies, kernel, operations, devices, replace, .. } = self;
        let is_other = policies.read_if(hung_up, |policy| {
            let plan = kernel::plan(policy, &setup.place).map_err(|refused| refused.to_string())?;
            let loses =
                kernel.change(operations, &plan.operations, *replace).map_err(|error| error.to_string())?;
            if loses {
                tracing::warn!("the new policy has other queues, so the packets that waited are lost");
            }
            if plan.joins_hurt && !setup.plan.joins_hurt {
                tracing::warn!(
                    "offloads are still on, and the new queues count what they join as one packet\n  hint:    start the gateway again"
                );
            }
            (*operations, *devices) = (plan.operations, plan.devices);
            Ok(())
        });
        self.reloads += u64::from(is_other);
        self.heed_others()?;
        for (counters, device) in self.counters.iter_mut().zip(&self.devices) {
            *counters = self.kernel.counters(device).with_context(|| format!("{device}: it was removed"))?;
        }
        self.meter.look(&self.counters, &self.policies.current, now);
        Ok(())
    }

    /// Looks whether others removed something. A firewall that starts again removes all tables, so that is put right.
    fn heed_others(&mut self) -> anyhow::Result<()> {
        let lost = self.kernel.lost(&self.operations);
        if lost.iter().any(|lost| matches!(lost, Undo::Table(_))) {
            self.kernel.load_again(&self.operations)?;
            tracing::warn!("somebody removed the table `{}` of nftables; it is back", Table::NAME);
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
    fn answer(&mut self, now: Instant) {
        let mut status = None;
        while let Some(asked) = self.mailbox.take() {
            asked.answer(Arc::clone(status.get_or_insert_with(|| Arc::new(self.status(now)))));
        }
    }

    fn status(&mut self, now: Instant) -> Status {
        let Self { setup, policies, counters, meter, kernel, .. } = self;
        let Place { lan, wan, .. } = &setup.place;
        let links = [("lan", lan), ("wan", wan)]
            .into_iter()
            .filter_map(|(side, name)| Some((side.to_owned(), kernel.link(name)?)));
        let view = KernelView {
            policy: &policies.current,
            counters,
            most: meter.most(),
            shaper: meter.result(),
            reloads: self.reloads,
            why: setup.why,
        };
        Status {
            policy_refused: policies.refused.clone(),
            interfaces: [("lan".into(), lan.clone()), ("wan".into(), wan.clone())].into(),
            links: links.collect(),
            ..Status::of_kernel(&view, now)
        }
    }
}

/// Becomes the user of `options`, and keeps what queues, status and reloads need.
fn confine(options: &Options) -> anyhow::Result<()> {
    let lists = [calls::common(), calls::waiting(), calls::netlink(), calls::children()];
    let keep =
        Keep { json_log: options.json_log, capabilities: CapabilitySet::NET_ADMIN, ..Keep::only(lists) };
    for note in give_up(&options.user, &keep).context("cannot give up privileges")? {
        tracing::warn!("{note}");
    }
    Ok(())
}
