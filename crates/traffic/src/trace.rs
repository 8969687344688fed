//! Replay of a recorded UDP flow: sizes and times as captured, shifted to the start of the schedule. It is open loop:
//! the recorded endpoints reacted to their network, but the replay does not react to the simulated one.

use alloc::sync::Arc;
use gamelane_core::Instant;

use crate::app::{AppAction, AppEvent, TrafficSource, Transport};
use crate::config::{Schedule, TraceConfig, TracePacket};
use crate::facts::{AppDescriptor, AppFacts, Group};

/// Recorded flow in the catalogue.
pub const TRACE: AppDescriptor = AppDescriptor {
    word: "trace",
    label: "recorded flow",
    about: "Replay of a recorded UDP flow.",
    keys: &["trace", "client"],
    page: "traffic",
    facts: AppFacts { group: Group::Game, transport: Transport::Udp, server_port: 27_960 },
};

pub(crate) fn build(config: &TraceConfig, schedule: Schedule) -> (Replay, Replay) {
    (Replay::new(config.up.as_slice().into(), schedule), Replay::new(config.down.as_slice().into(), schedule))
}

/// One direction of the recording.
#[derive(Clone, Debug)]
pub struct Replay {
    packets: Arc<[TracePacket]>,
    start: Instant,
    stop: Instant,
    /// Index of the first packet not yet polled.
    next: usize,
    /// Index of the first packet that is not due yet.
    due_end: usize,
}

impl Replay {
    /// Replays `packets`, which must be in order of time, from the start of the schedule.
    pub fn new(packets: Arc<[TracePacket]>, schedule: Schedule) -> Self {
        debug_assert!(packets.is_sorted_by_key(|packet| packet.at), "a recording is in order of time");
        let (start, stop) = schedule.bounds();
        Self { packets, start, stop, next: 0, due_end: 0 }
    }

    fn time_of(&self, packet: &TracePacket) -> Instant {
        self.start.saturating_add(packet.at)
    }
}

impl TrafficSource for Replay {
    fn handle_event(&mut self, _: &AppEvent, _: Instant) {}

    fn poll_action(&mut self, _: Instant) -> Option<AppAction> {
        let packet = self.packets[self.next..self.due_end].first()?;
        self.next += 1;
        Some(AppAction::SendDatagram { payload: packet.payload })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let at = self.time_of(self.packets.get(self.due_end)?);
        (at < self.stop).then_some(at)
    }

    /// Sends all packets that are due, even if the call is late. No packet of a recording is skipped.
    fn handle_timeout(&mut self, now: Instant) {
        let due = |packet: &TracePacket| {
            let at = self.time_of(packet);
            at <= now && at < self.stop
        };
        self.due_end += self.packets[self.due_end..].partition_point(due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Duration;
    use std::vec::Vec;

    fn packet(at_ms: u64, payload: u32) -> TracePacket {
        TracePacket { at: Duration::from_millis(at_ms), payload }
    }

    fn drain(source: &mut Replay, now_ms: u64) -> Vec<u32> {
        let now = Instant::from_millis(now_ms);
        source.handle_timeout(now);
        core::iter::from_fn(|| source.poll_action(now))
            .map(|action| match action {
                AppAction::SendDatagram { payload } => payload,
                other => panic!("{other:?} from a recording"),
            })
            .collect()
    }

    #[test]
    fn packets_leave_as_recorded_until_the_stop() {
        let config = TraceConfig {
            up: [packet(0, 50), packet(33, 51), packet(66, 52), packet(66, 53), packet(99, 54)].into(),
            down: [packet(20, 200)].into(),
        };
        let stop = Some(Duration::from_millis(1099));
        let (mut client, mut server) = build(&config, Schedule { start: Duration::from_secs(1), stop });
        assert_eq!(client.poll_timeout(), Some(Instant::from_secs(1)));
        assert_eq!(server.poll_timeout(), Some(Instant::from_millis(1020)));
        assert_eq!(drain(&mut client, 999), []);
        assert_eq!(drain(&mut client, 1000), [50]);
        assert_eq!(drain(&mut client, 1070), [51, 52, 53]);
        // The packet at 1099 ms would leave exactly at the stop.
        assert_eq!(client.poll_timeout(), None);
        assert_eq!(drain(&mut client, 2000), []);
        assert_eq!(drain(&mut server, 1020), [200]);
        assert_eq!(server.poll_timeout(), None);
    }
}
