//! One TCP stream of a load: sends or receives as fast as the network and the server's [`Bucket`] allow, until its time is up.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gamelane_core::headers::{IPV4_HEADER, IPV6_HEADER, TCP_HEADER, TCP_TIMESTAMPS};
use gamelane_core::{Direction, Duration, Instant};
use gamelane_device::{TcpState, tcp_state};

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
    /// Counts the bytes of all streams of a direction, for a display.
    pub moved: Option<&'a AtomicU64>,
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
    /// Sends, and records the state of TCP. Data that waits at the end is thrown away.
    ///
    /// # Errors
    /// The other end left before the time was up.
    pub fn send(mut self, records: &mut Vec<Record>) -> io::Result<()> {
        self.prepare()?;
        let chunk = [0x55; CHUNK];
        let (mut acks, mut sample) = (Acks::default(), clock::now());
        while let Some(now) = self.goes_on() {
            if now >= sample {
                sample = now.saturating_add(SAMPLED_EVERY);
                records.extend(self.state(&mut acks, now).into_iter().flatten());
            }
            if self.has_waited(now) {
                continue;
            }
            match self.socket.write(&chunk) {
                Ok(sent) => self.count(sent),
                Err(error) if is_waiting(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives, and records how much arrived when.
    ///
    /// # Errors
    /// The other end left before the time was up.
    pub fn receive(mut self, records: &mut Vec<Record>) -> io::Result<()> {
        self.prepare()?;
        let mut chunk = [0; CHUNK];
        let (mut number, mut bytes, mut next) = (0, 0, clock::now().saturating_add(RECORDED_EVERY));
        let mut ended = Ok(());
        while let Some(now) = self.goes_on() {
            if self.has_waited(now) {
                continue;
            }
            match self.socket.read(&mut chunk) {
                Ok(0) => ended = Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    self.count(read);
                    bytes += read as u32;
                }
                Err(error) if is_waiting(&error) => {}
                Err(error) => ended = Err(error),
            }
            if ended.is_err() {
                break;
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
        ended
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
    fn has_waited(&self, now: Instant) -> bool {
        let Some(wait) = self.bucket.and_then(|bucket| bucket.wait(now)) else { return false };
        std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()).min(PATIENCE));
        true
    }

    fn count(&self, bytes: usize) {
        if let Some(bucket) = self.bucket {
            bucket.take(bytes);
        }
        if let Some(moved) = self.moved {
            moved.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    fn state(&self, acks: &mut Acks, now: Instant) -> Option<[Record; 3]> {
        let state = tcp_state(&self.socket).ok()?;
        acks.count(&state);
        let bytes = |segments: u32| segments.saturating_mul(state.segment);
        let in_flight = bytes(state.in_flight);
        let what = What::Tcp { in_flight, srtt_us: state.srtt_us, rto_us: state.rto_us };
        let delivered = What::Delivered { segments: state.delivered, again: state.sent_again };
        let headers = if self.socket.peer_addr().ok()?.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
        let options = if state.timestamps { TCP_TIMESTAMPS } else { 0 };
        let ack = headers + TCP_HEADER + options;
        let number = self.number.into();
        Some([
            self.record(what, bytes(state.window), number, now),
            self.record(delivered, state.segment + ack, number, now),
            self.record(What::Acknowledged { acks: acks.all, sacks: acks.sacks }, ack, number, now),
        ])
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

/// ACKs that a sender has received.
#[derive(Default)]
struct Acks {
    all: u32,
    sacks: u32,
}

impl Acks {
    /// Counts those that came since the last sample. If there is a gap now, there was one when most of them came.
    fn count(&mut self, state: &TcpState) {
        if state.sacked > 0 {
            self.sacks += state.received.wrapping_sub(self.all);
        }
        self.all = state.received;
    }
}

/// Chooses a congestion control; an empty name keeps the system's.
pub(super) fn set_congestion(socket: &TcpStream, name: &str) -> io::Result<()> {
    if name.is_empty() {
        return Ok(());
    }
    socket2::SockRef::from(socket).set_tcp_congestion(name.as_bytes())
}

fn is_waiting(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn acks_that_come_while_a_segment_is_missing_are_counted_apart() {
        let now = |received, sacked| TcpState {
            rto_us: 200_000,
            segment: 1448,
            timestamps: true,
            in_flight: 10,
            sacked,
            srtt_us: 1000,
            window: 10,
            sent_again: 0,
            received,
            delivered: received,
        };
        let mut acks = Acks::default();
        for state in [now(10, 0), now(30, 4), now(35, 0)] {
            acks.count(&state);
        }
        assert_eq!((acks.all, acks.sacks), (35, 20));
    }

    type Run = fn(Stream<'_>, &mut Vec<Record>) -> io::Result<()>;

    fn end_after_the_other_left(run: Run) -> ErrorKind {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        let stop = AtomicBool::new(false);
        let stream = Stream {
            socket,
            direction: Direction::Up,
            flow: 2,
            number: 0,
            id: 7,
            until: clock::now().saturating_add(Duration::from_secs(60)),
            stop: &stop,
            bucket: None,
            moved: None,
        };
        run(stream, &mut Vec::new()).unwrap_err().kind()
    }

    /// Regression: a load that the server dropped moved nothing, and the line got grade A+.
    #[test]
    fn a_stream_that_the_other_end_leaves_is_an_error() {
        assert_eq!(
            end_after_the_other_left(|stream, records| stream.receive(records)),
            ErrorKind::UnexpectedEof
        );
        let sent = end_after_the_other_left(|stream, records| stream.send(records));
        assert!(matches!(sent, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{sent}");
    }
}
