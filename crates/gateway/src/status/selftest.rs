//! Measures each second whether the shaper reaches its rate, and what bypasses it: what left through the shaper, and what the
//! kernel counts as sent by the interface. The difference was sent by others.

use std::fs;
use std::path::Path;

use gamelane_core::{Bitrate, Direction, Duration, Instant};
use gamelane_device::EngineCounters;
use gamelane_policy::Policy;

use super::shaper::ShaperStatus;
use crate::gateway::Gateway;

/// Compares counters each second.
#[derive(Debug)]
pub struct SelfTest {
    since: Instant,
    before: [Reading; 2],
    /// Whether packets waited at every look in the current second.
    busy: [bool; 2],
    result: [ShaperStatus; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    /// Bytes that left through the shaper, framing included.
    shaped: u64,
    /// Bytes of frames that the gateway sent.
    sent: u64,
    /// Bytes of frames that the interface sent.
    interface: u64,
}

const SECOND: Duration = Duration::from_secs(1);

impl SelfTest {
    /// Starts to measure.
    pub fn new(now: Instant) -> Self {
        Self { since: now, before: [Reading::default(); 2], busy: [true; 2], result: Default::default() }
    }

    /// Takes a look, about five times a second.
    pub fn look(
        &mut self,
        gateway: &Gateway,
        policy: &Policy,
        engine: &EngineCounters,
        names: [&str; 2],
        now: Instant,
    ) {
        for direction in Direction::BOTH {
            self.busy[direction.index()] &= !gateway.backlog(direction).is_empty();
        }
        let span = now.saturating_since(self.since);
        if span < SECOND {
            return;
        }
        for direction in Direction::BOTH {
            let index = direction.index();
            // Frames that go up leave by the other interface.
            let reading = Reading {
                shaped: gateway.account(direction).wire_bytes,
                sent: engine.sent_bytes[index],
                interface: interface_bytes(names[direction.reverse().index()]),
            };
            let before = std::mem::replace(&mut self.before[index], reading);
            let per_second = |bytes: u64| (bytes as f64 * 8.0 / span.as_secs_f64()) as u64;
            let own = reading.sent - before.sent;
            let all = reading.interface.saturating_sub(before.interface);
            self.result[index] = ShaperStatus {
                rate_bps: gateway.shaped_to(direction, policy).map(Bitrate::bps),
                measured_bps: per_second(reading.shaped - before.shaped),
                busy: self.busy[index],
                bypass_bps: if before.interface == 0 { 0 } else { per_second(all.saturating_sub(own)) },
            };
            self.busy[index] = true;
        }
        self.since = now;
    }

    /// Result of the last whole second, indexed by [`Direction::index`].
    pub const fn result(&self) -> &[ShaperStatus; 2] {
        &self.result
    }
}

/// Bytes that an interface has sent; 0 if unknown.
fn interface_bytes(name: &str) -> u64 {
    let path = Path::new("/sys/class/net").join(name).join("statistics/tx_bytes");
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}
