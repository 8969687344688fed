//! QUIC carriers. Each of the pair's streams has a QUIC stream of its own, so a lost packet blocks only the streams whose bytes it
//! held. Frames without a stream go over the connection's first stream, which is bidirectional: the control stream.

use crate::config::Config;
use crate::entrance::Turns;
use crate::hub::{Carrier, Hub};
use crate::link::{BATCH, LinkError, split_frames};
use crate::payload::Payload;
use crate::tls::Identity;
use gamelane_mux::{CarrierId, DecodeError, Frame, Hello, Parsed, Position, ProtocolError, StreamId, frame};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ConnectionError, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, RecvStream, SendStream,
    TokioRuntime, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, ServerName};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Limit of bytes in quinn that are not acknowledged. More bytes wait in the session, where thin streams can pass them.
const SEND_WINDOW: u64 = 256 << 10;

/// After this many new streams, those that the session has forgotten are closed.
const SWEEP_EVERY: usize = 256;

/// Buffer for datagrams in each direction, in bytes. If it is full, the oldest are dropped: they are only repeats.
const DATAGRAMS: usize = 64 << 10;

/// Bytes of datagrams that may wait to be sent: about one packet.
const HELD_BACK: usize = 1200;

/// Connections that may wait to be accepted. quinn drops more, and then near would wait for its next retransmission.
const INCOMING: usize = 4096;

/// Bytes that those connections may hold beyond their first packets.
const INCOMING_BUFFER: u64 = 4 << 20;

/// Bytes of a connection id, as many as quinn's.
const ID_LEN: usize = 8;

/// Error code of a connection that is closed on purpose.
const DONE: VarInt = VarInt::from_u32(0);

/// Listens, at the far end.
pub(crate) fn listen(config: &Config, identity: &Identity) -> anyhow::Result<Endpoint> {
    let mut endpoint = EndpointConfig::default();
    // After a restart, far answers packets of its old connections with a stateless reset (RFC 9000 section 10.3). Near accepts it only
    // if the key is the same as before. Without it, near would notice the restart after `timeouts.silence`.
    endpoint.reset_key(Arc::new(identity.secret("QUIC stateless reset")));
    endpoint.cid_generator(|| Box::new(Ids));
    let socket = std::net::UdpSocket::bind(config.listen)?;
    Ok(Endpoint::new(endpoint, Some(server(config, identity)?), socket, Arc::new(TokioRuntime))?)
}

/// Random connection ids. quinn's own have a check sum whose key changes with a restart, and packets with a wrong one get no answer.
#[derive(Debug)]
struct Ids;

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; ID_LEN];
        getrandom::fill(&mut id).expect("the kernel has random bytes");
        ConnectionId::new(&id)
    }

    fn cid_len(&self) -> usize {
        ID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn server(config: &Config, identity: &Identity) -> anyhow::Result<quinn::ServerConfig> {
    let crypto = QuicServerConfig::try_from(identity.server()?)?;
    let mut server = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    server.transport_config(Arc::new(transport(config)));
    server.max_incoming(INCOMING);
    server.incoming_buffer_size_total(INCOMING_BUFFER);
    Ok(server)
}

fn transport(config: &Config) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // quinn allocates memory for as many streams as this allows, so a handshake allows none.
    transport.max_concurrent_uni_streams(VarInt::from_u32(0));
    transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
    // The session's credit limits a stream before these windows do.
    transport.stream_receive_window(VarInt::from_u32((config.limits.window.0 as u32).saturating_mul(4)));
    transport.receive_window(VarInt::MAX);
    transport.send_window(SEND_WINDOW);
    transport.max_idle_timeout(config.timeouts.silence.std().try_into().ok());
    transport.datagram_receive_buffer_size(Some(DATAGRAMS));
    transport.datagram_send_buffer_size(DATAGRAMS);
    transport
}

/// The other end's streams that a connection allows after its handshake.
fn most_streams(config: &Config) -> VarInt {
    let streams = config.limits.streams.saturating_mul(2).saturating_add(SWEEP_EVERY);
    VarInt::from_u32(streams.try_into().unwrap_or(u32::MAX))
}

