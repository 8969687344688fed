//! A hop: a link, and for each port of the link a queue and the packets in flight. The hop asks a queue for a packet
//! only when the medium is free for it. So at most one packet is below the queue, and the queue controls the delay.

use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, DropReason, HopCounters, Instant, MarkReason, Outlet, Packet, PacketMeta};
use gamelane_qdisc::{AnyQueue, Backlog, QueueDiscipline};

use crate::delay_line::DelayLine;
use crate::link::{AnyLink, Flight, Link, PortId};

/// A link with the queues that share it; a wired link has one queue. Drivers call it in the order of `gamelane_core`:
/// timeouts, then [`Hop::poll_deliver`] until `None`, then arrivals.
#[derive(Debug)]
pub struct Hop<B> {
    link: AnyLink,
    ports: Vec<Port<B>>,
}

/// Receives the packets that a hop drops or marks, with the port.
pub trait HopOutlet<B> {
    /// Takes a dropped or lost `packet`.
    fn dropped(&mut self, port: PortId, packet: Packet<B>, reason: DropReason);

    /// Learns that the packet with this metadata was marked.
    fn marked(&mut self, _port: PortId, _meta: &PacketMeta, _reason: MarkReason) {}
}

#[derive(Debug)]
struct Port<B> {
    queue: AnyQueue<B>,
    /// Packet that left the queue but is not fully sent; the next grant is for it.
    kept: Option<Packet<B>>,
    /// Time at which a shaped queue lets its next packet go; `None` if the queue holds nothing back.
    held_until: Option<Instant>,
    line: DelayLine<B>,
    counters: HopCounters,
}

impl<B> Port<B> {
    /// Backlog to report to the link: a kept packet, and the queue unless its shaper holds packets back.
    fn offered(&mut self, now: Instant) -> Backlog {
        let mut waiting = Backlog::default();
        self.held_until = None;
        match self.queue.ready_at() {
            Some(at) if at > now => self.held_until = Some(at),
            Some(_) => waiting = self.queue.backlog(),
            None => {}
        }
        if let Some(packet) = &self.kept {
            waiting.packets += 1;
            waiting.bytes += packet.meta.len.bytes();
        }
        waiting
    }
}

impl<B> Hop<B> {
    /// Makes an idle hop with one queue for each port of `link`.
    pub fn new(queues: impl IntoIterator<Item = AnyQueue<B>>, link: impl Into<AnyLink>) -> Self {
        let port = |queue| Port {
            queue,
            kept: None,
            held_until: None,
            line: DelayLine::new(),
            counters: HopCounters::default(),
        };
        Self { link: link.into(), ports: queues.into_iter().map(port).collect() }
    }

    /// Takes a packet into the queue of `port`.
    pub fn handle_packet(
        &mut self,
        port: PortId,
        packet: Packet<B>,
        now: Instant,
        out: &mut dyn HopOutlet<B>,
    ) {
        let own = &mut self.ports[port.index()];
        own.counters.arrived += 1;
        own.queue.enqueue(packet, now, &mut Counting { counters: &mut own.counters, port, out });
        self.link.backlog_changed(port, own.offered(now), now);
        self.serve(now, out);
    }

    /// Does the periodic work of the queues and lets the link take packets. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut dyn HopOutlet<B>) {
        for (port, own) in (0..).map(PortId).zip(&mut self.ports) {
            own.queue.handle_timeout(now);
            if own.held_until.is_some() {
                self.link.backlog_changed(port, own.offered(now), now);
            }
        }
        self.serve(now, out);
    }

    /// Returns the next packet that has reached the far end by `now`, with its port. Call it until it returns `None`.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<(PortId, Packet<B>)> {
        (0..).map(PortId).zip(&mut self.ports).find_map(|(port, own)| {
            let packet = own.line.pop_arrived(now)?;
            own.counters.delivered += 1;
            Some((port, packet))
        })
    }

    /// Time of the next call of [`Hop::handle_timeout`] or [`Hop::poll_deliver`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.ports.iter().fold(self.link.poll_timeout(), |at, port| {
            let queue = earliest(port.held_until, port.queue.poll_timeout());
            earliest(at, earliest(port.line.next_arrival(), queue))
        })
    }

    /// The link, for counters that only it has.
    pub const fn link(&self) -> &AnyLink {
        &self.link
    }

    /// Sets the rate of a wired link from the next packet on, and of queues that have the same rate.
    ///
    /// # Panics
    ///
    /// If the link is not wired: the rate of other links comes from their model.
    pub fn set_rate(&mut self, rate: Bitrate) {
        let AnyLink::Wired(link) = &mut self.link else { panic!("`set_rate` works on wired links only") };
        link.set_rate(rate);
        self.ports.iter_mut().for_each(|port| port.queue.set_rate(rate));
    }

    /// Number of ports.
    pub fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Packets and bytes that wait in the queue of a port.
    pub fn backlog(&self, port: PortId) -> Backlog {
        self.ports[port.index()].queue.backlog()
    }

    /// Packet counters of a port.
    pub fn counters(&self, port: PortId) -> &HopCounters {
        &self.ports[port.index()].counters
    }

    /// Number of packets of a port in its queue, partly sent, or in flight.
    pub fn inside(&self, port: PortId) -> u64 {
        let own = &self.ports[port.index()];
        u64::from(own.queue.backlog().packets) + u64::from(own.kept.is_some()) + own.line.len() as u64
    }

    /// Moves packets from the queues to the medium while it is free.
    fn serve(&mut self, now: Instant, out: &mut dyn HopOutlet<B>) {
        while let Some(port) = self.link.poll_grant(now) {
            let own = &mut self.ports[port.index()];
            let packet = own.kept.take().or_else(|| {
                let mut out = Counting { counters: &mut own.counters, port, out };
                let mut packet = own.queue.dequeue(now, &mut out)?;
                packet.meta.waited += now.saturating_since(packet.meta.queued_at);
                Some(packet)
            });
            let Some(packet) = packet else {
                // The queue dropped all its packets, or its shaper holds them back.
                self.link.backlog_changed(port, own.offered(now), now);
                continue;
            };
            match self.link.start(port, &packet.meta, now) {
                Flight::Arrives(at) => own.line.push(packet, at),
                Flight::Kept => own.kept = Some(packet),
                Flight::Lost => {
                    Counting { counters: &mut own.counters, port, out }.dropped(packet, DropReason::Link)
                }
            }
            self.link.backlog_changed(port, own.offered(now), now);
        }
    }
}

/// Outlet that counts drops and marks before it hands them on.
struct Counting<'a, B> {
    counters: &'a mut HopCounters,
    port: PortId,
    out: &'a mut dyn HopOutlet<B>,
}

impl<B> Outlet<B> for Counting<'_, B> {
    fn dropped(&mut self, packet: Packet<B>, reason: DropReason) {
        self.counters.dropped.add(reason);
        self.out.dropped(self.port, packet, reason);
    }

    fn marked(&mut self, meta: &PacketMeta, reason: MarkReason) {
        self.counters.marked += 1;
        self.out.marked(self.port, meta, reason);
    }
}

#[cfg(test)]
mod tests;
