//! One client's or server's connection: its socket, what could not be written to it yet, and the task that waits on it.

use crate::hub::Hub;
use bytes::Bytes;
use gamelane_core::Instant;
use gamelane_mux::StreamId;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Notify;

#[derive(Debug)]
pub(crate) struct Flow {
    /// `None` until the far end has reached the server.
    pub socket: Option<Arc<TcpStream>>,
    /// Who the client is.
    pub client: SocketAddr,
    /// Its task has something to look at.
    pub wake: Arc<Notify>,
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
}

impl Flow {
    pub(crate) fn new(socket: Option<Arc<TcpStream>>, client: SocketAddr, now: Instant) -> Self {
        Self {
            socket,
            client,
            wake: Arc::new(Notify::new()),
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
        }
    }
}

/// What a flow's task should wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    pub read: bool,
    pub write: bool,
}

/// Waits on a flow's socket until the flow is over.
pub(crate) async fn run(hub: Arc<Hub>, stream: StreamId, socket: Arc<TcpStream>, wake: Arc<Notify>) {
    while let Some(interest) = hub.interest(stream) {
        tokio::select! {
            ready = socket.readable(), if interest.read => match ready {
                Ok(()) => hub.pull(stream),
                Err(_) => hub.abort(stream),
            },
            ready = socket.writable(), if interest.write => match ready {
                Ok(()) => hub.push(stream),
                Err(_) => hub.abort(stream),
            },
            () = wake.notified() => {}
        }
    }
}
