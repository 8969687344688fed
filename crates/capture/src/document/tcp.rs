//! A TCP connection in the document.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::flow::NS_PER_MS;
use super::summary::Summary;
use super::{ms, seconds};
use crate::analysis::{HalfReport, TcpReport};
use crate::tcp::Cause;
use crate::tcp::connection::End;

/// `tcp` of a flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Tcp {
    from_handshake: bool,
    end: Cow<'static, str>,
    sack: bool,
    handshake_rtt_ms: Handshake,
    pub(crate) rtt_ms: Summary,
    rtt_to_server_ms: RoundTrips,
    rtt_to_client_ms: RoundTrips,
    /// RTT of the path. If the whole path has few samples, that of its longer half.
    pub(crate) shown_rtt_ms: Option<Summary>,
    pub(crate) up: Half,
    pub(crate) down: Half,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Handshake {
    to_server: Option<f64>,
    to_client: Option<f64>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct RoundTrips {
    acknowledgements: Summary,
    timestamps: Summary,
}

/// Data of one direction.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Half {
    pub(crate) thin: Option<bool>,
    pub(crate) data_packets: u64,
    new_packets: u64,
    new_bytes: u64,
    pub(crate) resent: u64,
    repeated_bytes: u64,
    lost_before_capture: u64,
    reordered: u64,
    pub(crate) loss_estimate: Option<f64>,
    pub(crate) retransmissions: ByCause<Retransmissions>,
    nth: Vec<Nth>,
    most_retransmissions: u16,
    bundled: u64,
    duplicate_acks: u64,
    control_retransmissions: u64,
    keep_alives: u64,
    window_probes: u64,
    pub(crate) zero_windows: ZeroWindows,
    packets_in_flight: Summary,
    bytes_in_flight: Summary,
    packets_per_rtt: Summary,
    application_delay_ms: Summary,
    retransmitted_delay_ms: Summary,
    missing_delay_ms: Summary,
    held_up: u64,
    pub(crate) stalls: Stalls,
    released_by_ack: u64,
    delayed_acks: DelayedAcks,
    unacknowledged: u64,
    missing_bytes: u64,
    acknowledged_unseen: u64,
}

/// A value for each cause of a retransmission, in the order of [`Cause::ALL`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByCause<T>(pub(crate) [T; 5]);

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Retransmissions {
    count: u64,
    spurious: u64,
    pub(crate) lag_ms: f64,
}

/// Retransmissions of packets for the first, second, … time.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Nth {
    total: u64,
    #[serde(rename = "self")]
    itself: u64,
    included: u64,
    successful: u64,
    mean_delay_ms: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct ZeroWindows {
    pub(crate) count: u64,
    pub(crate) seconds: f64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Stalls {
    pub(crate) count: u64,
    pub(crate) longest_ms: f64,
    by_retransmissions: [u64; 4],
    timeouts: Summary,
    pub(crate) by_timeouts: ByTimeouts,
}

/// Stalls by their length in retransmission timeouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByTimeouts(pub(crate) [u64; 6]);

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct DelayedAcks {
    count: u64,
    mean_ms: Option<f64>,
}

impl Tcp {
    pub(super) fn of(report: &TcpReport) -> Self {
        let [to_server, to_client] = report.handshake_rtt_ns.map(|rtt| rtt.map(ms));
        let [up, down] = &report.halves;
        let rtt_ms = Summary::of(&report.both_rtt, NS_PER_MS);
        let [rtt_to_server_ms, rtt_to_client_ms] = [up, down].map(RoundTrips::of);
        let shown = shown([&rtt_to_server_ms, &rtt_to_client_ms], &rtt_ms);
        Self {
            shown_rtt_ms: shown.cloned(),
            from_handshake: report.from_handshake,
            end: match report.end {
                End::Open => "open",
                End::HalfClosed(_) => "half-closed",
                End::Closed => "closed",
                End::Reset => "reset",
            }
            .into(),
            sack: report.sack,
            handshake_rtt_ms: Handshake { to_server, to_client },
            rtt_ms,
            rtt_to_server_ms,
            rtt_to_client_ms,
            up: Half::of(up),
            down: Half::of(down),
        }
    }

    /// Data of a direction: 0 from the client, 1 from the server.
    pub(crate) const fn half(&self, direction: usize) -> &Half {
        if direction == 0 { &self.up } else { &self.down }
    }
}

/// A transfer has few samples of the whole path: they need data in both directions within a second.
fn shown<'a>(halves: [&'a RoundTrips; 2], whole: &'a Summary) -> Option<&'a Summary> {
    let halves = halves.into_iter().flat_map(|half| [&half.acknowledgements, &half.timestamps]);
    let most = halves.clone().map(|half| half.count).fold(whole.count, u64::max);
    if 2 * whole.count >= most {
        return Some(whole).filter(|_| most > 0);
    }
    halves
        .filter(|half| 10 * half.count >= most)
        .max_by(|a, b| a.p50.unwrap_or(0.0).total_cmp(&b.p50.unwrap_or(0.0)))
}

impl RoundTrips {
    fn of(half: &HalfReport) -> Self {
        Self {
            acknowledgements: Summary::of(&half.counts.ack_rtt, NS_PER_MS),
            timestamps: Summary::of(&half.counts.stamp_rtt, NS_PER_MS),
        }
    }
}

