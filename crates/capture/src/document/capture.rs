//! One capture in the document.

use std::borrow::Cow;
use std::io::Read;

use serde::{Deserialize, Serialize};

use super::flow::Flow;
use super::games::Sums;
use super::listed::{LeftOut, Listed};
use super::problem::Problem;
use super::{ms, seconds};
use crate::analysis::{Analyzer, FlowReport, Timeline, Wrong};
use crate::blame::Evidence;
use crate::error::CaptureError;
use crate::names::Known;
use crate::read::{Capture, Skipped};

/// Takes what the document says about a capture while its files are read.
#[derive(Debug, Default)]
pub struct Findings {
    listed: Listed,
    evidence: Evidence,
    packets: u64,
    skipped: Skipped,
    untimed: u64,
    dropped: Option<u64>,
    dropped_before: u64,
    errors: Vec<CaptureError>,
}

/// An element of `captures`.
#[derive(Debug, Deserialize, Serialize)]
pub struct Captured {
    pub(crate) file: String,
    complete: bool,
    error: Option<Problem>,
    further_errors: Vec<Problem>,
    pub(crate) packets: u64,
    pub(crate) skipped: SkippedPackets,
    pub(crate) dropped_by_capture: Option<u64>,
    start_unix_ns: Option<u64>,
    pub(crate) duration_s: f64,
    pub(crate) time_went_back: WentBack,
    pub(crate) clock_steps: Steps,
    pub(crate) stamps_ahead: WentBack,
    pub(crate) set_aside: u64,
    pub(crate) flows_total: u32,
    pub(super) flows_chosen: Vec<u32>,
    pub(crate) flows_left_out: LeftOut,
    pub(crate) timeline: Option<Course>,
    pub(crate) games: Sums,
    pub(crate) flows: Vec<Flow>,
    /// A filter left out parts of flows, which look lost.
    #[serde(skip)]
    pub(crate) cuts_flows: bool,
    #[serde(skip)]
    pub(super) evidence: Evidence,
}

/// Load and lag over time.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Course {
    pub(crate) step_s: f64,
    pub(crate) up_bps: Vec<f64>,
    pub(crate) down_bps: Vec<f64>,
    pub(crate) lag_ms: Vec<f64>,
    /// `None` without a game.
    pub(crate) wait: Option<Wait>,
}

