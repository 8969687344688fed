//! Autorate: a shaper's rate that follows a link whose rate varies (but2006 section III.B names the problem: a fixed rate
//! queues at the modem or wastes the link). It listens to what passes anyway, round trips of TCP, gaps of a game's packets,
//! backlog below the shaper, and asks for probes only when these fall silent. Delay above the least seen lately lowers the rate below what
//! the link let through; load without delay raises it. After cake-autorate in spirit, with numbers of our own.

use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, ByteCount, Duration, Instant};

use crate::least::Least;

/// How to follow. The defaults are our choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutorateConfig {
    /// The rate is never set below this.
    pub lowest: Bitrate,
    /// Never above this.
    pub highest: Bitrate,
    /// Where it begins, and where it drifts to when there is little load.
    pub start: Bitrate,
    /// Delay above the least that counts as a queue below us.
    pub target: Duration,
    /// Time between decisions.
    pub window: Duration,
    /// After a queue the rate is this share of what the link let through, in thousandths, 100 to 990.
    pub back_off: u32,
    /// Under load and without a queue it rises by this share a window, in thousandths, 1 to 500.
    pub rise: u32,
    /// Load of at least this share of the rate lets it rise, in thousandths, 100 to 1000.
    pub busy: u32,
    /// After so long without a passive signal, while there is traffic, probes are asked for.
    pub silence: Duration,
    /// Time between two probes.
    pub probe_every: Duration,
    /// How long the least delay of a source is remembered: routes change.
    pub memory: Duration,
}

impl Default for AutorateConfig {
    fn default() -> Self {
        Self {
            lowest: Bitrate::from_bps(64_000),
            highest: Bitrate::from_bps(1_000_000_000),
            start: Bitrate::from_bps(1_000_000),
            target: Duration::from_millis(15),
            window: Duration::from_millis(200),
            back_off: 900,
            rise: 20,
            busy: 750,
            silence: Duration::from_secs(1),
            probe_every: Duration::from_millis(50),
            memory: Duration::from_secs(60),
        }
    }
}

/// Why an [`AutorateConfig`] makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutorateFault {
    /// Not `0 < lowest <= start <= highest`.
    Rates,
    /// `target`, `window`, `silence`, `probe_every` or `memory` is zero.
    Times,
    /// `back_off`, `rise` or `busy` is out of range.
    Shares,
}

impl AutorateConfig {
    /// The first thing wrong with it.
    pub fn check(&self) -> Result<(), AutorateFault> {
        if self.lowest.bps() == 0 || self.lowest > self.start || self.start > self.highest {
            return Err(AutorateFault::Rates);
        }
        let times = [self.target, self.window, self.silence, self.probe_every, self.memory];
        if times.iter().any(|time| time.is_zero()) {
            return Err(AutorateFault::Times);
        }
        let shares = [(self.back_off, 100, 990), (self.rise, 1, 500), (self.busy, 100, 1000)];
        if shares.iter().any(|(share, least, most)| !(least..=most).contains(&share)) {
            return Err(AutorateFault::Shares);
        }
        Ok(())
    }
}

/// What was seen or heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A round trip of TCP that passed the gateway (reference/measurement.md section 3.2).
    TcpRoundTrip {
        /// How long it took.
        seen: Duration,
        /// How much longer than the quickest of its connection lately.
        delay: Duration,
        /// So much of it the other end may have kept still for.
        slack: Duration,
    },
    /// A packet of a stream that is sent at even times came so much later than its promptest.
    GameLag(Duration),
    /// Time that what waits below the shaper will take, where the driver or modem tells.
    Backlog(Duration),
    /// The answer to a probe, after this round trip.
    Probe(Duration),
}

/// The kind of a [`Signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Round trips of TCP.
    Tcp,
    /// Even streams.
    Game,
    /// What waits below.
    Backlog,
    /// Answers to probes.
    Probe,
}

impl Source {
    /// As scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Game => "game",
            Self::Backlog => "backlog",
            Self::Probe => "probe",
        }
    }
}

impl Signal {
    /// What kind it is.
    pub const fn source(&self) -> Source {
        match self {
            Self::TcpRoundTrip { .. } => Source::Tcp,
            Self::GameLag(_) => Source::Game,
            Self::Backlog(_) => Source::Backlog,
            Self::Probe(_) => Source::Probe,
        }
    }
}

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

