//! Expected savings of multiplexing: many small messages share the headers of one packet. The measured counterpart is
//! Table 1 of griwodz2006. Losses and retransmissions are left out.

use crate::varint;
use gamelane_core::Duration;
use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS};

/// Header bytes of IPv4 (20) and TCP with timestamps (32).
pub const IPV4_TCP_TIMESTAMPS: u32 = IPV4_TCP + TCP_TIMESTAMPS;
/// Header bytes of IPv4 (20) and TCP without options (20).
pub const IPV4_TCP: u32 = IPV4_HEADER + TCP_HEADER;

/// Load on a path, IP headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Packets of both directions.
    pub packets: u64,
    /// Sum of their IP lengths in bytes.
    pub bytes: u64,
}

impl Wire {
    /// Load of `packets` packets that carry `payload` bytes in total, each with `header` bytes of headers.
    pub const fn of(packets: u64, payload: u64, header: u32) -> Self {
        Self { packets, bytes: payload + packets * header as u64 }
    }

    /// Sum of two loads.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// Fractions saved; negative if multiplexing costs more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// Fraction of packets saved.
    pub packets: f64,
    /// Fraction of bytes saved.
    pub bytes: f64,
}

impl Saving {
    /// Saving of `multiplexed` compared to `direct`; 0 if `direct` is empty.
    pub fn of(direct: Wire, multiplexed: Wire) -> Self {
        let saved = |was: u64, is: u64| if was == 0 { 0.0 } else { 1.0 - is as f64 / was as f64 };
        Self {
            packets: saved(direct.packets, multiplexed.packets),
            bytes: saved(direct.bytes, multiplexed.bytes),
        }
    }
}

/// Many identical thin streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Number of streams.
    pub streams: u32,
    /// Messages per second of each stream.
    pub messages_per_second: f64,
    /// Bytes of one message.
    pub payload: u32,
    /// Bytes of the IP and transport headers of each packet.
    pub header: u32,
    /// Largest packet in bytes, headers included.
    pub mtu: u32,
}

impl Load {
    /// Load with one connection per stream over `span`. Each message is one packet. It is acknowledged by another
    /// packet, because a thin stream never has two packets to acknowledge at once.
    pub fn direct(&self, span: Duration) -> Wire {
        let messages = self.messages(span);
        let (data, acks) = (messages as u64, messages as u64);
        Wire::of(data, data * u64::from(self.payload), self.header).and(Wire::of(acks, 0, self.header))
    }

    /// Load over one carrier, where a message waits up to `deadline` (d) for others. With S streams and Poisson
    /// arrivals of rate λ each, a packet carries 1 + S λ d messages: the first one and those that arrive while it
    /// waits. The largest packet is the upper limit. Every second packet is acknowledged.
    pub fn multiplexed(&self, span: Duration, deadline: Duration) -> Wire {
        let messages = self.messages(span);
        let frame = f64::from(self.payload) + self.frame_header();
        let fits = ((f64::from(self.mtu) - f64::from(self.header)) / frame).max(1.0);
        let company = f64::from(self.streams) * self.messages_per_second * deadline.as_secs_f64();
        let packets = (messages / (1.0 + company).min(fits)) as u64;
        let payload = (messages * frame) as u64;
        Wire::of(packets, payload, self.header).and(Wire::of(packets.div_ceil(2), 0, self.header))
    }

    fn messages(&self, span: Duration) -> f64 {
        f64::from(self.streams) * self.messages_per_second * span.as_secs_f64()
    }

    /// Bytes of kind, stream id and length. A frame that continues its stream has no offset.
    fn frame_header(&self) -> f64 {
        (1 + varint::len(u64::from(self.streams / 2)) + varint::len(u64::from(self.payload))) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_own_numbers_give_its_savings() {
        // Griwodz2006 Table 1. The paper says that both savings are "approximately 40 %", but the packets save 70 %.
        let simplex = Wire { packets: 372_711, bytes: 44_974_424 };
        let multiplex = Wire { packets: 113_149, bytes: 27_582_922 };
        let saving = Saving::of(simplex, multiplex);
        assert_eq!(((saving.bytes * 1e3) as i64, (saving.packets * 1e3) as i64), (386, 696));
    }

    #[test]
    fn a_worked_example() {
        // 175 streams, each with one message of 68 B per second and 52 B of headers: 175 · (120 + 52) B/s.
        let load = Load {
            streams: 175,
            messages_per_second: 1.0,
            payload: 68,
            header: IPV4_TCP_TIMESTAMPS,
            mtu: 1500,
        };
        let second = Duration::from_secs(1);
        assert_eq!(load.direct(second), Wire { packets: 350, bytes: 175 * 172 });
        // 20 ms: 1 + 175 · 0.02 = 4.5 messages of 68 + 5 B per packet, so 38 packets and 19 acknowledgements.
        let muxed = load.multiplexed(second, Duration::from_millis(20));
        assert_eq!(muxed, Wire { packets: 38 + 19, bytes: 175 * 73 + (38 + 19) * 52 });
        let saving = Saving::of(load.direct(second), muxed);
        assert_eq!(((saving.packets * 100.0) as i64, (saving.bytes * 100.0) as i64), (83, 47));
    }

    #[test]
    fn a_deadline_of_nothing_saves_acknowledgements_only() {
        let load = Load { streams: 10, messages_per_second: 4.0, payload: 100, header: IPV4_TCP, mtu: 1500 };
        let muxed = load.multiplexed(Duration::from_secs(10), Duration::ZERO);
        assert_eq!(muxed, Wire { packets: 400 + 200, bytes: 400 * 104 + 600 * 40 });
    }
}
