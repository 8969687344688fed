//! Configuration of a wired link and of the path beyond it. The other links have their own configuration.

use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Duration};

use crate::overhead::Overhead;

/// Configuration of one direction of a wired link. The link serialises one packet at a time and delivers in order.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate on the medium, counted over [`Overhead::wire_len`].
    pub rate: Bitrate,
    /// Propagation delay of the link itself.
    pub delay: Duration,
    /// Largest extra delay of a packet. It is uniform from 0 to this and never reorders packets.
    pub jitter: Duration,
    /// Packet loss on the medium.
    pub loss: LossModel,
    /// Link-layer overhead per IP packet.
    pub overhead: Overhead,
}

/// Configuration of one direction of the path beyond the link, for one flow: delay and loss, no rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathConfig {
    /// One-way delay.
    pub delay: Duration,
    /// Largest extra delay of a packet. It is uniform from 0 to this and never reorders packets.
    pub jitter: Duration,
    /// Packet loss on the path.
    pub loss: LossModel,
}
