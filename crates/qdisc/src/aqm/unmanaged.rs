//! The law that never signals. The queue then drops only when it is full.

use gamelane_core::{Duration, Instant, PacketMeta};

use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// An AQM law that lets every packet pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmanaged;

impl Aqm for Unmanaged {
    fn release(&mut self, _: &PacketMeta, _: Duration, _: Backlog, _: Instant) -> Signal {
        Signal::Pass
    }
}
