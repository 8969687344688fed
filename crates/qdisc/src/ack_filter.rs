//! ACK filtering (RFC 3449 section 5.2.1; CAKE's `ack-filter`). When an ACK enters a queue, an older ACK of the same
//! flow in that queue may be redundant: the newer ones acknowledge its bytes too. The filter then drops it. Kept are
//! ACKs with SACK blocks, ECN echo or CWR ([`AckKind::Telling`]) and duplicate ACKs, because senders react to those.
//! Left out: comparing SACK blocks and timestamps, and data segments as the newer ACK. So CAKE may drop more ACKs.

use gamelane_core::{AckKind, Packet, PacketMeta};

use crate::aqm::Unmanaged;
use crate::config::Limit;
use crate::config_error::ConfigError;
use crate::fq::{FlowQueues, FqParameters, Overload, Requeue};
use crate::pool::{Chain, PacketPool, Place};

/// Which redundant ACKs are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckFilterMode {
    /// No ACK is dropped.
    #[default]
    Off,
    /// The older of two redundant ACKs is dropped; a single one is kept (CAKE `ack-filter`).
    Conservative,
    /// A single redundant ACK is also dropped if the new ACK is directly behind it (CAKE `ack-filter-aggressive`).
    Aggressive,
}

/// Configuration of a FIFO that drops redundant ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFilterConfig {
    /// Which redundant ACKs are dropped.
    pub mode: AckFilterMode,
    /// Limit of the FIFO. Each arriving ACK makes the filter search the whole queue, so keep it to some hundred
    /// packets.
    pub limit: Limit,
}

impl AckFilterConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a limit of 0 packets.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.limit {
            Limit::Packets(0) => Err(ConfigError::OutOfRange { name: "limit", allowed: "at least 1p" }),
            _ => Ok(()),
        }
    }

    /// Builds the queue: a single flow queue without an AQM law.
    pub(crate) fn build<B>(&self) -> FlowQueues<Unmanaged, B> {
        let parameters = FqParameters {
            flows: 1,
            limit: self.limit,
            quantum: 1514,
            charged_header: 0,
            overload: Overload::TailDrop,
            requeue_empty_new: Requeue::Never,
            zero_deficit_waits: true,
            reset_on_reactivation: false,
            law_sees_total: false,
            ack_filter: self.mode,
        };
        FlowQueues::new(parameters, 0, |_| Unmanaged)
    }
}

/// Returns the ACK to drop from a queue to which a pure ACK was just appended; `None` to keep all. Among redundant ACKs
/// it takes the one nearest to the head.
pub(crate) fn redundant<B>(pool: &PacketPool<B>, chain: Chain, mode: AckFilterMode) -> Option<Place> {
    let newest = &pool.last(chain)?.meta;
    let mut first: Option<Place> = None;
    let mut newest_place = None;
    let mut found = 0;
    for (place, packet) in pool.iter(chain) {
        if pool.is_last(chain, place) {
            newest_place = Some(place);
            break;
        }
        if !same_flow(packet, newest) || packet.meta.ack == AckKind::NotPure {
            continue;
        }
        if packet.meta.ack == AckKind::Telling {
            // Its SACK blocks or ECN echo may depend on the ACKs before it, so keep those.
            (first, found) = (None, 0);
            continue;
        }
        if !is_older(packet.meta.ack_number, newest.ack_number) {
            continue;
        }
        first = first.or(Some(place));
        found += 1;
        if found == 2 {
            return first;
        }
    }
    let adjacent = newest_place?.follows(first?) && newest.ack == AckKind::Plain;
    first.filter(|_| mode == AckFilterMode::Aggressive && adjacent)
}

fn same_flow<B>(packet: &Packet<B>, newest: &PacketMeta) -> bool {
    packet.meta.flow_hash == newest.flow_hash && packet.meta.hosts == newest.hosts
}

/// Compares two acknowledgement numbers modulo 2^32 (RFC 9293 section 3.4).
const fn is_older(number: u32, than: u32) -> bool {
    let distance = than.wrapping_sub(number);
    distance != 0 && distance < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueDiscipline;
    use crate::fixture::{ACK, Ledger, in_class};
    use gamelane_core::{DropReason, Instant};
    use std::vec::Vec;

    fn ack(flow: u8, number: u32, ack: AckKind, body: u64) -> Packet<u64> {
        let packet = in_class(flow, ACK, body);
        Packet { meta: PacketMeta { ack, ack_number: number, ..packet.meta }, ..packet }
    }

    /// Returns the numbers of the packets that leave and of those that were filtered. Packets are numbered from 0.
    fn run(mode: AckFilterMode, packets: &[(u8, u32, AckKind)]) -> (Vec<u64>, Vec<u64>) {
        let mut queue = AckFilterConfig { mode, limit: Limit::Packets(100) }.build();
        let mut ledger = Ledger::default();
        for (body, &(flow, number, kind)) in packets.iter().enumerate() {
            queue.enqueue(ack(flow, number, kind, body as u64), Instant::ZERO, &mut ledger);
        }
        assert!(ledger.dropped.iter().all(|(_, reason)| *reason == DropReason::AckFilter));
        let left = core::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut ledger)).map(|p| p.body);
        (left.collect(), ledger.dropped.iter().map(|(body, _)| *body).collect())
    }

    use AckFilterMode::{Aggressive, Conservative, Off};
    use AckKind::{NotPure, Plain, Telling};

    #[test]
    fn conservative_leaves_two_and_aggressive_one() {
        let acks = [(0, 100, Plain), (0, 200, Plain), (0, 300, Plain), (0, 400, Plain)];
        assert_eq!(run(Off, &acks), (Vec::from([0, 1, 2, 3]), Vec::new()));
        assert_eq!(run(Conservative, &acks), (Vec::from([2, 3]), Vec::from([0, 1])));
        assert_eq!(run(Aggressive, &acks), (Vec::from([3]), Vec::from([0, 1, 2])));
    }

    #[test]
    fn flows_and_data_between_them_are_left_alone() {
        let mixed = [
            (0, 100, Plain),
            (1, 900, Plain),
            (0, 0, NotPure),
            (0, 200, Plain),
            (1, 950, Plain),
            (0, 300, Plain),
        ];
        assert_eq!(run(Conservative, &mixed), (Vec::from([1, 2, 3, 4, 5]), Vec::from([0])));
        // Aggressive needs direct neighbours. Packet 4 is between 3 and 5, so only packet 0 is dropped.
        assert_eq!(run(Aggressive, &mixed).1, [0]);
    }

    #[test]
    fn duplicates_sack_and_echoes_survive() {
        let duplicates = [(0, 100, Plain); 5];
        assert_eq!(run(Aggressive, &duplicates).1, []);
        let telling = [(0, 100, Telling), (0, 200, Telling), (0, 300, Telling), (0, 400, Plain)];
        assert_eq!(run(Aggressive, &telling).1, []);
        // ACKs after a telling one never make a plain one before it redundant.
        assert_eq!(
            run(Conservative, &[(0, 100, Plain), (0, 200, Telling), (0, 300, Plain), (0, 400, Plain)]).1,
            []
        );
        // Reordered: the ACK with the older number arrived later.
        assert_eq!(run(Aggressive, &[(0, 300, Plain), (0, 100, Plain)]).1, []);
    }

    #[test]
    fn numbers_wrap() {
        let acks = [(0, u32::MAX - 10, Plain), (0, u32::MAX, Plain), (0, 50, Plain)];
        assert_eq!(run(Aggressive, &acks), (Vec::from([2]), Vec::from([0, 1])));
    }
}
