//! Forward acknowledgement (Mathis and Mahdavi, SIGCOMM 1996) as Linux 2.6 had it: everything more than three segments
//! below the highest one the receiver holds is lost, however few of those above it were reported. The rest is
//! [`Sack`](super::Sack). Counts segments, not bytes, which is what lets it help streams of small segments; leaves out Linux's
//! retreat to plain SACK once reordering is seen, and the paper's rate halving.

use crate::scoreboard::{DUPLICATE_THRESHOLD, Scoreboard};

/// Takes segments for lost by their distance from the forward-most.
pub(super) fn detect_losses(board: &mut Scoreboard) {
    board.lose_far_below_sacked(DUPLICATE_THRESHOLD);
}
