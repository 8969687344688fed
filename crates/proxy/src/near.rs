//! The near proxy: accepts clients and opens a stream for each.

use crate::config::{Config, Header};
use crate::hub::Hub;
use crate::metrics::Metrics;
use crate::payload::Payload;
use crate::tls::Certificates;
use crate::{dial, proxy_header, sockets};
use gamelane_mux::{CarrierId, Role};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// A near proxy.
#[derive(Debug)]
pub struct Near {
    config: Arc<Config>,
    hub: Mutex<Arc<Hub>>,
    /// Metrics of all its sessions.
    pub metrics: Arc<Metrics>,
    handshakes: Arc<Semaphore>,
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
            metrics,
            handshakes: Arc::new(Semaphore::new(config.limits.handshakes)),
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
        loop {
            match listener.accept().await {
                Ok((socket, client)) => self.clone().welcome(socket, client),
                Err(error) => sockets::pause_after(&error).await,
            }
        }
    }

    fn welcome(self: Arc<Self>, socket: TcpStream, client: SocketAddr) {
        let Ok(permit) = self.handshakes.clone().try_acquire_owned() else {
            self.refuse(
                &socket,
                client,
                "limits.handshakes reached: too many clients have not sent their header",
            );
            return;
        };
        if let Err(error) = sockets::prepare_stream(&socket) {
            tracing::debug!(%client, %error, "client left before it was served");
            return;
        }
        if self.config.proxy_protocol == Header::None {
            let here = socket.local_addr().unwrap_or(self.address);
            self.begin(socket, client, Payload::copy(&proxy_header::write(client, here)));
            return;
        }
        tokio::spawn(async move {
            let mut socket = socket;
            let header = timeout(self.config.timeouts.handshake.std(), read_header(&mut socket)).await;
            drop(permit);
            match header.ok().flatten() {
                Some(header) => {
                    let named = proxy_header::client(&header).flatten();
                    self.begin(socket, named.unwrap_or(client), Payload::copy(&header));
                }
                None => self.refuse(&socket, client, "no PROXY protocol v2 header"),
            }
        });
    }

    fn begin(&self, socket: TcpStream, client: SocketAddr, metadata: Payload) {
        let (hub, socket) = (self.hub(), Arc::new(socket));
        let Some(stream) = hub.open(socket.clone(), client, metadata) else {
            self.refuse(&socket, client, "a limit is reached, or the proxy is draining");
            return;
        };
        tracing::debug!(%client, stream = stream.0, "client connected");
        tokio::spawn(hub.serve_flow(stream, socket));
    }

    fn refuse(&self, socket: &TcpStream, client: SocketAddr, why: &str) {
        tracing::warn!(%client, why, "client refused");
        self.metrics.refused.one();
        sockets::abort(socket);
    }
}

async fn read_header(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let mut fixed = [0; proxy_header::FIXED_LEN];
    socket.read_exact(&mut fixed).await.ok()?;
    let mut header = vec![0; proxy_header::whole_len(&fixed)?];
    header[..fixed.len()].copy_from_slice(&fixed);
    socket.read_exact(&mut header[fixed.len()..]).await.ok()?;
    proxy_header::client(&header)?;
    Some(header)
}

fn session(config: &Config, metrics: &Arc<Metrics>) -> Arc<Hub> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).expect("the kernel has random bytes");
    // Only a near end opens streams, so its own hub reports none.
    let (opened, _) = mpsc::unbounded_channel();
    Hub::new(id, config, Role::Near, metrics.clone(), opened)
}