/// What `lag_ms` of a course is: the longest wait of a game, beyond what is normal for it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Wait {
    pub(crate) of: String,
    pub(crate) beyond: Cow<'static, str>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct SkippedPackets {
    not_ip: u64,
    other_protocol: u64,
    cut_header: u64,
    encrypted: u64,
    wifi_retries: u64,
    stray_fragments: u64,
    unsupported_link: u64,
    unsupported_link_type: Option<u32>,
    filtered: u64,
    untimed: u64,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct WentBack {
    pub(crate) packets: u64,
    pub(crate) furthest_ms: f64,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Steps {
    pub(crate) count: u64,
    pub(crate) furthest_ms: f64,
}

impl Findings {
    /// For one of two captures that are compared.
    pub fn of_two() -> Self {
        Self { listed: Listed::of_two(), ..Self::default() }
    }

    /// Takes the report of a flow.
    pub fn flow(&mut self, report: FlowReport) {
        self.evidence.add(&report);
        self.listed.add(report);
    }

    /// Takes the counters of a file that was read to its end, or as far as it went.
    pub fn file<R: Read>(&mut self, capture: &Capture<R>, error: Option<CaptureError>) {
        self.packets += capture.packets_read();
        self.untimed += capture.untimed();
        self.skipped.add(capture.skipped());
        self.evidence.wifi(capture.on_air());
        // Counts go on from file to file of a recording; one that starts anew is another's.
        if let Some(dropped) = capture.dropped_by_capture() {
            let so_far = self.dropped.unwrap_or(0);
            if dropped < so_far - self.dropped_before {
                self.dropped_before = so_far;
            }
            self.dropped = Some(self.dropped_before + dropped);
        }
        self.errors.extend(capture.mixed_link_types());
        self.errors.extend(error);
    }

    /// A file could not be opened.
    pub fn unread(&mut self, error: CaptureError) {
        self.errors.push(error);
    }

    /// Packets that the recording program dropped, by its own count.
    pub const fn dropped(&mut self, packets: u64) {
        self.dropped = Some(packets);
    }

    pub(super) const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    pub(super) const fn listed(&self) -> &Listed {
        &self.listed
    }

    /// Makes the element of the document, after [`Analyzer::finish`]. `known` are the applications that flows may be of.
    pub fn finish(mut self, name: &str, analyzer: &Analyzer, known: &Known) -> Captured {
        let (clock, skipped) = (analyzer.clock(), self.skipped);
        let mut errors = self.errors.iter().map(Problem::of);
        let error = errors.next();
        Captured {
            file: name.to_owned(),
            complete: error.is_none(),
            error,
            further_errors: errors.collect(),
            packets: self.packets,
            skipped: SkippedPackets {
                not_ip: skipped.not_ip,
                other_protocol: skipped.other_protocol,
                cut_header: skipped.cut_header,
                encrypted: skipped.encrypted,
                wifi_retries: skipped.wifi_retries,
                stray_fragments: skipped.stray_fragments,
                unsupported_link: skipped.unsupported_link,
                unsupported_link_type: skipped.unsupported_link_type,
                filtered: skipped.filtered,
                untimed: self.untimed,
            },
            dropped_by_capture: self.dropped,
            start_unix_ns: clock.start_ns,
            duration_s: seconds(clock.lasted_ns),
            time_went_back: WentBack::of(clock.went_back),
            clock_steps: Steps { count: clock.steps.count, furthest_ms: ms(clock.steps.furthest_ns) },
            stamps_ahead: WentBack::of(clock.ahead),
            set_aside: analyzer.set_aside(),
            flows_total: analyzer.flows(),
            flows_chosen: Vec::new(),
            flows_left_out: self.listed.left_out,
            timeline: Course::of(analyzer.timeline()),
            games: Sums::of(&self.listed.games),
            // A report and its distributions are freed as soon as it is summarised.
            flows: self.listed.take().into_iter().map(|report| Flow::of(&report, known)).collect(),
            cuts_flows: false,
            evidence: self.evidence,
        }
    }
}

impl Course {
    fn of(timeline: &Timeline) -> Option<Self> {
        let drawn = timeline.drawn();
        let step_s = seconds(drawn.step_ns());
        let bps =
            |way: usize| drawn.steps().iter().map(|step| step.bytes[way] as f64 * 8.0 / step_s).collect();
        (!drawn.steps().is_empty()).then(|| Self {
            step_s,
            up_bps: bps(0),
            down_bps: bps(1),
            lag_ms: drawn.steps().iter().map(|step| ms(step.lag_ns)).collect(),
            wait: None,
        })
    }
}

impl SkippedPackets {
    /// How many were skipped, and why.
    pub(crate) const fn each(&self) -> [(u64, &'static str); 9] {
        [
            (self.not_ip, "not IP"),
            (self.other_protocol, "other protocol"),
            (self.cut_header, "cut header"),
            (self.encrypted, "encrypted"),
            (self.wifi_retries, "Wi-Fi retries"),
            (self.stray_fragments, "stray fragments"),
            (self.unsupported_link, "unsupported link"),
            (self.filtered, "left out by --filter"),
            (self.untimed, "untimed"),
        ]
    }
}

impl WentBack {
    fn of(wrong: Wrong) -> Self {
        Self { packets: wrong.count, furthest_ms: ms(wrong.furthest_ns) }
    }
}

impl Captured {
    pub(super) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.error.iter().chain(&self.further_errors)
    }

    pub(super) const fn is_unread(&self) -> bool {
        self.error.is_some() && self.flows_total == 0
    }

    /// TCP and UDP packets that a filter left out.
    pub(crate) const fn filtered(&self) -> u64 {
        self.skipped.filtered
    }

    /// Says whose waits the timeline shows, when the flows are chosen.
    pub(super) fn tell_waits(&mut self) {
        let (tcp, udp) =
            (self.games.tcp.connections > 0, self.games.udp.games + self.games.udp.voice_calls > 0);
        let of = match self.flows_chosen[..] {
            [] => "a game".to_owned(),
            [flow] => format!("flow {flow}"),
            _ => "a chosen flow".to_owned(),
        };
        let beyond = match (tcp, udp) {
            (true, true) => "fastest round trip (UDP: its tick)",
            (true, false) => "fastest round trip",
            (false, _) => "tick",
        };
        if let Some(timeline) = &mut self.timeline {
            timeline.wait = (tcp || udp).then(|| Wait { of, beyond: beyond.into() });
        }
    }

    /// The listed flow with this number.
    pub(crate) fn flow(&self, id: u32) -> Option<&Flow> {
        let at = self.flows.binary_search_by_key(&id, |flow| flow.id).ok()?;
        self.flows.get(at)
    }
}
