//! Whether Wi-Fi repeated more frames than usual at the times of a game's trouble. Healthy Wi-Fi repeats frames too, so their
//! number alone is no evidence.

use super::evidence::{Evidence, Flow};
use super::words::percent;
use crate::analysis::Marks;

/// Wi-Fi at the times of a game's trouble.
pub(super) enum OnAir {
    /// More frames were repeated.
    Worse(String),
    /// No more frames were repeated.
    Usual(String),
    /// The capture does not show it.
    Unseen,
}

/// Compares the frames repeated at the times of trouble on the home's side of the capture point with those of other times.
pub(super) fn on_air(evidence: &Evidence, game: &Flow) -> OnAir {
    // Only in one file the frames and the flows have the same start.
    let [frames] = &evidence.on_air[..] else { return OnAir::Unseen };
    let troubles = [0, 1].map(|way| &game.ways[way].load.troubled_at[way]);
    let step_ns = frames.step_ns().max(troubles[0].step_ns()).max(troubles[1].step_ns());
    if step_ns == 0 || step_ns != frames.step_ns() {
        return OnAir::Unseen;
    }
    let [up, down] = troubles.map(|marks| marks.with_step(step_ns));
    let times = up.or(&down);
    if times.count() < ENOUGH {
        return OnAir::Unseen;
    }
    let near = times.around(1);
    let [mut with, mut without] = [[0u64; 2]; 2];
    for (at, [frames, repeated]) in (0u64..).map(|n| n * step_ns).zip(frames.steps()) {
        let is_near = near.and(&Marks::between(step_ns, [at, at])).count() > 0;
        let sums = if is_near { &mut with } else { &mut without };
        (sums[0], sums[1]) = (sums[0] + u64::from(*frames), sums[1] + u64::from(*repeated));
    }
    if with[0] < MANY || without[0] < MANY || with[1] + without[1] == 0 {
        return OnAir::Unseen;
    }
    let share = |of: [u64; 2]| of[1] as f64 / of[0] as f64;
    let said = format!(
        "At the times of trouble {} of the Wi-Fi frames had to be repeated, at other times {}.",
        percent(with[1], with[0]),
        percent(without[1], without[0])
    );
    if with[1] >= REPEATED && share(with) >= 0.05 && share(with) >= WORSE * share(without) {
        OnAir::Worse(said)
    } else if share(with) <= share(without) * USUAL {
        OnAir::Usual(said)
    } else {
        OnAir::Unseen
    }
}

/// Minimum number of steps with trouble.
const ENOUGH: u32 = 5;
/// Minimum number of frames for a share.
const MANY: u64 = 50;
/// Minimum number of repeated frames at the times of trouble.
const REPEATED: u64 = 20;
/// Wi-Fi is worse if this many times as many frames were repeated.
const WORSE: f64 = 2.0;
/// No more frames than usual, as far as chance allows.
const USUAL: f64 = 1.3;
