//! What a session tells of itself and of its clients.

use crate::hub::Hub;
use crate::metrics::Delays;
use gamelane_core::Duration;
use gamelane_mux::CarrierId;
use std::net::SocketAddr;

/// What `status` shows of a session.
#[derive(Clone, Debug, serde::Serialize)]
pub struct HubStatus {
    /// Carriers in use, and how many there should be.
    pub carriers_up: usize,
    /// As configured.
    pub carriers: usize,
    /// Their round trips in milliseconds; `null` for one that is down.
    pub carrier_rtt_ms: Vec<Option<f64>>,
    /// Clients or servers connected.
    pub streams: usize,
    /// Bytes waiting, retained and unread.
    pub buffered_bytes: u64,
    /// Frames, payload and headers sent.
    pub sent: Sent,
    /// Duplicates removed, and waits behind holes.
    pub received: ReceivedStatus,
}

/// What was sent.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Sent {
    /// Data frames.
    pub data_frames: u64,
    /// Payload in them.
    pub payload_bytes: u64,
    /// With headers.
    pub frame_bytes: u64,
    /// Early repeats.
    pub repeats: u64,
    /// Payload sent again after a carrier was lost.
    pub resent_bytes: u64,
}

/// What was received.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct ReceivedStatus {
    /// Payload that was new.
    pub payload_bytes: u64,
    /// Payload that had been here.
    pub duplicate_bytes: u64,
    /// Frames that waited behind a hole in their stream.
    pub held_frames: u64,
    /// The longest such wait.
    pub longest_hold_ms: f64,
}

/// One client, as `status` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FlowStatus {
    /// Id within the session.
    pub stream: u64,
    /// The client.
    pub client: SocketAddr,
    /// Since it came.
    pub age_s: f64,
    /// Since a byte passed.
    pub idle_s: f64,
    /// From it.
    pub bytes_in: u64,
    /// To it.
    pub bytes_out: u64,
    /// Times it took no more for a while.
    pub stalls: u64,
    /// From bytes arriving on a carrier to handing them to it.
    pub added_delay: Quantiles,
    /// From what it writes to the other end's acknowledgement.
    pub acknowledged: Quantiles,
}

/// Of one client's delays, in milliseconds, as upper ends of buckets that double; `null` before the first.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Quantiles {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
}

/// One client's delays, in full.
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
    /// For `status` and metrics.
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

    /// Of at most `most` clients.
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

    /// The clients, at most `most` of them.
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
