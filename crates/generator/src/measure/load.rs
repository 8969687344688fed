//! One TCP stream of a load: sends or receives as fast as the network and the server's [`Bucket`] allow, until its time is up.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gamelane_core::{Direction, Duration, Instant};
use gamelane_device::tcp_state;

use crate::clock;
use crate::measure::limits::Bucket;
use crate::record::{Record, What};

/// A stream at one end.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The connection.
    pub socket: TcpStream,
    /// Direction of the data.
    pub direction: Direction,
    /// Flow of the scenario.
    pub flow: u16,
    /// Number of the stream within its flow.
    pub number: u8,
    /// Id of the measurement.
    pub id: u64,
    /// When it ends.
    pub until: Instant,
    /// Ends it earlier.
    pub stop: &'a AtomicBool,
    /// The server's limit of rate.
    pub bucket: Option<&'a Bucket>,
    /// Counts the bytes of all streams of a direction at this end, for progress.
    pub moved: &'a AtomicU64,
}

/// Bytes of a write or read.
const CHUNK: usize = 32 * 1024;
/// Time between samples of the state of TCP.
const SAMPLED_EVERY: Duration = Duration::from_millis(100);
/// Received bytes are recorded at most this often. A TCP stream has no packets that its receiver could see.
const RECORDED_EVERY: Duration = Duration::from_millis(10);
/// Longest wait in a call, so that the end of the stream is noticed.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(50);

impl Stream<'_> {
    /// Sends, and records the state of TCP. Ends without error if the other end leaves. Data that waits at the end is thrown away.
    pub fn send(mut self, records: &mut Vec<Record>) -> io::Result<()> {
        self.prepare()?;
        let chunk = [0x55; CHUNK];
        let mut sample = clock::now();
        while let Some(now) = self.goes_on() {
            if now >= sample {
                sample = now.saturating_add(SAMPLED_EVERY);
                records.extend(self.state(now));
            }
            if self.must_wait(CHUNK, now) {
                continue;
            }
            match self.socket.write(&chunk) {
                Ok(sent) => self.count(sent),
                Err(error) if is_waiting(&error) => {}
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Receives, and records how much arrived when.
    pub fn receive(mut self, records: &mut Vec<Record>) -> io::Result<()> {
        self.prepare()?;
        let mut chunk = [0; CHUNK];
        let (mut number, mut bytes, mut next) = (0, 0, clock::now().saturating_add(RECORDED_EVERY));
        while let Some(now) = self.goes_on() {
            if self.must_wait(CHUNK, now) {
                continue;
            }
            match self.socket.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    self.count(read);
                    bytes += read as u32;
                }
                Err(error) if is_waiting(&error) => {}
                Err(_) => break,
            }
            let now = clock::now();
            if now >= next && bytes > 0 {
                records.push(self.record(What::Received { one_way: None }, bytes, number, now));
                (number, bytes, next) = (number + 1, 0, now.saturating_add(RECORDED_EVERY));
            }
        }
        if bytes > 0 {
            records.push(self.record(What::Received { one_way: None }, bytes, number, clock::now()));
        }
        Ok(())
    }

    fn prepare(&self) -> io::Result<()> {
        self.socket.set_read_timeout(Some(PATIENCE))?;
        self.socket.set_write_timeout(Some(PATIENCE))?;
        // Closing resets the connection, so that its queued data does not load the next phase.
        socket2::SockRef::from(&self.socket).set_linger(Some(std::time::Duration::ZERO))
    }

    fn goes_on(&self) -> Option<Instant> {
        let now = clock::now();
        (now < self.until && !self.stop.load(Ordering::Relaxed)).then_some(now)
    }

    /// Waits for the bucket, and returns true if it did.
    fn must_wait(&self, bytes: usize, now: Instant) -> bool {
        let Some(Err(wait)) = self.bucket.map(|bucket| bucket.take(bytes, now)) else { return false };
        std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()).min(PATIENCE));
        true
    }

    fn count(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn state(&self, now: Instant) -> Option<Record> {
        let state = tcp_state(&self.socket).ok()?;
        let bytes = |segments: u32| segments.saturating_mul(state.segment);
        let in_flight = bytes(state.in_flight);
        let what = What::Tcp { in_flight, srtt_us: state.srtt_us, rto_us: state.rto_us };
        Some(self.record(what, bytes(state.window), self.number.into(), now))
    }

    fn record(&self, what: What, payload: u32, number: u32, at: Instant) -> Record {
        // Each stream numbers its own reads; the upper byte keeps them apart.
        let number = match what {
            What::Received { .. } => u32::from(self.number) << 24 | number,
            _ => number,
        };
        Record { what, direction: self.direction, flow: self.flow, payload, session: self.id, number, at }
    }
}

fn is_waiting(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
