//! An upstream link behind the gateway, in virtual time, with a queue of its own and a rate that the test sets. It carries an upload
//! without end and a game; a server acknowledges.

use std::collections::VecDeque;

use gamelane_core::{Direction, Duration, Instant};
use gamelane_device::{Frames, Plane};

/// The home before the gateway, and everything behind it.
pub struct SlowLink {
    frames: Frames,
    now: Instant,
    /// Packets on the link or before it: sending time, bytes, and the timestamp of a segment.
    queue: VecDeque<(Instant, usize, Option<u32>)>,
    waiting: usize,
    free_at: Instant,
    /// Acknowledgements on their way back.
    echoes: VecDeque<(Instant, u32)>,
    offered: f64,
    /// Delay of each packet of the game through gateway and link.
    pub delays: Vec<Duration>,
}

/// Buffer of the link: half a second at 4 Mbit/s.
const BUFFER: usize = 250_000;
/// Round-trip time without a queue.
const PATH: Duration = Duration::from_millis(20);
const STEP: Duration = Duration::from_micros(200);
/// Offered load: more than the shaper ever lets through.
const OFFERED_BPS: f64 = 15e6;
const MARK: u8 = 0xfe;

impl SlowLink {
    /// A policy whose shaper follows the link from 10 Mbit/s.
    pub const POLICY: &str = "shape = { up = \"10mbit\" }\nup = { queue = \"fq_codel\", limit = \"100p\" }\n\
                              autorate = { up = { lowest = \"1mbit\", highest = \"20mbit\" } }";

    pub fn new() -> Self {
        Self {
            frames: Frames::new(2000, 1600),
            now: Instant::ZERO,
            queue: VecDeque::new(),
            waiting: 0,
            free_at: Instant::ZERO,
            echoes: VecDeque::new(),
            offered: 0.0,
            delays: Vec::new(),
        }
    }

    pub const fn frames(&self) -> &Frames {
        &self.frames
    }

    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Runs for some seconds with a link of this rate.
    pub fn run(&mut self, plane: &mut impl Plane, seconds: u64, link_bps: f64) {
        self.delays.clear();
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            self.now += STEP;
            plane.handle_timeout(&mut self.frames, self.now);
            self.send(plane);
            while self.echoes.front().is_some_and(|(at, _)| *at <= self.now) {
                let (_, stamp) = self.echoes.pop_front().unwrap();
                self.give(plane, Direction::Down, &segment(Direction::Down, 0, stamp));
            }
            while let Some(id) = plane.poll_transmit(Direction::Up, &mut self.frames, self.now) {
                let bytes = self.frames.bytes(id);
                let of_game = bytes[23] == 17;
                let stamp = u32::from_be_bytes(bytes[58..62].try_into().unwrap());
                let sent = u64::from_be_bytes(bytes[62..70].try_into().unwrap());
                let packet = (Instant::from_nanos(sent), bytes.len() - 14, (!of_game).then_some(stamp));
                self.frames.give_back(id);
                if self.waiting + packet.1 <= BUFFER {
                    self.waiting += packet.1;
                    self.queue.push_back(packet);
                }
            }
            while let Some(id) = plane.poll_transmit(Direction::Down, &mut self.frames, self.now) {
                self.frames.give_back(id);
            }
            self.carry(link_bps);
        }
    }

    /// Sends the upload, and an update of the game each 20 ms.
    fn send(&mut self, plane: &mut impl Plane) {
        self.offered += OFFERED_BPS * STEP.as_secs_f64();
        while self.offered >= 12_000.0 {
            self.offered -= 12_000.0;
            let stamp = (self.now.as_nanos() / 1_000_000) as u32;
            let mut frame = segment(Direction::Up, 1448, stamp);
            frame[66..74].fill(0);
            self.give(plane, Direction::Up, &frame);
        }
        if self.now.as_nanos().is_multiple_of(20_000_000) {
            let frame = update(self.now);
            self.give(plane, Direction::Up, &frame);
        }
    }

    fn give(&mut self, plane: &mut impl Plane, direction: Direction, frame: &[u8]) {
        match self.frames.fill([frame, &[], &[]]) {
            Some(id) => plane.handle_frame(direction, id, &mut self.frames, self.now),
            None => plane.no_room(direction),
        }
    }

    /// Takes what the link has carried by now.
    fn carry(&mut self, link_bps: f64) {
        while let Some((sent, bytes, stamp)) = self.queue.front().copied() {
            let done = self.free_at + Duration::from_secs_f64(bytes as f64 * 8.0 / link_bps);
            if done > self.now {
                break;
            }
            self.queue.pop_front();
            self.waiting -= bytes;
            self.free_at = done;
            match stamp {
                Some(stamp) => self.echoes.push_back((done + PATH, stamp)),
                None => self.delays.push(done.saturating_since(sent)),
            }
        }
        if self.queue.is_empty() {
            self.free_at = self.now;
        }
    }
}

/// A TCP segment over IPv4: up with a timestamp, down with its echo.
fn segment(direction: Direction, payload: u16, stamp: u32) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((52 + payload).to_be_bytes());
    frame.extend([0, 9, 0x40, 0, 64, 6, 0, 0]);
    let (home, server) = ([10, 0, 0, 1], [10, 0, 1, 1]);
    let (home_port, server_port) = ([200, 0], [1, 187]);
    let (from, to) = match direction {
        Direction::Up => ((home, home_port), (server, server_port)),
        Direction::Down => ((server, server_port), (home, home_port)),
    };
    frame.extend(from.0);
    frame.extend(to.0);
    frame.extend(from.1);
    frame.extend(to.1);
    // Sequence numbers, a header of eight words, ACK, window, no checksum; two NOPs and timestamps.
    frame.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 4, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    let (value, echo) = match direction {
        Direction::Up => (stamp, 1),
        Direction::Down => (1, stamp),
    };
    frame.extend(value.to_be_bytes());
    frame.extend(echo.to_be_bytes());
    frame.resize(66 + usize::from(payload), MARK);
    frame
}

/// A game's update: UDP over IPv4, with its sending time where a segment has the end of its header.
fn update(now: Instant) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 100, 0, 9, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 1, 2]);
    frame.extend([200, 1, 109, 56, 0, 80, 0, 0]);
    frame.resize(62, MARK);
    frame.extend(now.as_nanos().to_be_bytes());
    frame.resize(14 + 100, MARK);
    frame
}
