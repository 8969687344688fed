//! A transfer over several connections is done when the last of them is. Each connection reports its own share.

use gamelane_core::{ByteCount, Instant};
use gamelane_traffic::AppReport;

/// Connections of a transfer that are done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Number of them.
    done: u32,
    /// Their bytes.
    bytes: ByteCount,
    /// When the first of them began.
    began: Instant,
}

impl Default for Parts {
    /// None is done.
    fn default() -> Self {
        Self { done: 0, bytes: ByteCount(0), began: Instant::MAX }
    }
}

impl Parts {
    /// Returns the report of the whole flow, which has this many connections; `None` while others are not done. `report`
    /// is that of one connection at `at`.
    pub(crate) fn whole(&mut self, report: AppReport, connections: u32, at: Instant) -> Option<AppReport> {
        let AppReport::Transfer { bytes, took } = report else { return Some(report) };
        if connections <= 1 {
            return Some(report);
        }
        self.done += 1;
        self.bytes += bytes;
        self.began = self.began.min(at - took.min(at - Instant::ZERO));
        let took = at.saturating_since(self.began);
        (self.done == connections).then_some(AppReport::Transfer { bytes: self.bytes, took })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Duration;

    const fn share(bytes: u64, took_s: u64) -> AppReport {
        AppReport::Transfer { bytes: ByteCount(bytes), took: Duration::from_secs(took_s) }
    }

    #[test]
    fn a_transfer_lasts_from_its_first_connection_to_its_last_byte() {
        let mut parts = Parts::default();
        assert_eq!(parts.whole(share(4, 3), 3, Instant::from_secs(13)), None);
        assert_eq!(parts.whole(share(4, 2), 3, Instant::from_secs(14)), None);
        assert_eq!(parts.whole(share(3, 5), 3, Instant::from_secs(16)), Some(share(11, 6)));
    }

    #[test]
    fn one_connection_reports_each_of_its_transfers() {
        let mut parts = Parts::default();
        for at_s in [3, 13] {
            assert_eq!(parts.whole(share(4, 3), 1, Instant::from_secs(at_s)), Some(share(4, 3)));
        }
    }
}
