//! Delay and losses of a flow between two points, by the load of the capture nearer to the client at that moment.

use super::Way;
use super::fate::Fate;
use super::sightings::Seen;
use crate::analysis::timeline::Moments;
use crate::analysis::under_load::{LONG_NS, UnderLoad, summary};

/// Moments of one direction: its delay above the least one, long waits, and lost packets. `sent` are the fates of the sent
/// packets. Times are those of the point `near` the client.
pub(super) fn moments(way: &Way<'_>, sent: &[Fate], near: &Seen, near_sent: bool) -> Moments {
    let mut moments = Moments::default();
    let least = way.delays().min().unwrap_or(0);
    let since_start = |at_ns: u64| at_ns.saturating_sub(near.first_ns());
    let mut pairs = way.times().zip(way.delays());
    for (packet, fate) in way.sent.iter().zip(sent) {
        match fate {
            Fate::Both => {
                let Some(((sent_ns, received_ns), delay)) = pairs.next() else { continue };
                let above = delay.abs_diff(least);
                let at_ns = since_start(if near_sent { sent_ns } else { received_ns });
                moments.round_trip(at_ns, above);
                if above > LONG_NS {
                    moments.waited(at_ns, above);
                }
            }
            Fate::Missing => {
                // The other point's clock may differ, but lost packets have only the sender's time.
                let offset = if near_sent { 0 } else { least };
                moments.lost(since_start(packet.at_ns.saturating_add_signed(offset)), 0, 1);
            }
            Fate::Undecided | Fate::Outside => {}
        }
    }
    moments
}

/// Summary of both directions.
pub(super) fn under_load(moments: &[Moments; 2], near: &Seen) -> UnderLoad {
    let spans = moments.iter().flat_map(|moments| moments.span_ns());
    let (first_ns, last_ns) = spans.fold((u64::MAX, 0), |(first, last), at| (first.min(at), last.max(at)));
    summary(near.timeline(), moments.each_ref(), [0, 0], [first_ns.min(last_ns), last_ns])
}
