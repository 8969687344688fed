//! Autorate: a shaper's rate that follows a link whose rate varies (but2006 section III.B names the problem: a fixed rate
//! queues at the modem or wastes the link). It listens to what passes anyway, round trips of TCP, gaps of a game's packets,
//! backlog below the shaper, and asks for probes only when these fall silent. Delay above the least seen lately lowers the rate below what
//! the link let through; load without delay raises it. After cake-autorate in spirit, with numbers of our own.

mod config;
mod estimate;
mod signal;
#[cfg(test)]
mod tests;

use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, ByteCount, Duration, Instant};

pub use config::{AutorateConfig, AutorateFault};
use estimate::{Loads, Trend};
pub use signal::{Signal, Source};

use crate::least::Least;

/// Counts of what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutorateCounters {
    /// Passive signals.
    pub passive: u64,
    /// Answers to probes.
    pub probes: u64,
    /// Decisions to lower the rate.
    pub lowered: u64,
    /// Decisions to raise it.
    pub raised: u64,
    /// Windows in which there was traffic, each of which ended in a decision.
    pub windows: u64,
    /// Those of them in which nothing was heard.
    pub unheard: u64,
}

/// Why the rate moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Delay below the shaper, last told by this kind of signal.
    Delay(Source),
    /// Load and no delay, last told by this kind of signal.
    Load(Source),
    /// Little load: it drifts to where it began.
    Idle,
}

/// The rate as it was moved last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// When.
    pub at: Instant,
    /// The rate before.
    pub from: Bitrate,
    /// Why.
    pub cause: Cause,
}

/// A rate that follows. Driven like every component: signals as they come, [`Autorate::handle_timeout`] when due, then
/// [`Autorate::rate`] is the one to shape to.
#[derive(Clone, Debug)]
pub struct Autorate {
    config: AutorateConfig,
    rate: Bitrate,
    /// What is likely to be carried: the link's rate when it was lowered, the rate before an outage.
    known: Bitrate,
    /// It was lowered and has not risen since.
    falling: bool,
    /// Windows in a row with delay.
    late_windows: u32,
    /// End of the window under way; `None` while nothing has been sent since the last one.
    window_ends: Option<Instant>,
    sent: u64,
    /// Signals of this window, and those above target.
    heard: u32,
    late: u32,
    /// The kind of the last signal, and of the last above target.
    last_heard: Option<Source>,
    last_late: Option<Source>,
    moved: Option<Move>,
    trend: Trend,
    loads: Loads,
    /// When passive signals count as silent; moves on with each.
    silent_at: Instant,
    next_probe: Option<Instant>,
    probe: Least,
    counters: AutorateCounters,
}

impl Autorate {
    /// A shaper at `config.start`.
    ///
    /// # Panics
    ///
    /// If `config` does not pass [`AutorateConfig::check`].
    pub fn new(config: AutorateConfig, now: Instant) -> Self {
        assert_eq!(config.check(), Ok(()), "whoever reads a configuration checks it");
        Self {
            config,
            rate: config.start,
            known: Bitrate::default(),
            falling: false,
            late_windows: 0,
            window_ends: None,
            sent: 0,
            heard: 0,
            late: 0,
            last_heard: None,
            last_late: None,
            moved: None,
            trend: Trend::default(),
            loads: Loads::default(),
            silent_at: now + config.silence,
            next_probe: None,
            probe: Least::default(),
            counters: AutorateCounters::default(),
        }
    }

    /// One that goes on at `rate`, or at the nearest its range has.
    pub fn continue_at(&mut self, rate: Bitrate) {
        self.rate = rate.clamp(self.config.lowest, self.config.highest);
    }

    /// How it follows.
    pub const fn config(&self) -> &AutorateConfig {
        &self.config
    }

    /// The rate to shape to.
    pub const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// How the rate was moved last; `None` while it stands where it began.
    pub const fn moved(&self) -> Option<&Move> {
        self.moved.as_ref()
    }

    /// What happened so far.
    pub const fn counters(&self) -> &AutorateCounters {
        &self.counters
    }

    /// The shaper let a packet of this size go.
    pub fn note_sent(&mut self, bytes: ByteCount, now: Instant) {
        self.sent += bytes.bytes();
        if self.window_ends.is_none() {
            self.window_ends = Some(now.saturating_add(self.config.window));
            // Silence is only that of traffic: an idle link says nothing and needs nothing.
            self.silent_at = self.silent_at.max(now.saturating_add(self.config.silence));
            self.next_probe = Some(self.silent_at);
        }
    }

    /// Something was seen or heard.
    pub fn handle_signal(&mut self, signal: Signal, now: Instant) {
        let target = self.config.target;
        let delay = match signal {
            // The quickest it can have been is no queue, the slowest is: it says nothing.
            Signal::TcpRoundTrip { delay, slack, .. }
                if delay > target && delay.saturating_sub(slack) <= target =>
            {
                return;
            }
            Signal::TcpRoundTrip { delay, .. } => delay,
            Signal::GameLag(time) | Signal::Backlog(time) => time,
            Signal::Probe(time) => self.probe.above(time, self.config.memory, now),
        };
        if let Signal::Probe(_) = signal {
            self.counters.probes += 1;
        } else {
            self.counters.passive += 1;
            self.silent_at = now.saturating_add(self.config.silence);
            self.next_probe = self.next_probe.map(|_| self.silent_at);
        }
        // A delayed signal tells of the time when it met the queue.
        let met_at = match signal {
            Signal::Backlog(_) => Duration::ZERO,
            Signal::TcpRoundTrip { seen: time, .. } | Signal::Probe(time) | Signal::GameLag(time) => time,
        };
        let met_at = Instant::from_nanos(now.as_nanos().saturating_sub(met_at.as_nanos()));
        let source = signal.source();
        self.trend.observe(source, delay, met_at);
        self.heard = self.heard.saturating_add(1);
        self.last_heard = Some(source);
        if delay > target {
            self.late = self.late.saturating_add(1);
            self.last_late = Some(source);
        }
    }

