//! Settings of the law, and which make no sense.

use gamelane_core::{Bitrate, Duration};

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
