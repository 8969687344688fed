//! Packets of each flow seen at one capture point, kept for the comparison with another point. Payload is left out,
//! except for the content hash.

use std::collections::BTreeMap;
use std::io::Read;

use gamelane_core::FlowKey;

use crate::analysis::{
    Acknowledged, Analyzer, Bin, FlowReport, Retransmission, RoundTrip, Sink, Timeline, TransportReport,
};
use crate::error::CaptureError;
use crate::packet::CapturedPacket;
use crate::read::Capture;
use crate::tcp::Cause;

/// One packet at one point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    /// Time in nanoseconds since 1970.
    pub(super) at_ns: u64,
    pub(super) content: u64,
    pub(super) sequence: u32,
    pub(super) payload: u32,
    pub(super) is_tcp: bool,
}

/// A flow at one point.
#[derive(Clone, Debug)]
pub struct Sightings {
    pub(super) key: FlowKey,
    pub(super) number: u32,
    pub(super) directions: [Vec<Sighting>; 2],
}

/// Everything seen at one point.
#[derive(Debug, Default)]
pub struct Seen {
    flows: Vec<Sightings>,
    /// Index in `flows` by the analyzer's number of the flow.
    places: Vec<Option<u32>>,
    retransmissions: BTreeMap<(u32, u8), Vec<Repair>>,
    span: Option<Span>,
    /// Origin of the analyzer's times, in nanoseconds since 1970.
    first_ns: u64,
    timeline: Timeline,
}

/// Time from the first packet of a capture to its last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

/// A retransmission, for [`super::delivery`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// Time in nanoseconds since 1970.
    pub(super) at_ns: u64,
    pub(super) cause: Cause,
}

impl Seen {
    pub(super) fn flows(&self) -> &[Sightings] {
        &self.flows
    }

    /// Time from the first packet to the last.
    pub(super) fn span(&self) -> Span {
        self.span.unwrap_or_default()
    }

    /// Origin of the analyzer's times, in nanoseconds since 1970.
    pub(super) const fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// Load of the capture over time.
    pub(super) const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    pub(super) fn retransmissions(&self, flow: u32, direction: u8) -> &[Repair] {
        self.retransmissions.get(&(flow, direction)).map_or(&[], Vec::as_slice)
    }
}

/// Analyses a capture like [`crate::analyze`] and keeps what [`super::compare`] needs. If the capture ends in an error,
/// everything before it is kept, and the error is returned.
pub fn watch<R: Read>(
    capture: &mut Capture<R>,
    analyzer: &mut Analyzer,
    sink: &mut impl Sink,
) -> (Seen, Option<CaptureError>) {
    let mut watcher = Watcher { seen: Seen::default(), onward: sink };
    let error = crate::analyze(capture, analyzer, &mut watcher).err();
    let seen = Seen { timeline: analyzer.timeline().clone(), ..watcher.seen };
    (seen, error)
}

struct Watcher<'a, S> {
    seen: Seen,
    onward: &'a mut S,
}

impl<S: Sink> Sink for Watcher<'_, S> {
    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        self.onward.packet(flow, direction, packet);
        if self.seen.span.is_none() {
            self.seen.first_ns = packet.at_ns;
        }
        let span = self.seen.span.get_or_insert(Span { from_ns: packet.at_ns, to_ns: packet.at_ns });
        span.from_ns = span.from_ns.min(packet.at_ns);
        span.to_ns = span.to_ns.max(packet.at_ns);
        let number = flow as usize;
        if number >= self.seen.places.len() {
            self.seen.places.resize(number + 1, None);
        }
        let place = *self.seen.places[number].get_or_insert_with(|| {
            let key = if direction == 0 { packet.key } else { packet.key.reverse() };
            self.seen.flows.push(Sightings { key, number: flow, directions: [Vec::new(), Vec::new()] });
            self.seen.flows.len() as u32 - 1
        });
        self.seen.flows[place as usize].directions[usize::from(direction)].push(Sighting {
            at_ns: packet.at_ns,
            content: packet.content,
            sequence: packet.tcp().map_or(0, |tcp| tcp.sequence.wrapping_add(tcp.flags.syn.into())),
            payload: packet.payload_len,
            is_tcp: packet.tcp().is_some(),
        });
    }

    fn absorbed(&mut self, flow: u32) {
        let place = self.seen.places.get_mut(flow as usize).and_then(Option::take);
        if let Some(place) = place {
            self.seen.flows.swap_remove(place as usize);
            if let Some(moved) = self.seen.flows.get(place as usize) {
                self.seen.places[moved.number as usize] = Some(place);
            }
        }
        self.onward.absorbed(flow);
    }

    fn retransmission(&mut self, row: &Retransmission) {
        self.onward.retransmission(row);
        let at_ns = self.seen.first_ns + row.t_ns;
        let repair = Repair { at_ns, cause: row.cause };
        self.seen.retransmissions.entry((row.flow, row.direction)).or_default().push(repair);
    }

    fn flow(&mut self, report: FlowReport) {
        if let Some(&Some(place)) = self.seen.places.get(report.flow as usize) {
            let flow = &mut self.seen.flows[place as usize];
            flow.key = report.key;
            if report.exchanged {
                flow.directions.swap(0, 1);
            }
        }
        if let TransportReport::Tcp(tcp) = &report.transport {
            for (direction, half) in (0u8..).zip(&tcp.halves) {
                let repairs = self.seen.retransmissions.get_mut(&(report.flow, direction));
                for repair in
                    repairs.into_iter().flatten().filter(|repair| repair.cause == Cause::TimeoutOrProbe)
                {
                    repair.cause = half.settled;
                }
            }
        }
        self.onward.flow(report);
    }

    fn is_tired(&self) -> bool {
        self.onward.is_tired()
    }

    fn bin(&mut self, row: &Bin) {
        self.onward.bin(row);
    }

    fn round_trip(&mut self, row: &RoundTrip) {
        self.onward.round_trip(row);
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        self.onward.acknowledged(row);
    }
}
