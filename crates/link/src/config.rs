//! What links and paths are made of, as a scenario says it.

use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Duration};

use crate::overhead::Overhead;

/// One direction of a wired link: it serialises one packet at a time, then carries it to the other end, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate on the medium, counted over [`Overhead::wire_len`].
    pub rate: Bitrate,
    /// Propagation delay of the link itself.
    pub delay: Duration,
    /// Extra delay, uniform in `[0, jitter]`, never reordering.
    pub jitter: Duration,
    /// Packets lost on the medium.
    pub loss: LossModel,
    /// What the link layer adds to each IP packet.
    pub overhead: Overhead,
}

/// One direction of the path beyond the link, for one flow: no rate, only delay and loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathConfig {
    /// One-way delay.
    pub delay: Duration,
    /// Extra delay, uniform in `[0, jitter]`, never reordering.
    pub jitter: Duration,
    /// Packets lost on the path.
    pub loss: LossModel,
}
