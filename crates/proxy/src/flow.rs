//! State of one client's or server's connection.

use crate::entrance::Place;
use crate::metrics::Delays;
use crate::wait::Waiting;
use bytes::Bytes;
use gamelane_core::Instant;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Flow {
    /// `None` at a far end that has not yet connected to the server.
    pub socket: Option<Arc<TcpStream>>,
    /// Address of the client.
    pub client: SocketAddr,
    /// Near only: its place among all clients.
    pub place: Option<Place>,
    /// The task that serves the socket.
    pub waiting: Waiting,
    /// Bytes read from the session and not yet written to the socket.
    pub pending: Bytes,
    /// When the socket became full; `None` if it accepts bytes.
    pub blocked_since: Option<Instant>,
    /// The client or server has ended its direction.
    pub eof_in: bool,
    /// The proxy has ended the direction to the client or server.
    pub eof_out: bool,
    pub opened: Instant,
    /// When the last byte passed in either direction.
    pub active: Instant,
    /// Bytes written into the session.
    pub written: u64,
    /// An offset that waits for its acknowledgement, and when it was written: one sample at a time.
    pub sample: Option<(u64, Instant)>,
    /// Bytes delivered to the socket.
    pub delivered: u64,
    /// Times the socket was full.
    pub stalls: u64,
    /// Delays of this client; [`Metrics`](crate::metrics::Metrics) has those of all.
    pub added_delay: Delays,
    pub acknowledged: Delays,
}

impl Flow {
    pub(crate) fn new(
        socket: Option<Arc<TcpStream>>,
        client: SocketAddr,
        place: Option<Place>,
        now: Instant,
    ) -> Self {
        Self {
            socket,
            client,
            place,
            waiting: Waiting::default(),
            pending: Bytes::new(),
            blocked_since: None,
            eof_in: false,
            eof_out: false,
            opened: now,
            active: now,
            written: 0,
            sample: None,
            delivered: 0,
            stalls: 0,
            added_delay: Delays::default(),
            acknowledged: Delays::default(),
        }
    }
}
