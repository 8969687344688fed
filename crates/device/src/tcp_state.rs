//! State of the kernel's TCP: the first fields of `struct tcp_info` (tcp(7), option `TCP_INFO`).

use std::io::Result;
use std::os::fd::AsFd;

use crate::option;

/// The sender of a connection at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpState {
    /// Retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// Payload of a full segment, in bytes.
    pub segment: u32,
    /// True if segments carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// Segments that are sent and not acknowledged.
    pub in_flight: u32,
    /// Segments that the receiver has after a gap (SACK).
    pub sacked: u32,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
    /// Congestion window, in segments.
    pub window: u32,
    /// Segments that were sent again so far.
    pub sent_again: u32,
    /// Segments that came in so far: to a sender, ACKs. It counts modulo 2^32.
    pub received: u32,
    /// Segments that have arrived so far, also those after a gap (SACK). It counts modulo 2^32.
    pub delivered: u32,
}

/// Bit of `tcpi_options`: timestamps are in use (linux/tcp.h).
const TIMESTAMPS: u8 = 1;

/// Reads the state of a connection.
///
/// # Errors
/// If the socket is not of TCP, or this kernel is older than Linux 4.18, which brought the last field.
pub fn tcp_state(socket: impl AsFd) -> Result<TcpState> {
    let info: [u32; 49] = option::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(TcpState {
        rto_us: info[2],
        segment: info[4],
        timestamps: info[1].to_ne_bytes()[1] & TIMESTAMPS != 0,
        in_flight: info[6],
        sacked: info[7],
        srtt_us: info[17],
        window: info[20],
        sent_again: info[25],
        received: info[35],
        delivered: info[48],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_has_a_window_and_a_datagram_socket_has_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        let before = tcp_state(&own).unwrap().delivered;
        own.write_all(b"some bytes").unwrap();
        other.read_exact(&mut [0; 10]).unwrap();
        other.write_all(b"answer").unwrap();
        own.read_exact(&mut [0; 6]).unwrap();
        let state = tcp_state(&own).unwrap();
        assert_eq!((state.delivered - before, state.sent_again, state.timestamps), (1, 0, true));
        assert!(state.received >= 2 && state.sacked == 0, "{state:?}");
        assert!((2..=100).contains(&state.window) && (500..70_000).contains(&state.segment), "{state:?}");
        assert!((200_000..10_000_000).contains(&state.rto_us) && state.srtt_us < 1_000_000, "{state:?}");
        assert!(tcp_state(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
