//! The far proxy: accepts near proxies and connects to the server for each stream.

use crate::config::{Config, Header, Transport};
use crate::entrance::{Entrance, Evicted, Place, Rounds};
use crate::hub::{Carrier, Hub};
use crate::link::{Link, LinkError};
use crate::metrics::Metrics;
use crate::payload::Payload;
use crate::tls::{Certificates, Identity};
use crate::{preface, proxy_header, quic, sockets};
use gamelane_mux::{DecodeError, Frame, Hello, Role, StreamId};
use rustls::pki_types::CertificateDer;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A far proxy.
#[derive(Debug)]
pub struct Far {
    config: Arc<Config>,
    sessions: Mutex<Sessions>,
    /// Metrics of all its sessions.
    pub metrics: Arc<Metrics>,
    /// Who may connect, and how many.
    pub entrance: Entrance,
    /// Where it listens, with the port that the system chose.
    pub address: SocketAddr,
}

/// By their ids.
type Sessions = BTreeMap<[u8; 16], Session>;

#[derive(Debug)]
struct Session {
    hub: Arc<Hub>,
    /// The near proxy: its certificate, or without TLS its address.
    owner: Vec<u8>,
    /// A later session has a greater number.
    number: u64,
}

/// The socket that it listens on.
#[derive(Debug)]
pub enum Listener {
    /// For TCP carriers.
    Tcp(TcpListener),
    /// For QUIC carriers.
    Quic(quinn::Endpoint),
}

impl Far {
    /// Listens. [`run`](Self::run) serves.
    pub fn bind(config: Arc<Config>, identity: Option<&Identity>) -> anyhow::Result<(Arc<Self>, Listener)> {
        let (listener, address) = match (config.transport, identity) {
            (Transport::Quic, Some(identity)) => {
                let endpoint = quic::listen(&config, identity)?;
                let address = endpoint.local_addr()?;
                (Listener::Quic(endpoint), address)
            }
            _ => {
                let listener = sockets::listen(config.listen)?;
                let address = listener.local_addr()?;
                (Listener::Tcp(listener), address)
            }
        };
        let metrics = Arc::new(Metrics::default());
        let far = Arc::new(Self {
            sessions: Mutex::new(BTreeMap::new()),
            entrance: Entrance::new(&config, metrics.clone()),
            metrics,
            address,
            config,
        });
        Ok((far, listener))
    }

    /// The current sessions.
    pub fn hubs(&self) -> Vec<Arc<Hub>> {
        let sessions = self.sessions.lock().expect("nothing panics while it holds the lock");
        sessions.values().map(|session| session.hub.clone()).collect()
    }

    /// Serves until its socket is closed, and returns the reason. Dropping the future stops the proxy.
    pub async fn run(self: Arc<Self>, listener: Listener, certificates: Option<Arc<Certificates>>) -> String {
        let identity = || certificates.as_ref().map(|certificates| certificates.current());
        let mut rounds = Rounds::default();
        match listener {
            Listener::Tcp(listener) => loop {
                rounds.next().await;
                match listener.accept().await {
                    Ok((socket, near)) => self.clone().welcome(socket, near, identity()),
                    Err(error) => sockets::pause_after(&error, &self.entrance).await,
                }
            },
            Listener::Quic(endpoint) => {
                while let Some(incoming) = endpoint.accept().await {
                    rounds.next().await;
                    self.clone().welcome_quic(incoming, identity());
                }
                "the endpoint is closed".into()
            }
        }
    }

    fn welcome(self: Arc<Self>, socket: TcpStream, near: SocketAddr, identity: Option<Arc<Identity>>) {
        let place = match self.entrance.greet(near) {
            Ok(place) => place,
            Err(why) => {
                self.refused(near, why);
                return sockets::abort(&socket);
            }
        };
        tokio::spawn(async move {
            let greeting = self.greet(&socket, identity.as_deref());
            let (hello, tls, early) =
                match self.entrance.in_time(place, sockets::first_byte(&socket), greeting).await {
                    Ok(greeted) => greeted,
                    Err(error) => {
                        if matches!(error, LinkError::Evicted | LinkError::Late(_)) {
                            sockets::abort(&socket);
                        }
                        return self.failed(near, &error);
                    }
                };
            let shown = tls.as_ref().and_then(|tls| tls.peer_certificates()?.first());
            let Some(hub) = self.session(&hello, near, shown) else {
                self.answer(&socket, tls, hello.session, &hello).await;
                return;
            };
            let socket = Arc::new(socket);
            let link = Link::new(socket.clone(), tls, early);
            let number = hub.attach(hello.carrier, Carrier::Tcp(Box::new(link)));
            let error = match hub.receive_early(hello.carrier, number) {
                Ok(()) => hub.serve_carrier(hello.carrier, number, &socket).await,
                Err(error) => {
                    hub.detach(hello.carrier, number);
                    error
                }
            };
            tracing::info!(%near, carrier = hello.carrier.0, %error, "carrier ended");
        });
    }

