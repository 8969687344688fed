//! What the link let through: what was sent, and how the delay went.

use gamelane_core::{Duration, Instant};

use super::Source;

/// What was sent in the last windows. The rate of the link follows from what was sent when the queue grew, not from what
/// is sent when word of it comes: else the same growth would be answered twice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loads {
    /// End of the window and bit/s.
    windows: [(Instant, u64); 16],
    newest: usize,
}

impl Loads {
    pub(super) fn push(&mut self, ends: Instant, load: u64) {
        self.newest = (self.newest + 1) % self.windows.len();
        self.windows[self.newest] = (ends, load);
    }

    /// The mean load between two instants, as far back as it is remembered.
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

/// Where the delay went since the window before, by one kind of signal: changing from one kind to another begins anew.
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

    /// The link's rate if `sent` bit/s met it: a queue that grows by d in a time t holds back sent * d / (t + d) of it, one that
    /// falls lets that much more through.
    pub(super) fn let_through(&self, sent: u64) -> u64 {
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
    pub(super) fn grows(&self) -> bool {
        let time = self.last.0.saturating_since(self.first.0);
        self.last.1.saturating_sub(self.first.1).saturating_mul(10) > time
    }
}
