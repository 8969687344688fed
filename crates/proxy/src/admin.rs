//! Metrics and status over HTTP, on loopback only: `GET /metrics` for Prometheus, `GET /metrics/players` with series for each
//! client, `GET /status` as JSON.

use crate::far::Far;
use crate::histogram::Delays;
use crate::hub::Hub;
use crate::hub::status::{ClientDelays, FlowStatus, HubStatus};
use crate::metrics::{ACKNOWLEDGED, ADDED, Metrics};
use crate::near::Near;
use gamelane_mux::savings::{IPV4_TCP_TIMESTAMPS, Saving, Wire};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

const MAX_REQUEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(5);
const AT_A_TIME: usize = 16;
const PROMETHEUS: &str = "text/plain; version=0.0.4";
const TEXT: &str = "text/plain";
/// Clients listed by `/status` and `/metrics/players`.
const LISTED: usize = 1000;

/// A proxy that can be asked.
#[derive(Clone, Debug)]
pub enum Proxy {
    /// The near one.
    Near(Arc<Near>),
    /// The far one.
    Far(Arc<Far>),
}

/// What `/status` says; schema 1.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Of this document.
    pub schema: u32,
    /// `near` or `far`.
    pub role: &'static str,
    /// Of the program.
    pub version: &'static str,
    /// Clients or servers connected.
    pub streams: usize,
    /// Fractions of packets and bytes towards the other end that were saved, headers of 52 B assumed: a read from a client or
    /// server stands for a packet it would have cost, a write to a carrier for one it did.
    pub saved: Saved,
    /// Delays as upper ends of buckets that double.
    pub delay_ms: AllDelays,
    /// By name, as Prometheus gets them.
    pub counters: BTreeMap<&'static str, u64>,
    /// One at a near proxy, one for each near proxy at a far one.
    pub sessions: Vec<HubStatus>,
    /// The first thousand.
    pub clients: Vec<FlowStatus>,
}

/// Fractions saved.
#[derive(Debug, Serialize)]
pub struct Saved {
    /// Of packets.
    pub packets: f64,
    /// Of bytes.
    pub bytes: f64,
}

/// In milliseconds; `null` before the first.
#[derive(Debug, Serialize)]
pub struct AllDelays {
    /// From a carrier to the client or server.
    pub added_p50: Option<f64>,
    /// Its 99th percentile.
    pub added_p99: Option<f64>,
    /// From a write into the pair to its acknowledgement by the other end.
    pub acknowledged_p50: Option<f64>,
    /// Its 99th percentile.
    pub acknowledged_p99: Option<f64>,
}

impl Proxy {
    /// Its sessions.
    pub fn hubs(&self) -> Vec<Arc<Hub>> {
        match self {
            Self::Near(near) => vec![near.hub()],
            Self::Far(far) => far.hubs(),
        }
    }

    fn metrics(&self) -> &Metrics {
        match self {
            Self::Near(near) => &near.metrics,
            Self::Far(far) => &far.metrics,
        }
    }

