//! What happened to each packet, as each end saw it. A file of records has 40 bytes for each, little-endian, in the order of
//! the fields here; [`crate::played`] hands the files of one or both ends to the recorder.

use std::io::{self, Write};

use gamelane_core::{Direction, Duration, Instant};

/// One thing that happened to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What happened.
    pub what: What,
    /// Which way the packet goes: up is from client to server. Of a round trip: of the packet that was echoed.
    pub direction: Direction,
    /// The flow's place in the scenario.
    pub flow: u16,
    /// UDP payload bytes; of a round trip none.
    pub payload: u32,
    /// The session.
    pub session: u64,
    /// The packet's number in its direction.
    pub number: u32,
    /// When, on this host's clock.
    pub at: Instant,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was sent, so much after its model wanted.
    Sent {
        /// Timer and scheduling error of this host.
        late: Duration,
    },
    /// It arrived for the first time.
    Received {
        /// From the sender's stamp to the arrival; `None` without a stamp or a common clock.
        one_way: Option<Duration>,
    },
    /// It arrived again.
    Duplicate,
    /// Its echo came back.
    RoundTrip {
        /// From its departure to the arrival of the echo, without the time the other end held it.
        took: Duration,
    },
}

/// Where records go.
pub trait Records {
    /// Takes one.
    fn record(&mut self, record: &Record);
}

impl Records for Vec<Record> {
    fn record(&mut self, record: &Record) {
        self.push(*record);
    }
}

/// A file of records, or nothing. A write that fails is told at the end, not in the middle of a match.
#[derive(Debug)]
pub struct RecordFile<W> {
    to: Option<W>,
    failed: Option<io::Error>,
}

impl<W: Write> RecordFile<W> {
    /// Writes to `to`; `None` forgets everything.
    pub const fn new(to: Option<W>) -> Self {
        Self { to, failed: None }
    }

    /// Writes what is buffered, and tells what went wrong.
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
            self.failed = to.write_all(&record.bytes()).err();
        }
    }
}

/// Length of a record in a file.
pub const RECORD_BYTES: usize = 40;

/// A time that is not known.
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

    /// As it stands in a file.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let (kind, value) = match self.what {
            What::Sent { late } => (0, late.as_nanos()),
            What::Received { one_way } => (1, one_way.map_or(UNKNOWN, Duration::as_nanos)),
            What::Duplicate => (2, UNKNOWN),
            What::RoundTrip { took } => (3, took.as_nanos()),
        };
        let mut bytes = [0; RECORD_BYTES];
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
