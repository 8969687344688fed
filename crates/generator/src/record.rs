//! Records of what happened to each packet, as one end saw it. A file has 40 bytes for each record, little-endian, in the order of
//! [`Record`]'s fields. [`crate::played`] hands the files of one or both ends to
//! the recorder.

use std::io::{self, Write};

use gamelane_core::{Direction, Duration, Instant};

/// One event of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The event.
    pub what: What,
    /// Direction of the packet; up is from client to server. For a round trip, direction of the packet that was echoed.
    pub direction: Direction,
    /// Index of the flow in the scenario.
    pub flow: u16,
    /// UDP payload bytes; 0 for a round trip.
    pub payload: u32,
    /// Id of the session.
    pub session: u64,
    /// Number of the packet in its direction.
    pub number: u32,
    /// Time of the event on this host's clock.
    pub at: Instant,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The packet was sent.
    Sent {
        /// Delay behind the model's time: timer and scheduling error of this host.
        late: Duration,
    },
    /// The packet arrived for the first time.
    Received {
        /// Time from the sender's stamp to the arrival; `None` without a stamp or a common clock.
        one_way: Option<Duration>,
    },
    /// The packet arrived again.
    Duplicate,
    /// The packet's echo arrived.
    RoundTrip {
        /// Time from sending to the arrival of the echo, without the time that the other end held it.
        took: Duration,
    },
    /// State of the TCP stream that sends in this direction, and whose number is [`Record::number`]. The payload is its congestion
    /// window in bytes.
    Tcp {
        /// Bytes in the network.
        in_flight: u32,
        /// Smoothed round-trip time, in microseconds.
        srtt_us: u32,
        /// Retransmission timeout, in microseconds.
        rto_us: u32,
    },
    /// What the TCP stream of this number and direction has delivered since it began. The payload is the size of the IP packet of a full
    /// segment.
    Delivered {
        /// Segments that arrived, also those after a gap.
        segments: u32,
        /// Segments that were sent again.
        again: u32,
    },
    /// ACKs that the TCP stream of this number and direction has received since it began. They are packets of the other direction. The
    /// payload is the size of the IP packet of one without SACK blocks.
    Acknowledged {
        /// All of them.
        acks: u32,
        /// Those that came while the receiver lacked a segment: they are longer by SACK blocks.
        sacks: u32,
    },
}

/// Receives records.
pub trait Records {
    /// Adds a record.
    fn record(&mut self, record: &Record);
}

impl Records for Vec<Record> {
    fn record(&mut self, record: &Record) {
        self.push(*record);
    }
}

/// Writes records to a file, or discards them. A write error is reported at the end, not during the match. The writer may buffer: a
/// program that is killed loses the last [`FLUSHED_EVERY`].
#[derive(Debug)]
pub struct RecordFile<W> {
    to: Option<W>,
    flushed: Instant,
    failed: Option<io::Error>,
}

/// Time between records after which buffered ones are written.
const FLUSHED_EVERY: Duration = Duration::from_secs(1);

impl<W: Write> RecordFile<W> {
    /// Writes to `to`; with `None`, discards all records.
    pub const fn new(to: Option<W>) -> Self {
        Self { to, flushed: Instant::ZERO, failed: None }
    }

    /// Writes buffered records, and returns the first error.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl<W: Write> Records for RecordFile<W> {
    fn record(&mut self, record: &Record) {
        if self.failed.is_some() {
            return;
        }
        if let Some(to) = &mut self.to {
            let is_due = record.at.saturating_since(self.flushed) >= FLUSHED_EVERY;
            let flush = |to: &mut W| if is_due { to.flush() } else { Ok(()) };
            self.failed = to.write_all(&record.bytes()).and_then(|()| flush(to)).err();
            if is_due {
                self.flushed = record.at;
            }
        }
    }
}

/// Length of a record in a file, in bytes.
pub const RECORD_BYTES: usize = 40;

/// Stands for an unknown time in a file.
const UNKNOWN: u64 = u64::MAX;

