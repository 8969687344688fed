//! Status of a session and of its clients.

use crate::hub::Hub;
use crate::metrics::Delays;
use gamelane_core::Duration;
use gamelane_mux::CarrierId;
use std::net::SocketAddr;

/// Status of a session.
#[derive(Clone, Debug, serde::Serialize)]
pub struct HubStatus {
    /// Number of carriers in use.
    pub carriers_up: usize,
    /// Number of carriers configured.
    pub carriers: usize,
    /// Smoothed round trip of each carrier in milliseconds; `null` if it is down.
    pub carrier_rtt_ms: Vec<Option<f64>>,
    /// Number of clients or servers connected.
    pub streams: usize,
    /// Bytes that wait to be sent, acknowledged or read.
    pub buffered_bytes: u64,
    /// Counters of what was sent.
    pub sent: Sent,
    /// Counters of what was received.
    pub received: ReceivedStatus,
}

/// Counters of what a session has sent.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Sent {
    /// Data frames.
    pub data_frames: u64,
    /// Payload bytes in data frames.
    pub payload_bytes: u64,
    /// Bytes of data frames, headers included.
    pub frame_bytes: u64,
    /// Early repeats sent.
    pub repeats: u64,
    /// Payload bytes sent again after a carrier was lost.
    pub resent_bytes: u64,
}

/// Counters of what a session has received.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct ReceivedStatus {
    /// Payload bytes received for the first time.
    pub payload_bytes: u64,
    /// Payload bytes received again.
    pub duplicate_bytes: u64,
    /// Frames that waited for an earlier part of their stream.
    pub held_frames: u64,
    /// The longest such wait, in milliseconds.
    pub longest_hold_ms: f64,
}

/// Status of one client.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FlowStatus {
    /// Stream id within the session.
    pub stream: u64,
    /// The client.
    pub client: SocketAddr,
    /// Seconds since it connected.
    pub age_s: f64,
    /// Seconds since its last byte in either direction.
    pub idle_s: f64,
    /// Bytes from the client or server.
    pub bytes_in: u64,
    /// Bytes to the client or server.
    pub bytes_out: u64,
    /// Times its socket was full.
    pub stalls: u64,
    /// Time from the arrival of bytes on a carrier to their delivery.
    pub added_delay: Quantiles,
    /// Time from a write into the pair to its acknowledgement by the other end.
    pub acknowledged: Quantiles,
}

/// Delays of one client in milliseconds: upper bounds of histogram buckets, each twice as wide as the one before. `null` before the
/// first.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Quantiles {
    /// Number of delays.
    pub count: u64,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
}

/// Histograms of one client's delays.
#[derive(Clone, Debug)]
pub(crate) struct ClientDelays {
    pub stream: u64,
    pub client: SocketAddr,
    pub added_delay: Delays,
    pub acknowledged: Delays,
}

impl Quantiles {
    fn of(delays: &Delays) -> Self {
        let ms = |quantile| delays.quantile(quantile).map(Duration::as_millis_f64);
        Self { count: delays.count(), p50_ms: ms(0.5), p99_ms: ms(0.99) }
    }
}

impl Hub {
    /// The session's status now.
    pub fn status(&self) -> HubStatus {
        let inner = self.lock();
        let session = &inner.session;
        let (sent, received) = (session.mux().counters(), session.demux().counters());
        let carriers = inner.carriers.len();
        HubStatus {
            carriers_up: session.carriers_up(),
            carriers,
            carrier_rtt_ms: (0..carriers)
                .map(|carrier| session.rtt(CarrierId(carrier as u8)).map(Duration::as_millis_f64))
                .collect(),
            streams: inner.flows.len(),
            buffered_bytes: session.buffered(),
            sent: Sent {
                data_frames: sent.data_frames,
                payload_bytes: sent.payload_bytes,
                frame_bytes: sent.wire_bytes,
                repeats: sent.repeats,
                resent_bytes: sent.requeued_bytes,
            },
            received: ReceivedStatus {
                payload_bytes: received.payload_bytes,
                duplicate_bytes: received.duplicate_bytes,
                held_frames: received.held_frames,
                longest_hold_ms: received.longest_hold.as_millis_f64(),
            },
        }
    }

    /// Histograms of the first `most` clients.
    pub(crate) fn delays(&self, most: usize) -> Vec<ClientDelays> {
        let inner = self.lock();
        let flows = inner.flows.iter().take(most);
        flows
            .map(|(stream, flow)| ClientDelays {
                stream: stream.0,
                client: flow.client,
                added_delay: flow.added_delay,
                acknowledged: flow.acknowledged,
            })
            .collect()
    }

    /// Status of the first `most` clients.
    pub fn flows(&self, most: usize) -> Vec<FlowStatus> {
        let inner = self.lock();
        let now = self.clock.now();
        let flows = inner.flows.iter().take(most);
        flows
            .map(|(stream, flow)| FlowStatus {
                stream: stream.0,
                client: flow.client,
                age_s: now.saturating_since(flow.opened).as_secs_f64(),
                idle_s: now.saturating_since(flow.active).as_secs_f64(),
                bytes_in: flow.written,
                bytes_out: flow.delivered,
                stalls: flow.stalls,
                added_delay: Quantiles::of(&flow.added_delay),
                acknowledged: Quantiles::of(&flow.acknowledged),
            })
            .collect()
    }
}
