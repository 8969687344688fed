//! Socket options and reads.

use crate::config::{Limits, Tcp};
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
/// Descriptors for carriers, listeners, files and the event loop.
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

/// Raises the limit of open descriptors as far as this user may. Returns how many handshakes and streams they are enough for, which is
/// what `limits` says or less.
pub(crate) fn descriptors_for(limits: &Limits) -> (usize, usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // An error leaves the limit as it is.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let may = if raised { maximum } else { current };
    let Some(may) = may else { return (limits.handshakes, limits.streams) };
    let (handshakes, streams) = within(may, limits.handshakes, limits.streams);
    if (handshakes, streams) != (limits.handshakes, limits.streams) {
        tracing::warn!(
            descriptors = may,
            handshakes,
            streams,
            "too few descriptors for the limits in the file, so these are in force; raise LimitNOFILE or `ulimit -n`"
        );
    }
    (handshakes, streams)
}

/// What fits into so many descriptors, if carriers keep theirs. Handshakes get a quarter at most.
fn within(descriptors: u64, handshakes: usize, streams: usize) -> (usize, usize) {
    let room = usize::try_from(descriptors.saturating_sub(OWN_DESCRIPTORS)).unwrap_or(usize::MAX).max(4);
    if room >= handshakes.saturating_add(streams) {
        return (handshakes, streams);
    }
    let handshakes = handshakes.min(room / 4);
    (handshakes, streams.min(room - handshakes))
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
        assert_eq!(within(65_536, 256, 20_000), (256, 20_000));
        assert_eq!(within(20_000, 256, 20_000), (256, 19_680));
        assert_eq!(within(300, 256, 20_000), (59, 177));
        assert_eq!(within(300, 16, 100), (16, 100));
        assert_eq!(within(0, 256, 20_000), (1, 3));
    }
}