/// What was sent in the last windows. The rate of the link follows from what was sent when the queue grew, not from what
/// is sent when word of it comes: else the same growth would be answered twice.
#[derive(Clone, Copy, Debug, Default)]
struct Loads {
    /// End of the window and bit/s.
    windows: [(Instant, u64); 16],
    newest: usize,
}

impl Loads {
    fn push(&mut self, ends: Instant, load: u64) {
        self.newest = (self.newest + 1) % self.windows.len();
        self.windows[self.newest] = (ends, load);
    }

    /// The mean load between two instants, as far back as it is remembered.
    fn between(&self, from: Instant, to: Instant) -> u64 {
        let (mut bits, mut time) = (0u128, 0u128);
        for n in 1..self.windows.len() {
            let [(began, _), (ends, load)] =
                [n, n + 1].map(|n| self.windows[(self.newest + n) % self.windows.len()]);
            let both = ends.min(to).saturating_since(began.max(from)).as_nanos();
            bits += u128::from(load) * u128::from(both);
            time += u128::from(both);
        }
        let newest = self.windows[self.newest].1;
        bits.checked_div(time).map_or(newest, |load| load as u64)
    }
}

/// Where the delay went since the window before, by one kind of signal: changing from one kind to another begins anew.
#[derive(Clone, Copy, Debug, Default)]
struct Trend {
    source: Option<Source>,
    first: (Instant, Duration),
    last: (Instant, Duration),
}

impl Trend {
    fn observe(&mut self, source: Source, delay: Duration, at: Instant) {
        match self.source {
            Some(known) if known == source => self.last = (at, delay),
            _ => (self.source, self.first, self.last) = (Some(source), (at, delay), (at, delay)),
        }
    }

    /// The link's rate if `sent` bit/s met it: a queue that grows by d in a time t holds back sent * d / (t + d) of it, one that
    /// falls lets that much more through.
    fn let_through(&self, sent: u64) -> u64 {
        let time = i128::from(self.last.0.saturating_since(self.first.0).as_nanos());
        let grown = i128::from(self.last.1.as_nanos()) - i128::from(self.first.1.as_nanos());
        if time == 0 {
            return sent;
        }
        // No faster than eight times what was sent: a queue that vanishes at once tells nothing.
        let whole = (time + grown).max(time / 8 + 1);
        (i128::from(sent) * time / whole) as u64
    }