impl Half {
    fn of(report: &HalfReport) -> Self {
        let counts = &report.counts;
        let (causes, spurious, lag) = (report.causes(), report.spurious(), report.lag_ns());
        let most = usize::from(report.counts.totals.most).min(report.counts.totals.nth.len());
        Self {
            thin: report.is_thin(),
            data_packets: counts.data_packets,
            new_packets: report.counts.totals.packets,
            new_bytes: counts.new_bytes,
            resent: counts.resent,
            repeated_bytes: counts.repeated_bytes,
            lost_before_capture: counts.lost_before,
            reordered: counts.reordered,
            loss_estimate: loss_estimate(report),
            retransmissions: ByCause(std::array::from_fn(|n| Retransmissions {
                count: causes[n],
                spurious: spurious[n],
                lag_ms: ms(lag[n]),
            })),
            nth: report.counts.totals.nth[..most]
                .iter()
                .map(|nth| Nth {
                    total: nth.itself + nth.included,
                    itself: nth.itself,
                    included: nth.included,
                    successful: nth.successful,
                    mean_delay_ms: (nth.successful > 0)
                        .then(|| nth.delay.as_millis_f64() / nth.successful as f64),
                })
                .collect(),
            most_retransmissions: report.counts.totals.most,
            bundled: report.counts.totals.bundled,
            duplicate_acks: counts.duplicate_acks,
            control_retransmissions: counts.control_retransmissions,
            keep_alives: counts.keep_alives,
            window_probes: counts.window_probes,
            zero_windows: ZeroWindows { count: counts.zero_windows, seconds: seconds(counts.zero_window_ns) },
            packets_in_flight: Summary::of(&counts.packets_in_flight, 1.0),
            bytes_in_flight: Summary::of(&counts.bytes_in_flight, 1.0),
            packets_per_rtt: Summary::of(&counts.packets_per_rtt, 1.0),
            application_delay_ms: Summary::of(&counts.application_delay, NS_PER_MS),
            retransmitted_delay_ms: Summary::of(&counts.retransmitted_delay, NS_PER_MS),
            missing_delay_ms: Summary::of(&counts.missing_delay, NS_PER_MS),
            held_up: counts.held_up,
            stalls: Stalls {
                count: counts.stalls,
                longest_ms: ms(counts.longest_stall_ns),
                by_retransmissions: counts.stalls_by_tries,
                timeouts: Summary::of(&counts.stall_lengths.hundredths, 100.0),
                by_timeouts: ByTimeouts(counts.stall_lengths.by_timeouts),
            },
            released_by_ack: counts.released_by_ack,
            delayed_acks: DelayedAcks {
                count: counts.delayed_acks,
                mean_ms: (counts.delayed_acks > 0)
                    .then(|| ms(counts.delayed_ack_ns) / counts.delayed_acks as f64),
            },
            unacknowledged: report.unacknowledged,
            missing_bytes: report.missing_bytes,
            acknowledged_unseen: counts.acknowledged_unseen,
        }
    }
}

/// Share of data packets lost, as one capture can tell: those sent again, less those the receiver had.
fn loss_estimate(half: &HalfReport) -> Option<f64> {
    let counts = &half.counts;
    let spurious: u64 = counts.spurious.iter().sum();
    let sent = counts.data_packets + counts.lost_before;
    (sent > 0).then(|| counts.resent.saturating_sub(spurious) as f64 / sent as f64)
}

impl<T: Serialize> Serialize for ByCause<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Cause::ALL.map(Cause::name).into_iter().zip(&self.0))
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for ByCause<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut of = BTreeMap::<String, T>::deserialize(deserializer)?;
        Ok(Self(Cause::ALL.map(|cause| of.remove(cause.name()).unwrap_or_default())))
    }
}

impl<'de> Deserialize<'de> for ByTimeouts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut of = BTreeMap::<String, u64>::deserialize(deserializer)?;
        Ok(Self(LENGTHS.map(|length| of.remove(length).unwrap_or_default())))
    }
}

impl Serialize for ByTimeouts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(LENGTHS.into_iter().zip(self.0))
    }
}

/// Keys of [`ByTimeouts`].
const LENGTHS: [&str; 6] = ["below 1", "1", "2", "3", "4 to 6", "7 and more"];

#[cfg(test)]
mod tests {
    use super::*;

    fn trips(count: u64, p50: f64) -> Summary {
        let text = format!(r#"{{"count": {count}, "p50": {p50}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    fn half(acknowledgements: Summary, timestamps: Summary) -> RoundTrips {
        RoundTrips { acknowledgements, timestamps }
    }

    #[test]
    fn the_rtt_that_is_shown_is_that_of_the_path_or_of_its_longer_half() {
        let median = |whole: (u64, f64), near: [(u64, f64); 2], far: [(u64, f64); 2]| {
            let [near, far] = [near, far].map(|[a, b]| half(trips(a.0, a.1), trips(b.0, b.1)));
            shown([&near, &far], &trips(whole.0, whole.1)).map(|of| of.p50.unwrap())
        };
        let none = [(0, 0.0); 2];
        assert_eq!(median((0, 0.0), none, none), None);
        assert_eq!(
            median((50, 20.0), [(100, 1.0), (0, 0.0)], none),
            Some(20.0),
            "half of the samples suffice"
        );
        assert_eq!(median((49, 20.0), [(100, 1.0), (0, 0.0)], none), Some(1.0));
        let far = [(9, 900.0), (10, 540.0)];
        assert_eq!(
            median((2, 20.0), [(100, 1.0), (0, 0.0)], far),
            Some(540.0),
            "a tenth of the samples suffices"
        );
    }
}
