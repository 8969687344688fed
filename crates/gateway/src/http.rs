//! Status over HTTP, on loopback only: `GET /status` as JSON, `GET /metrics` for Prometheus. The loop makes a status only when
//! somebody asks.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use gamelane_service::http::{self, Address, Answer, Bytes, Method, Request, Route, Site};
use gamelane_service::mailbox::Asker;

use crate::status::Status;
use crate::status::metrics::metrics;

/// What the gateway answers.
#[derive(Debug)]
pub struct Pages(pub Asker<(), Arc<Status>>);

impl Site for Pages {
    fn routes(&self) -> &'static [Route] {
        const { &[(Method::GET, "/metrics"), (Method::GET, "/status")] }
    }

    async fn answer(&self, request: Request<Bytes>) -> Answer {
        match (self.0.ask(()).await, request.uri().path()) {
            (None, _) => http::unavailable("the gateway does not answer"),
            (Some(status), "/metrics") => http::metrics(metrics(&status)),
            (Some(status), _) => http::json(&*status),
        }
    }
}

/// Asks the gateway that answers at `address`.
///
/// # Errors
/// Nothing answers there, or it is no gateway of this version.
pub fn ask(address: SocketAddr) -> anyhow::Result<Status> {
    let answer = http::get(&Address::Tcp(address), "/status")?;
    serde_json::from_slice(&answer).context("no gamelane-gateway of this version")
}
