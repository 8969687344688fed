//! Autorate makes the rate of a shaper follow a link whose rate varies. but2006 section III.B names the problem: a
//! fixed rate either builds a queue in the modem or wastes capacity. `docs/models/rate.md` has the table of decisions.
//!
//! Autorate measures delay by passive signals: TCP round trips, the lateness of evenly sent game packets, and the
//! backlog below the shaper. It asks for probes only when there are no passive signals. Extra delay lowers the rate
//! below the rate that the link delivered. Load without extra delay raises it. The idea is that of cake-autorate; the
//! rules and numbers are our construction.

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

/// Counters of autorate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutorateCounters {
    /// Number of passive signals.
    pub passive: u64,
    /// Number of answers to probes.
    pub probes: u64,
    /// Number of decisions to lower the rate.
    pub lowered: u64,
    /// Number of decisions to raise the rate.
    pub raised: u64,
    /// Number of windows with traffic.
    pub windows: u64,
    /// Number of windows with traffic but without any signal.
    pub unheard: u64,
}

/// Reason of a change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Extra delay; the last such signal was of this kind.
    Delay(Source),
    /// Load without extra delay; the last signal was of this kind.
    Load(Source),
    /// Little load: the rate drifts to [`AutorateConfig::start`].
    Idle,
}

/// The last change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Time of the change.
    pub at: Instant,
    /// Rate before the change.
    pub from: Bitrate,
    /// Reason of the change.
    pub cause: Cause,
}

/// Autorate for one shaper. The driver hands in packets sent and signals as they occur, calls
/// [`Autorate::handle_timeout`] when it is due, and then sets the shaper to [`Autorate::rate`].
#[derive(Clone, Debug)]
pub struct Autorate {
    config: AutorateConfig,
    rate: Bitrate,
    /// Rate that the link can probably carry: its estimated rate when the rate was lowered, or the rate before an
    /// outage.
    known: Bitrate,
    /// Whether the rate was lowered and has not risen since.
    falling: bool,
    /// Number of windows in a row with extra delay.
    late_windows: u32,
    /// End of the present window; `None` if nothing was sent since the last window.
    window_ends: Option<Instant>,
    /// Bytes sent in this window.
    sent: u64,
    /// Number of signals in this window.
    heard: u32,
    /// Number of signals in this window with a delay above target.
    late: u32,
    /// Kind of the last signal.
    last_heard: Option<Source>,
    /// Kind of the last signal with a delay above target.
    last_late: Option<Source>,
    moved: Option<Move>,
    trend: Trend,
    loads: Loads,
    /// Time from which probes are needed. Each passive signal moves it.
    silent_at: Instant,
    next_probe: Option<Instant>,
    probe: Least,
    counters: AutorateCounters,
}

impl Autorate {
    /// Makes autorate with the rate `config.start`.
    ///
    /// # Panics
    ///
    /// If `config` does not pass [`AutorateConfig::check`].
    pub fn new(config: AutorateConfig, now: Instant) -> Self {
        assert_eq!(config.check(), Ok(()), "the caller must check an autorate configuration before using it");
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

    /// Sets the present rate to `rate`, limited to the configured range.
    pub fn continue_at(&mut self, rate: Bitrate) {
        self.rate = rate.clamp(self.config.lowest, self.config.highest);
    }

    /// The configuration.
    pub const fn config(&self) -> &AutorateConfig {
        &self.config
    }

    /// The rate to which the shaper should be set.
    pub const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// The last change of the rate; `None` if it has not changed yet.
    pub const fn moved(&self) -> Option<&Move> {
        self.moved.as_ref()
    }

    /// Counters since the start.
    pub const fn counters(&self) -> &AutorateCounters {
        &self.counters
    }

    /// Counts a packet of this size that the shaper sent.
    pub fn note_sent(&mut self, bytes: ByteCount, now: Instant) {
        self.sent += bytes.bytes();
        if self.window_ends.is_none() {
            self.window_ends = Some(now.saturating_add(self.config.window));
            // Only silence during traffic counts: an idle link gives no signals and needs no probes.
            self.silent_at = self.silent_at.max(now.saturating_add(self.config.silence));
            self.next_probe = Some(self.silent_at);
        }
    }

    /// Takes a signal.
    pub fn handle_signal(&mut self, signal: Signal, now: Instant) {
        let target = self.config.target;
        let delay = match signal {
            // Ambiguous: without the slack the delay would not be above target. Ignore this sample.
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
        // The trend needs the time at which the packet met the queue, which is earlier than the time of the signal.
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

    /// Returns whether to send a probe now. If so, the next one is due `probe_every` later.
    pub fn poll_probe(&mut self, now: Instant) -> bool {
        match self.next_probe {
            Some(at) if at <= now => {
                self.next_probe = Some(now.saturating_add(self.config.probe_every));
                true
            }
            _ => false,
        }
    }

    /// Time of the next call of [`Autorate::handle_timeout`] or [`Autorate::poll_probe`]; `None` on an idle link.
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.window_ends, self.next_probe)
    }

    /// Makes the decision at the end of a window. An early call does nothing; a late call makes one decision.
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

    /// Sets the rate at the end of a window in which `load` bit/s were sent. Returns the reason, or `None` if there was
    /// load but no signal.
    fn decide(&mut self, load: u64, now: Instant) -> Option<Cause> {
        let rate = self.rate.bps();
        let part = |of: u64, thousandths: u32| (u128::from(of) * u128::from(thousandths) / 1000) as u64;
        let busy = load >= part(rate, self.config.busy);
        self.loads.push(now, load);
        let (target, cause) = if self.late * 2 > self.heard {
            self.counters.lowered += 1;
            let met = self.loads.between(self.trend.first.0, self.trend.last.0);
            let link = self.trend.let_through(met);
            // Delay under little load is probably a queue of someone else, or of the other direction: lower the rate slowly.
            // But if it lasts while there is some load, it is ours: a sender that opens its window slowly fills the
            // queue slowly.
            self.late_windows = self.late_windows.saturating_add(1);
            // This does not hold for backlog: it is measured as time at our own rate, so a lower rate makes it longer.
            let not_backlog = self.last_late != Some(Source::Backlog);
            let stays = not_backlog && self.late_windows >= STAYS && load >= part(rate, SOME);
            let ours = busy || stays || (self.trend.grows() && met >= rate / FEW);
            let share = if self.trend.last.1 > LONG.max(self.config.target.saturating_mul(4)) {
                self.config.back_off * 2 / 3
            } else {
                self.config.back_off
            };
            // A link that delivered almost nothing has an outage, which says nothing about its rate afterwards.
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
            // Traffic but no signals: keep the rate and wait for probes.
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

/// Number of windows in a row with extra delay after which the delay counts as ours, if the load is at least [`SOME`].
const STAYS: u32 = 5;
/// Load for [`STAYS`], in thousandths of the rate.
const SOME: u32 = 333;
/// A queue that grows under less load than the rate divided by this is probably not ours: our direction would have an
/// outage.
const FEW: u64 = OUTAGE;
/// The link has an outage if it delivered less than the rate divided by this.
const OUTAGE: u64 = 8;
/// Factor by which the rate rises faster while it is below a rate that the link has carried before.
const AGAIN: u32 = 4;
/// A queue with a delay above this and above four times the target is emptied first: the rate is set to two thirds of
/// the usual share.
const LONG: Duration = Duration::from_millis(100);
/// Drift of the rate per window with little load, in thousandths of the rate.
const DRIFT: u32 = 5;
