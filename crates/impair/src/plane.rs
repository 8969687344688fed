//! Frames of both directions on impaired paths. Frames without IP, such as ARP, are impaired like the others: a network that loses
//! 10 % of its packets loses 10 % of all of them.

use gamelane_core::time::earliest;
use gamelane_core::{Direction, DropReason, Instant, Outlet, Packet, Seed};
use gamelane_device::{FrameId, Frames, Headers, Plane};
use gamelane_link::impair::{ImpairConfig, ImpairCounters, ImpairOutlet, Impairment};

/// Two paths, one each way.
#[derive(Debug)]
pub struct Impaired {
    paths: [Impairment<FrameId>; 2],
    missed: [Missed; 2],
}

/// Frames lost outside of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Frames lost because the pool was full.
    pub no_room: u64,
    /// Frames that the interface refused.
    pub not_sent: u64,
}

impl Impaired {
    /// Makes empty paths. `configs` is indexed by [`Direction::index`].
    pub fn new(configs: [ImpairConfig; 2], seed: Seed) -> Self {
        let [up, down] = configs;
        let paths = [Impairment::new(up, seed, "impair/up"), Impairment::new(down, seed, "impair/down")];
        Self { paths, missed: Default::default() }
    }

    /// Changes the impairment from now on; see [`Impairment::set`].
    pub fn set(&mut self, configs: [ImpairConfig; 2], frames: &mut Frames, now: Instant) {
        for (path, config) in self.paths.iter_mut().zip(configs) {
            path.set(config, now, &mut Pool(frames));
        }
    }

    /// Counters of one direction.
    pub const fn counters(&self, direction: Direction) -> &ImpairCounters {
        self.paths[direction.index()].counters()
    }

    /// Frames of one direction lost outside of the path.
    pub const fn missed(&self, direction: Direction) -> Missed {
        self.missed[direction.index()]
    }

    /// Frames on the path.
    pub fn inside(&self, direction: Direction) -> u64 {
        self.paths[direction.index()].inside()
    }
}

impl Plane for Impaired {
    fn handle_frame(&mut self, direction: Direction, frame: FrameId, frames: &mut Frames, now: Instant) {
        let bytes = frames.bytes(frame);
        let meta = Headers::parse(bytes).meta(bytes, now);
        let packet = Packet { meta, body: frame };
        self.paths[direction.index()].handle_packet(packet, now, &mut Pool(frames));
    }

    fn poll_transmit(&mut self, direction: Direction, frames: &mut Frames, now: Instant) -> Option<FrameId> {
        let path = &mut self.paths[direction.index()];
        path.handle_timeout(now, &mut Pool(frames));
        path.poll_deliver(now).map(|packet| packet.body)
    }

    fn poll_timeout(&self, blocked: [bool; 2]) -> Option<Instant> {
        let each = |(path, blocked): (&Impairment<FrameId>, bool)| match blocked {
            true => path.next_departure(),
            false => path.poll_timeout(),
        };
        self.paths.iter().zip(blocked).map(each).fold(None, earliest)
    }

    fn handle_timeout(&mut self, frames: &mut Frames, now: Instant) {
        for path in &mut self.paths {
            path.handle_timeout(now, &mut Pool(frames));
        }
    }

    fn no_room(&mut self, direction: Direction) {
        self.missed[direction.index()].no_room += 1;
    }

    fn not_sent(&mut self, direction: Direction) {
        self.missed[direction.index()].not_sent += 1;
    }
}

/// Gives lost frames back to the pool, and takes copies from it.
struct Pool<'a>(&'a mut Frames);

impl Outlet<FrameId> for Pool<'_> {
    fn dropped(&mut self, packet: Packet<FrameId>, _: DropReason) {
        self.0.give_back(packet.body);
    }
}

impl ImpairOutlet<FrameId> for Pool<'_> {
    fn copy(&mut self, packet: &Packet<FrameId>) -> Option<Packet<FrameId>> {
        let body = self.0.duplicate(packet.body)?;
        Some(Packet { meta: packet.meta, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Duration;
    use gamelane_core::loss::LossModel;
    use proptest::prelude::*;

    fn config(ms: u64) -> ImpairConfig {
        ImpairConfig {
            delay: Duration::from_millis(ms),
            loss: LossModel::Random(0.1),
            duplicate: 0.2,
            ..ImpairConfig::default()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        /// With any bytes, more frames than the pool holds, and changes in between, every frame goes back to the pool.
        #[test]
        fn every_frame_goes_back_to_the_pool(
            seed in any::<u64>(),
            steps in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..80), 0u64..5_000), 1..200),
        ) {
            let mut frames = Frames::new(16, 128);
            let mut plane = Impaired::new([config(5), config(9)], Seed(seed));
            let mut now = Instant::ZERO;
            let mut came_out = 0;
            for (number, (up, bytes, gap_us)) in steps.iter().enumerate() {
                now += Duration::from_micros(*gap_us);
                let direction = Direction::BOTH[usize::from(!up)];
                plane.handle_timeout(&mut frames, now);
                match frames.fill([bytes, &[], &[]]) {
                    Some(frame) => plane.handle_frame(direction, frame, &mut frames, now),
                    None => plane.no_room(direction),
                }
                if number % 7 == 0 {
                    plane.set([config(gap_us / 500), config(3)], &mut frames, now);
                }
                for direction in Direction::BOTH {
                    while let Some(frame) = plane.poll_transmit(direction, &mut frames, now) {
                        frames.give_back(frame);
                        came_out += 1;
                    }
                }
            }
            while let Some(at) = plane.poll_timeout([false; 2]) {
                for direction in Direction::BOTH {
                    while let Some(frame) = plane.poll_transmit(direction, &mut frames, at) {
                        frames.give_back(frame);
                        came_out += 1;
                    }
                }
            }
            prop_assert_eq!(frames.taken(), 0);
            let all = Direction::BOTH.map(|direction| *plane.counters(direction));
            prop_assert!(all.iter().all(|counters| counters.balance(0)));
            prop_assert_eq!(came_out, all.iter().map(|counters| counters.hop.delivered).sum::<u64>());
            let missed: u64 = Direction::BOTH.map(|direction| plane.missed(direction).no_room).iter().sum();
            prop_assert_eq!(all.iter().map(|counters| counters.hop.arrived).sum::<u64>() + missed, steps.len() as u64);
        }
    }

    #[test]
    fn a_side_that_takes_nothing_is_no_reason_to_wake() {
        let mut frames = Frames::new(4, 64);
        let mut plane = Impaired::new([ImpairConfig::default(), ImpairConfig::default()], Seed(1));
        let frame = frames.fill([&[0; 60], &[], &[]]).unwrap();
        plane.handle_frame(Direction::Up, frame, &mut frames, Instant::ZERO);
        assert_eq!(plane.poll_timeout([false, false]), Some(Instant::ZERO));
        assert_eq!(plane.poll_timeout([true, false]), None);
    }
}
