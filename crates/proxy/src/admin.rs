//! Metrics and status over HTTP, on loopback only: `GET /metrics` for Prometheus, `GET /metrics/players` with series for each
//! client, `GET /status` as JSON.

use crate::entrance::{Entrance, EntranceStatus};
use crate::far::Far;
use crate::hub::Hub;
use crate::hub::status::{ClientDelays, FlowStatus, HubStatus};
use crate::metrics::{ACKNOWLEDGED, ADDED, Delays, Metrics};
use crate::near::Near;
use crate::tls::{Certificates, InUse};
use gamelane_mux::savings::{IPV4_TCP_TIMESTAMPS, Saving, Wire};
use gamelane_service::http::{self, Answer, Bytes, Method, Request, Route, Site};
use gamelane_service::prometheus::Exposition;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest number of clients in `/status` and `/metrics/players`.
const LISTED: usize = 1000;

/// A proxy that is asked for its status and metrics.
#[derive(Clone, Debug)]
pub enum Proxy {
    /// A near proxy.
    Near(Arc<Near>),
    /// A far proxy.
    Far(Arc<Far>),
}

/// The site of a proxy.
#[derive(Clone, Debug)]
pub struct Admin {
    /// The proxy.
    pub proxy: Proxy,
    /// Its certificates; `None` without TLS.
    pub certificates: Option<Arc<Certificates>>,
}

/// The document of `/status`, schema 1.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Version of this document.
    pub schema: u32,
    /// `near` or `far`.
    pub role: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Number of clients or servers connected.
    pub streams: usize,
    /// Fractions of packets and bytes saved towards the other end, estimated: each read from a client or server counts as one
    /// packet of its own connection, each write to a carrier as one packet of the pair. Each packet has 52 B of headers.
    pub saved: Saved,
    /// Delays: upper bounds of histogram buckets, each twice as wide as the one before.
    pub delay_ms: AllDelays,
    /// Connections from outside, and their limits.
    pub doors: EntranceStatus,
    /// Counters by name, as in `/metrics`.
    pub counters: BTreeMap<&'static str, u64>,
    /// Sessions: one at a near proxy, one for each near proxy at a far one.
    pub sessions: Vec<HubStatus>,
    /// The first thousand clients.
    pub clients: Vec<FlowStatus>,
    /// Certificates in use: this end's own, then the authorities.
    pub certificates: Vec<InUse>,
    /// Why the certificates could not be read again, if the last SIGHUP failed. The ones in use are older than the files.
    pub certificates_error: Option<String>,
}

/// Fractions saved, estimated.
#[derive(Debug, Serialize)]
pub struct Saved {
    /// Fraction of packets.
    pub packets: f64,
    /// Fraction of bytes.
    pub bytes: f64,
}

/// Delays of all clients in milliseconds; `null` before the first.
#[derive(Debug, Serialize)]
pub struct AllDelays {
    /// Median time from a carrier to the client or server.
    pub added_p50: Option<f64>,
    /// Its 99th percentile.
    pub added_p99: Option<f64>,
    /// Median time from a write into the pair to its acknowledgement by the other end.
    pub acknowledged_p50: Option<f64>,
    /// Its 99th percentile.
    pub acknowledged_p99: Option<f64>,
}

impl Proxy {
    /// The current sessions.
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

    fn entrance(&self) -> &Entrance {
        match self {
            Self::Near(near) => &near.entrance,
            Self::Far(far) => &far.entrance,
        }
    }

