//! Estimate of the rate that the link delivered. It is computed from the load that was sent and from the growth of the
//! delay. Our construction.

use gamelane_core::{Duration, Instant};

use super::Source;

/// Load sent in the last 16 windows. The estimate must use the load of the time when the queue grew. The load at the
/// time of the signal may already be lower, and the rate would be lowered twice for the same growth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loads {
    /// End of each window and its load in bit/s.
    windows: [(Instant, u64); 16],
    newest: usize,
}

impl Loads {
    pub(super) fn push(&mut self, ends: Instant, load: u64) {
        self.newest = (self.newest + 1) % self.windows.len();
        self.windows[self.newest] = (ends, load);
    }

    /// Mean load in bit/s between two instants, as far back as it is stored.
    pub(super) fn between(&self, from: Instant, to: Instant) -> u64 {
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

/// Change of the delay since the window before. It uses signals of one kind only, and starts again when the kind
/// changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trend {
    source: Option<Source>,
    pub(super) first: (Instant, Duration),
    pub(super) last: (Instant, Duration),
}

impl Trend {
    pub(super) fn observe(&mut self, source: Source, delay: Duration, at: Instant) {
        match self.source {
            Some(known) if known == source => self.last = (at, delay),
            _ => (self.source, self.first, self.last) = (Some(source), (at, delay), (at, delay)),
        }
    }

    /// Rate in bit/s that the link delivered while `sent` bit/s were sent to it. If the queueing delay grows by d in a
    /// time t, the link delivers sent * t / (t + d). A negative d, a shrinking queue, gives a rate above `sent`.
    pub(super) fn let_through(&self, sent: u64) -> u64 {
        let time = i128::from(self.last.0.saturating_since(self.first.0).as_nanos());
        let grown = i128::from(self.last.1.as_nanos()) - i128::from(self.first.1.as_nanos());
        if time == 0 {
            return sent;
        }
        // At most eight times `sent`: a queue that disappears at once says nothing about the rate.
        let whole = (time + grown).max(time / 8 + 1);
        (i128::from(sent) * time / whole) as u64
    }

    /// Returns whether the delay grew by more than a tenth of the elapsed time.
    pub(super) fn grows(&self) -> bool {
        let time = self.last.0.saturating_since(self.first.0);
        self.last.1.saturating_sub(self.first.1).saturating_mul(10) > time
    }
}
