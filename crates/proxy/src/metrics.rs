//! Counters and delay histograms of the proxy. They can be read while it runs.

use gamelane_core::Duration;
use gamelane_service::histogram::Coarse;
use gamelane_service::prometheus::Exposition;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

pub(crate) const ADDED: &str = "Time from the arrival of bytes on a carrier to their delivery.";
pub(crate) const ACKNOWLEDGED: &str =
    "Time from a write into the pair to its acknowledgement by the other end.";

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// The current value.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Delays of one client.
pub(crate) type Delays = Coarse<u32>;

/// Delays of all clients and sessions.
#[derive(Debug, Default)]
pub struct SharedDelays(Mutex<Coarse<u64>>);

impl SharedDelays {
    /// Adds a delay.
    pub fn record(&self, delay: Duration) {
        self.lock().record(delay);
    }

    /// The histogram as it is now.
    pub fn read(&self) -> Coarse<u64> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Coarse<u64>> {
        self.0.lock().expect("nothing panics while it holds the lock")
    }
}

/// All counters and histograms of a process.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Streams opened.
    pub opened: Counter,
    /// Streams that both sides closed.
    pub closed: Counter,
    /// Streams that failed or were given up.
    pub aborted: Counter,
    /// Clients refused: a limit was reached, or the far end or the server did not answer.
    pub refused: Counter,
    /// Bytes from clients or servers.
    pub bytes_in: Counter,
    /// Reads that returned bytes: an estimate of the packets that the client's own connection would have needed.
    pub reads: Counter,
    /// Bytes to clients or servers.
    pub bytes_out: Counter,
    /// Bytes to carriers, TLS included.
    pub carrier_bytes: Counter,
    /// Writes to carriers: an estimate of their packets.
    pub carrier_writes: Counter,
    /// Carriers that came up.
    pub carriers_up: Counter,
    /// Carriers lost.
    pub carriers_lost: Counter,
    /// Handshakes that failed: wrong certificate, version or protocol, or no answer in time.
    pub handshakes_failed: Counter,
    /// Of them, those that sent no byte within `timeouts.first_byte`.
    pub no_first_byte: Counter,
    /// Of them, those that were not complete within `timeouts.handshake`.
    pub handshakes_late: Counter,
    /// Handshakes that lost their place to a newer connection.
    pub handshakes_evicted: Counter,
    /// Connections refused: their address is not in `allow`.
    pub unlisted: Counter,
    /// QUIC connections that had to prove their address.
    pub retries: Counter,
    /// Clients refused: their address has its share.
    pub over_share: Counter,
    /// Clients refused: `limits.streams` reached.
    pub over_limit: Counter,
    /// Clients without an answer of the server that lost their place to a newer client.
    pub streams_evicted: Counter,
    /// Times the socket of a client or server was full.
    pub stalls: Counter,
    /// Time from the arrival of bytes on a carrier to their delivery.
    pub added_delay: SharedDelays,
    /// Time from a write into the pair to its acknowledgement by the other end: one round trip, and the time the acknowledgement
    /// waits for other frames.
    pub acknowledged: SharedDelays,
}

impl Metrics {
    /// Writes all of them for Prometheus.
    pub(crate) fn expose(&self, out: &mut Exposition) {
        for (name, help, counter) in self.counters() {
            out.counter(&format!("gamelane_proxy_{name}_total"), help).add(&[], counter.value());
        }
        out.histogram("gamelane_proxy_added_delay_seconds", ADDED).add(&[], &self.added_delay.read());
        out.histogram("gamelane_proxy_acknowledged_seconds", ACKNOWLEDGED)
            .add(&[], &self.acknowledged.read());
    }

    /// Name, help and value of each counter.
    pub fn counters(&self) -> [(&'static str, &'static str, &Counter); 21] {
        [
            ("streams_opened", "Streams opened.", &self.opened),
            ("streams_closed", "Streams that both sides closed.", &self.closed),
            ("streams_aborted", "Streams that failed or were given up.", &self.aborted),
            ("refused", "Clients refused.", &self.refused),
            ("bytes_in", "Bytes from clients or servers.", &self.bytes_in),
            ("reads", "Reads from clients or servers.", &self.reads),
            ("bytes_out", "Bytes to clients or servers.", &self.bytes_out),
            ("carrier_bytes", "Bytes to carriers.", &self.carrier_bytes),
            ("carrier_writes", "Writes to carriers.", &self.carrier_writes),
            ("carriers_up", "Carriers that came up.", &self.carriers_up),
            ("carriers_lost", "Carriers lost.", &self.carriers_lost),
            ("handshakes_failed", "Handshakes that failed.", &self.handshakes_failed),
            ("handshakes_without_byte", "Handshakes without a byte in time.", &self.no_first_byte),
            ("handshakes_late", "Handshakes that were not complete in time.", &self.handshakes_late),
            ("handshakes_evicted", "Handshakes that lost their place.", &self.handshakes_evicted),
            ("unlisted", "Connections from addresses that are not allowed.", &self.unlisted),
            ("quic_retries", "QUIC connections that had to prove their address.", &self.retries),
            ("streams_over_share", "Clients refused: their address has its share.", &self.over_share),
            ("streams_over_limit", "Clients refused: too many.", &self.over_limit),
            ("streams_evicted", "Clients without an answer that lost their place.", &self.streams_evicted),
            ("stalls", "Times the socket of a client or server was full.", &self.stalls),
        ]
    }
}
