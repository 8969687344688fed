//! CAKE's shaper, and what dropped packets cost in ingress mode.

use gamelane_core::{Bitrate, DropReason, Instant, IpLen, MarkReason, Outlet, Overhead, Packet, PacketMeta};

use super::tin::Threshold;
use crate::pacer::Pacer;

/// When the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    pacer: Pacer,
    /// In ingress mode, a second clock at two thirds of the rate. It counts only sent packets. The earlier clock decides
    /// (`failsafe_next_packet`).
    failsafe: Option<Pacer>,
}

impl Shaper {
    pub(super) fn new(rate: Bitrate, overhead: Overhead, ingress: bool) -> Self {
        let failsafe = ingress.then(|| Pacer::new(two_thirds(rate), overhead));
        Self { pacer: Pacer::new(rate, overhead), failsafe }
    }

    pub(super) fn set_rate(&mut self, rate: Bitrate) {
        self.pacer.set_rate(rate);
        if let Some(failsafe) = &mut self.failsafe {
            failsafe.set_rate(two_thirds(rate));
        }
    }

    /// Time from which the next packet may be sent.
    pub(super) fn next(&self) -> Instant {
        let next = self.pacer.next();
        self.failsafe.map_or(next, |failsafe| next.min(failsafe.next()))
    }

    /// Learns that a packet arrived while none waited. Idle time gives no credit.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.pacer.wake(now)
            && let Some(failsafe) = &mut self.failsafe
        {
            failsafe.restart(now);
        }
    }

    /// Accounts for a packet of `len` sent at `now`.
    pub(super) fn sent(&mut self, len: IpLen, now: Instant) {
        self.pacer.charge(len, now);
        if let Some(failsafe) = &mut self.failsafe {
            failsafe.charge(len, now);
        }
    }

    /// Accounts for a packet of `len` dropped at `now`.
    fn dropped(&mut self, len: IpLen, now: Instant) {
        self.pacer.charge(len, now);
    }
}

/// At this rate a packet takes 1.5 times as long.
const fn two_thirds(rate: Bitrate) -> Bitrate {
    Bitrate::from_bps(rate.bps().saturating_mul(2) / 3)
}

/// Charges dropped packets to the clocks of the shaper and of the tin that they were in.
pub(super) struct Charging<'a, B> {
    pub(super) shaper: Option<&'a mut Shaper>,
    pub(super) threshold: &'a mut Threshold,
    /// Deficit of the tin. Only drops of its AQM count (`cake_dequeue`).
    pub(super) deficit: &'a mut i64,
    pub(super) overhead: Overhead,
    pub(super) now: Instant,
    pub(super) out: &'a mut dyn Outlet<B>,
}

impl<B> Outlet<B> for Charging<'_, B> {
    fn dropped(&mut self, packet: Packet<B>, reason: DropReason) {
        let len = self.overhead.wire_len(packet.meta.len);
        if reason == DropReason::AqmDequeue {
            *self.deficit -= len.bytes() as i64;
        }
        self.threshold.charge(len, self.now);
        if let Some(shaper) = &mut self.shaper {
            shaper.dropped(packet.meta.len, self.now);
        }
        self.out.dropped(packet, reason);
    }

    fn marked(&mut self, meta: &PacketMeta, reason: MarkReason) {
        self.out.marked(meta, reason);
    }
}
