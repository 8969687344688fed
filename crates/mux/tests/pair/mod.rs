//! Two ends connected by carriers in virtual time. Bytes take a delay each way, carriers go down and come back, and a
//! seed decides how small the chunks are.

#![allow(unreachable_pub, reason = "modules of a test program have no other reader")]

use gamelane_core::{Duration, Instant, Seed, Stream};
use gamelane_mux::session::Session;
use gamelane_mux::*;
use std::collections::{BTreeMap, VecDeque};

/// Near is 0, far is 1.
pub const NEAR: usize = 0;
pub const FAR: usize = 1;

pub struct Pair {
    pub now: Instant,
    pub ends: [Session<Vec<u8>>; 2],
    /// By carrier, then by receiving end.
    pipes: Vec<[Pipe; 2]>,
    delays: Vec<Duration>,
    kinds: Vec<CarrierKind>,
    pub up: Vec<bool>,
    pub random: Stream,
    /// The budget of every `poll_frame`.
    pub budget: usize,
    pub log: Vec<(Instant, usize, Event<Vec<u8>>)>,
    /// The bytes that each end has read, by stream, and whether it has seen the end.
    pub read: [BTreeMap<StreamId, (Vec<u8>, bool)>; 2],
    /// Streams that an end never reads.
    pub unread: Vec<(usize, StreamId)>,
    /// Datagram loss in thousandths.
    pub loss_permille: u64,
    pub wire: [u64; 2],
}

#[derive(Default)]
struct Pipe {
    flying: VecDeque<(Instant, Vec<u8>)>,
    buffer: Vec<u8>,
}

pub fn config(carriers: u8) -> SessionConfig {
    SessionConfig {
        role: Role::Near,
        mux: MuxConfig { carriers, ..MuxConfig::default() },
        window: 64 << 10,
        ack_delay: Duration::from_millis(25),
        keep_alive: Duration::from_secs(5),
        silence: Duration::from_secs(15),
        resume_window: Duration::from_secs(30),
        max_streams: 1000,
        max_owed: 65_536,
        max_buffered: 64 << 20,
    }
}

impl Pair {
    /// Connects all carriers; `delays` are their one-way delays in milliseconds.
    pub fn new(config: SessionConfig, delays_ms: &[u64], seed: u64) -> Self {
        let mut pair = Self::disconnected(config, delays_ms, seed);
        for carrier in 0..delays_ms.len() {
            pair.connect(carrier as u8);
        }
        pair
    }

    pub fn disconnected(config: SessionConfig, delays_ms: &[u64], seed: u64) -> Self {
        let now = Instant::ZERO;
        let far = SessionConfig { role: Role::Far, ..config };
        Self {
            now,
            ends: [Session::new([7; 16], config, now), Session::new([7; 16], far, now)],
            pipes: delays_ms.iter().map(|_| [Pipe::default(), Pipe::default()]).collect(),
            delays: delays_ms.iter().map(|ms| Duration::from_millis(*ms)).collect(),
            kinds: vec![CarrierKind::Ordered; delays_ms.len()],
            up: vec![false; delays_ms.len()],
            random: Seed(seed).stream("pair"),
            budget: usize::MAX,
            log: Vec::new(),
            read: [BTreeMap::new(), BTreeMap::new()],
            unread: Vec::new(),
            loss_permille: 0,
            wire: [0; 2],
        }
    }

    pub fn connect(&mut self, carrier: u8) {
        let index = usize::from(carrier);
        self.up[index] = true;
        self.pipes[index] = [Pipe::default(), Pipe::default()];
        for end in &mut self.ends {
            end.carrier_connected(CarrierId(carrier), self.kinds[index], self.now);
        }
    }

    /// Disconnects a carrier and loses the bytes in flight.
    pub fn cut(&mut self, carrier: u8) {
        let index = usize::from(carrier);
        self.up[index] = false;
        self.pipes[index] = [Pipe::default(), Pipe::default()];
        for end in &mut self.ends {
            end.carrier_down(CarrierId(carrier), self.now);
        }
    }

    /// Drops all bytes from now on, without telling either end.
    pub fn black_hole(&mut self, carrier: u8) {
        let index = usize::from(carrier);
        self.up[index] = false;
        self.pipes[index] = [Pipe::default(), Pipe::default()];
    }

