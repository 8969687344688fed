//! Forward acknowledgement (FACK; Mathis and Mahdavi, SIGCOMM 1996) as in Linux 2.6. A segment is lost if it is more
//! than three segments below the highest SACKed one, even if few segments above it were SACKed. [`Sack`](super::Sack)
//! does the rest. It counts segments, not bytes, which helps streams of small segments. Left out: Linux's return to
//! plain SACK after reordering, and the rate halving of the paper.

use crate::facts::{TcpDescriptor, TcpFacts};
use crate::scoreboard::{DUPLICATE_THRESHOLD, Scoreboard};

/// FACK in the catalogue.
pub const FACK: TcpDescriptor = TcpDescriptor {
    word: "fack",
    label: "FACK",
    about: "FACK: finds losses by their distance from the highest byte received.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Marks segments as lost by their distance from the highest SACKed one.
pub(super) fn detect_losses(board: &mut Scoreboard) {
    board.lose_far_below_sacked(DUPLICATE_THRESHOLD);
}
