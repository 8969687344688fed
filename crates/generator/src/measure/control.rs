//! The control connection: exact reads with a deadline, and the server's records at the end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use gamelane_core::{Duration, Instant};

use crate::clock;
use crate::played;
use crate::record::{RECORD_BYTES, Record};

/// The client's word for the end.
pub(super) const END: u8 = b'E';
/// Most records that an end takes from the other: ten minutes of both flows and 32 streams, with room to spare.
const MOST_RECORDS: u32 = 6_000_000;

/// Reads exactly `N` bytes until `deadline`.
pub(super) fn read<const N: usize>(socket: &mut TcpStream, deadline: Instant) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(socket, &mut bytes, deadline)?;
    Ok(bytes)
}

fn fill(socket: &mut TcpStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut have = 0;
    while have < bytes.len() {
        let left = deadline.saturating_since(clock::now());
        if left == Duration::ZERO {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(std::time::Duration::from_nanos(left.as_nanos())))?;
        match socket.read(&mut bytes[have..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(more) => have += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends records behind their number.
pub(super) fn send_records(socket: &mut TcpStream, records: &[Record]) -> io::Result<()> {
    let mut bytes = (records.len() as u32).to_be_bytes().to_vec();
    bytes.extend(records.iter().flat_map(Record::bytes));
    socket.set_write_timeout(Some(std::time::Duration::from_secs(20)))?;
    socket.write_all(&bytes)
}

/// Reads what [`send_records`] sends.
pub(super) fn read_records(socket: &mut TcpStream, deadline: Instant) -> io::Result<Vec<Record>> {
    let count = u32::from_be_bytes(read(socket, deadline)?);
    if count > MOST_RECORDS {
        return Err(io::Error::new(ErrorKind::InvalidData, "too many records"));
    }
    let mut bytes = vec![0; count as usize * RECORD_BYTES];
    fill(socket, &mut bytes, deadline)?;
    played::read(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}
