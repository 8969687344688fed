//! The near end of a carrier: connects, says hello, serves, and connects again after a loss.

use crate::config::{Config, Transport};
use crate::hub::{Carrier, Hub};
use crate::link::{Link, LinkError};
use crate::tls::{Certificates, Identity};
use crate::{preface, quic, sockets};
use gamelane_mux::{CarrierId, DecodeError};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// Pause before the second attempt. Each further pause is twice as long, up to `LAST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Keeps one carrier of `hub` connected until the session is over. Reports to `fatal` an error that every attempt would meet again.
pub(crate) async fn keep_up(
    hub: Arc<Hub>,
    carrier: CarrierId,
    config: Arc<Config>,
    certificates: Option<Arc<Certificates>>,
    fatal: mpsc::UnboundedSender<String>,
) {
    let mut pause = FIRST_PAUSE;
    while !hub.is_over() {
        let identity = certificates.as_ref().map(|certificates| certificates.current());
        let before = hub.metrics.carriers_up.value();
        let result = match config.transport {
            Transport::Tcp => tcp(&hub, carrier, &config, identity.as_deref()).await,
            Transport::Quic => quic::dial(&hub, carrier, &config, identity.as_deref()).await,
        };
        let Err(error) = result;
        if hub.is_over() {
            return;
        }
        let was_up = hub.metrics.carriers_up.value() > before;
        if let Some(why) = hopeless(&error, hub.metrics.carriers_up.value() > 0) {
            hub.metrics.handshakes_failed.one();
            // The receiver is gone only if the process is about to end.
            let _ = fatal.send(format!("{}: {why}", config.target()));
            return;
        }
        pause = if was_up { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
        tracing::warn!(carrier = carrier.0, far = %config.target(), %error, "cannot connect a carrier, next attempt in {pause:?}");
        tokio::select! {
            () = sleep(pause) => {}
            () = hub.over() => {}
        }
    }
}

/// Returns why another attempt would fail in the same way; `None` if it may succeed.
fn hopeless(error: &LinkError, has_been_up: bool) -> Option<String> {
    match error {
        LinkError::Frame(version @ DecodeError::Version(_)) => {
            Some(format!("{version}; both ends need the same version of gamelane-proxy"))
        }
        LinkError::Tls(error) if !has_been_up => {
            Some(format!("the two ends do not accept each other's certificates: {error}"))
        }
        _ => None,
    }
}

async fn tcp(
    hub: &Arc<Hub>,
    carrier: CarrierId,
    config: &Config,
    identity: Option<&Identity>,
) -> Result<std::convert::Infallible, LinkError> {
    let connected = timeout(config.timeouts.handshake.std(), async {
        let socket = TcpStream::connect(config.target()).await?;
        sockets::prepare_carrier(&socket, &config.tcp)?;
        let mut tls = None;
        if let Some(identity) = identity {
            let client = rustls::ClientConnection::new(Arc::new(identity.client()?), identity.name.clone())?;
            let mut connection = Box::new(client.into());
            preface::handshake(&socket, &mut connection, None).await?;
            tls = Some(connection);
        }
        Ok::<_, LinkError>((Arc::new(socket), tls))
    });
    let (socket, tls) = connected.await.map_err(|_| LinkError::late())??;
    let link = Link::new(socket.clone(), tls, Vec::new());
    let number = hub.attach(carrier, Carrier::Tcp(Box::new(link)));
    Err(hub.serve_carrier(carrier, number, &socket).await)
}