    /// Drops all bytes from now on, and tells only `end`.
    pub fn cut_at(&mut self, end: usize, carrier: u8) {
        self.black_hole(carrier);
        self.ends[end].carrier_down(CarrierId(carrier), self.now);
    }

    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            self.settle();
            let timers = self.ends.iter().filter_map(Session::poll_timeout);
            let arrivals =
                self.pipes.iter().flatten().filter_map(|pipe| pipe.flying.front().map(|(at, _)| *at));
            let Some(next) = timers.chain(arrivals).min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    /// Handles everything that happens at this instant.
    pub fn settle(&mut self) {
        loop {
            let mut progress = self.deliver();
            for end in [NEAR, FAR] {
                progress |= self.transmit(end);
                progress |= self.events(end);
            }
            if !progress {
                return;
            }
        }
    }

    fn transmit(&mut self, end: usize) -> bool {
        let mut progress = false;
        for carrier in 0..self.pipes.len() {
            while let Some(frame) = self.ends[end].poll_frame(CarrierId(carrier as u8), self.budget, self.now)
            {
                progress = true;
                let mut bytes = Vec::new();
                frame.put_header(&mut bytes);
                bytes.extend(frame.body().into_iter().flatten());
                assert_eq!(bytes.len(), frame.wire_len());
                assert!(bytes.len() <= self.budget || !matches!(frame, Frame::Data { .. }));
                self.wire[end] += bytes.len() as u64;
                let lost = self.kinds[carrier] == CarrierKind::Datagram
                    && self.random.below(1000) < self.loss_permille;
                if self.up[carrier] && !lost {
                    let at = self.now + self.delays[carrier];
                    self.pipes[carrier][1 - end].flying.push_back((at, bytes));
                }
            }
        }
        progress
    }

    fn deliver(&mut self) -> bool {
        let mut progress = false;
        for carrier in 0..self.pipes.len() {
            for end in [NEAR, FAR] {
                let pipe = &mut self.pipes[carrier][end];
                while pipe.flying.front().is_some_and(|(at, _)| *at <= self.now) {
                    let (_, bytes) = pipe.flying.pop_front().unwrap();
                    let cut = self.random.below(bytes.len() as u64) as usize;
                    for chunk in [&bytes[..cut], &bytes[cut..]] {
                        pipe.buffer.extend_from_slice(chunk);
                        while let Parsed::Frame { frame, header } =
                            frame::parse(&pipe.buffer, 1 << 20).expect("our own frames")
                        {
                            let body = header..header + frame.body().map_or(0, Body::len);
                            let frame = frame.map_body(|_| pipe.buffer[body.clone()].to_vec());
                            pipe.buffer.drain(..body.end);
                            let id = CarrierId(carrier as u8);
                            self.ends[end].handle_frame(id, frame, self.now).expect("a peer of ours");
                            progress = true;
                        }
                    }
                }
            }
        }
        progress
    }

    fn events(&mut self, end: usize) -> bool {
        let mut progress = false;
        while let Some(event) = self.ends[end].poll_event() {
            progress = true;
            match &event {
                Event::Readable(stream) => self.drain(end, *stream),
                Event::CarrierSilent(carrier) => {
                    self.up[usize::from(carrier.0)] = false;
                    self.log.push((self.now, end, event));
                }
                _ => self.log.push((self.now, end, event)),
            }
        }
        progress
    }

    /// Reads all available data, except from streams that nobody reads.
    pub fn drain(&mut self, end: usize, stream: StreamId) {
        if self.unread.contains(&(end, stream)) {
            return;
        }
        let size = 1 + self.random.below(5000) as usize;
        let (bytes, ended) = self.read[end].entry(stream).or_default();
        while let Some(part) = self.ends[end].read(stream, size) {
            assert!(!*ended, "nothing comes after the end");
            bytes.extend(part);
        }
        *ended |= self.ends[end].read_end(stream);
    }

    pub fn open(&mut self) -> StreamId {
        let now = self.now;
        self.ends[NEAR].open(b"metadata".to_vec(), now).expect("room")
    }

    pub fn write(&mut self, end: usize, stream: StreamId, bytes: &[u8]) {
        let now = self.now;
        self.ends[end].write(stream, bytes.to_vec(), now).expect("room");
    }

    pub fn has_read(&self, end: usize, stream: StreamId) -> &[u8] {
        self.read[end].get(&stream).map_or(&[], |(bytes, _)| bytes)
    }

    pub fn ended(&self, end: usize, stream: StreamId) -> bool {
        self.read[end].get(&stream).is_some_and(|(_, ended)| *ended)
    }
}

pub fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