    /// What it does now.
    pub fn status(&self) -> Status {
        let (metrics, hubs) = (self.metrics(), self.hubs());
        let saving = saving(metrics);
        let ms = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e3);
        Status {
            schema: 1,
            role: match self {
                Self::Near(_) => "near",
                Self::Far(_) => "far",
            },
            version: env!("CARGO_PKG_VERSION"),
            streams: hubs.iter().map(|hub| hub.streams()).sum(),
            saved: Saved { packets: saving.packets, bytes: saving.bytes },
            delay_ms: AllDelays {
                added_p50: ms(metrics.added_delay.quantile(0.5)),
                added_p99: ms(metrics.added_delay.quantile(0.99)),
                acknowledged_p50: ms(metrics.acknowledged.quantile(0.5)),
                acknowledged_p99: ms(metrics.acknowledged.quantile(0.99)),
            },
            counters: metrics.counters().map(|(name, _, counter)| (name, counter.value())).into(),
            clients: hubs.iter().flat_map(|hub| hub.flows(LISTED)).take(LISTED).collect(),
            sessions: hubs.iter().map(|hub| hub.status()).collect(),
        }
    }

    /// Delays of each client, kept apart from `/metrics` because there may be many.
    fn players(&self) -> String {
        let mut clients: Vec<ClientDelays> = self.hubs().iter().flat_map(|hub| hub.delays(LISTED)).collect();
        clients.truncate(LISTED);
        let mut out = String::new();
        let mut series = |name: &str, help: &str, of: fn(&ClientDelays) -> Delays| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
            for one in &clients {
                let labels = format!("client=\"{}\",stream=\"{}\"", one.client, one.stream);
                of(one).prometheus(name, &labels, &mut out);
            }
        };
        series("gamelane_proxy_player_added_delay_seconds", ADDED, |one| one.added_delay);
        series("gamelane_proxy_player_acknowledged_seconds", ACKNOWLEDGED, |one| one.acknowledged);
        out
    }

    fn prometheus(&self) -> String {
        let statuses: Vec<HubStatus> = self.hubs().iter().map(|hub| hub.status()).collect();
        let sum = |of: fn(&HubStatus) -> f64| statuses.iter().map(of).sum::<f64>();
        let rtts = statuses.iter().flat_map(|status| &status.carrier_rtt_ms).flatten();
        let rtt = rtts.copied().fold(0.0, f64::max) / 1e3;
        let saving = saving(self.metrics());
        self.metrics().prometheus(&[
            ("gamelane_proxy_streams", "Clients or servers connected.", sum(|status| status.streams as f64)),
            ("gamelane_proxy_sessions", "Peers.", statuses.len() as f64),
            ("gamelane_proxy_carriers", "Carriers in use.", sum(|status| status.carriers_up as f64)),
            ("gamelane_proxy_carrier_rtt_seconds", "Longest smoothed round trip of a carrier.", rtt),
            (
                "gamelane_proxy_buffered_bytes",
                "Bytes waiting, retained and unread.",
                sum(|status| status.buffered_bytes as f64),
            ),
            ("gamelane_proxy_repeats", "Early repeats sent.", sum(|status| status.sent.repeats as f64)),
            (
                "gamelane_proxy_resent_bytes",
                "Payload sent again after a carrier was lost.",
                sum(|status| status.sent.resent_bytes as f64),
            ),
            (
                "gamelane_proxy_duplicate_bytes",
                "Payload received twice.",
                sum(|status| status.received.duplicate_bytes as f64),
            ),
            ("gamelane_proxy_saved_packets_ratio", "Packets saved, estimated.", saving.packets),
            ("gamelane_proxy_saved_bytes_ratio", "Bytes saved, estimated.", saving.bytes),
        ])
    }
}

fn saving(metrics: &Metrics) -> Saving {
    let direct = Wire::of(metrics.reads.value(), metrics.bytes_in.value(), IPV4_TCP_TIMESTAMPS);
    let carried =
        Wire::of(metrics.carrier_writes.value(), metrics.carrier_bytes.value(), IPV4_TCP_TIMESTAMPS);
    Saving::of(direct, carried)
}

/// Answers until it is dropped.
pub async fn run(listener: TcpListener, proxy: Proxy) {
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        if let Ok(place) = places.clone().try_acquire_owned() {
            let proxy = proxy.clone();
            tokio::spawn(async move {
                // Whoever is slow or leaves gets no answer.
                let service = service_fn(move |request| {
                    let answer = answer(&request, &proxy);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let serving = server::conn::http1::Builder::new()
                    .keep_alive(false)
                    .max_buf_size(MAX_REQUEST)
                    .serve_connection(TokioIo::new(socket), service);
                let _ = timeout(PATIENCE, serving).await;
                drop(place);
            });
        }
    }
}

fn answer(request: &Request<Incoming>, proxy: &Proxy) -> Response<Full<Bytes>> {
    let (code, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, PROMETHEUS, proxy.prometheus()),
        (&Method::GET, "/metrics/players") => (StatusCode::OK, PROMETHEUS, proxy.players()),
        (&Method::GET, "/status") => match serde_json::to_string(&proxy.status()) {
            Ok(status) => (StatusCode::OK, "application/json", status),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string()),
        },
        _ => (StatusCode::NOT_FOUND, TEXT, "there is /metrics, /metrics/players and /status\n".into()),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Asks the proxy that answers at `address`.
pub async fn ask(address: SocketAddr) -> anyhow::Result<serde_json::Value> {
    let answer = timeout(PATIENCE, async {
        let socket = TcpStream::connect(address).await?;
        let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(socket)).await?;
        let request = Request::get("/status").header(HOST, address.to_string()).body(Empty::<Bytes>::new())?;
        let asked =
            async { anyhow::Ok(sender.send_request(request).await?.into_body().collect().await?.to_bytes()) };
        tokio::pin!(asked);
        tokio::select! {
            answer = &mut asked => answer,
            ended = connection => { ended?; asked.await }
        }
    });
    let answer = answer.await.map_err(|_| anyhow::anyhow!("{address} gives no answer"))??;
    serde_json::from_slice(&answer).map_err(|_| anyhow::anyhow!("{address} is no gamelane-proxy"))
}
