//! Carrying out what a law decides: the one place where a [`Signal`] becomes a mark or a drop.

use gamelane_core::{DropReason, Ecn, Instant, MarkReason, Outlet, Packet};

use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// Asks `law` about an arriving packet and stamps it; `None` if it was dropped.
pub(crate) fn admit<A: Aqm, B>(
    law: &mut A,
    mut packet: Packet<B>,
    backlog: Backlog,
    now: Instant,
    out: &mut dyn Outlet<B>,
) -> Option<Packet<B>> {
    match law.admit(&packet.meta, backlog, now) {
        Signal::Drop => {
            out.dropped(packet, DropReason::AqmEnqueue);
            return None;
        }
        Signal::Mark => {
            packet.meta.ecn = Ecn::Ce;
            out.marked(&packet.meta, MarkReason::AqmEnqueue);
        }
        Signal::Pass => {}
    }
    packet.meta.queued_at = now;
    Some(packet)
}

/// Asks `law` about the packet at the head; `None` if it was dropped and the next one's turn has come.
pub(crate) fn release<A: Aqm, B>(
    law: &mut A,
    mut packet: Packet<B>,
    backlog: Backlog,
    now: Instant,
    out: &mut dyn Outlet<B>,
) -> Option<Packet<B>> {
    let sojourn = now.saturating_since(packet.meta.queued_at);
    match law.release(&packet.meta, sojourn, backlog, now) {
        Signal::Drop => {
            out.dropped(packet, DropReason::AqmDequeue);
            return None;
        }
        Signal::Mark => {
            packet.meta.ecn = Ecn::Ce;
            out.marked(&packet.meta, MarkReason::AqmDequeue);
        }
        Signal::Pass => {}
    }
    Some(packet)
}
