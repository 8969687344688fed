//! What happened to each flow of a capture, in one pass and bounded memory. [`Analyzer`] takes packets in the order of the
//! file and pushes what it finds into a [`Sink`].

mod apart;
pub mod direction;
pub mod game;
pub mod numbering;
pub mod report;
pub mod sink;
mod table;

pub use crate::samples::Samples;
pub use crate::tcp::{Acknowledged, Method, Retransmission, RoundTrip};
pub use apart::{analyze_apart, follow_apart};
pub use direction::Bin;
pub use game::{Behaviour, Updates};
pub use report::{FlowReport, HalfReport, TcpReport, TransportReport};
pub use sink::Sink;

use std::io::Read;

use crate::error::CaptureError;
use crate::packet::CapturedPacket;
use crate::read::Capture;
use table::Flows;

/// Follows the flows of a capture.
#[derive(Debug, Default)]
pub struct Analyzer {
    flows: Flows,
    clock: CaptureClock,
}

/// The capture's time stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureClock {
    /// Of the first packet, in nanoseconds since 1970.
    pub start_ns: Option<u64>,
    /// From the earliest to the latest packet.
    pub lasted_ns: u64,
    /// Packets stamped earlier than one before them.
    pub went_back: u64,
    /// The furthest back.
    pub furthest_back_ns: u64,
    latest_ns: u64,
}

impl Analyzer {
    /// Takes a packet. One stamped earlier than those before it counts at their time.
    pub fn handle(&mut self, packet: &CapturedPacket, sink: &mut impl Sink) {
        let at_ns = self.clock.read(packet.at_ns);
        self.flows.handle(packet, at_ns, sink);
    }

    /// The capture is over: every flow still open is told.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        self.flows.finish(sink);
    }

    /// What the time stamps were like.
    pub const fn clock(&self) -> &CaptureClock {
        &self.clock
    }

    /// Flows going on that behave like a game so far: over UDP by their pace, over TCP thin. Looks at all of them.
    pub fn games(&self) -> usize {
        self.flows.games()
    }

    /// Flows so far.
    pub const fn flows(&self) -> u32 {
        self.flows.count()
    }
}

impl CaptureClock {
    /// Nanoseconds since the capture's start, never going back.
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

/// Reads a capture to its end, or to the error it returns; what was read before is told all the same.
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
