//! The last ten seconds of one flow, in slots of half a second.

use gamelane_capture::analysis::{Acknowledged, Method, OpenFlow, RoundTrip};
use gamelane_capture::{CapturedPacket, CapturedTransport, TcpFields};
use gamelane_core::Protocol;

use crate::top::FlowNow;

/// What is summed up of one flow. Directions count from its first packet.
#[derive(Debug)]
pub(crate) struct Meter {
    known: OpenFlow,
    slots: [Slot; SLOTS],
    last_ns: u64,
    ways: [Way; 2],
}

/// Half a second.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Time of the slot in half seconds since 1970. A slot of another time is empty.
    number: u64,
    packets: [u32; 2],
    bytes: [u64; 2],
    /// Longest time from data of TCP to its ACK.
    longest_ns: Option<u64>,
    /// Longest time from one message of UDP to the next.
    longest_gap_ns: [u64; 2],
    late: u32,
    lost: u64,
    /// Shortest round trips to the server, to the client, and from end to end.
    round_trips_ns: [Option<u64>; 3],
}

/// One direction.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Time of the last message of UDP.
    message_ns: Option<u64>,
    tick_ns: Option<f64>,
    missing: u64,
    stream: Option<Stream>,
}

/// Data of TCP that waits for its ACK.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Sequence number after the last byte sent, and the highest that was acknowledged.
    end: u32,
    acknowledged: u32,
    /// Time since when something is unacknowledged and nothing new was acknowledged.
    waits_since_ns: u64,
}

impl Meter {
    pub(crate) fn new(known: OpenFlow) -> Self {
        Self { known, slots: [Slot::default(); SLOTS], last_ns: 0, ways: [Way::default(); 2] }
    }

    /// True if the flow had a packet in the last ten seconds.
    pub(crate) const fn is_current(&self, now_ns: u64) -> bool {
        now_ns.abs_diff(self.last_ns) < SLOTS as u64 * SLOT_NS
    }

    /// Takes what the analysis knows of the flow.
    pub(crate) fn learn(&mut self, known: OpenFlow, now_ns: u64) {
        self.known = known;
        for (direction, updates) in known.updates.into_iter().enumerate() {
            let way = &mut self.ways[if known.reversed { 1 - direction } else { direction }];
            let missing = updates.map_or(0, |updates| updates.missing);
            let more = missing.saturating_sub(way.missing);
            (way.tick_ns, way.missing) = (updates.and_then(|updates| updates.tick_ns), missing);
            if more > 0 {
                self.slot(now_ns).lost += more;
            }
        }
    }

    pub(crate) fn packet(&mut self, direction: usize, packet: &CapturedPacket) {
        let at_ns = packet.at_ns;
        self.last_ns = at_ns;
        let slot = self.slot(at_ns);
        slot.packets[direction] += 1;
        slot.bytes[direction] += u64::from(packet.ip_len.0);
        match &packet.transport {
            CapturedTransport::Udp if packet.payload_len > 0 => {
                let way = &mut self.ways[direction];
                let tick_ns = way.tick_ns;
                if let Some(before_ns) = way.message_ns.replace(at_ns) {
                    let gap_ns = at_ns.saturating_sub(before_ns);
                    let slot = self.slot(at_ns);
                    slot.longest_gap_ns[direction] = slot.longest_gap_ns[direction].max(gap_ns);
                    slot.late += u32::from(tick_ns.is_some_and(|tick_ns| gap_ns as f64 > 1.5 * tick_ns));
                }
            }
            CapturedTransport::Tcp(tcp) => self.segment(direction, tcp, packet.payload_len, at_ns),
            CapturedTransport::Udp | CapturedTransport::LaterFragment => {}
        }
    }

    fn segment(&mut self, direction: usize, tcp: &TcpFields, len: u32, at_ns: u64) {
        if tcp.flags.rst || tcp.flags.syn {
            return self.ways.iter_mut().for_each(|way| way.stream = None);
        }
        if let Some(stream) = &mut self.ways[1 - direction].stream
            && tcp.flags.ack
            && is_after(tcp.acknowledgment, stream.acknowledged)
        {
            stream.acknowledged = tcp.acknowledgment;
            stream.waits_since_ns = at_ns;
        }
        if len > 0 {
            let end = tcp.sequence.wrapping_add(len);
            let stream = self.ways[direction].stream.get_or_insert(Stream {
                end: tcp.sequence,
                acknowledged: tcp.sequence,
                waits_since_ns: at_ns,
            });
            if !stream.waits() {
                stream.waits_since_ns = at_ns;
            }
            if is_after(end, stream.end) {
                stream.end = end;
            }
        }
    }