/// Connects, at the near end, and serves until the connection is lost.
pub(crate) async fn dial(
    hub: &Arc<Hub>,
    carrier: CarrierId,
    config: &Config,
    identity: Option<&Identity>,
) -> Result<std::convert::Infallible, LinkError> {
    let identity = identity.expect("QUIC without certificates is refused when the configuration is read");
    let connected = timeout(config.timeouts.handshake.std(), async {
        let crypto = QuicClientConfig::try_from(identity.client()?).map_err(io::Error::other)?;
        let mut client = quinn::ClientConfig::new(Arc::new(crypto));
        client.transport_config(Arc::new(transport(config)));
        let local: SocketAddr = match config.target() {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let endpoint = Endpoint::client(local)?;
        let name = match &identity.name {
            ServerName::DnsName(name) => name.as_ref().to_string(),
            other => other.to_str().into_owned(),
        };
        let connecting = endpoint.connect_with(client, config.target(), &name).map_err(io::Error::other)?;
        let connection = connecting.await.map_err(lost)?;
        connection.set_max_concurrent_uni_streams(most_streams(config));
        let control = connection.open_bi().await.map_err(lost)?;
        Ok::<_, LinkError>((endpoint, connection, control))
    });
    let (_endpoint, connection, control) = connected.await.map_err(|_| LinkError::late())??;
    Err(serve(hub, carrier, connection, control, Vec::new()).await)
}

/// A connection whose near end has said hello.
pub(crate) struct Greeted {
    pub hello: Hello,
    connection: quinn::Connection,
    control: (SendStream, RecvStream),
    /// Bytes read from the control stream, hello included.
    early: Vec<u8>,
}

/// Accepts a connection, at the far end, and reads the near end's hello.
pub(crate) async fn greet(
    incoming: quinn::Incoming,
    config: &Config,
    identity: Option<&Identity>,
    turns: &Turns,
) -> Result<Greeted, LinkError> {
    let identity = identity.expect("QUIC without certificates is refused when the configuration is read");
    // The endpoint has the certificates of its start. They may have been renewed since.
    let accept = || {
        let server = server(config, identity).map_err(io::Error::other)?;
        incoming.accept_with(Arc::new(server)).map_err(lost)
    };
    let connection = turns.take(accept).await?.await.map_err(lost)?;
    let mut control = connection.accept_bi().await.map_err(lost)?;
    let (hello, early) = hello(&mut control).await?;
    connection.set_max_concurrent_uni_streams(most_streams(config));
    Ok(Greeted { hello, connection, control, early })
}

impl Greeted {
    /// The near end's certificate.
    pub(crate) fn shown(&self) -> Option<CertificateDer<'static>> {
        let chain = self.connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        chain.into_iter().next()
    }

    /// Serves the connection as a carrier until it is lost, and returns the reason.
    pub(crate) async fn serve(self, hub: &Arc<Hub>) -> LinkError {
        serve(hub, self.hello.carrier, self.connection, self.control, self.early).await
    }

    /// Answers that there is no session: a hello without credit. A near end that wants to resume then begins a new session.
    pub(crate) async fn refuse(mut self) {
        let ours = Hello { window: 0, positions: 0, resume: false, ..self.hello };
        // If the near end has left, it needs no answer.
        if put(&mut self.control.0, &Frame::Hello(ours)).await.is_ok() && self.control.0.finish().is_ok() {
            let _ = self.control.0.stopped().await;
        }
        self.connection.close(DONE, b"no session");
    }
}