    fn status(&self, certificates: Option<&Certificates>) -> Status {
        let (metrics, hubs) = (self.metrics(), self.hubs());
        let saving = saving(metrics);
        let (added, acknowledged) = (metrics.added_delay.read(), metrics.acknowledged.read());
        let ms = |delay: Option<gamelane_core::Duration>| delay.map(|delay| delay.as_millis_f64());
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
                added_p50: ms(added.quantile(0.5)),
                added_p99: ms(added.quantile(0.99)),
                acknowledged_p50: ms(acknowledged.quantile(0.5)),
                acknowledged_p99: ms(acknowledged.quantile(0.99)),
            },
            doors: self.entrance().status(),
            counters: metrics.counters().map(|(name, _, counter)| (name, counter.value())).into(),
            clients: hubs.iter().flat_map(|hub| hub.flows(LISTED)).take(LISTED).collect(),
            sessions: hubs.iter().map(|hub| hub.status()).collect(),
            certificates: certificates.map(Certificates::in_use).unwrap_or_default(),
            certificates_error: certificates.and_then(Certificates::failed),
        }
    }

    /// Delays of each client. They are not part of `/metrics` because there may be many clients.
    fn players(&self) -> Exposition {
        let mut clients: Vec<ClientDelays> = self.hubs().iter().flat_map(|hub| hub.delays(LISTED)).collect();
        clients.truncate(LISTED);
        let mut out = Exposition::default();
        let mut series = |name, help, of: fn(&ClientDelays) -> &Delays| {
            let mut histogram = out.histogram(name, help);
            for one in &clients {
                let (client, stream) = (one.client.to_string(), one.stream.to_string());
                histogram.add(&[("client", &client), ("stream", &stream)], of(one));
            }
        };
        series("gamelane_proxy_player_added_delay_seconds", ADDED, |one| &one.added_delay);
        series("gamelane_proxy_player_acknowledged_seconds", ACKNOWLEDGED, |one| &one.acknowledged);
        out
    }

    fn exposition(&self) -> Exposition {
        let statuses: Vec<HubStatus> = self.hubs().iter().map(|hub| hub.status()).collect();
        let sum = |of: fn(&HubStatus) -> f64| statuses.iter().map(of).sum::<f64>();
        let rtts = statuses.iter().flat_map(|status| &status.carrier_rtt_ms).flatten();
        let rtt = rtts.copied().fold(0.0, f64::max) / 1e3;
        let saving = saving(self.metrics());
        let handshakes = self.entrance().status().handshakes;
        let mut out = Exposition::default();
        for (name, help, value) in [
            ("streams", "Clients or servers connected.", sum(|status| status.streams as f64)),
            ("sessions", "Sessions with a peer.", statuses.len() as f64),
            ("carriers", "Carriers in use.", sum(|status| status.carriers_up as f64)),
            ("handshakes", "Connections that have not identified themselves.", handshakes.open as f64),
            ("handshake_sources", "Addresses that they come from.", handshakes.sources as f64),
            ("carrier_rtt_seconds", "Longest smoothed round trip of a carrier.", rtt),
            (
                "buffered_bytes",
                "Bytes that wait to be sent, acknowledged or read.",
                sum(|status| status.buffered_bytes as f64),
            ),
            ("repeats", "Early repeats sent.", sum(|status| status.sent.repeats as f64)),
            (
                "resent_bytes",
                "Payload sent again after a carrier was lost.",
                sum(|status| status.sent.resent_bytes as f64),
            ),
            (
                "duplicate_bytes",
                "Payload received twice.",
                sum(|status| status.received.duplicate_bytes as f64),
            ),
            ("saved_packets_ratio", "Packets saved, estimated.", saving.packets),
            ("saved_bytes_ratio", "Bytes saved, estimated.", saving.bytes),
        ] {
            out.gauge(&format!("gamelane_proxy_{name}"), help).add(&[], value);
        }
        self.metrics().expose(&mut out);
        out
    }
}

impl Admin {
    fn exposition(&self) -> Exposition {
        let mut out = self.proxy.exposition();
        let Some(certificates) = &self.certificates else { return out };
        let mut left = out.gauge(
            "gamelane_proxy_certificate_expires_in_seconds",
            "Seconds until a certificate in use expires; negative afterwards.",
        );
        for InUse { file, subject, fingerprint, expires_in_s, .. } in certificates.in_use() {
            let labels = [("file", &*file), ("subject", &*subject), ("fingerprint", &*fingerprint)];
            left.add(&labels, expires_in_s as f64);
        }
        let failed = certificates.failed().is_some();
        out.gauge(
            "gamelane_proxy_certificates_failed",
            "1 if the last SIGHUP could not read the certificates again.",
        )
        .add(&[], u64::from(failed));
        out
    }
}

impl Site for Admin {
    fn routes(&self) -> &'static [Route] {
        const { &[(Method::GET, "/metrics"), (Method::GET, "/metrics/players"), (Method::GET, "/status")] }
    }

    async fn answer(&self, request: Request<Bytes>) -> Answer {
        match request.uri().path() {
            "/status" => http::json(&self.proxy.status(self.certificates.as_deref())),
            "/metrics/players" => http::metrics(self.proxy.players()),
            _ => http::metrics(self.exposition()),
        }
    }
}

fn saving(metrics: &Metrics) -> Saving {
    let direct = Wire::of(metrics.reads.value(), metrics.bytes_in.value(), IPV4_TCP_TIMESTAMPS);
    let carried =
        Wire::of(metrics.carrier_writes.value(), metrics.carrier_bytes.value(), IPV4_TCP_TIMESTAMPS);
    Saving::of(direct, carried)
}
