//! The DOCSIS channel, one MAP interval at a time: requests that contend and collide, and grants in the order of the
//! requests. Neighbours are modems with Poisson arrivals and no rate limit.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::{Duration, Instant, Seed, Stream};

use super::MAC_HEADER;
use super::config::DocsisConfig;
use crate::overhead::Overhead;

/// Index of our modem among the modems of the channel.
const OURS: usize = 0;
/// Number of past intervals that still matter. After a longer idle time the channel starts again this many intervals
/// before the present.
const MEMORY: u64 = 64;

#[derive(Debug)]
pub(super) struct Channel {
    shape: Shape,
    /// Number of the next interval.
    interval: u64,
    modems: Vec<Modem>,
    /// Requests in the order in which the CMTS reads them.
    requests: Vec<Request>,
    /// Requests of the present interval: opportunity and index of the modem.
    trying: Vec<(u32, usize)>,
    backoff: Stream,
    arrivals: Stream,
}

/// The configuration, converted to the units of an interval.
#[derive(Debug)]
struct Shape {
    interval: Duration,
    minislot: Duration,
    lead: Duration,
    /// Time from the end of a request at the modem until the CMTS has read it.
    reading: Duration,
    contention: u32,
    first: u32,
    last: u32,
    tries: u32,
    /// Bytes per minislot.
    slot_bytes: u64,
    /// Minislots for data per interval.
    data_slots: u64,
    /// Probability that no packet arrives at the neighbours in an interval: e^-m, where m is the mean number of
    /// packets.
    silence: f64,
    /// Bytes on the channel of one packet of a neighbour.
    packet: u64,
}

#[derive(Clone, Debug)]
struct Modem {
    state: State,
    /// Backlog of a neighbour in bytes on the channel.
    backlog: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Has no request.
    Quiet,
    /// In contention: from interval `from` on it lets `skip` opportunities pass, then sends a request.
    Contending { skip: u32, from: u64, exponent: u32, tries: u32 },
    /// Has sent a request and waits for the grant.
    Asked,
    /// Gave up after too many collisions.
    GaveUp,
}

#[derive(Debug)]
struct Request {
    modem: usize,
    bytes: u64,
    read_at: Instant,
}

/// A grant for our modem.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) at: Instant,
    pub(super) bytes: u64,
    pub(super) complete: bool,
}

impl Channel {
    pub(super) fn new(config: &DocsisConfig, seed: Seed, path: &str) -> Self {
        let slot_bytes = config.channel.bytes_in(config.minislot).bytes().max(1);
        let slots = config.map_interval.as_nanos() / config.minislot.as_nanos();
        let data_slots = slots.saturating_sub(u64::from(config.contention)).max(1);
        let neighbours = config.neighbours;
        let packet = Overhead::Docsis.wire_len(neighbours.packet).bytes() + u64::from(MAC_HEADER);
        let mean = neighbours.load * (data_slots * slot_bytes) as f64 / packet as f64;
        let modem = Modem { state: State::Quiet, backlog: 0 };
        Self {
            shape: Shape {
                interval: config.map_interval,
                minislot: config.minislot,
                lead: config.map_lead,
                reading: config.delay + config.processing,
                contention: config.contention,
                first: config.backoff_start,
                last: config.backoff_end,
                tries: config.tries,
                slot_bytes,
                data_slots,
                silence: if neighbours.modems == 0 { 1.0 } else { libm::exp(-mean) },
                packet,
            },
            interval: 0,
            modems: vec![modem; 1 + neighbours.modems as usize],
            requests: Vec::new(),
            trying: Vec::new(),
            backoff: seed.stream(&format!("{path}/backoff")),
            arrivals: seed.stream(&format!("{path}/neighbours")),
        }
    }

    /// Skips the intervals that are more than [`MEMORY`] intervals ago.
    pub(super) fn skip_to(&mut self, now: Instant) {
        let present = now.as_nanos() / self.shape.interval.as_nanos();
        if present <= self.interval + MEMORY {
            return;
        }
        self.interval = present - MEMORY;
        self.requests.clear();
        for modem in &mut self.modems {
            *modem = Modem { state: State::Quiet, backlog: 0 };
        }
    }

    /// Time from the end of a request to the earliest possible grant.
    pub(super) fn soonest_grant(&self) -> Duration {
        self.shape.reading + self.shape.lead
    }

    /// Returns the start of the next interval if that has begun by `now`. Then [`Channel::run_interval`] is due.
    pub(super) fn next_interval(&self, now: Instant) -> Option<Instant> {
        Some(self.start(self.interval)).filter(|start| *start <= now)
    }

    /// Runs the next interval: its grants, its requests, and the arrivals at the neighbours. `wanted` is the number of
    /// bytes that our modem would request. Returns the grant for our modem, if there is one.
    pub(super) fn run_interval(&mut self, wanted: u64) -> Option<Given> {
        let interval = self.interval;
        let start = self.start(interval);
        self.interval += 1;
        let ours = &mut self.modems[OURS].state;
        match ours {
            State::Quiet if wanted > 0 => *ours = contending(&self.shape, &mut self.backoff, interval),
            State::Contending { .. } if wanted == 0 => *ours = State::Quiet,
            _ => {}
        }
        let given = self.give_grants(start);
        self.take_requests(interval, start, wanted);
        self.neighbours_packets(interval + 1);
        given
    }

    /// Requests `bytes` for our modem in a frame that ends at `end`. Each later frame of the same grant replaces the
    /// request.
    pub(super) fn piggy_back(&mut self, bytes: u64, end: Instant) {
        self.requests.retain(|request| request.modem != OURS);
        self.modems[OURS].state = if bytes == 0 { State::Quiet } else { State::Asked };
        if bytes > 0 {
            self.read(OURS, bytes, end);
        }
    }

