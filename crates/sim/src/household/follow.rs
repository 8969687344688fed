//! Shapers that follow their link, in the event loop: what they see, when they decide, and their probes.

use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{Direction, Ecn, IpLen, Packet};
use gamelane_record::{Recorder, Side};

use super::{Component, Household};
use crate::frames::FrameId;
use crate::network::Place;
use crate::payload::Content;

/// UDP payload of a probe and of its answer.
pub(super) const PROBE: u32 = 36;
/// IP length of a probe: 64 B.
pub(super) const PROBE_LEN: IpLen = IpLen(PROBE + IPV4_HEADER + UDP_HEADER);

impl<R: Recorder> Household<R> {
    /// Takes a packet that left one of the gateway's queues.
    pub(super) fn left_gateway(
        &mut self,
        direction: Direction,
        packet: &Packet<FrameId>,
        next: Option<Place>,
    ) {
        let Some(following) = &mut self.following else { return };
        let (payload, now) = (self.frames.get(packet.body), self.now);
        following.left(direction, packet, payload, now);
        match (direction, next) {
            (Direction::Up, Some(modem)) => following.below(self.network.waiting(modem), now),
            (Direction::Down, None) if !self.network.gateway_holds_downstream() => {
                following.came(packet, payload, now);
            }
            _ => {}
        }
        for direction in Direction::BOTH {
            self.following_changed(direction);
        }
    }

    /// Lets a shaper decide, sets its rate, and sends a probe if it asks for one.
    pub(super) fn follow(&mut self, direction: Direction) {
        let Some(following) = &mut self.following else { return };
        let probe = following.handle_timeout(direction, self.now);
        if let Some(rate) = following.rate(direction) {
            self.network.shape(direction, rate);
        }
        let lane = following.probes().filter(|_| probe);
        self.following_changed(direction);
        let Some(lane) = lane else { return };
        let packet = self.packet(lane, Side::Client, Content::Datagram(PROBE), PROBE_LEN, Ecn::NotEct);
        let exit = self.network.gateway_exit();
        if self.network.gateway_at(exit).is_none()
            && let Some(following) = &mut self.following
        {
            following.probe_left(self.frames.get(packet.body).number, self.now);
        }
        self.enter_hop(exit, packet);
    }

    pub(super) fn following_changed(&mut self, direction: Direction) {
        let deadline = self.following.as_ref().and_then(|following| following.poll_timeout(direction));
        let deadline = deadline.filter(|_| !self.ended);
        self.set(Component::Follower(direction), deadline);
    }
}
