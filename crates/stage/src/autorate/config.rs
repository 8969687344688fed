//! Configuration of autorate and its checks. All defaults are our choice.

use gamelane_core::{Bitrate, Duration};

/// Configuration of autorate. Shares are in thousandths. Defaults are in brackets; all are our choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutorateConfig {
    /// Lowest rate that is ever set (64 kbit/s).
    pub lowest: Bitrate,
    /// Highest rate that is ever set (1 Gbit/s).
    pub highest: Bitrate,
    /// Rate at the beginning (1 Mbit/s). With little load the rate drifts back to it.
    pub start: Bitrate,
    /// Extra delay, above the lowest delay of the source, that counts as a queue on the link (15 ms).
    pub target: Duration,
    /// Time between two decisions (200 ms).
    pub window: Duration,
    /// After a queue the rate is set to this share of the rate that the link delivered, 100 to 990 (900).
    pub back_off: u32,
    /// Under load and without a queue the rate rises by this share per window, 1 to 500 (20).
    pub rise: u32,
    /// The rate rises only if the load is at least this share of it, 100 to 1000 (750).
    pub busy: u32,
    /// Probes are sent after this time with traffic but without a passive signal (1 s).
    pub silence: Duration,
    /// Time between two probes (50 ms).
    pub probe_every: Duration,
    /// Time for which the lowest delay of a source is remembered (60 s). It is limited because routes change.
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

/// Reason why an [`AutorateConfig`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutorateFault {
    /// `0 < lowest <= start <= highest` does not hold.
    Rates,
    /// `target`, `window`, `silence`, `probe_every` or `memory` is zero.
    Times,
    /// `back_off`, `rise` or `busy` is out of range.
    Shares,
}

impl AutorateConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    ///
    /// The first fault found.
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