    /// Returns whether our modem gave up after too many collisions. Its packet is then lost.
    pub(super) fn gave_up(&self) -> bool {
        self.modems[OURS].state == State::GaveUp
    }

    /// Lets our modem continue with its next packet after it gave up.
    pub(super) fn start_over(&mut self) {
        self.modems[OURS].state = State::Quiet;
    }

    /// Time of the next event for our modem. It has packets waiting and may send a request from `allowed_at` on.
    pub(super) fn next_deadline(&self, allowed_at: Instant) -> Instant {
        match self.modems[OURS].state {
            State::Quiet => {
                let interval = allowed_at.as_nanos().div_ceil(self.shape.interval.as_nanos());
                self.start(interval.max(self.interval))
            }
            State::Contending { .. } | State::Asked => self.start(self.interval),
            State::GaveUp => Instant::ZERO,
        }
    }

    fn start(&self, interval: u64) -> Instant {
        Instant::ZERO + self.shape.interval * interval
    }

    /// Grants the requests that the MAP includes, in order, until the interval is full.
    fn give_grants(&mut self, start: Instant) -> Option<Given> {
        let settled = Instant::from_nanos(start.as_nanos().saturating_sub(self.shape.lead.as_nanos()));
        let mut given = None;
        let mut used = 0;
        while let Some(request) = self.requests.first_mut().filter(|request| request.read_at <= settled) {
            let slots = request.bytes.div_ceil(self.shape.slot_bytes).min(self.shape.data_slots - used);
            if slots == 0 {
                break;
            }
            let at = start + self.shape.minislot * (u64::from(self.shape.contention) + used);
            used += slots;
            let bytes = slots * self.shape.slot_bytes;
            request.bytes = request.bytes.saturating_sub(bytes);
            let (modem, complete) = (request.modem, request.bytes == 0);
            if complete {
                self.requests.remove(0);
            }
            if modem == OURS {
                given = Some(Given { at, bytes, complete });
                if complete {
                    self.modems[OURS].state = State::Quiet;
                }
                continue;
            }
            let own = &mut self.modems[modem];
            own.backlog = own.backlog.saturating_sub(bytes);
            if complete && own.backlog > 0 {
                let bytes = own.backlog;
                self.read(modem, bytes, at + self.shape.minislot * slots);
            } else if complete {
                own.state = State::Quiet;
            }
        }
        given
    }

    /// Sends the contention requests of an interval. A request alone in its opportunity is received; two or more in one
    /// opportunity collide.
    fn take_requests(&mut self, interval: u64, start: Instant, wanted: u64) {
        self.trying.clear();
        for (index, modem) in self.modems.iter_mut().enumerate() {
            if let State::Contending { skip, from, .. } = &mut modem.state
                && *from <= interval
            {
                if *skip < self.shape.contention {
                    self.trying.push((*skip, index));
                } else {
                    *skip -= self.shape.contention;
                }
            }
        }
        self.trying.sort_unstable();
        for at in 0..self.trying.len() {
            let (opportunity, modem) = self.trying[at];
            let alone = |other: Option<&(u32, usize)>| other.is_none_or(|(taken, _)| *taken != opportunity);
            let before = at.checked_sub(1).and_then(|before| self.trying.get(before));
            let heard = alone(before) && alone(self.trying.get(at + 1));
            let end = start + self.shape.minislot * u64::from(opportunity + 1);
            if heard {
                let bytes = if modem == OURS { wanted } else { self.modems[modem].backlog };
                self.modems[modem].state = State::Asked;
                self.read(modem, bytes, end);
            } else {
                self.collided(modem, end);
            }
        }
    }

    /// Doubles the backoff window after a collision. The modem notices the collision when the MAP in which it expected
    /// a grant has none, and contends again from then on.
    fn collided(&mut self, modem: usize, end: Instant) {
        let own = &mut self.modems[modem];
        let State::Contending { exponent, tries, .. } = own.state else { return };
        if tries + 1 >= self.shape.tries {
            own.state = if modem == OURS { State::GaveUp } else { State::Quiet };
            own.backlog = 0;
            return;
        }
        let exponent = (exponent + 1).min(self.shape.last);
        let known = end + self.shape.reading + self.shape.lead;
        own.state = State::Contending {
            skip: self.backoff.below(1 << exponent) as u32,
            from: known.as_nanos().div_ceil(self.shape.interval.as_nanos()),
            exponent,
            tries: tries + 1,
        };
    }

    /// Adds the packets that arrive at the neighbours in an interval. Their modems contend from interval `next` on.
    fn neighbours_packets(&mut self, next: u64) {
        // Knuth's method for Poisson numbers: count uniform draws until their product is below e^-mean.
        let mut product = self.shape.silence;
        if product >= 1.0 {
            return;
        }
        product = self.arrivals.open_unit();
        while product > self.shape.silence {
            let modem = 1 + self.arrivals.below(self.modems.len() as u64 - 1) as usize;
            let own = &mut self.modems[modem];
            own.backlog += self.shape.packet;
            if own.state == State::Quiet {
                own.state = contending(&self.shape, &mut self.arrivals, next);
            }
            product *= self.arrivals.open_unit();
        }
    }

    /// Adds a request that ends at `end` at the modem, in the order in which the CMTS reads requests.
    fn read(&mut self, modem: usize, bytes: u64, end: Instant) {
        let read_at = end + self.shape.reading;
        let place = self.requests.partition_point(|request| request.read_at <= read_at);
        self.requests.insert(place, Request { modem, bytes, read_at });
    }
}

fn contending(shape: &Shape, backoff: &mut Stream, from: u64) -> State {
    State::Contending { skip: backoff.below(1 << shape.first) as u32, from, exponent: shape.first, tries: 0 }
}
