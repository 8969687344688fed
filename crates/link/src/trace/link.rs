//! A link whose rate follows a trace. It repeats the trace and counts the time of the trace from the start of the run.

use alloc::format;
use gamelane_core::loss::Loss;
use gamelane_core::{Duration, Instant, PacketMeta, Seed, Stream};
use gamelane_qdisc::Backlog;

use super::RateTrace;
use super::opportunities::{OPPORTUNITY, Opportunities};
use super::pieces::RatePieces;
use crate::config::LinkConfig;
use crate::link::{Flight, Link, PortId};
use crate::wired::draw_jitter;

/// One direction of a link whose rate follows a trace. The link has one port.
#[derive(Debug)]
pub struct TraceLink {
    clock: Clock,
    config: LinkConfig,
    loss: Loss,
    jitter: Stream,
    waiting: bool,
}

#[derive(Debug)]
enum Clock {
    Opportunities {
        trace: Opportunities,
        /// Number of the opportunity that is in use or comes next, counted through repeats of the trace.
        number: u64,
        /// Bytes that this opportunity has left.
        left: u64,
    },
    Pieces {
        trace: RatePieces,
        free_at: Instant,
    },
}

impl TraceLink {
    /// Makes an idle link. It ignores the rate in `config`. With opportunities it also ignores the overhead and counts
    /// mahimahi's 4 B per packet instead. The names of random streams begin with `path`.
    pub fn new(trace: RateTrace, config: LinkConfig, seed: Seed, path: &str) -> Self {
        let clock = match trace {
            RateTrace::Opportunities(trace) => Clock::Opportunities { trace, number: 0, left: OPPORTUNITY },
            RateTrace::Pieces(trace) => Clock::Pieces { trace, free_at: Instant::ZERO },
        };
        let loss = Loss::new(config.loss, seed.stream(&format!("{path}/loss")));
        let jitter = seed.stream(&format!("{path}/jitter"));
        Self { clock, config, loss, jitter, waiting: false }
    }
}

impl Clock {
    /// Starts sending after an idle time. Opportunities up to and including `now` have passed unused.
    fn wake(&mut self, now: Instant) {
        if let Self::Opportunities { trace, number, left } = self
            && trace.at(*number) <= now
        {
            *number = trace.first_after(now);
            *left = OPPORTUNITY;
        }
    }

    /// Time at which the next packet may start.
    fn free_at(&self) -> Instant {
        match self {
            Self::Opportunities { trace, number, .. } => trace.at(*number),
            Self::Pieces { free_at, .. } => *free_at,
        }
    }

    /// Sends a packet and returns the time at which its last byte has passed.
    fn send(&mut self, frame: &PacketMeta, config: &LinkConfig, now: Instant) -> Instant {
        match self {
            Self::Opportunities { trace, number, left } => {
                let mut cost = Opportunities::cost(frame.len);
                while cost > *left {
                    cost -= *left;
                    (*number, *left) = (*number + 1, OPPORTUNITY);
                }
                let passed = trace.at(*number);
                *left -= cost;
                if *left == 0 {
                    (*number, *left) = (*number + 1, OPPORTUNITY);
                }
                passed
            }
            Self::Pieces { trace, free_at } => {
                *free_at = trace.pass(config.overhead.wire_len(frame.len), now);
                *free_at
            }
        }
    }
}

impl Link for TraceLink {
    fn backlog_changed(&mut self, _port: PortId, waiting: Backlog, now: Instant) {
        let had = core::mem::replace(&mut self.waiting, !waiting.is_empty());
        if self.waiting && !had {
            self.clock.wake(now);
        }
    }

    fn poll_grant(&mut self, now: Instant) -> Option<PortId> {
        (self.waiting && self.clock.free_at() <= now).then_some(PortId(0))
    }

    fn start(&mut self, _port: PortId, frame: &PacketMeta, now: Instant) -> Flight {
        let passed = self.clock.send(frame, &self.config, now);
        if self.loss.loses_next() {
            return Flight::Lost;
        }
        let extra: Duration = self.config.delay + draw_jitter(&mut self.jitter, self.config.jitter);
        Flight::Arrives(passed.saturating_add(extra))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.then(|| self.clock.free_at())
    }
}