    /// True if the delay grows by a tenth of the time or more.
    fn grows(&self) -> bool {
        let time = self.last.0.saturating_since(self.first.0);
        self.last.1.saturating_sub(self.first.1).saturating_mul(10) > time
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::even::EvenStream;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MS: Duration = Duration::from_millis(1);

    fn config() -> AutorateConfig {
        AutorateConfig {
            lowest: Bitrate::from_bps(500_000),
            highest: Bitrate::from_bps(50_000_000),
            start: Bitrate::from_bps(8_000_000),
            ..AutorateConfig::default()
        }
    }

    /// A link with a queue below the shaper, in steps of a millisecond: what a second-by-second observer sees.
    struct Link {
        autorate: Autorate,
        game: EvenStream,
        number: u32,
        least: Least,
        now: Instant,
        queue_bits: f64,
        /// What is on its way to us.
        signals: Vec<(Instant, Signal)>,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Hears {
        Tcp,
        Game,
        Backlog,
        Nothing,
    }

    impl Link {
        fn new(config: AutorateConfig) -> Self {
            let autorate = Autorate::new(config, Instant::ZERO);
            let game = EvenStream::new(MS * 20);
            Self {
                autorate,
                game,
                number: 0,
                least: Least::default(),
                now: Instant::ZERO,
                queue_bits: 0.0,
                signals: Vec::new(),
            }
        }

        /// Runs for `seconds` at a link rate and an offered load in bit/s; mean delay of the queue below in ms.
        fn run(&mut self, seconds: u64, link_bps: f64, offered_bps: f64, hears: Hears) -> f64 {
            let mut delays = 0.0;
            for step in 0..seconds * 1000 {
                self.now += MS;
                let sent = offered_bps.min(self.autorate.rate().bps() as f64) / 1000.0;
                if sent > 0.0 {
                    self.autorate.note_sent(ByteCount((sent / 8.0) as u64), self.now);
                }
                self.queue_bits = (self.queue_bits + sent - link_bps / 1000.0).max(0.0);
                let delay = Duration::from_secs_f64(self.queue_bits / link_bps);
                delays += delay.as_millis_f64();
                if step % 20 == 0 {
                    let signal = match hears {
                        Hears::Tcp => {
                            let seen = MS * 40 + delay;
                            let delay = self.least.above(seen, config().memory, self.now + seen);
                            let signal = Signal::TcpRoundTrip { seen, delay, slack: MS };
                            Some((self.now + seen, signal))
                        }
                        Hears::Backlog => Some((self.now, Signal::Backlog(delay))),
                        Hears::Game => {
                            let arrival = self.now + delay;
                            self.number += 1;
                            self.game.came(self.number, arrival).map(|signal| (arrival, signal))
                        }
                        Hears::Nothing => None,
                    };
                    self.signals.extend(signal);
                }
                if self.autorate.poll_probe(self.now) {
                    let time = MS * 30 + delay;
                    self.signals.push((self.now + time, Signal::Probe(time)));
                }
                let now = self.now;
                let (due, waiting) = self.signals.iter().partition(|(at, _)| *at <= now);
                self.signals = waiting;
                let due: Vec<(Instant, Signal)> = due;
                for (_, signal) in due {
                    self.autorate.handle_signal(signal, now);
                }
                self.autorate.handle_timeout(now);
            }
            delays / (seconds * 1000) as f64
        }

        fn mbit(&self) -> f64 {
            self.autorate.rate().bps() as f64 / 1e6
        }
    }

    #[test]
    fn it_follows_a_link_down_and_up_on_each_signal_alone() {
        for hears in [Hears::Tcp, Hears::Backlog, Hears::Game, Hears::Nothing] {
            let mut link = Link::new(config());
            // 2 % a window above the link make 4, 12, 24 ms: the fourth window hears mostly more than 15 ms, at 8 % above.
            link.run(60, 10e6, 30e6, hears);
            assert!((8.5..=10.9).contains(&link.mbit()), "{hears:?}, up to 10: {}", link.mbit());
            let delay = link.run(60, 10e6, 30e6, hears);
            assert!(delay < 25.0, "{hears:?}, {delay} ms at 10 Mbit/s");
            link.run(4, 4e6, 30e6, hears);
            assert!((2.0..=4.36).contains(&link.mbit()), "{hears:?}, down to 4: {}", link.mbit());
            link.run(4, 4e6, 30e6, hears);
            let delay = link.run(20, 4e6, 30e6, hears);
            assert!(delay < 25.0, "{hears:?}, {delay} ms at 4 Mbit/s");
            link.run(40, 20e6, 30e6, hears);
            assert!((17.0..=21.8).contains(&link.mbit()), "{hears:?}, up to 20: {}", link.mbit());
            let source = match hears {
                Hears::Tcp => Source::Tcp,
                Hears::Game => Source::Game,
                Hears::Backlog => Source::Backlog,
                Hears::Nothing => Source::Probe,
            };
            let cause = link.autorate.moved().expect("it moved").cause;
            assert!([Cause::Delay(source), Cause::Load(source)].contains(&cause), "{hears:?}: {cause:?}");
            let probed = link.autorate.counters().probes > 0;
            assert_eq!(probed, hears == Hears::Nothing, "{:?}", link.autorate.counters());
        }
    }

    #[test]
    fn without_load_it_drifts_to_its_start_and_an_idle_link_wants_nothing() {
        let mut link = Link::new(config());
        link.run(60, 20e6, 30e6, Hears::Tcp);
        assert!(link.mbit() > 17.0);
        link.run(60, 20e6, 0.5e6, Hears::Tcp);
        assert!((link.mbit() - 8.0).abs() < 0.01, "{}", link.mbit());
        link.run(2, 20e6, 0.0, Hears::Nothing);
        assert_eq!(link.autorate.poll_timeout(), None);
    }

    #[test]
    fn a_route_that_gets_longer_is_forgiven_in_the_end() {
        let mut autorate = Autorate::new(config(), Instant::ZERO);
        let mut now = Instant::ZERO;
        let (mut rates, mut least) = (Vec::new(), Least::default());
        for ms in 0..300_000u64 {
            now += MS;
            autorate.note_sent(ByteCount(autorate.rate().bps() / 8000), now);
            if ms % 20 == 0 {
                let route = if ms < 30_000 { 40 } else { 90 };
                let seen = MS * route;
                let delay = least.above(seen, config().memory, now);
                autorate.handle_signal(Signal::TcpRoundTrip { seen, delay, slack: MS }, now);
            }
            autorate.handle_timeout(now);
            rates.push(autorate.rate());
        }
        assert!(rates[100_000] < rates[29_999]);
        assert!(rates[299_999] > rates[100_000], "{} {}", rates[299_999], rates[100_000]);
    }

    #[test]
    fn a_round_trip_that_a_pause_may_have_made_long_is_not_heard() {
        let mut autorate = Autorate::new(config(), Instant::ZERO);
        let mut tell = |delay_ms, slack_ms| {
            let [delay, slack] = [MS * delay_ms, MS * slack_ms];
            let signal = Signal::TcpRoundTrip { seen: MS * 40 + delay, delay, slack };
            autorate.handle_signal(signal, Instant::from_millis(1000));
            (autorate.heard, autorate.late)
        };
        // Above the target of 15 ms only if nothing of it was a pause.
        assert_eq!([tell(20, 10), tell(90, 80)], [(0, 0); 2]);
        assert_eq!([tell(26, 10), tell(10, 100), tell(0, 5)], [(1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn a_delay_that_stays_is_ours_after_a_second_if_there_is_some_load() {
        let after = |load_bps: u64, windows: u64| {
            let mut autorate = Autorate::new(config(), Instant::ZERO);
            for ms in 0..windows * 200 + 1 {
                let now = Instant::ZERO + MS * ms;
                autorate.note_sent(ByteCount(load_bps / 8000), now);
                let signal = Signal::TcpRoundTrip { seen: MS * 100, delay: MS * 60, slack: MS };
                autorate.handle_signal(signal, now);
                autorate.handle_timeout(now);
            }
            autorate.rate().bps() as f64 / 1e6
        };
        // 2 % a window, then nine tenths of what the link lets through.
        assert!((7.3..7.5).contains(&after(3_200_000, 4)), "{}", after(3_200_000, 4));
        assert!((2.8..3.0).contains(&after(3_200_000, 6)), "{}", after(3_200_000, 6));
        assert!((7.0..7.2).contains(&after(1_000_000, 6)), "{}", after(1_000_000, 6));
    }

    #[test]
    fn each_fault_is_found() {
        let sound = config();
        assert_eq!(sound.check(), Ok(()));
        assert_eq!(AutorateConfig { lowest: sound.highest, ..sound }.check(), Err(AutorateFault::Rates));
        assert_eq!(AutorateConfig { window: Duration::ZERO, ..sound }.check(), Err(AutorateFault::Times));
        assert_eq!(AutorateConfig { back_off: 1000, ..sound }.check(), Err(AutorateFault::Shares));
    }

    proptest! {
        /// Whatever is heard, the rate stays in range and the contract of gamelane-core holds.
        #[test]
        fn any_signals(
            events in proptest::collection::vec((0..5u8, any::<u64>(), 0..3_000_000_000u64), 1..300),
        ) {
            let mut autorate = Autorate::new(config(), Instant::ZERO);
            let mut now = Instant::ZERO;
            for (kind, value, wait) in events {
                now += Duration::from_nanos(wait);
                let time = Duration::from_nanos(value);
                match kind {
                    0 => autorate.note_sent(ByteCount(value % 10_000_000), now),
                    1 => {
                        let [delay, slack] = [time / 2, Duration::from_nanos(wait)];
                        autorate.handle_signal(Signal::TcpRoundTrip { seen: time, delay, slack }, now);
                    }
                    2 => autorate.handle_signal(Signal::GameLag(time), now),
                    3 => autorate.handle_signal(Signal::Backlog(time), now),
                    _ => autorate.handle_signal(Signal::Probe(time), now),
                }
                let early = autorate.poll_timeout().is_none_or(|at| at > now);
                let before = autorate.rate();
                autorate.handle_timeout(now);
                let probe = autorate.poll_probe(now);
                prop_assert!(!early || (before == autorate.rate() && !probe));
                prop_assert!(autorate.rate() >= config().lowest && autorate.rate() <= config().highest);
                prop_assert!(autorate.poll_timeout().is_none_or(|at| at > now));
            }
        }
    }
}