    fn welcome_quic(self: Arc<Self>, incoming: quinn::Incoming, identity: Option<Arc<Identity>>) {
        let near = incoming.remote_address();
        if !incoming.remote_address_validated() && self.entrance.must_validate() {
            self.metrics.retries.one();
            // It can fail only for an address that is validated.
            let _ = incoming.retry();
            return;
        }
        let place = match self.entrance.greet(near) {
            Ok(place) => place,
            Err(why) => {
                self.refused(near, why);
                // An answer would help a flood with forged addresses.
                return incoming.ignore();
            }
        };
        tokio::spawn(self.serve_quic(incoming, identity, place));
    }

    async fn serve_quic(
        self: Arc<Self>,
        incoming: quinn::Incoming,
        identity: Option<Arc<Identity>>,
        place: (Place, Evicted),
    ) {
        let near = incoming.remote_address();
        let greeting = quic::greet(incoming, &self.config, identity.as_deref(), &self.entrance.turns);
        let greeted = match self.entrance.in_time(place, std::future::ready(Ok(())), greeting).await {
            Ok(greeted) => greeted,
            Err(error) => return self.failed(near, &error),
        };
        let carrier = greeted.hello.carrier;
        match self.session(&greeted.hello, near, greeted.shown().as_ref()) {
            Some(hub) => {
                let error = greeted.serve(&hub).await;
                tracing::info!(%near, carrier = carrier.0, %error, "carrier ended");
            }
            None => greeted.refuse().await,
        }
    }

    fn refused(&self, near: SocketAddr, why: &str) {
        if let Some(left_out) = self.entrance.line() {
            tracing::warn!(%near, why, left_out, "near proxy refused");
        }
    }

    fn failed(&self, near: SocketAddr, error: &LinkError) {
        if !matches!(error, LinkError::Evicted) {
            self.metrics.handshakes_failed.one();
        }
        if let Some(left_out) = self.entrance.line() {
            tracing::warn!(%near, %error, left_out, "handshake failed");
        }
    }