impl Record {
    /// Reads what [`Record::bytes`] writes; `None` if these bytes are no record.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
            bytes.get(at..)?.first_chunk().copied()
        }
        let value = u64::from_le_bytes(number(bytes, 32)?);
        let known = Duration::from_nanos(value);
        let what = match bytes[0] {
            0 => What::Sent { late: known },
            1 => What::Received { one_way: (value != UNKNOWN).then_some(known) },
            2 => What::Duplicate,
            3 => What::RoundTrip { took: known },
            4 => What::Tcp {
                in_flight: u32::from_le_bytes(number(bytes, 20)?),
                srtt_us: (value >> 32) as u32,
                rto_us: value as u32,
            },
            5 => What::Delivered { segments: value as u32, again: u32::from_le_bytes(number(bytes, 20)?) },
            6 => What::Acknowledged { acks: value as u32, sacks: u32::from_le_bytes(number(bytes, 20)?) },
            _ => return None,
        };
        Some(Self {
            what,
            direction: *Direction::BOTH.get(usize::from(bytes[1]))?,
            flow: u16::from_le_bytes(number(bytes, 2)?),
            payload: u32::from_le_bytes(number(bytes, 4)?),
            session: u64::from_le_bytes(number(bytes, 8)?),
            number: u32::from_le_bytes(number(bytes, 16)?),
            at: Instant::from_nanos(u64::from_le_bytes(number(bytes, 24)?)),
        })
    }

    /// The record's bytes in a file.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let (kind, value) = match self.what {
            What::Sent { late } => (0, late.as_nanos()),
            What::Received { one_way } => (1, one_way.map_or(UNKNOWN, Duration::as_nanos)),
            What::Duplicate => (2, UNKNOWN),
            What::RoundTrip { took } => (3, took.as_nanos()),
            What::Tcp { srtt_us, rto_us, .. } => (4, u64::from(srtt_us) << 32 | u64::from(rto_us)),
            What::Delivered { segments, .. } => (5, segments.into()),
            What::Acknowledged { acks, .. } => (6, acks.into()),
        };
        let mut bytes = [0; RECORD_BYTES];
        if let What::Tcp { in_flight: beside, .. }
        | What::Delivered { again: beside, .. }
        | What::Acknowledged { sacks: beside, .. } = self.what
        {
            bytes[20..24].copy_from_slice(&beside.to_le_bytes());
        }
        bytes[0] = kind;
        bytes[1] = self.direction.index() as u8;
        bytes[2..4].copy_from_slice(&self.flow.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.payload.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.session.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.at.as_nanos().to_le_bytes());
        bytes[32..40].copy_from_slice(&value.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufWriter;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for what in [
            What::Sent { late: Duration::from_micros(7) },
            What::Received { one_way: Some(Duration::from_millis(9)) },
            What::Received { one_way: None },
            What::Duplicate,
            What::RoundTrip { took: Duration::from_millis(20) },
            What::Tcp { in_flight: 3, srtt_us: 4, rto_us: 5 },
            What::Delivered { segments: 6, again: 7 },
            What::Acknowledged { acks: 8, sacks: 9 },
        ] {
            let at = Instant::from_millis(1);
            let record =
                Record { what, direction: Direction::Down, flow: 2, payload: 52, session: 3, number: 4, at };
            assert_eq!(Record::from_bytes(&record.bytes()), Some(record));
        }
        assert_eq!(Record::from_bytes(&[7; RECORD_BYTES]), None);
    }

    /// Regression: a program that was killed lost up to a mebibyte of records, often the whole match.
    #[test]
    fn what_is_older_than_a_second_is_in_the_file() {
        let mut file = RecordFile::new(Some(BufWriter::with_capacity(1 << 20, Vec::new())));
        let mut written = Vec::new();
        for at_ms in [5_000, 5_400, 5_999, 6_000, 6_100] {
            file.record(&Record {
                what: What::Duplicate,
                direction: Direction::Up,
                flow: 0,
                payload: 0,
                session: 0,
                number: 0,
                at: Instant::from_millis(at_ms),
            });
            written.push(file.to.as_ref().map_or(0, |to| to.get_ref().len()) / RECORD_BYTES);
        }
        assert_eq!(written, [1, 1, 1, 4, 4]);
    }
}
