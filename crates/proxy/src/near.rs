//! The near proxy: accepts clients and opens a stream for each.

use crate::config::{Config, Header};
use crate::entrance::{Entrance, Rounds};
use crate::hub::Hub;
use crate::link::LinkError;
use crate::metrics::Metrics;
use crate::payload::Payload;
use crate::tls::Certificates;
use crate::{dial, preface, proxy_header, sockets};
use gamelane_mux::{CarrierId, Role};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A near proxy.
#[derive(Debug)]
pub struct Near {
    config: Arc<Config>,
    hub: Mutex<Arc<Hub>>,
    /// Metrics of all its sessions.
    pub metrics: Arc<Metrics>,
    /// Who may connect, and how many.
    pub entrance: Entrance,
    /// Where it listens, with the port that the system chose.
    pub address: SocketAddr,
}

impl Near {
    /// Listens. [`run`](Self::run) serves.
    pub fn bind(config: Arc<Config>) -> std::io::Result<(Arc<Self>, TcpListener)> {
        let listener = sockets::listen(config.listen)?;
        let metrics = Arc::new(Metrics::default());
        let near = Arc::new(Self {
            hub: Mutex::new(session(&config, &metrics)),
            entrance: Entrance::new(&config, metrics.clone()),
            metrics,
            address: listener.local_addr()?,
            config,
        });
        Ok((near, listener))
    }

    /// The current session.
    pub fn hub(&self) -> Arc<Hub> {
        self.hub.lock().expect("nothing panics while it holds the lock").clone()
    }

    /// Serves until an error that no further attempt can overcome, and returns it. Dropping the future stops the proxy.
    pub async fn run(
        self: Arc<Self>,
        listener: TcpListener,
        certificates: Option<Arc<Certificates>>,
    ) -> String {
        let (fatal, mut fatalities) = mpsc::unbounded_channel();
        tokio::select! {
            why = fatalities.recv() => why.expect("this function holds a sender"),
            why = self.clone().accept(listener) => why,
            never = self.keep_session(certificates, fatal) => match never {},
        }
    }

    async fn keep_session(
        &self,
        certificates: Option<Arc<Certificates>>,
        fatal: mpsc::UnboundedSender<String>,
    ) -> std::convert::Infallible {
        loop {
            let hub = self.hub();
            for carrier in (0..self.config.carriers).map(CarrierId) {
                tokio::spawn(dial::keep_up(
                    hub.clone(),
                    carrier,
                    self.config.clone(),
                    certificates.clone(),
                    fatal.clone(),
                ));
            }
            hub.over().await;
            *self.hub.lock().expect("nothing panics while it holds the lock") =
                session(&self.config, &self.metrics);
        }
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) -> String {
        let mut rounds = Rounds::default();
        loop {
            rounds.next().await;
            match listener.accept().await {
                Ok((socket, peer)) => self.clone().welcome(socket, peer),
                Err(error) => sockets::pause_after(&error, &self.entrance).await,
            }
        }
    }

    fn welcome(self: Arc<Self>, socket: TcpStream, peer: SocketAddr) {
        if let Err(error) = sockets::prepare_stream(&socket) {
            tracing::debug!(%peer, %error, "client left before it was served");
            return;
        }
        if self.config.proxy_protocol == Header::None {
            let here = socket.local_addr().unwrap_or(self.address);
            let header = Payload::copy(&proxy_header::write(peer, here));
            match self.entrance.check(peer) {
                Ok(()) => self.begin(socket, peer, None, header),
                Err(why) => self.refuse(&socket, peer, &why),
            }
            return;
        }
        let place = match self.entrance.greet(peer) {
            Ok(place) => place,
            Err(why) => return self.refuse(&socket, peer, &why),
        };
        tokio::spawn(async move {
            let header =
                self.entrance.in_time(place, sockets::first_byte(&socket), read_header(&socket)).await;
            match header {
                Ok(header) => {
                    let named = proxy_header::client(&header).flatten();
                    self.begin(socket, peer, named, Payload::copy(&header));
                }
                Err(why) => self.refuse(&socket, peer, &why),
            }
        });
    }

    /// Serves a client, whose header names it if it has one.
    fn begin(&self, socket: TcpStream, peer: SocketAddr, named: Option<SocketAddr>, metadata: Payload) {
        let client = named.unwrap_or(peer);
        let (place, evicted) = match self.entrance.seat(peer, named) {
            Ok(seat) => seat,
            Err(why) => return self.refuse(&socket, client, &why),
        };
        let (hub, socket) = (self.hub(), Arc::new(socket));
        let stream = match hub.open(socket.clone(), client, place, metadata) {
            Ok(stream) => stream,
            Err(why) => return self.refuse(&socket, client, &why),
        };
        tracing::debug!(%client, stream = stream.0, "client connected");
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = hub.clone().serve_flow(stream, socket) => {}
                Ok(()) = evicted => hub.evict(stream),
            }
        });
    }

    fn refuse(&self, socket: &TcpStream, client: SocketAddr, why: &dyn std::fmt::Display) {
        if let Some(left_out) = self.entrance.line() {
            tracing::warn!(%client, %why, left_out, "client refused");
        }
        self.metrics.refused.one();
        sockets::abort(socket);
    }
}

async fn read_header(socket: &TcpStream) -> Result<Vec<u8>, LinkError> {
    let none = || LinkError::from(Error::new(ErrorKind::InvalidData, "no PROXY protocol v2 header"));
    let mut fixed = [0; proxy_header::FIXED_LEN];
    preface::read_exact(socket, &mut fixed).await?;
    let mut header = vec![0; proxy_header::whole_len(&fixed).ok_or_else(none)?];
    header[..fixed.len()].copy_from_slice(&fixed);
    preface::read_exact(socket, &mut header[fixed.len()..]).await?;
    proxy_header::client(&header).ok_or_else(none)?;
    Ok(header)
}

fn session(config: &Config, metrics: &Arc<Metrics>) -> Arc<Hub> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).expect("the kernel has random bytes");
    // Only a near end opens streams, so its own hub reports none.
    let (opened, _) = mpsc::unbounded_channel();
    Hub::new(id, config, Role::Near, metrics.clone(), opened)
}
