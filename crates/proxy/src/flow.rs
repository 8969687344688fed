//! One client's or server's connection: its socket, what could not be written to it yet, and the task that waits on it.

use crate::metrics::Delays;
use crate::wait::Waiting;
use bytes::Bytes;
use gamelane_core::Instant;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Flow {
    /// `None` until the far end has reached the server.
    pub socket: Option<Arc<TcpStream>>,
    /// Who the client is.
    pub client: SocketAddr,
    /// Its task.
    pub waiting: Waiting,
    /// Taken from the session, not yet written.
    pub pending: Bytes,
    /// Since when the socket takes no more.
    pub blocked_since: Option<Instant>,
    /// It has ended its side.
    pub eof_in: bool,
    /// We have ended ours.
    pub eof_out: bool,
    pub opened: Instant,
    pub active: Instant,
    /// Bytes given to the session, and one point of them that waits for its acknowledgement.
    pub written: u64,
    pub sample: Option<(u64, Instant)>,
    /// Bytes handed over.
    pub delivered: u64,
    pub stalls: u64,
    /// As [`Metrics`](crate::metrics::Metrics) has them of all.
    pub added_delay: Delays,
    pub acknowledged: Delays,
}

impl Flow {
    pub(crate) fn new(socket: Option<Arc<TcpStream>>, client: SocketAddr, now: Instant) -> Self {
        Self {
            socket,
            client,
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
