//! The rate finder searches the highest rate that a link carries without queueing delay. but2006 section III.B found
//! 192 kbit/s in this way, by trials at different rates. The finder names the rate of the next trial and judges its
//! delays; the caller sends the packets and measures them.
//!
//! It starts at the lowest rate and doubles it until a queue builds up. Then it halves the bracket between the highest
//! rate without a queue and the lowest rate with one. At the end it confirms the result. Left out: links whose rate
//! varies during the search; see [`crate::autorate`].
//!
//! Loss without delay has two causes. A short queue overflows before it delays, and a radio loses packets at any rate.
//! Twice the rate tells them apart: the short queue then loses half of the packets, and on other links packets wait.

use gamelane_core::{Bitrate, Duration};

/// Configuration of the search. Defaults are in brackets; all are our choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinderConfig {
    /// First and lowest rate (64 kbit/s). The link must be able to carry it: its delay is taken as that of the idle
    /// link.
    pub lowest: Bitrate,
    /// Highest rate that is tried (1 Gbit/s).
    pub highest: Bitrate,
    /// Width of the bracket at which the search ends, in thousandths of the rate, 1 to 500 (20).
    pub resolution: u32,
    /// Delay above that of the idle link that counts as a queue (5 ms).
    pub tolerance: Duration,
    /// Share of packets that a trial may lose before a short queue is suspected, in thousandths (5).
    pub loss: u32,
    /// Number of packets that a trial needs for a judgement, at least 12 (60).
    pub fewest: u32,
    /// Number of times that the result must pass again, at most 100 (2).
    pub confirmations: u32,
    /// Number of trials after which the search ends without a result (100).
    pub most_trials: u32,
}

impl Default for FinderConfig {
    fn default() -> Self {
        Self {
            lowest: Bitrate::from_bps(64_000),
            highest: Bitrate::from_bps(1_000_000_000),
            resolution: 20,
            tolerance: Duration::from_millis(5),
            loss: 5,
            fewest: 60,
            confirmations: 2,
            most_trials: 100,
        }
    }
}

/// Reason why a [`FinderConfig`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinderFault {
    /// `lowest` is zero or above `highest`.
    Rates,
    /// `resolution` is not 1 to 500.
    Resolution,
    /// `tolerance` is zero, so any jitter would count as a queue.
    Tolerance,
    /// `fewest` is below 12.
    Fewest,
    /// `confirmations` is above 100, or `most_trials` is below `confirmations` + 2.
    Trials,
}

impl FinderConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    ///
    /// The first fault found.
    pub fn check(&self) -> Result<(), FinderFault> {
        if self.lowest.bps() == 0 || self.lowest > self.highest {
            return Err(FinderFault::Rates);
        }
        if !(1..=500).contains(&self.resolution) {
            return Err(FinderFault::Resolution);
        }
        if self.tolerance.is_zero() {
            return Err(FinderFault::Tolerance);
        }
        if self.fewest < 12 {
            return Err(FinderFault::Fewest);
        }
        if self.confirmations > 100 || self.most_trials < self.confirmations + 2 {
            return Err(FinderFault::Trials);
        }
        Ok(())
    }
}

/// Next step of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait until the link's queue is empty, send packets of one size at this rate, and report their delays.
    Try(Bitrate),
    /// The search is over.
    Done(Found),
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The rate of the link is between these two.
    Rate {
        /// Highest rate without queueing delay; several trials confirmed it.
        free: Bitrate,
        /// Lowest rate with queueing delay; two trials in a row had a queue.
        queued: Bitrate,
    },
    /// The highest rate had no queue: the link is not the bottleneck, or `highest` is too low.
    AboveHighest,
    /// The lowest rate had a queue: someone else uses the link, or `lowest` is too high.
    BelowLowest,
    /// The search ended without a result after too many trials, or because they had too few packets.
    GaveUp {
        /// Highest rate without queueing delay so far.
        free: Option<Bitrate>,
        /// Lowest rate with queueing delay so far.
        queued: Option<Bitrate>,
    },
}

/// Judgement of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No queue.
    Free,
    /// A queue: delay above that of the idle link, or growing delay.
    Queue,
    /// Loss, and no delay.
    Loss,
    /// No judgement: the trial had too few packets.
    TooFew,
}

/// State of a search.
#[derive(Clone, Debug)]
pub struct RateFinder {
    config: FinderConfig,
    /// 95th percentile of the delay on the idle link; `None` before the first trial.
    idle: Option<Duration>,
    free: Option<Bitrate>,
    queued: Option<Bitrate>,
    /// Whether packets waited at `queued`.
    waited: bool,
    /// Packets sent and lost in trials that passed.
    passed: (u64, u64),
    rate: Bitrate,
    /// Number of trials in a row at `rate` that had a queue.
    suspicions: u32,
    /// Number of times that `free` has passed again.
    confirmed: u32,
    trials: u32,
    found: Option<Found>,
}

