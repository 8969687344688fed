//! Reads files into the document.

use std::io::Read;
use std::path::Path;

use super::capture::{Captured, Findings};
use super::pair::Paired;
use crate::analysis::{Acknowledged, Analyzer, Bin, FlowReport, Retransmission, RoundTrip, Sink};
use crate::error::CaptureError;
use crate::filter::Filter;
use crate::input::Input;
use crate::names::Known;
use crate::only::Only;
use crate::packet::CapturedPacket;
use crate::pair::{Seen, compare, watch};
use crate::read::Capture;

/// Packets and flows that the document is about, and what is known of applications. By default the document is about all
/// packets.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Packets to read.
    pub filter: Filter,
    /// Numbers of the flows, for one capture; empty for all. All flows are analysed, so the numbers stay the same.
    pub flows: Vec<u32>,
    /// Applications that flows may be of.
    pub known: Known,
    /// An interface of each of two captures.
    pub interfaces: Option<[u32; 2]>,
}

/// Chosen flows that do not exist.
#[derive(Debug, thiserror::Error)]
#[error(
    "--flow {missing}: no such flow in {name}; {}\nhint: `gamelane analyze {name} --csv` lists them",
    if *flows == 1 { "there is one, number 0".to_owned() } else { format!("there are {flows}, numbered from 0") }
)]
pub struct UnknownFlows {
    missing: String,
    name: String,
    flows: u32,
}

/// A sink that keeps the reports for the document and passes all rows on.
#[derive(Debug, Default)]
pub struct Documented<S> {
    /// What the document says.
    pub findings: Findings,
    /// Receives the rows.
    pub onward: S,
}

/// Analyses one capture: a file, `-` for standard input, or the files of a recording in order. Rows go to `onward`.
///
/// # Errors
/// If a chosen flow does not exist.
pub fn read<S: Sink>(
    name: &str,
    paths: &[String],
    choice: &Choice,
    onward: &mut S,
) -> Result<Captured, UnknownFlows> {
    read_opened(name, paths.iter().map(|path| open(path)), choice, onward)
}

/// Like [`read`], for captures that are open or could not be opened.
///
/// # Errors
/// As [`read`].
pub fn read_opened<R: Read, S: Sink>(
    name: &str,
    captures: impl IntoIterator<Item = Result<Capture<R>, CaptureError>>,
    choice: &Choice,
    onward: &mut S,
) -> Result<Captured, UnknownFlows> {
    let sink = Documented { findings: Findings::default(), onward };
    let (mut only, mut analyzer) = (Only::new(&choice.flows, sink), Analyzer::default());
    for capture in captures {
        match capture {
            Ok(mut capture) => {
                capture.only(choice.filter.clone());
                let error = analyzer.follow(&mut capture, &mut only).err();
                only.sink.findings.file(&capture, error);
            }
            Err(error) => only.sink.findings.unread(error),
        }
        if only.is_tired() {
            break;
        }
    }
    analyzer.finish(&mut only);
    let missing: Vec<String> = only.missing().map(|flow| flow.to_string()).collect();
    if !missing.is_empty() && analyzer.flows() > 0 {
        let (missing, name) = (missing.join(", "), name.to_owned());
        return Err(UnknownFlows { missing, name, flows: analyzer.flows() });
    }
    let mut captured = only.sink.findings.finish(name, &analyzer, &choice.known);
    captured.cuts_flows = !choice.filter.keeps_whole_flows();
    if !choice.flows.is_empty() {
        captured.flows_total = captured.flows.len() as u32;
        captured.flows_chosen = captured.flows.iter().map(|flow| flow.id).collect();
    }
    Ok(captured)
}

/// Analyses two captures of the same traffic and compares them. Nothing is compared if one of them could not be opened.
pub fn read_two<S: Sink>(
    paths: [&str; 2],
    choice: &Choice,
    mut onward: [&mut S; 2],
) -> (Vec<Captured>, Option<Paired>) {
    let mut places = 0..;
    let read = onward.each_mut().map(|onward| {
        let place = places.next().unwrap_or_default();
        let mut sink = Documented { findings: Findings::of_two(), onward: &mut **onward };
        let mut analyzer = Analyzer::default();
        let seen = match open(paths[place]) {
            Ok(mut capture) => {
                capture.only(choice.filter.clone());
                if let Some(interfaces) = choice.interfaces {
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
    let mut captures = vec![
        first.finish(paths[0], &first_analyzer, &choice.known),
        second.finish(paths[1], &second_analyzer, &choice.known),
    ];
    captures.iter_mut().for_each(|captured| captured.cuts_flows = !choice.filter.keeps_whole_flows());
    (captures, pair)
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