    pub(crate) fn round_trip(&mut self, row: &RoundTrip, at_ns: u64) {
        let place = match row.method {
            Method::BothHalves => 2,
            Method::Acknowledgement | Method::Timestamp => usize::from(row.direction),
        };
        let shortest = &mut self.slot(at_ns).round_trips_ns[place];
        *shortest = Some(shortest.map_or(row.rtt_ns, |before| before.min(row.rtt_ns)));
    }

    pub(crate) fn retransmission(&mut self, at_ns: u64) {
        self.slot(at_ns).lost += 1;
    }

    pub(crate) fn acknowledged(&mut self, row: &Acknowledged, at_ns: u64) {
        let slot = self.slot(at_ns);
        slot.longest_ns = slot.longest_ns.max(Some(row.delay_ns));
    }

    /// The flow at `now_ns`; `None` if it is over.
    pub(crate) fn now(&self, flow: u32, now_ns: u64) -> Option<FlowNow> {
        if !self.is_current(now_ns) {
            return None;
        }
        let current = now_ns / SLOT_NS;
        let last = |slots: u64| {
            self.slots.iter().filter(move |slot| slot.number + slots > current && slot.number <= current)
        };
        let rate_s = (now_ns - (current - (RATE_SLOTS - 1)) * SLOT_NS) as f64 / 1e9;
        let client = usize::from(self.known.reversed);
        let pair = |of: fn(&Slot, usize) -> u64| {
            [client, 1 - client]
                .map(|way| last(RATE_SLOTS).map(|slot| of(slot, way)).sum::<u64>() as f64 / rate_s)
        };
        let wait_ns = match self.known.key.protocol {
            Protocol::Tcp => {
                let lasting = self.ways.iter().filter_map(|way| way.stream).filter(Stream::waits);
                let lasting = lasting.map(|stream| now_ns.saturating_sub(stream.waits_since_ns)).max();
                last(WAIT_SLOTS).filter_map(|slot| slot.longest_ns).max().max(lasting)
            }
            _ => (0..2).filter_map(|direction| self.overdue_ns(direction, last(WAIT_SLOTS), now_ns)).max(),
        };
        Some(FlowNow {
            flow,
            key: self.known.key,
            kind: self.known.kind,
            packets_per_second: pair(|slot, way| slot.packets[way].into()),
            bits_per_second: pair(|slot, way| 8 * slot.bytes[way]),
            rtt_ns: rtt_ns(last(RATE_SLOTS)).or_else(|| rtt_ns(last(SLOTS as u64))),
            wait_ns,
            lost: last(SLOTS as u64).map(|slot| slot.lost).sum(),
            late: last(SLOTS as u64).map(|slot| u64::from(slot.late)).sum(),
        })
    }

    /// How much longer than a tick one direction of UDP was silent; `None` without a steady pace.
    fn overdue_ns<'a>(
        &self,
        direction: usize,
        last: impl Iterator<Item = &'a Slot>,
        now_ns: u64,
    ) -> Option<u64> {
        let Way { tick_ns: Some(tick_ns), message_ns: Some(message_ns), .. } = self.ways[direction] else {
            return None;
        };
        let gap_ns = last.map(|slot| slot.longest_gap_ns[direction]).max().unwrap_or(0);
        Some(gap_ns.max(now_ns.saturating_sub(message_ns)).saturating_sub(tick_ns as u64))
    }

    fn slot(&mut self, at_ns: u64) -> &mut Slot {
        let number = at_ns / SLOT_NS;
        let slot = &mut self.slots[number as usize % SLOTS];
        if slot.number != number {
            *slot = Slot { number, ..Slot::default() };
        }
        slot
    }
}

impl Stream {
    const fn waits(&self) -> bool {
        is_after(self.end, self.acknowledged)
    }
}

/// The shortest round trip from end to end: a receiver may delay single ACKs. If only its parts were measured, the longer
/// part: the other one is short, or its packets were not recorded.
fn rtt_ns<'a>(slots: impl Iterator<Item = &'a Slot>) -> Option<u64> {
    let mut shortest = [None; 3];
    for slot in slots {
        for (shortest, sample) in shortest.iter_mut().zip(slot.round_trips_ns) {
            *shortest = [*shortest, sample].into_iter().flatten().min();
        }
    }
    let [to_server, to_client, whole] = shortest;
    whole.or(to_server.max(to_client))
}

/// Whether a sequence number is after another one.
const fn is_after(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) > 0
}

const SLOT_NS: u64 = 500_000_000;
/// Slots kept: ten seconds.
const SLOTS: usize = 20;
/// Slots of the longest wait: five seconds.
const WAIT_SLOTS: u64 = 10;
/// Slots of the rates: two seconds.
const RATE_SLOTS: u64 = 4;
