//! CAKE (Linux `net/sched/sch_cake.c`; Høiland-Jørgensen et al. 2018, "Piece of CAKE"). It combines a shaper without
//! burst, tins by DSCP, flow queues with fairness between hosts, Cobalt in each flow queue, an ACK filter and
//! link-layer overhead.
//!
//! Left out: `autorate-ingress`, `fwmark` and NAT lookup. No packet here is a joined one (GSO). A late driver may catch up 0.5 ms; in
//! Linux it catches up in full while packets wait.

pub mod config;
pub mod diffserv;
mod flows;
mod shaper;
mod tin;

use alloc::format;
use alloc::vec::Vec;
use gamelane_core::{Bitrate, Instant, Outlet, Packet, Seed};

use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};
use shaper::{Charging, Shaper};
use tin::{Queues, Tin};

pub use crate::aqm::cobalt::Grace;
pub use config::{CakeConfig, Isolation};
pub use diffserv::Diffserv;

/// CAKE in the catalogue.
pub const CAKE: QueueDescriptor = QueueDescriptor {
    word: "cake",
    label: "CAKE",
    about: "CAKE: tins by DSCP, fair shares for hosts and flows, the COBALT AQM, and a shaper if `bandwidth` \
            is given.",
    keys: &["acks", "bandwidth", "tins", "isolation", "rtt", "grace", "overhead", "ingress", "wash"],
    page: "cake",
    facts: QueueFacts {
        isolates: Isolates::Flows,
        plain: None,
        tc: Tc {
            name: "cake",
            options: &[
                ("rtt", "rtt"),
                ("tins", ""),
                ("isolation", ""),
                ("acks", ""),
                ("ingress", ""),
                ("wash", ""),
            ],
        },
    },
};

/// The CAKE discipline.
#[derive(Debug)]
pub struct Cake<B> {
    config: CakeConfig,
    /// The shaper; `None` sends as fast as the medium takes packets.
    shaper: Option<Shaper>,
    tins: Vec<Tin<B>>,
    /// Index of the tin whose turn it is; used without a shaper only.
    turn: usize,
    limit: u64,
    backlog: Backlog,
}

impl<B> Cake<B> {
    /// Makes an empty queue from a checked configuration. The names of random streams begin with `path`.
    pub(crate) fn new(config: &CakeConfig, seed: Seed, path: &str) -> Self {
        let tin = |(index, share)| Tin::new(config, share, seed, &format!("{path}/tin/{index}"));
        Self {
            config: *config,
            shaper: config.bandwidth.map(|rate| Shaper::new(rate, config.overhead, config.ingress)),
            tins: config.diffserv.shares().iter().copied().enumerate().map(tin).collect(),
            turn: 0,
            limit: config.resolved_limit().bytes(),
            backlog: Backlog::default(),
        }
    }

    /// Returns the index of the tin to serve. At least one tin must have packets. A tin also counts while an empty flow
    /// queue takes part in its rounds (`cake_dequeue`). That queue then leaves before other tins send.
    fn choose(&mut self, now: Instant) -> usize {
        if self.shaper.is_some() {
            return self.by_schedule(now);
        }
        // Without a shaper: deficit round robin by the weights of the tins.
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.queues.has_rounds() && tin.deficit >= 0 {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// Returns the tin of highest precedence that is within its threshold. If there is none, returns the tin that will
    /// be within its threshold first. So a tin above its threshold still gets unused capacity.
    fn by_schedule(&self, now: Instant) -> usize {
        let serving = self.tins.iter().enumerate().filter(|(_, tin)| tin.queues.has_rounds());
        let (mut best, mut soonest) = (0, Instant::MAX);
        for (index, tin) in serving {
            let next = tin.threshold.next;
            if next <= now || next <= soonest {
                (best, soonest) = (index, next.max(now));
            }
        }
        best
    }

    /// Drops from the head of the longest flow queue of all tins until the backlog is within the limit.
    fn relieve(&mut self, now: Instant, out: &mut dyn Outlet<B>) {
        while self.backlog.bytes > self.limit {
            let longest = |tin: &Tin<B>| tin.queues.longest();
            let candidates = self.tins.iter().enumerate().filter_map(|(tin, state)| {
                longest(state).map(|(queue, bytes)| (bytes, core::cmp::Reverse(tin), queue))
            });
            let Some((_, core::cmp::Reverse(tin), queue)) = candidates.max() else { return };
            self.with_drops(tin, now, out, |queues, out| queues.drop_head(queue, now, out));
            self.count();
        }
    }

    /// Runs `work` on the queues of a tin. In ingress mode it charges what they drop.
    fn with_drops<T>(
        &mut self,
        tin: usize,
        now: Instant,
        out: &mut dyn Outlet<B>,
        work: impl FnOnce(&mut Queues<B>, &mut dyn Outlet<B>) -> T,
    ) -> T {
        let Tin { queues, threshold, deficit, .. } = &mut self.tins[tin];
        let mut charging;
        let out: &mut dyn Outlet<B> = if self.config.ingress {
            let (shaper, overhead) = (self.shaper.as_mut(), self.config.overhead);
            charging = Charging { shaper, threshold, deficit, overhead, now, out };
            &mut charging
        } else {
            out
        };
        work(queues, out)
    }

    fn count(&mut self) {
        self.backlog = self.tins.iter().map(Tin::backlog).sum();
    }
}

impl<B> QueueDiscipline<B> for Cake<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        let index = self.config.diffserv.tin(packet.meta.dscp);
        let Tin { queues, threshold, .. } = &mut self.tins[index];
        if queues.backlog().is_empty() {
            threshold.next = threshold.next.max(now);
            if let Some(shaper) = self.shaper.as_mut().filter(|_| self.backlog.is_empty()) {
                shaper.wake(now);
            }
        }
        if self.config.wash {
            packet.meta.dscp = 0;
        }
        self.with_drops(index, now, out, |queues, out| queues.enqueue(packet, now, out));
        self.count();
        self.relieve(now, out);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        let mut first = true;
        // Drops may have moved the shaper's clock (`goto begin` in `cake_dequeue`).
        while !self.backlog.is_empty() && self.shaper.as_ref().is_none_or(|shaper| now >= shaper.next()) {
            let index = self.choose(now);
            if first {
                self.tins[index].queues.visit_decaying(now);
                first = false;
            }
            let packet = self.with_drops(index, now, out, |queues, out| queues.dequeue(now, out));
            if let Some(packet) = &packet {
                let tin = &mut self.tins[index];
                let len = self.config.overhead.wire_len(packet.meta.len);
                tin.deficit -= len.bytes() as i64;
                tin.threshold.charge(len, now);
                if let Some(shaper) = &mut self.shaper {
                    shaper.sent(packet.meta.len, now);
                }
            }
            self.count();
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Option<Instant> {
        (!self.backlog.is_empty()).then(|| self.shaper.as_ref().map_or(Instant::ZERO, Shaper::next))
    }

    /// As `cake_reconfigure`: rate, thresholds, targets, quanta and memory follow. What waits stays, unless the memory is too small for
    /// it when the next packet comes.
    fn set_rate(&mut self, rate: Bitrate) {
        let Some(shaper) = &mut self.shaper else { return };
        shaper.set_rate(rate);
        self.config.bandwidth = Some(rate);
        self.limit = self.config.resolved_limit().bytes();
        for (tin, share) in self.tins.iter_mut().zip(self.config.diffserv.shares()) {
            tin.set_rate(&self.config, *share);
        }
    }
}

#[cfg(test)]
mod tests;