impl RateFinder {
    /// Makes a search.
    ///
    /// # Panics
    ///
    /// If `config` does not pass [`FinderConfig::check`].
    pub fn new(config: FinderConfig) -> Self {
        assert_eq!(config.check(), Ok(()), "the caller must check a finder configuration before using it");
        Self {
            config,
            idle: None,
            free: None,
            queued: None,
            waited: false,
            passed: (0, 0),
            rate: config.lowest,
            suspicions: 0,
            confirmed: 0,
            trials: 0,
            found: None,
        }
    }

    /// Returns the next step. This changes nothing.
    pub fn next(&self) -> Next {
        self.found.map_or(Next::Try(self.rate), Next::Done)
    }

    /// Number of trials reported so far.
    pub const fn trials(&self) -> u32 {
        self.trials
    }

    /// Takes the result of the trial that [`RateFinder::next`] asked for, and judges it. `delays` are the one-way or
    /// round-trip delays of the packets that arrived, in the order of sending; `lost` is the number of the others. The
    /// call reorders the slice. After the search has ended it changes nothing else.
    pub fn report(&mut self, delays: &mut [Duration], lost: u32) -> Judgement {
        let judgement = self.judge(delays, lost);
        if self.found.is_some() {
            return judgement;
        }
        self.trials += 1;
        let (sent, lost) = (delays.len() as u64 + u64::from(lost), u64::from(lost));
        match judgement {
            Judgement::TooFew => {}
            Judgement::Free => self.pass(sent, lost),
            Judgement::Loss if !self.overflows(sent, lost) => self.pass(sent, lost),
            // A single trial with a queue may be caused by other traffic; two in a row are taken as ours.
            Judgement::Queue | Judgement::Loss if self.suspicions == 0 => self.suspicions = 1,
            Judgement::Queue | Judgement::Loss => self.fail(judgement == Judgement::Queue),
        }
        if self.trials >= self.config.most_trials && self.found.is_none() {
            self.found = Some(Found::GaveUp { free: self.free, queued: self.queued });
        }
        judgement
    }

    fn judge(&mut self, delays: &mut [Duration], lost: u32) -> Judgement {
        let arrived = delays.len() as u64;
        let sent = arrived + u64::from(lost);
        if sent < u64::from(self.config.fewest) {
            return Judgement::TooFew;
        }
        if delays.len() < 3 {
            return Judgement::Loss;
        }
        let third = delays.len() / 3;
        let begun = quantile(&mut delays[..third], 500);
        let ended = quantile(&mut delays[2 * third..], 500);
        let high = quantile(delays, 950);
        let grows = ended.saturating_sub(begun) > self.config.tolerance;
        let idle = *self.idle.get_or_insert(high);
        if grows || high.saturating_sub(idle) > self.config.tolerance {
            if self.free.is_none() {
                self.idle = None;
            }
            return Judgement::Queue;
        }
        // In the first trial the link may have been less idle than in this one.
        self.idle = Some(idle.min(high));
        if u64::from(lost) * 1000 > u64::from(self.config.loss) * sent {
            Judgement::Loss
        } else {
            Judgement::Free
        }
    }

    /// Whether loss without delay is that of a short queue.
    fn overflows(&self, sent: u64, lost: u64) -> bool {
        let (sent_before, lost_before) = self.passed;
        let more_than_before = lost * sent_before > 2 * lost_before * sent;
        !self.waited
            && (self.queued.is_some()
                || 4 * lost > sent
                || (self.rate == self.config.highest && more_than_before))
    }

    fn pass(&mut self, sent: u64, lost: u64) {
        self.passed = (self.passed.0 + sent, self.passed.1 + lost);
        self.suspicions = 0;
        if self.free == Some(self.rate) {
            self.confirmed += 1;
        } else {
            self.free = Some(self.rate);
            self.confirmed = 0;
        }
        self.advance();
    }

    fn fail(&mut self, waited: bool) {
        self.suspicions = 0;
        self.confirmed = 0;
        self.queued = Some(self.rate);
        self.waited = waited;
        // A rate that passed before but has a queue now is no lower bound.
        self.free = self.free.filter(|free| *free < self.rate);
        if self.free.is_none() && self.rate == self.config.lowest {
            self.found = Some(Found::BelowLowest);
        } else if self.free.is_none() {
            let below = self.rate.bps() * u64::from(1000 - 2 * self.config.resolution.min(250)) / 1000;
            self.rate = Bitrate::from_bps(below).max(self.config.lowest);
        } else {
            self.advance();
        }
    }