async fn hello(control: &mut (SendStream, RecvStream)) -> Result<(Hello, Vec<u8>), LinkError> {
    let mut bytes = Vec::new();
    loop {
        let chunk = control.1.read_chunk(128, true).await.map_err(io::Error::other)?;
        bytes.extend_from_slice(&chunk.ok_or(LinkError::Closed)?.bytes);
        match frame::parse(&bytes, 0) {
            Ok(Parsed::Frame { frame: Frame::Hello(hello), .. }) => return Ok((hello, bytes)),
            Ok(Parsed::Incomplete { .. }) if bytes.len() < 128 => {}
            Ok(_) => return Err(ProtocolError::OutOfPlace.into()),
            Err(error @ DecodeError::Version(_)) => {
                let ours = Hello {
                    session: [0; 16],
                    carrier: CarrierId(0),
                    carriers: 1,
                    window: 0,
                    positions: 0,
                    resume: false,
                };
                put(&mut control.0, &Frame::Hello(ours)).await?;
                // If the near end has left, it needs no answer.
                let _ = control.0.finish();
                let _ = control.0.stopped().await;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn serve(
    hub: &Arc<Hub>,
    carrier: CarrierId,
    connection: quinn::Connection,
    (control_out, control_in): (SendStream, RecvStream),
    early: Vec<u8>,
) -> LinkError {
    let wake = Arc::new(Notify::new());
    let number = hub.attach(carrier, Carrier::Quic(wake.clone()));
    let place = Place { hub: hub.clone(), carrier, number };
    let greeted = Notify::new();
    let error = tokio::select! {
        error = write(&place, &connection, control_out, &wake) => error,
        error = accept(&place, &connection, &greeted) => error,
        error = datagrams(&place, &connection) => error,
        error = read(&place, control_in, early, Some(&greeted)) => error,
        error = connection.closed() => lost(error),
    };
    hub.detach(carrier, number);
    connection.close(DONE, b"");
    error
}

#[derive(Clone)]
struct Place {
    hub: Arc<Hub>,
    carrier: CarrierId,
    number: u64,
}

async fn write(
    place: &Place,
    connection: &quinn::Connection,
    mut control: SendStream,
    wake: &Notify,
) -> LinkError {
    let mut streams: BTreeMap<StreamId, SendStream> = BTreeMap::new();
    let mut sweep_at = SWEEP_EVERY;
    loop {
        let frame = match place.hub.next_frame(place.carrier, place.number) {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                repeat(&place.hub, connection);
                wake.notified().await;
                continue;
            }
            Err(error) => return error,
        };
        let stream = match &frame {
            Frame::Open { stream, .. } | Frame::Data { stream, .. } | Frame::Reset { stream, .. } => *stream,
            _ => {
                if let Err(error) = put(&mut control, &frame).await {
                    return error;
                }
                continue;
            }
        };
        let out = match streams.entry(stream) {
            Entry::Occupied(opened) => opened.into_mut(),
            Entry::Vacant(place) => match connection.open_uni().await {
                Ok(opened) => place.insert(opened),
                Err(error) => return lost(error),
            },
        };
        if let Err(error) = put(out, &frame).await {
            return error;
        }
        if streams.len() >= sweep_at {
            // Dropping a stream finishes it; written bytes still arrive.
            streams.retain(|stream, _| place.hub.sends(*stream));
            sweep_at = streams.len() + SWEEP_EVERY;
        }
    }
}

/// Sends the early repeats that are due. quinn sends datagrams before streams. So while the congestion window holds datagrams back,
/// no more are added: otherwise repeats would delay new data.
fn repeat(hub: &Hub, connection: &quinn::Connection) {
    while DATAGRAMS - connection.datagram_send_buffer_space().min(DATAGRAMS) < HELD_BACK
        && let Some(room) = connection.max_datagram_size()
        && let Some(frame) = hub.next_datagram(room)
    {
        // A repeat that cannot be sent counts as lost.
        let _ = connection.send_datagram(bytes_of(&frame).into());
    }
}

/// Reads early repeats of the other end and hands them to the session.
async fn datagrams(place: &Place, connection: &quinn::Connection) -> LinkError {
    let Some(carrier) = place.hub.datagrams() else { return std::future::pending().await };
    loop {
        let datagram = match connection.read_datagram().await {
            Ok(datagram) => datagram,
            Err(error) => return lost(error),
        };
        let mut handle = |frame| match frame {
            Frame::Data { position: Position::At(_), .. } => {
                place.hub.take_frame(carrier, place.number, frame)
            }
            _ => Err(ProtocolError::OutOfPlace.into()),
        };
        match split_frames(&datagram, &mut handle) {
            Ok(used) if used == datagram.len() => {}
            Ok(_) => return ProtocolError::OutOfPlace.into(),
            Err(error) => return error,
        }
    }
}

fn bytes_of(frame: &Frame<Payload>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.wire_len());
    frame.put_header(&mut bytes);
    if let Some(body) = frame.body() {
        bytes.extend_from_slice(&body.0);
    }
    bytes
}

async fn put(out: &mut SendStream, frame: &Frame<Payload>) -> Result<(), LinkError> {
    Ok(out.write_all(&bytes_of(frame)).await.map_err(io::Error::other)?)
}

/// Accepts streams and hands their frames to the session. After a packet loss a stream can overtake the other end's hello on the
/// control stream, so its frames wait for the hello.
async fn accept(place: &Place, connection: &quinn::Connection, greeted: &Notify) -> LinkError {
    greeted.notified().await;
    loop {
        match connection.accept_uni().await {
            Ok(stream) => {
                let (place, connection) = (place.clone(), connection.clone());
                tokio::spawn(async move {
                    match read(&place, stream, Vec::new(), None).await {
                        LinkError::Closed => {}
                        // Every stream of a lost connection ends so, and the loss itself is reported once.
                        _ if connection.close_reason().is_some() => {}
                        error => {
                            tracing::warn!(carrier = place.carrier.0, %error, "carrier closed: broken frames");
                            connection.close(DONE, b"broken frames");
                        }
                    }
                });
            }
            Err(error) => return lost(error),
        }
    }
}

/// Hands frames to the session until the stream ends. Notifies `greeted` of an accepted hello.
async fn read(
    place: &Place,
    mut stream: RecvStream,
    mut partial: Vec<u8>,
    greeted: Option<&Notify>,
) -> LinkError {
    loop {
        let mut handle = |frame| {
            let greets = matches!(frame, Frame::Hello(_));
            place.hub.take_frame(place.carrier, place.number, frame)?;
            if let (true, Some(greeted)) = (greets, greeted) {
                greeted.notify_one();
            }
            Ok(())
        };
        match split_frames(&partial, &mut handle) {
            Ok(used) => drop(partial.drain(..used)),
            Err(error) => return error,
        }
        match stream.read_chunk(BATCH, true).await {
            Ok(Some(chunk)) => partial.extend_from_slice(&chunk.bytes),
            Ok(None) => return LinkError::Closed,
            Err(quinn::ReadError::ConnectionLost(error)) => return lost(error),
            Err(error) => return io::Error::other(error).into(),
        }
    }
}

fn lost(error: ConnectionError) -> LinkError {
    match &error {
        // RFC 9001 section 4.8: codes 0x100 to 0x1ff are TLS alerts.
        ConnectionError::TransportError(inner) if (0x100..0x200).contains(&u64::from(inner.code)) => {
            rustls::Error::General(error.to_string()).into()
        }
        ConnectionError::ConnectionClosed(close) if (0x100..0x200).contains(&u64::from(close.error_code)) => {
            rustls::Error::General(error.to_string()).into()
        }
        _ => io::Error::other(error).into(),
    }
}
