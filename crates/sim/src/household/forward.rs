//! Moves packets through the network and along the paths beyond it.

use gamelane_core::{Direction, Packet};
use gamelane_record::{Recorder, Side};

use super::{Component, Household};
use crate::frames::FrameId;
use crate::network::{PathLosses, Place};
use crate::payload::Tap;

impl<R: Recorder> Household<R> {
    pub(super) fn run_hop(&mut self, hop: usize) {
        let now = self.now;
        self.network.handle_timeout(hop, now, (&mut self.recorder, &mut self.frames));
        while let Some((place, packet)) = self.network.poll_deliver(hop, now) {
            if let Some(windows) = &mut self.windows
                && let Some(direction) = self.network.gateway_at(place)
            {
                windows.note_wait(direction, &packet);
            }
            let (direction, next) = self.network.beyond(place);
            if self.following.is_some() && self.network.gateway_at(place).is_some() {
                self.left_gateway(direction, &packet, next);
            }
            if let Some(next) = next {
                self.enter_hop(next, packet);
                continue;
            }
            self.pass(Tap::after(direction), direction, &packet);
            let flow = packet.meta.flow.index();
            match direction {
                Direction::Up => self.enter_path(flow, direction, packet),
                Direction::Down => self.receive(flow, Side::Client, &packet),
            }
        }
        self.hop_changed(hop);
    }

    pub(super) fn enter_network(&mut self, direction: Direction, packet: Packet<FrameId>) {
        self.pass(Tap::before(direction), direction, &packet);
        self.enter_hop(self.network.entry(direction, packet.meta.flow.index()), packet);
    }

    pub(super) fn enter_hop(&mut self, place: Place, mut packet: Packet<FrameId>) {
        if let Some(classes) = &mut self.classes
            && let Some(direction) = self.network.gateway_at(place)
        {
            classes.assign(direction, &mut packet.meta, self.frames.get(packet.body), self.now);
        }
        if let Some(following) = &mut self.following
            && self.network.gateway_at(place) == Some(Direction::Down)
            && self.network.gateway_holds_downstream()
        {
            following.came(&packet, self.frames.get(packet.body), self.now);
        }
        if let Some(windows) = &mut self.windows
            && let Some(direction) = self.network.gateway_at(place)
        {
            windows.pass(direction, &packet, &mut self.frames, self.network.gateway_waits(), self.now);
        }
        self.network.handle_packet(place, packet, self.now, (&mut self.recorder, &mut self.frames));
        self.hop_changed(place.hop);
    }

    pub(super) fn hop_changed(&mut self, hop: usize) {
        if !self.ended {
            self.network.observe(hop, self.now);
        }
        self.set(Component::Hop(hop), self.network.poll_timeout(hop));
    }

    pub(super) fn run_path(&mut self, flow: usize, direction: Direction) {
        while let Some(packet) = self.flows[flow].paths[direction.index()].poll_deliver(self.now) {
            match direction {
                Direction::Up => self.receive(flow, Side::Server, &packet),
                Direction::Down => self.enter_network(direction, packet),
            }
        }
        self.path_changed(flow, direction);
    }

    pub(super) fn enter_path(&mut self, flow: usize, direction: Direction, packet: Packet<FrameId>) {
        let now = self.now;
        let path = &mut self.flows[flow].paths[direction.index()];
        path.handle_packet(
            packet,
            now,
            &mut PathLosses { recorder: &mut self.recorder, frames: &mut self.frames, direction, now },
        );
        self.path_changed(flow, direction);
    }

    pub(super) fn path_changed(&mut self, flow: usize, direction: Direction) {
        let deadline = self.flows[flow].paths[direction.index()].poll_timeout();
        self.set(Component::Path { flow, direction }, deadline);
    }
}
