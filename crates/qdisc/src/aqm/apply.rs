//! Applies the decision of an AQM law to a packet. Only this file turns a [`Signal`] into a mark or a drop.

use gamelane_core::{DropReason, Ecn, Instant, MarkReason, Outlet, Packet};

use super::{Aqm, Signal};
use crate::discipline::Backlog;

/// Asks `law` about an arriving packet and sets its `queued_at`. Returns `None` if the packet was dropped.
pub(crate) fn admit<A: Aqm, B>(
    law: &mut A,
    packet: Packet<B>,
    backlog: Backlog,
    now: Instant,
    out: &mut dyn Outlet<B>,
) -> Option<Packet<B>> {
    let signal = law.admit(&packet.meta, backlog, now);
    let mut packet = obey(signal, packet, (DropReason::AqmEnqueue, MarkReason::AqmEnqueue), out)?;
    packet.meta.queued_at = now;
    Some(packet)
}

/// Asks `law` about the packet taken from the head. Returns `None` if it was dropped; the caller then tries the next.
pub(crate) fn release<A: Aqm, B>(
    law: &mut A,
    packet: Packet<B>,
    backlog: Backlog,
    now: Instant,
    out: &mut dyn Outlet<B>,
) -> Option<Packet<B>> {
    let sojourn = now.saturating_since(packet.meta.queued_at);
    let signal = law.release(&packet.meta, sojourn, backlog, now);
    obey(signal, packet, (DropReason::AqmDequeue, MarkReason::AqmDequeue), out)
}

fn obey<B>(
    signal: Signal,
    mut packet: Packet<B>,
    (dropped_for, marked_for): (DropReason, MarkReason),
    out: &mut dyn Outlet<B>,
) -> Option<Packet<B>> {
    match signal {
        Signal::Drop => {
            out.dropped(packet, dropped_for);
            return None;
        }
        Signal::Mark => {
            packet.meta.ecn = Ecn::Ce;
            out.marked(&packet.meta, marked_for);
        }
        Signal::Pass => {}
    }
    Some(packet)
}