    /// Chooses the next rate or ends the search. Does nothing while `free` is unknown.
    fn advance(&mut self) {
        let Some(free) = self.free else { return };
        let Some(queued) = self.queued else {
            if free == self.config.highest {
                self.found = Some(Found::AboveHighest);
            } else {
                self.rate = Bitrate::from_bps(free.bps().saturating_mul(2)).min(self.config.highest);
            }
            return;
        };
        let width = queued.bps().saturating_sub(free.bps());
        let narrow = u128::from(width) * 1000 <= u128::from(free.bps()) * u128::from(self.config.resolution);
        if !narrow && width > 1 {
            self.rate = Bitrate::from_bps(free.bps() + width / 2);
        } else if self.confirmed < self.config.confirmations {
            self.rate = free;
        } else {
            self.found = Some(Found::Rate { free, queued });
        }
    }
}

/// Returns a quantile, given in thousandths, and reorders the samples. There must be at least one sample.
fn quantile(delays: &mut [Duration], thousandths: usize) -> Duration {
    let index = (delays.len() - 1) * thousandths / 1000;
    *delays.select_nth_unstable(index).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Simulates a trial: packets of 200 B for `seconds` at `rate` through a FIFO with a rate of `capacity` bit/s and a
    /// buffer of one second. The base delay is 20 ms plus uniform jitter. Returns the delays and the lost packets.
    fn trial(rate: Bitrate, capacity: u64, jitter_us: u64, seconds: u64, seed: u64) -> (Vec<Duration>, u32) {
        let mut rng = Seed(seed).stream("trial");
        let bits = 1600;
        let packets = (rate.bps() * seconds / bits).max(1);
        let (mut delays, mut lost) = (Vec::new(), 0);
        let mut free_at = 0;
        for n in 0..packets {
            let now = n * bits * 1_000_000_000 / rate.bps();
            let start = now.max(free_at);
            if start - now > 1_000_000_000 {
                lost += 1;
                continue;
            }
            free_at = start + bits * 1_000_000_000 / capacity;
            let jitter = if jitter_us > 0 { rng.below(jitter_us * 1000) } else { 0 };
            delays.push(Duration::from_nanos(free_at - now + 20_000_000 + jitter));
        }
        (delays, lost)
    }

    fn search(config: FinderConfig, capacity: u64, jitter_us: u64) -> (Found, u32) {
        let mut finder = RateFinder::new(config);
        loop {
            match finder.next() {
                Next::Done(found) => return (found, finder.trials()),
                Next::Try(rate) => {
                    let seed = u64::from(finder.trials());
                    let (mut delays, lost) = trial(rate, capacity, jitter_us, 10, seed);
                    finder.report(&mut delays, lost);
                }
            }
        }
    }

    #[test]
    fn the_192_kbit_of_but2006_are_found() {
        let (found, trials) = search(FinderConfig::default(), 192_000, 2000);
        let Found::Rate { free, queued } = found else { panic!("{found:?}") };
        assert!((186_000..=193_000).contains(&free.bps()), "{free}");
        assert!(queued > free && queued.bps() < 198_000, "{queued}");
        assert!(trials <= 20, "{trials}");
    }

    #[test]
    fn links_outside_the_range_are_told_apart() {
        let config = FinderConfig { highest: Bitrate::from_bps(1_000_000), ..FinderConfig::default() };
        assert_eq!(search(config, 5_000_000, 0).0, Found::AboveHighest);
        assert_eq!(search(config, 30_000, 0).0, Found::BelowLowest);
    }

    #[test]
    fn a_queue_of_somebody_elses_is_tried_again() {
        let mut finder = RateFinder::new(FinderConfig::default());
        let calm = || Vec::from([Duration::from_millis(20); 100]);
        let rate = |finder: &RateFinder| match finder.next() {
            Next::Try(rate) => rate.bps(),
            Next::Done(found) => panic!("{found:?}"),
        };
        assert_eq!(finder.report(&mut calm(), 0), Judgement::Free);
        assert_eq!(rate(&finder), 128_000);
        let mut burst = calm();
        burst[40..60].fill(Duration::from_millis(300));
        assert_eq!(finder.report(&mut burst, 0), Judgement::Queue);
        assert_eq!(rate(&finder), 128_000);
        assert_eq!(finder.report(&mut calm(), 0), Judgement::Free);
        assert_eq!(rate(&finder), 256_000);
        assert_eq!(finder.report(&mut calm()[..5], 0), Judgement::TooFew);
        assert_eq!(rate(&finder), 256_000);
        // A delay that grows by more than the tolerance is a queue, even if it is below the delay of the idle link.
        let mut growing: Vec<Duration> = (0..100).map(|n| Duration::from_micros(10_000 + 90 * n)).collect();
        assert_eq!(finder.report(&mut growing, 0), Judgement::Queue);
        assert_eq!(finder.report(&mut growing, 0), Judgement::Queue);
        assert_eq!(rate(&finder), 192_000);
    }

    /// Searches a link of `capacity` that loses bursts of 1.5 % of a trial's packets, or one with a queue of `buffer`.
    fn search_lossy(capacity: u64, buffer: Duration, losing: bool, highest: u64) -> Found {
        let config =
            FinderConfig { highest: Bitrate::from_bps(highest), resolution: 20, ..FinderConfig::default() };
        let mut finder = RateFinder::new(config);
        loop {
            let rate = match finder.next() {
                Next::Done(found) => return found,
                Next::Try(rate) => rate,
            };
            let (delays, _) = trial(rate, capacity, 1000, 10, u64::from(finder.trials()));
            let sent = delays.len();
            let limit = buffer + Duration::from_millis(21);
            let over =
                if rate.bps() > capacity { sent as u64 * (rate.bps() - capacity) / rate.bps() } else { 0 };
            let mut kept: Vec<Duration> = delays.iter().map(|delay| (*delay).min(limit)).collect();
            kept.truncate(sent - over as usize - if losing { sent * 3 / 200 } else { 0 });
            let lost = sent - kept.len();
            finder.report(&mut kept, lost as u32);
        }
    }

    #[test]
    fn losses_of_the_link_itself_are_no_queue() {
        let Found::Rate { free, .. } = search_lossy(15_000_000, Duration::from_millis(200), true, 40_000_000)
        else {
            panic!("no rate")
        };
        assert!((14_600_000..=15_010_000).contains(&free.bps()), "{free}");
        let found = search_lossy(15_000_000, Duration::from_millis(200), true, 10_000_000);
        assert_eq!(found, Found::AboveHighest);
    }

    #[test]
    fn a_queue_too_short_to_delay_is_found_by_its_losses() {
        for highest in [40_000_000, 15_500_000] {
            let Found::Rate { free, .. } = search_lossy(15_000_000, Duration::from_millis(2), false, highest)
            else {
                panic!("no rate")
            };
            assert!((14_600_000..=15_080_000).contains(&free.bps()), "{free}");
        }
    }

    #[test]
    fn an_endless_search_ends() {
        let mut finder = RateFinder::new(FinderConfig { most_trials: 30, ..FinderConfig::default() });
        let mut reports = 0;
        while let Next::Try(_) = finder.next() {
            finder.report(&mut [], 0);
            reports += 1;
        }
        assert_eq!(reports, 30);
        assert_eq!(finder.next(), Next::Done(Found::GaveUp { free: None, queued: None }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Any capacity is found if jitter is below the tolerance. The error is at most the resolution plus the
        /// uncertainty of a trial of 10 s.
        #[test]
        fn any_capacity_is_found(capacity in 70_000..20_000_000u64, jitter_us in 0..3000u64) {
            let config = FinderConfig { highest: Bitrate::from_bps(40_000_000), ..FinderConfig::default() };
            let (found, trials) = search(config, capacity, jitter_us);
            let Found::Rate { free, queued } = found else { panic!("{capacity}: {found:?}") };
            prop_assert!(free.bps() as f64 > 0.96 * capacity as f64, "{} of {}", free, capacity);
            prop_assert!((free.bps() as f64) < 1.003 * capacity as f64, "{} of {}", free, capacity);
            prop_assert!(queued > free);
            prop_assert!(trials < 40, "{}", trials);
        }

        /// For any reports the rates stay in range and the search ends.
        #[test]
        fn any_reports(reports in proptest::collection::vec((proptest::collection::vec(0..200u64, 0..100), 0..20u32), 1..120)) {
            let config = FinderConfig { fewest: 12, ..FinderConfig::default() };
            let mut finder = RateFinder::new(config);
            for (delays, lost) in reports {
                if let Next::Try(rate) = finder.next() {
                    prop_assert!(rate >= config.lowest && rate <= config.highest);
                }
                let mut delays: Vec<Duration> = delays.into_iter().map(Duration::from_millis).collect();
                finder.report(&mut delays, lost);
            }
            prop_assert!(finder.trials() <= config.most_trials);
            if finder.trials() == config.most_trials {
                prop_assert!(matches!(finder.next(), Next::Done(_)));
            }
        }
    }
}