    async fn greet(
        &self,
        socket: &TcpStream,
        identity: Option<&Identity>,
    ) -> Result<(Hello, Option<Box<rustls::Connection>>, Vec<u8>), LinkError> {
        sockets::prepare_carrier(socket, &self.config.tcp)?;
        let mut tls = None;
        if let Some(identity) = identity {
            let server = rustls::ServerConnection::new(Arc::new(identity.server()?))?;
            let mut connection: Box<rustls::Connection> = Box::new(server.into());
            preface::handshake(socket, &mut connection, Some(&self.entrance.turns)).await?;
            tls = Some(connection);
        }
        match preface::hello(socket, tls.as_deref_mut()).await {
            Ok((hello, early)) => Ok((hello, tls, early)),
            Err(LinkError::Frame(error @ DecodeError::Version(_))) => {
                // The hello tells the near end which version this end speaks.
                let carrier = gamelane_mux::CarrierId(0);
                let hello =
                    Hello { session: [0; 16], carrier, carriers: 1, window: 0, positions: 0, resume: false };
                self.answer(socket, tls, [0; 16], &hello).await;
                Err(error.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Answers that there is no session: a hello without credit. A near end that wants to resume then begins a new session.
    async fn answer(
        &self,
        socket: &TcpStream,
        tls: Option<Box<rustls::Connection>>,
        session: [u8; 16],
        theirs: &Hello,
    ) {
        let hello = Hello { session, window: 0, positions: 0, resume: false, ..*theirs };
        let mut bytes = Vec::new();
        Frame::<Payload>::Hello(hello).put_header(&mut bytes);
        if let Some(mut tls) = tls {
            use std::io::Write as _;
            let mut sealed = Vec::new();
            let written = tls.writer().write_all(&bytes).and_then(|()| {
                while tls.wants_write() {
                    tls.write_tls(&mut sealed)?;
                }
                Ok(())
            });
            bytes = if written.is_ok() { sealed } else { Vec::new() };
        }
        // If the near end has left, it needs no answer.
        let _ = preface::write_all(socket, &bytes).await;
    }

    /// Returns the session that a hello belongs to, or begins one. `None` if the hello is refused: the configurations differ, the
    /// session to resume is unknown, or there are too many sessions.
    fn session(
        self: &Arc<Self>,
        hello: &Hello,
        near: SocketAddr,
        shown: Option<&CertificateDer<'_>>,
    ) -> Option<Arc<Hub>> {
        let ours = self.config.session_carriers();
        if hello.carriers != ours || Some(hello.carrier) == self.config.datagrams() {
            let theirs = hello.carriers;
            tracing::error!(%near, theirs, ours, "near proxy refused: `carriers` or `transport` differs between the two configurations");
            return None;
        }
        let mut sessions = self.sessions.lock().expect("nothing panics while it holds the lock");
        let known = sessions.get(&hello.session).filter(|session| !session.hub.is_over());
        if let Some(session) = known {
            return Some(session.hub.clone());
        }
        if hello.resume {
            tracing::warn!(%near, "cannot resume: this session is unknown here");
            return None;
        }
        let owner = shown.map_or_else(|| near.ip().to_string().into(), |shown| shown.to_vec());
        if sessions.len() >= self.entrance.sessions {
            // A near proxy that was killed has begun anew, and its old session waits for `timeouts.resume`.
            let old = sessions.iter().filter(|(_, session)| session.owner == owner && session.hub.is_dark());
            let old = old.min_by_key(|(_, session)| session.number).map(|(id, _)| *id);
            let Some(old) = old.and_then(|id| sessions.remove(&id)) else {
                tracing::warn!(%near, "near proxy refused: limits.sessions reached");
                return None;
            };
            tracing::warn!(%near, "limits.sessions reached: the oldest session of this near proxy without a carrier ends");
            old.hub.shut_down();
        }
        tracing::info!(%near, "new session");
        let (opened, streams) = mpsc::unbounded_channel();
        let hub = Hub::new(hello.session, &self.config, Role::Far, self.metrics.clone(), opened);
        let number = sessions.values().map(|session| session.number + 1).max().unwrap_or(0);
        sessions.insert(hello.session, Session { hub: hub.clone(), owner, number });
        tokio::spawn(self.clone().serve_session(hub.clone(), hello.session, streams));
        Some(hub)
    }

    async fn serve_session(
        self: Arc<Self>,
        hub: Arc<Hub>,
        id: [u8; 16],
        mut streams: mpsc::UnboundedReceiver<(StreamId, Payload)>,
    ) {
        loop {
            tokio::select! {
                opened = streams.recv() => {
                    let Some((stream, metadata)) = opened else { break };
                    let client = proxy_header::client(&metadata.0).flatten();
                    let client = client.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
                    if hub.announce(stream, client) {
                        tokio::spawn(self.clone().connect(hub.clone(), stream, client, metadata));
                    }
                }
                () = hub.over() => break,
            }
        }
        self.sessions.lock().expect("nothing panics while it holds the lock").remove(&id);
    }

    async fn connect(
        self: Arc<Self>,
        hub: Arc<Hub>,
        stream: StreamId,
        client: SocketAddr,
        metadata: Payload,
    ) {
        let connected = timeout(self.config.refuse_after.std(), async {
            let place = self.entrance.connect(client).map_err(std::io::Error::other)?;
            let socket = TcpStream::connect(self.config.target()).await?;
            sockets::prepare_stream(&socket)?;
            if self.config.proxy_protocol == Header::V2 {
                preface::write_all(&socket, &metadata.0).await?;
            }
            Ok::<_, LinkError>((Arc::new(socket), place))
        });
        let error = match connected.await {
            Ok(Ok((socket, _place))) => {
                if hub.join(stream, socket.clone()) {
                    hub.serve_flow(stream, socket).await;
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer within refuse_after".into(),
        };
        if let Some(left_out) = self.entrance.line() {
            tracing::warn!(server = %self.config.target(), error, left_out, "cannot connect to the server, client refused");
        }
        hub.refuse(stream);
    }
}