    /// True if a probe should be sent now; the next one is due `probe_every` later.
    pub fn poll_probe(&mut self, now: Instant) -> bool {
        match self.next_probe {
            Some(at) if at <= now => {
                self.next_probe = Some(now.saturating_add(self.config.probe_every));
                true
            }
            _ => false,
        }
    }

    /// When it wants [`Autorate::handle_timeout`] or [`Autorate::poll_probe`]; `None` on an idle link.
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.window_ends, self.next_probe)
    }

    /// Decides, once a window; early calls do nothing, a late one decides once.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Some(ends) = self.window_ends.filter(|ends| *ends <= now) else { return };
        let span = now.saturating_since(ends) + self.config.window;
        let load = u128::from(self.sent) * 8_000_000_000 / u128::from(span.as_nanos());
        let before = self.rate;
        let cause = self.decide(u64::try_from(load).unwrap_or(u64::MAX), now);
        if let Some(cause) = cause.filter(|_| self.rate != before) {
            self.moved = Some(Move { at: now, from: before, cause });
        }
        self.counters.windows += u64::from(self.sent > 0);
        self.counters.unheard += u64::from(self.sent > 0 && self.heard == 0);
        if self.sent == 0 {
            (self.window_ends, self.next_probe) = (None, None);
        } else {
            self.window_ends = Some(now.saturating_add(self.config.window));
        }
        if self.late * 2 <= self.heard {
            self.late_windows = 0;
        }
        (self.sent, self.heard, self.late) = (0, 0, 0);
        self.trend.first = self.trend.last;
    }

    /// `load` is what was sent in this window, in bit/s. Gives the reason to move, if there is one.
    fn decide(&mut self, load: u64, now: Instant) -> Option<Cause> {
        let rate = self.rate.bps();
        let part = |of: u64, thousandths: u32| (u128::from(of) * u128::from(thousandths) / 1000) as u64;
        let busy = load >= part(rate, self.config.busy);
        self.loads.push(now, load);
        let (target, cause) = if self.late * 2 > self.heard {
            self.counters.lowered += 1;
            let link = self.trend.let_through(self.loads.between(self.trend.first.0, self.trend.last.0));
            // Delay that does not grow under little load is somebody else's, and costs little by little; not if it stays while
            // there is some load: a sender that opens its window slowly fills the link's queue so.
            self.late_windows = self.late_windows.saturating_add(1);
            // Backlog is told in time at our own rate, which a lower one makes longer.
            let slowly = self.last_late != Some(Source::Backlog);
            let stays = slowly && self.late_windows >= STAYS && load >= part(rate, SOME);
            let ours = busy || stays || self.trend.grows();
            let share = if self.trend.last.1 > LONG.max(self.config.target.saturating_mul(4)) {
                self.config.back_off * 2 / 3
            } else {
                self.config.back_off
            };
            // Next to nothing let through is an outage, which says nothing of the rate after it.
            let outage = link < rate / OUTAGE;
            if !self.falling || self.known == Bitrate::default() {
                self.known = match (outage, ours) {
                    (true, _) => self.rate,
                    (false, true) => Bitrate::from_bps(link.min(rate)),
                    (false, false) => Bitrate::default(),
                };
            }
            self.falling = true;
            let target =
                if ours { part(link, share).clamp(rate / 2, rate) } else { part(rate, 1000 - 4 * DRIFT) };
            (target, self.last_late.map(Cause::Delay))
        } else if busy && self.heard > 0 {
            self.counters.raised += 1;
            self.falling = false;
            let again = rate < part(self.known.bps(), self.config.back_off);
            let rise = if again { self.config.rise * AGAIN } else { self.config.rise };
            (rate + part(rate, rise).max(1), self.last_heard.map(Cause::Load))
        } else if busy {
            // Traffic and no word of how it fares: wait for the probes.
            (rate, None)
        } else {
            let start = self.config.start.bps();
            let drift = part(rate, DRIFT).max(1);
            let target =
                if rate < start { (rate + drift).min(start) } else { (rate - drift.min(rate)).max(start) };
            (target, Some(Cause::Idle))
        };
        self.rate = Bitrate::from_bps(target).clamp(self.config.lowest, self.config.highest);
        cause
    }
}

/// Windows in a row with delay, and load in thousandths of the rate, that make the delay ours.
const STAYS: u32 = 5;
const SOME: u32 = 333;
/// Less than this part of the rate let through is an outage.
const OUTAGE: u64 = 8;
/// How many times as fast it rises to a rate that was carried before.
const AGAIN: u32 = 4;
/// A queue above this, and above four times the target, is emptied first: the rate goes to two thirds of the usual share.
const LONG: Duration = Duration::from_millis(100);
/// Share of the rate it drifts by in a window without load, in thousandths.
const DRIFT: u32 = 5;
