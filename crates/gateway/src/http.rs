//! Status over HTTP, on loopback only: `GET /status` as JSON, `GET /metrics` for Prometheus. A thread of its own asks the loop
//! for a fresh status and waits for it, so the loop does the work only when somebody asks.

use std::io::{Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::status::Status;
use crate::status::metrics::metrics;

const PATIENCE: Duration = Duration::from_secs(2);
const MAX_REQUEST: usize = 4096;

/// Where the loop leaves its status.
#[derive(Debug)]
pub struct Board {
    wake: OwnedFd,
    latest: Mutex<(u64, Option<Arc<Status>>)>,
    posted: Condvar,
}

impl Board {
    /// An empty one.
    pub fn new() -> Result<Arc<Self>> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self { wake, latest: Mutex::default(), posted: Condvar::new() }))
    }

    /// Readable while somebody asks.
    pub fn wake(&self) -> impl AsFd {
        self.wake.as_fd()
    }

    /// Whether somebody asked since the last call.
    pub fn is_asked(&self) -> bool {
        let mut count = [0; 8];
        rustix::io::read(&self.wake, &mut count).is_ok()
    }

    /// Answers all who ask.
    pub fn post(&self, status: Status) {
        let mut latest = self.latest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *latest = (latest.0 + 1, Some(Arc::new(status)));
        self.posted.notify_all();
    }

    fn ask(&self) -> Option<Arc<Status>> {
        let latest = self.latest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = latest.0;
        rustix::io::write(&self.wake, &1_u64.to_ne_bytes()).ok()?;
        let (latest, _) = self
            .posted
            .wait_timeout_while(latest, PATIENCE, |latest| latest.0 == known)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        (latest.0 != known).then(|| latest.1.clone()).flatten()
    }
}

/// Answers until the process ends, one at a time.
pub fn serve(listener: &TcpListener, board: &Board) {
    for connection in listener.incoming().flatten() {
        // Whoever is slow or leaves gets no answer.
        let _ = answer(connection, board);
    }
}

fn answer(mut connection: TcpStream, board: &Board) -> Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        let count = connection.read(&mut part)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&part[..count]);
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let path = line.strip_prefix(b"GET ").and_then(|rest| rest.split(|byte| *byte == b' ').next());
    let known = matches!(path, Some(b"/status" | b"/metrics"));
    let status = if known { board.ask() } else { None };
    let (code, kind, body) = match (path, status) {
        (Some(b"/status"), Some(status)) => ("200 OK", "application/json", serde_json::to_string(&*status)?),
        (Some(b"/metrics"), Some(status)) => ("200 OK", "text/plain; version=0.0.4", metrics(&status).into_text()),
        (Some(b"/status" | b"/metrics"), None) => {
            ("503 Service Unavailable", "text/plain", "the gateway does not answer\n".into())
        }
        _ => ("404 Not Found", "text/plain", "there is /metrics and /status\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(body.as_bytes())
}

/// Asks the gateway that answers at `address`.
///
/// # Errors
/// Of the connection, or of an answer that is none.
pub fn ask(address: SocketAddr) -> anyhow::Result<Status> {
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.set_read_timeout(Some(2 * PATIENCE))?;
    connection.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    let body = body.ok_or_else(|| anyhow::anyhow!("{address} is no gamelane-gateway"))?;
    Ok(serde_json::from_str(body)?)
}
