//! State of the kernel's TCP: the first fields of `struct tcp_info` (tcp(7), option `TCP_INFO`).

use std::io::Result;
use std::os::fd::AsFd;

use crate::option;

/// The sender of a connection at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpState {
    /// Retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// Segment size, in bytes.
    pub segment: u32,
    /// Segments that are sent and not acknowledged.
    pub in_flight: u32,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
    /// Congestion window, in segments.
    pub window: u32,
}

/// Reads the state of a connection.
///
/// # Errors
/// If the socket is not of TCP.
pub fn tcp_state(socket: impl AsFd) -> Result<TcpState> {
    let info: [u32; 21] = option::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(TcpState {
        rto_us: info[2],
        segment: info[4],
        in_flight: info[6],
        srtt_us: info[17],
        window: info[20],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_has_a_window_and_a_datagram_socket_has_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        own.write_all(b"some bytes").unwrap();
        let state = tcp_state(&own).unwrap();
        assert!((2..=100).contains(&state.window) && (500..70_000).contains(&state.segment), "{state:?}");
        assert!((200_000..10_000_000).contains(&state.rto_us) && state.srtt_us < 1_000_000, "{state:?}");
        assert!(tcp_state(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
