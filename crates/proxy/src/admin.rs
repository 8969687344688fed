//! Metrics and status over HTTP, on loopback only: `GET /metrics` for Prometheus, `GET /status` as JSON.

use crate::far::Far;
use crate::hub::Hub;
use crate::hub::status::{FlowStatus, HubStatus};
use crate::metrics::Metrics;
use crate::near::Near;
use gamelane_mux::savings::{IPV4_TCP_TIMESTAMPS, Saving, Wire};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

const MAX_REQUEST: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(5);
const AT_A_TIME: usize = 16;
/// Clients listed by `/status`.
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
    pub delay_ms: Delays,
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
pub struct Delays {
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
            delay_ms: Delays {
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
                let _ = timeout(PATIENCE, answer(socket, &proxy)).await;
                drop(place);
            });
        }
    }
}

async fn answer(mut socket: TcpStream, proxy: &Proxy) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        if socket.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let (code, kind, body) = match line {
        b"GET /metrics HTTP/1.1" | b"GET /metrics HTTP/1.0" => {
            ("200 OK", "text/plain; version=0.0.4", proxy.prometheus())
        }
        b"GET /status HTTP/1.1" | b"GET /status HTTP/1.0" => {
            ("200 OK", "application/json", serde_json::to_string(&proxy.status())?)
        }
        _ => ("404 Not Found", "text/plain", "there is /metrics and /status\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    socket.shutdown().await
}

/// Asks the proxy that answers at `address`.
pub async fn ask(address: SocketAddr) -> anyhow::Result<serde_json::Value> {
    let answer = timeout(PATIENCE, async {
        let mut socket = TcpStream::connect(address).await?;
        socket.write_all(b"GET /status HTTP/1.0\r\n\r\n").await?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    });
    let answer = answer.await.map_err(|_| anyhow::anyhow!("{address} gives no answer"))??;
    let text = std::str::from_utf8(&answer)?;
    let (_, body) =
        text.split_once("\r\n\r\n").ok_or_else(|| anyhow::anyhow!("{address} is no gamelane-proxy"))?;
    Ok(serde_json::from_str(body)?)
}
