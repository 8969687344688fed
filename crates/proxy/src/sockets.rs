//! Socket options and reads.

use crate::config::{Config, Limits, Tcp, Transport};
use crate::entrance::Entrance;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};

/// Backlog: connections that the kernel completes before the proxy accepts them.
const BACKLOG: i32 = 4096;
/// Descriptors for listeners, files, the event loop and the carriers of a near end.
const OWN_DESCRIPTORS: u64 = 64;
/// Idle time before the first TCP keep-alive. A vanished client is found after this and four probes.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);

pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Connections that a process has descriptors for: as many as its limits say, or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Enough {
    pub handshakes: usize,
    /// At the far end; one at the near end.
    pub sessions: usize,
    /// Of all sessions together.
    pub streams: usize,
}

/// Raises the limit of open descriptors as far as this user may, and returns what they are enough for.
pub(crate) fn descriptors_for(config: &Config) -> Enough {
    let Limits { handshakes, streams, sessions, .. } = config.limits;
    let sessions = if config.server.is_some() { sessions } else { 1 };
    let wanted = Enough { handshakes, sessions, streams: streams.saturating_mul(sessions) };
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // An error leaves the limit as it is.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let may = if raised { maximum } else { current };
    let Some(may) = may else { return wanted };
    // Over QUIC all carriers share a socket. Those of a near end are among its own descriptors.
    let has_sockets = config.server.is_some() && config.transport == Transport::Tcp;
    let enough = within(may, wanted, if has_sockets { config.carriers.into() } else { 0 });
    let Enough { handshakes, sessions, streams } = enough;
    // Hardly ever does each session have all of its streams, so one with all of them is enough.
    if (Enough { streams: wanted.streams, ..enough }) != wanted || streams < config.limits.streams {
        tracing::warn!(
            descriptors = may,
            handshakes,
            sessions,
            streams,
            "too few descriptors for the limits in the file, so these are in force; raise LimitNOFILE or `ulimit -n`"
        );
    }
    enough
}

/// What fits into so many descriptors. Each session keeps those of its carriers; all carriers, and all handshakes, get a quarter at
/// most.
fn within(descriptors: u64, wanted: Enough, carriers: usize) -> Enough {
    let room = usize::try_from(descriptors.saturating_sub(OWN_DESCRIPTORS)).unwrap_or(usize::MAX).max(4);
    let sessions =
        (room / 4).checked_div(carriers).map_or(wanted.sessions, |most| wanted.sessions.min(most.max(1)));
    let room = room.saturating_sub(sessions.saturating_mul(carriers)).max(4);
    if room >= wanted.handshakes.saturating_add(wanted.streams) {
        return Enough { sessions, ..wanted };
    }
    let handshakes = wanted.handshakes.min(room / 4);
    Enough { handshakes, sessions, streams: wanted.streams.min(room - handshakes) }
}

/// Waits after an error of `accept`: the process has no free descriptor or memory until another connection ends.
pub(crate) async fn pause_after(error: &io::Error, entrance: &Entrance) {
    if let Some(left_out) = entrance.line() {
        tracing::error!(%error, left_out, "cannot accept a connection");
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Sets the options of a client's or server's connection.
pub(crate) fn prepare_stream(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(
        &TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(PROBE_EVERY).with_retries(4),
    )
}

/// Sets the options of a carrier.
pub(crate) fn prepare_carrier(stream: &TcpStream, options: &Tcp) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(options.unsent.0.min(u64::from(u32::MAX)) as u32)?;
    if options.thin_linear_timeouts && socket.set_tcp_thin_linear_timeouts(true).is_err() {
        tracing::debug!("this kernel has no linear timeouts for thin streams (TCP_THIN_LINEAR_TIMEOUTS)");
    }
    if let Some(name) = &options.congestion {
        socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
            io::Error::new(error.kind(), format!("this kernel has no congestion control \"{name}\": {error}"))
        })?;
    }
    Ok(())
}

/// Reads available bytes. A read that returns less than fits has emptied the socket, so tokio is told that the socket is no longer
/// readable: that saves a read that would fail with `WouldBlock`. The end of the stream is an event of its own and is not lost.
pub(crate) fn read(stream: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
    let mut got = None;
    // Only the event from before the read is cleared, so bytes that arrive meanwhile are not missed.
    let result = stream.try_io(Interest::READABLE, || {
        let count = (&*SockRef::from(stream)).read(into)?;
        got = Some(count);
        if count > 0 && count < into.len() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    });
    got.map_or(result, Ok)
}

/// Waits until a byte or the end of the stream has arrived. tokio may report a new socket as readable before that.
pub(crate) async fn first_byte(stream: &TcpStream) -> io::Result<()> {
    stream.peek(&mut [0]).await.map(drop)
}

/// Makes the socket send a reset when it is closed.
pub(crate) fn abort(stream: &TcpStream) {
    // An error means that the peer has left; the socket is closed next either way.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Ends the sending direction.
pub(crate) fn finish(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).shutdown(std::net::Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_fit_into_the_descriptors() {
        let fits = |descriptors, (handshakes, sessions, streams), carriers| {
            let enough = within(descriptors, Enough { handshakes, sessions, streams }, carriers);
            (enough.handshakes, enough.sessions, enough.streams)
        };
        assert_eq!(fits(65_536, (256, 1, 20_000), 0), (256, 1, 20_000));
        assert_eq!(fits(20_000, (256, 1, 20_000), 0), (256, 1, 19_680));
        assert_eq!(fits(300, (256, 1, 20_000), 0), (59, 1, 177));
        assert_eq!(fits(300, (16, 1, 100), 0), (16, 1, 100));
        assert_eq!(fits(0, (256, 1, 20_000), 0), (1, 1, 3));
    }

    #[test]
    fn at_the_far_end_carriers_and_streams_of_all_sessions_fit() {
        let fits = |descriptors, sessions, carriers| {
            within(descriptors, Enough { handshakes: 256, sessions, streams: 20_000 * sessions }, carriers)
        };
        assert_eq!(fits(2_000_000, 64, 16), Enough { handshakes: 256, sessions: 64, streams: 1_280_000 });
        for (descriptors, carriers, sessions) in
            [(65_536, 16, 64), (1024, 16, 15), (1024, 4, 60), (0, 16, 1), (1024, 0, 64)]
        {
            let enough = fits(descriptors, 64, carriers);
            assert_eq!(enough.sessions, sessions, "{descriptors} {carriers}");
            let used = enough.handshakes + enough.streams + sessions * carriers;
            assert!(used as u64 + OWN_DESCRIPTORS <= descriptors.max(100), "{enough:?} of {descriptors}");
        }
    }
}
