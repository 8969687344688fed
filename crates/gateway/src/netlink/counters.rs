//! Counters of the kernel's queues.

use std::collections::BTreeMap;

use gamelane_core::DropReason;
use netlink_bindings::tc::{IterableTcaStatsAttrs, Request, TcaStatsAppMsg, Tcmsg};

use super::{Kernel, KernelError};

/// Counters of all queues of an interface together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that left, as the shaper counts them.
    pub bytes: u64,
    /// Packets that left.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Times the shaper held back a packet.
    pub overlimits: u64,
    /// Packets that were put back.
    pub requeues: u64,
    /// Bytes that wait.
    pub backlog: u64,
    /// Packets that wait.
    pub qlen: u32,
    /// Packets marked.
    pub marks: u64,
    /// Drops by reason.
    pub reasons: BTreeMap<DropReason, u64>,
}

/// Counters of one discipline, in its own words.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    marks: u64,
    /// Drops of the law on arrival, by the limit, and of ACKs. The others are drops of the law on departure.
    aqm: u64,
    limit: u64,
    acks: u64,
}

impl Kernel {
    /// Counters of the queues of `device`. The counters of disciplines that hold others are left out, but for those of the shaper.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn counters(&mut self, device: &str) -> Result<Counters, KernelError> {
        let ifindex = self.index(device)?;
        let request = Request::new().op_getqdisc_dump(&Tcmsg { ifindex, ..Tcmsg::new() });
        let other = |error: netlink_socket2::ReplyError| KernelError::Other(error.to_string());
        let mut reply =
            self.socket.request(&request).map_err(|error| KernelError::Other(error.to_string()))?;
        let mut sum = Counters::default();
        while let Some((header, attributes)) = reply.recv().transpose().map_err(other)? {
            if header.ifindex != ifindex {
                continue;
            }
            let (Ok(kind), Ok(stats)) = (attributes.get_kind(), attributes.get_stats2()) else { continue };
            let kind = kind.to_str().unwrap_or_default();
            let Ok(queue) = stats.get_queue() else { continue };
            sum.overlimits += u64::from(queue.overlimits);
            if HOLDERS.contains(&kind) {
                continue;
            }
            let basic = stats.get_basic().unwrap_or_default();
            sum.bytes += basic.bytes;
            sum.packets += stats.get_pkt64().unwrap_or_else(|_| basic.packets.into());
            sum.requeues += u64::from(queue.requeues);
            sum.backlog += u64::from(queue.backlog);
            sum.qlen += queue.qlen;
            let (drops, own) = (u64::from(queue.drops), own(&stats));
            sum.drops += drops;
            sum.marks += own.marks;
            let full = if matches!(kind, "fq_codel" | "fq_pie" | "cake") {
                DropReason::Overlimit
            } else {
                DropReason::Tail
            };
            let counted =
                [(DropReason::AqmEnqueue, own.aqm), (full, own.limit), (DropReason::AckFilter, own.acks)];
            let known: u64 = counted.iter().map(|(_, count)| count).sum();
            let rest = if LAWS_AT_DEPARTURE.contains(&kind) { DropReason::AqmDequeue } else { full };
            for (reason, count) in counted.into_iter().chain([(rest, drops.saturating_sub(known))]) {
                if count > 0 {
                    *sum.reasons.entry(reason).or_default() += count;
                }
            }
        }
        Ok(sum)
    }
}

fn own(stats: &IterableTcaStatsAttrs<'_>) -> Own {
    let Ok(app) = stats.get_app() else { return Own::default() };
    match app {
        TcaStatsAppMsg::Codel(own) => {
            Own { marks: own.ecn_mark.into(), limit: own.drop_overlimit.into(), ..Own::default() }
        }
        TcaStatsAppMsg::FqCodel(own) => {
            Own { marks: own.ecn_mark.into(), limit: own.drop_overlimit.into(), ..Own::default() }
        }
        TcaStatsAppMsg::Pie(own) => Own {
            marks: own.ecn_mark.into(),
            aqm: own.dropped.into(),
            limit: own.overlimit.into(),
            ..Own::default()
        },
        TcaStatsAppMsg::FqPie(own) => Own {
            marks: own.ecn_mark.into(),
            aqm: own.dropped.into(),
            limit: own.overlimit.into(),
            ..Own::default()
        },
        TcaStatsAppMsg::Cake(own) => {
            let mut sum = Own::default();
            for tin in own.get_tin_stats().into_iter().flatten() {
                sum.marks += u64::from(tin.get_ecn_marked_packets().unwrap_or(0));
                sum.acks += u64::from(tin.get_acks_dropped_packets().unwrap_or(0));
            }
            sum
        }
        TcaStatsAppMsg::Dualpi2(own) => Own { marks: own.ecn_mark.into(), ..Own::default() },
        _ => Own::default(),
    }
}

/// Disciplines that hold others, or no packet.
const HOLDERS: [&str; 7] = ["htb", "prio", "drr", "mq", "noqueue", "ingress", "clsact"];
/// Disciplines that drop by a law when a packet leaves.
const LAWS_AT_DEPARTURE: [&str; 3] = ["codel", "fq_codel", "cake"];
