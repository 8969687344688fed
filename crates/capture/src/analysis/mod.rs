//! Analysis of a capture: what happened to each flow, in one pass and bounded memory. [`Analyzer`] takes packets in the
//! order of the file and passes its results to a [`Sink`]. Comparing two captures is left to [`pair`](crate::pair).

pub mod clock;
mod copies;
mod course;
pub mod direction;
mod flow;
pub mod game;
pub mod games;
pub mod marks;
pub mod numbering;
mod open;
mod pace;
pub mod report;
pub mod silence;
pub mod sink;
mod spare;
mod table;
pub mod timeline;
pub mod under_load;

pub use crate::orientation::ClientBy;
pub use crate::samples::Samples;
pub use crate::tcp::{Acknowledged, Method, Retransmission, RoundTrip};
pub use clock::{CaptureClock, Wrong};
pub use direction::{Bin, Copied};
pub use game::{Behaviour, Updates};
pub use games::{Game, Games, Kind};
pub use marks::Marks;
pub use open::{OpenFlow, OpenUpdates};
pub use report::{FlowReport, HalfReport, TcpReport, TransportReport};
pub use silence::{Silence, Silences};
pub use sink::Sink;
pub use timeline::Timeline;
pub use under_load::UnderLoad;

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

impl Analyzer {
    /// Handles a packet. Wrong timestamps are corrected, as [`CaptureClock`] says; a few packets may be held back for it.
    pub fn handle(&mut self, packet: &CapturedPacket, sink: &mut impl Sink) {
        let Self { flows, clock } = self;
        clock.read(packet, &mut |packet, at_ns| flows.handle(packet, at_ns, sink));
    }

    /// Handles the packets of one file of a recording. Flows stay open for the next file.
    ///
    /// # Errors
    /// The error that ended the file.
    pub fn follow<R: Read>(
        &mut self,
        capture: &mut Capture<R>,
        sink: &mut impl Sink,
    ) -> Result<(), CaptureError> {
        let mut packet = CapturedPacket::default();
        while capture.read_into(&mut packet)? {
            self.handle(&packet, sink);
            if sink.is_tired() {
                break;
            }
        }
        Ok(())
    }

    /// Ends all open flows at the end of the capture and reports them.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        let Self { flows, clock } = self;
        clock.finish(&mut |packet, at_ns| flows.handle(packet, at_ns, sink));
        flows.finish(sink);
    }

    /// Start, length and faults of the timestamps.
    pub const fn clock(&self) -> &CaptureClock {
        &self.clock
    }

    /// Number of open flows that behave like a game so far: UDP flows by their pace, TCP flows by being thin. It checks
    /// all of them.
    pub fn games(&mut self) -> usize {
        self.flows.games()
    }

    /// Returns what is known so far of the flow with this number, if it is open.
    pub fn open_flow(&mut self, number: u32) -> Option<OpenFlow> {
        self.flows.open_flow(number)
    }

    /// Number of packets that were copies of others, and set aside.
    pub const fn set_aside(&self) -> u64 {
        self.flows.set_aside_packets()
    }

    /// Load of all flows, and lag of the games that have ended, over time.
    pub const fn timeline(&self) -> &Timeline {
        self.flows.timeline()
    }

    /// Number of flows so far.
    pub const fn flows(&self) -> u32 {
        self.flows.count()
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
    let result = analyzer.follow(capture, sink);
    analyzer.finish(sink);
    result
}
