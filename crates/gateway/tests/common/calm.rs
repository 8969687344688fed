//! Whether the machine was calm during a measurement: a thread that naps notices what takes the processors away. `tests/real_time.py` does
//! the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(5);
/// A nap is late if the thread wakes up this long after its end.
const LATE: Duration = Duration::from_millis(5);
/// A machine is disturbed if more than one nap in this many is late.
const ONE_IN: u32 = 20;
/// Time that attempts on a disturbed machine may still take, of all tests of this program together.
pub static LEFT: Mutex<Duration> = Mutex::new(Duration::from_secs(600));

/// A measurement that runs.
pub struct Watch {
    began: Instant,
    ends: Arc<AtomicBool>,
    napping: JoinHandle<(u32, u32)>,
}

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "a test of real time")]
    pub fn begin() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&ends);
        let napping = std::thread::spawn(move || {
            let (mut late, mut naps) = (0, 0);
            while !ended.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(NAP);
                late += u32::from(began.elapsed() > NAP + LATE);
                naps += 1;
            }
            (late, naps)
        });
        Self { began: Instant::now(), ends, napping }
    }

    /// Returns whether a failure counts, and what the naps tell.
    pub fn end(self) -> (bool, String) {
        self.ends.store(true, Ordering::Relaxed);
        let (late, naps) = self.napping.join().unwrap();
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let excused = late * ONE_IN > naps && !left.is_zero();
        if excused {
            *left = left.saturating_sub(self.began.elapsed());
        }
        (!excused, format!("{late} of {naps} naps late"))
    }
}
