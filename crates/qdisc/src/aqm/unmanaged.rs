//! No law: packets pass until the queue is full.

use gamelane_core::{Duration, Instant, PacketMeta};

use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// Lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmanaged;

impl Aqm for Unmanaged {
    fn release(&mut self, _: &PacketMeta, _: Duration, _: Backlog, _: Instant) -> Signal {
        Signal::Pass
    }
}
