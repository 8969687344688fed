//! Long silences of one direction: times without data, the bytes that followed at once, and whether the network delivered
//! meanwhile. Whether they are unusual for the sender is left to [`blame`](crate::blame).

use super::direction::BIN_NS;
use super::timeline::Moments;
use super::under_load::LONG_NS;

/// The longest silences of one direction, at most [`MOST`], in order of time.
#[derive(Clone, Debug, Default)]
pub struct Silences(Vec<Silence>);

/// A time without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Time of the data that ended it.
    pub until_ns: u64,
    /// Its length.
    pub ns: u64,
    /// Payload bytes in the quarter second from its end on, or in up to half a second.
    pub bytes_after: u64,
    /// Payload bytes before it.
    before: u64,
    /// Data of the other direction was acknowledged in time all the while.
    pub is_answered: bool,
}

impl Silences {
    /// The silences in order of time.
    pub fn iter(&self) -> impl Iterator<Item = &Silence> {
        self.0.iter()
    }

    #[cold]
    pub(super) fn add(&mut self, until_ns: u64, ns: u64, before: u64) {
        if self.0.len() == MOST {
            let shortest = (0..MOST).min_by_key(|&n| self.0[n].ns).unwrap_or(0);
            if self.0[shortest].ns >= ns {
                return;
            }
            self.0.remove(shortest);
        }
        self.0.push(Silence { until_ns, ns, bytes_after: 0, before, is_answered: false });
    }

    /// Learns the payload bytes so far, at the end of a [bin](super::direction::Bin) that began at `at_ns`.
    pub(super) fn passed(&mut self, at_ns: u64, payload_bytes: u64) {
        if let Some(last) = self.0.last_mut()
            && (last.until_ns..last.until_ns + 2 * BIN_NS).contains(&(at_ns + BIN_NS - 1))
        {
            last.bytes_after = payload_bytes - last.before;
        }
    }

    /// Decides which silences were answered, from the round trips of the other direction's data.
    pub(super) fn settle(&mut self, other: &Moments, least_rtt_ns: u64) {
        for silence in &mut self.0 {
            let inside = silence.until_ns - silence.ns + BIN_NS..=silence.until_ns;
            let prompt = other.all().filter(|moment| {
                let from_ns = moment.step.saturating_mul(other.step_ns());
                moment.least_rtt_us != u32::MAX
                    && u64::from(moment.least_rtt_us) * 1000 <= least_rtt_ns + LONG_NS
                    && inside.contains(&from_ns)
                    && inside.contains(&(from_ns + other.step_ns()))
            });
            silence.is_answered = prompt.count() as u64 >= (silence.ns / ANSWERED_NS).max(1);
        }
    }
}

/// Minimum length of a silence.
pub(super) const SILENCE_NS: u64 = 1_000_000_000;
const MOST: usize = 8;
/// Acknowledgements are at most this far apart, on average.
const ANSWERED_NS: u64 = 1_000_000_000;
