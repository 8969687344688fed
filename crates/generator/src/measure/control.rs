//! The control connection: exact reads with a deadline, and the server's records at the end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use gamelane_core::{Duration, Instant};

use crate::clock;
use crate::measure::plan::Plan;
use crate::played;
use crate::record::{RECORD_BYTES, Record};

/// The client's word for the end.
pub(super) const END: u8 = b'E';
/// Time for the records of a plan, after its end. It suffices at 1 Mbit/s.
pub(super) fn time_for_records(plan: &Plan) -> Duration {
    Duration::from_secs(30 + u64::from(plan.seconds))
}

/// Reads exactly `N` bytes until `deadline`.
pub(super) fn read<const N: usize>(socket: &mut TcpStream, deadline: Instant) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(socket, &mut bytes, deadline)?;
    Ok(bytes)
}

fn fill(socket: &mut TcpStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut have = 0;
    while have < bytes.len() {
        socket.set_read_timeout(Some(left(deadline)?))?;
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

/// Sends all bytes until `deadline`.
pub(super) fn send(socket: &mut TcpStream, bytes: &[u8], deadline: Instant) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        socket.set_write_timeout(Some(left(deadline)?))?;
        match socket.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(sent) => rest = &rest[sent..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn left(deadline: Instant) -> io::Result<std::time::Duration> {
    match deadline.saturating_since(clock::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(std::time::Duration::from_nanos(left.as_nanos())),
    }
}

/// Sends records behind their number.
pub(super) fn send_records(socket: &mut TcpStream, records: &[Record], deadline: Instant) -> io::Result<()> {
    let mut bytes = (records.len() as u32).to_be_bytes().to_vec();
    bytes.extend(records.iter().flat_map(Record::bytes));
    send(socket, &bytes, deadline)
}

/// Reads what [`send_records`] sends, if there are at most `most`.
pub(super) fn read_records(
    socket: &mut TcpStream,
    most: usize,
    deadline: Instant,
) -> io::Result<Vec<Record>> {
    let count = u32::from_be_bytes(read(socket, deadline)?) as usize;
    if count > most {
        return Err(io::Error::new(ErrorKind::InvalidData, "too many records"));
    }
    let mut bytes = vec![0; count * RECORD_BYTES];
    fill(socket, &mut bytes, deadline)?;
    played::read(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Regression: each write had 20 s of its own, so a client that read slowly kept its place.
    #[test]
    fn sending_ends_at_its_deadline_if_the_other_end_reads_slowly() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut slow = listener.accept().unwrap().0;
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while slow.read(&mut bytes).is_ok_and(|read| read > 0) {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        });
        let deadline = clock::now().saturating_add(Duration::from_millis(500));
        let ended = send(&mut socket, &vec![0; 64 << 20], deadline);
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(socket);
        reader.join().unwrap();
    }
}
