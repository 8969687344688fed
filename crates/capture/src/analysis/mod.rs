//! Analysis of a capture: what happened to each flow, in one pass and bounded memory. [`Analyzer`] takes packets in the
//! order of the file and passes its results to a [`Sink`]. Comparing two captures is left to [`pair`](crate::pair).

mod apart;
pub mod direction;
pub mod game;
pub mod games;
pub mod numbering;
mod pace;
pub mod report;
pub mod sink;
mod table;

pub use crate::samples::Samples;
pub use crate::tcp::{Acknowledged, Method, Retransmission, RoundTrip};
pub use apart::{analyze_apart, follow_apart};
pub use direction::Bin;
pub use game::{Behaviour, Updates};
pub use games::{Game, Games, Kind};
pub use report::{FlowReport, HalfReport, TcpReport, TransportReport};
pub use sink::Sink;

use std::io::Read;

use crate::error::CaptureError;
use crate::packet::CapturedPacket;
use crate::read::Capture;
use table::Flows;

/// Analyses the flows of a capture.
#[derive(Debug, Default)]
pub struct Analyzer {
    flows: Flows,
    clock: CaptureClock,
}

/// Start, length and order of a capture's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureClock {
    /// Time of the first packet, in nanoseconds since 1970.
    pub start_ns: Option<u64>,
    /// Time from the first packet to the latest one.
    pub lasted_ns: u64,
    /// Number of packets with an earlier timestamp than one before them.
    pub went_back: u64,
    /// Largest step back in time.
    pub furthest_back_ns: u64,
    latest_ns: u64,
}

impl Analyzer {
    /// Handles a packet. If its timestamp is earlier than an earlier packet's, that later time is used.
    pub fn handle(&mut self, packet: &CapturedPacket, sink: &mut impl Sink) {
        let at_ns = self.clock.read(packet.at_ns);
        self.flows.handle(packet, at_ns, sink);
    }

    /// Ends all open flows at the end of the capture and reports them.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        self.flows.finish(sink);
    }

    /// Start, length and order of the timestamps.
    pub const fn clock(&self) -> &CaptureClock {
        &self.clock
    }

    /// Number of open flows that behave like a game so far: UDP flows by their pace, TCP flows by being thin. It checks
    /// all of them.
    pub fn games(&self) -> usize {
        self.flows.games()
    }

    /// Number of flows so far.
    pub const fn flows(&self) -> u32 {
        self.flows.count()
    }
}

impl CaptureClock {
    /// Nanoseconds since the start of the capture; never goes back.
    fn read(&mut self, at_ns: u64) -> u64 {
        let start = *self.start_ns.get_or_insert(at_ns);
        if at_ns < self.latest_ns {
            self.went_back += 1;
            self.furthest_back_ns = self.furthest_back_ns.max(self.latest_ns - at_ns);
        }
        self.latest_ns = self.latest_ns.max(at_ns);
        self.lasted_ns = self.latest_ns - start;
        self.lasted_ns
    }
}

/// Analyses a capture to its end, or to an error. Everything before the error is reported too.
///
/// # Errors
/// The error that ended the capture.
pub fn analyze<R: Read>(
    capture: &mut Capture<R>,
    analyzer: &mut Analyzer,
    sink: &mut impl Sink,
) -> Result<(), CaptureError> {
    let mut packet = CapturedPacket::default();
    let result = loop {
        match capture.read_into(&mut packet) {
            Ok(true) => analyzer.handle(&packet, sink),
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        if sink.is_tired() {
            break Ok(());
        }
    };
    analyzer.finish(sink);
    result
}
