//! What `gamelane analyze` found, as the JSON of docs/json-schema.md: [`Document`] holds it, and writes it. One
//! [`Findings`] per capture takes the flows while the capture is read. Each field has the name of its key. What a number
//! means is said at the analysis.

mod capture;
mod files;
mod flow;
mod games;
mod listed;
mod pair;
mod problem;
mod summary;
mod tcp;

pub use capture::{Captured, Findings};
pub use files::{Choice, Documented, UnknownFlows, read, read_two};
pub use pair::Paired;
pub use problem::Problem;

pub(crate) use flow::{Flow, FlowUpdates, Transport};
pub(crate) use games::{CountedSums, Sums};
pub(crate) use pair::{PairDirection, PairFlow};
pub(crate) use tcp::Half;

use std::io::{self, Write};

use serde::Serialize;

use crate::blame;
use crate::verdict::Verdict;

/// The findings about one capture, or about several.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: u8,
    pub(crate) captures: Vec<Captured>,
    pub(crate) pair: Option<Paired>,
    verdict: Verdict,
}

impl Document {
    /// Makes the document of these captures. With `pair`, there are two, which were compared.
    pub fn new(captures: Vec<Captured>, pair: Option<Paired>) -> Self {
        // What a filter left out is no evidence of anything.
        let is_filtered = |captured: &Captured| {
            captured.cuts_flows || (captured.flows_total == 0 && captured.filtered() > 0)
        };
        let blame = match (&pair, &captures[..]) {
            _ if captures.iter().any(is_filtered) => None,
            (Some(pair), _) => Some(pair.blame.clone()),
            (None, [alone]) => Some(blame::of_one(&alone.evidence)),
            _ => None,
        };
        let verdict = Verdict::of(&captures, pair.as_ref(), blame);
        Self { schema: SCHEMA, captures, pair, verdict }
    }

    /// Everything that could not be read, in the order of the captures.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.captures.iter().flat_map(Captured::problems)
    }

    /// True if nothing of one of the captures could be read.
    pub fn is_unread(&self) -> bool {
        self.captures.iter().any(Captured::is_unread)
    }

    /// Packets of each capture.
    pub fn packets(&self) -> impl Iterator<Item = u64> {
        self.captures.iter().map(|capture| capture.packets)
    }

    /// Writes the document as one line of JSON, or indented.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write(&self, out: impl Write, indented: bool) -> io::Result<()> {
        if indented {
            serde_json::to_writer_pretty(out, self)?
        } else {
            serde_json::to_writer(out, self)?
        }
        Ok(())
    }

    /// The document as one line of JSON, or indented.
    pub fn text(&self, indented: bool) -> String {
        let text = if indented { serde_json::to_string_pretty(self) } else { serde_json::to_string(self) };
        text.expect("all keys are strings, and no value fails to serialize")
    }
}

/// Version of the document's form.
const SCHEMA: u8 = 1;

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
