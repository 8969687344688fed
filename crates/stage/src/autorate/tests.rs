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

/// A link with a queue below the shaper, simulated in steps of a millisecond.
struct Link {
    autorate: Autorate,
    game: EvenStream,
    number: u32,
    least: Least,
    now: Instant,
    queue_bits: f64,
    /// Signals in flight, each with its arrival time.
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

    /// Runs for `seconds` with a link rate and an offered load in bit/s. Returns the mean delay of the link's queue in
    /// ms.
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
        // Above the link's rate each window adds 2 %, so the delay grows to 4, 12 and 24 ms. In the fourth window, 8 %
        // above the link's rate, most signals are above 15 ms.
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
        let cause = link.autorate.moved().expect("the rate must have changed").cause;
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
    // Ambiguous samples: above the target of 15 ms with the slack, below it without.
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
    // First 2 % less per window, then nine tenths of the rate that the link delivers.
    assert!((7.3..7.5).contains(&after(3_200_000, 4)), "{}", after(3_200_000, 4));
    assert!((2.8..3.0).contains(&after(3_200_000, 6)), "{}", after(3_200_000, 6));
    assert!((7.0..7.2).contains(&after(1_000_000, 6)), "{}", after(1_000_000, 6));
}

#[test]
fn a_delay_that_grows_under_less_than_an_eighth_of_the_rate_belongs_to_someone_else() {
    let after = |load_bps: u64| {
        let mut autorate = Autorate::new(config(), Instant::ZERO);
        for ms in 0..2001 {
            let now = Instant::ZERO + MS * ms;
            autorate.note_sent(ByteCount(load_bps / 8000), now);
            let delay = MS * 20 + MS * ms / 2;
            let signal = Signal::TcpRoundTrip { seen: MS * 40 + delay, delay, slack: MS };
            autorate.handle_signal(signal, now);
            autorate.handle_timeout(now);
        }
        autorate.rate().bps() as f64 / 1e6
    };
    // The ACKs of a download are 0.4 of 8 Mbit/s, and its queue is the other direction's: 2 % less per window.
    for load in [400_000, 750_000] {
        assert!((6.3..7.0).contains(&after(load)), "{load}: {}", after(load));
    }
    for load in [1_050_000, 2_000_000] {
        assert!(after(load) < 2.0, "{load}: {}", after(load));
    }
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
    /// For any signals the rate stays in range and the contract of gamelane-core holds.
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
