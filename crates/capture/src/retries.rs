//! Recognises Wi-Fi frames that were repeated on the air (IEEE 802.11-2020 section 10.3.2.14): frames with the Retry
//! bit whose first transmission is also in the capture.

use std::collections::BTreeMap;

use crate::link::Sent;

/// Latest sequence numbers of each sender.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    windows: BTreeMap<Numbering, Window>,
    pub(crate) on_air: OnAir,
}

/// Wi-Fi frames with data over time.
#[derive(Clone, Debug, Default)]
pub struct OnAir {
    first_ns: Option<u64>,
    step_ns: u64,
    /// Frames, and those of them that were repeated.
    steps: Vec<[u32; 2]>,
}

impl OnAir {
    /// Length of a step; 0 without frames. The first one begins with the first frame.
    pub const fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Frames of each step, and those of them that were repeated.
    pub fn steps(&self) -> &[[u32; 2]] {
        &self.steps
    }

    fn add(&mut self, at_ns: u64, is_repeated: bool) {
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        self.step_ns = self.step_ns.max(STEP_NS);
        let place = |step_ns: u64| (at_ns.saturating_sub(first_ns) / step_ns) as usize;
        while place(self.step_ns) >= MOST_STEPS {
            self.step_ns *= 2;
            let halves = self
                .steps
                .chunks(2)
                .map(|two| two.iter().fold([0; 2], |sum, of| [0, 1].map(|n| sum[n] + of[n])));
            self.steps = halves.collect();
        }
        let place = place(self.step_ns);
        if place >= self.steps.len() {
            self.steps.resize(place + 1, [0; 2]);
        }
        self.steps[place][0] += 1;
        self.steps[place][1] += u32::from(is_repeated);
    }
}

/// A series of sequence numbers: interface, addresses of receiver and transmitter, and priority. Senders count each
/// series on its own.
type Numbering = (u32, [u8; 12], Option<u8>);

/// The sequence numbers that were seen.
#[derive(Clone, Copy, Debug)]
struct Window {
    newest: u16,
    /// Bit n: the number `newest - n` was seen. A receiver acknowledges blocks of frames, so a repeated frame may come
    /// after later ones.
    seen: u64,
    at_ns: u64,
}

impl Retries {
    /// Returns true if the frame is a repetition of an earlier one.
    #[cold]
    pub(crate) fn repeats(&mut self, sent: Sent, interface: u32, at_ns: u64) -> bool {
        let is_repeated = self.repeated(sent, interface, at_ns);
        self.on_air.add(at_ns, is_repeated);
        is_repeated
    }

    fn repeated(&mut self, sent: Sent, interface: u32, at_ns: u64) -> bool {
        let numbering = (interface, sent.addresses, sent.priority);
        let fresh = Window { newest: sent.sequence, seen: 1, at_ns };
        if let Some(window) = self.windows.get_mut(&numbering) {
            if window.at_ns.abs_diff(at_ns) > FORGOTTEN_NS {
                *window = fresh;
                return false;
            }
            window.at_ns = at_ns;
            return window.add(sent.sequence) && sent.retry;
        }
        if self.windows.len() == CAPACITY
            && let Some(&oldest) =
                self.windows.iter().min_by_key(|(_, window)| window.at_ns).map(|(key, _)| key)
        {
            self.windows.remove(&oldest);
        }
        self.windows.insert(numbering, fresh);
        false
    }
}

impl Window {
    /// Adds a number. Returns true if it was seen before.
    const fn add(&mut self, number: u16) -> bool {
        let ahead = number.wrapping_sub(self.newest) % NUMBERS;
        let behind = (NUMBERS - ahead) % NUMBERS;
        if behind < u64::BITS as u16 {
            let was_seen = self.seen >> behind & 1 == 1;
            self.seen |= 1 << behind;
            return was_seen;
        }
        self.seen = if ahead < u64::BITS as u16 { self.seen << ahead | 1 } else { 1 };
        self.newest = number;
        false
    }
}

/// Sequence numbers have 12 bits.
const NUMBERS: u16 = 1 << 12;
/// Length of a step at first.
const STEP_NS: u64 = 250_000_000;
/// Beyond this number two steps become one.
const MOST_STEPS: usize = 1024;
/// Maximum number of series at a time.
const CAPACITY: usize = 512;
/// Time after which equal numbers are different frames. Stations give up a frame earlier; their numbers may wrap later.
const FORGOTTEN_NS: u64 = 1_000_000_000;
