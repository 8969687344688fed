//! Reads files into the document.

use std::path::Path;

use super::capture::{Captured, Findings};
use super::pair::Paired;
use crate::analysis::{Acknowledged, Analyzer, Bin, FlowReport, Retransmission, RoundTrip, Sink};
use crate::error::CaptureError;
use crate::input::Input;
use crate::packet::CapturedPacket;
use crate::pair::{Seen, compare, watch};
use crate::read::Capture;

/// A sink that keeps the reports for the document and passes all rows on.
#[derive(Debug, Default)]
pub struct Documented<S> {
    /// What the document says.
    pub findings: Findings,
    /// Receives the rows.
    pub onward: S,
}

/// Analyses one capture: a file, `-` for standard input, or the files of a recording in order. Rows go to `onward`.
pub fn read<S: Sink>(name: &str, paths: &[String], onward: &mut S) -> Captured {
    let mut sink = Documented { findings: Findings::default(), onward };
    let mut analyzer = Analyzer::default();
    for path in paths {
        match open(path) {
            Ok(mut capture) => {
                let error = analyzer.follow(&mut capture, &mut sink).err();
                sink.findings.file(&capture, error);
            }
            Err(error) => sink.findings.unread(error),
        }
        if sink.is_tired() {
            break;
        }
    }
    analyzer.finish(&mut sink);
    sink.findings.finish(name, &analyzer)
}

/// Analyses two captures of the same traffic and compares them. With `interfaces`, only the packets of one interface of
/// each are read. Nothing is compared if one of them could not be opened.
pub fn read_two<S: Sink>(
    paths: [&str; 2],
    interfaces: Option<[u32; 2]>,
    mut onward: [&mut S; 2],
) -> (Vec<Captured>, Option<Paired>) {
    let mut places = 0..;
    let read = onward.each_mut().map(|onward| {
        let place = places.next().unwrap_or_default();
        let mut sink = Documented { findings: Findings::of_two(), onward: &mut **onward };
        let mut analyzer = Analyzer::default();
        let seen = match open(paths[place]) {
            Ok(mut capture) => {
                if let Some(interfaces) = interfaces {
                    capture.only_interface(interfaces[place]);
                }
                let (seen, error) = watch(&mut capture, &mut analyzer, &mut sink);
                sink.findings.file(&capture, error);
                Some(seen)
            }
            Err(error) => {
                sink.findings.unread(error);
                None
            }
        };
        (sink.findings, analyzer, seen)
    });
    let [(first, first_analyzer, first_seen), (second, second_analyzer, second_seen)] = read;
    let both: Option<[Seen; 2]> = first_seen.zip(second_seen).map(Into::into);
    let pair = both.map(|[a, b]| Paired::of(&compare(&a, &b), [&first, &second]));
    (vec![first.finish(paths[0], &first_analyzer), second.finish(paths[1], &second_analyzer)], pair)
}

fn open(path: &str) -> Result<Capture<Input>, CaptureError> {
    if path == "-" { Capture::stdin() } else { Capture::open(Path::new(path)) }
}

impl<S: Sink> Sink for Documented<S> {
    fn flow(&mut self, report: FlowReport) {
        self.findings.flow(report);
    }

    fn bin(&mut self, row: &Bin) {
        self.onward.bin(row);
    }

    fn round_trip(&mut self, row: &RoundTrip) {
        self.onward.round_trip(row);
    }

    fn retransmission(&mut self, row: &Retransmission) {
        self.onward.retransmission(row);
    }

    fn acknowledged(&mut self, row: &Acknowledged) {
        self.onward.acknowledged(row);
    }

    fn packet(&mut self, flow: u32, direction: u8, packet: &CapturedPacket) {
        self.onward.packet(flow, direction, packet);
    }

    fn absorbed(&mut self, flow: u32) {
        self.onward.absorbed(flow);
    }

    fn is_tired(&self) -> bool {
        self.onward.is_tired()
    }
}
