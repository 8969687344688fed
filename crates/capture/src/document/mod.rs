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
mod shared;
mod summary;
mod tcp;

pub(crate) use capture::Course;
pub use capture::{Captured, Findings};
pub use files::{Choice, Documented, UnknownFlows, read, read_opened, read_two};
pub use pair::Paired;
pub use problem::Problem;

pub(crate) use flow::{Flow, FlowUpdates, Transport, Trouble};
pub(crate) use games::{CountedSums, Sums};
pub(crate) use pair::{PairDirection, PairFlow};
pub(crate) use shared::SharedPaths;
pub(crate) use summary::Summary;
pub(crate) use tcp::Half;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::blame;
use crate::facts::Conversation;
use crate::verdict::Verdict;

/// The findings about one capture, or about several.
#[derive(Debug, Deserialize, Serialize)]
pub struct Document {
    schema: u8,
    pub(crate) captures: Vec<Captured>,
    pub(crate) pair: Option<Paired>,
    pub(crate) verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shared_paths: Option<SharedPaths>,
}

impl Document {
    /// Makes the document of these captures. With `pair`, there are two, which were compared.
    pub fn new(mut captures: Vec<Captured>, mut pair: Option<Paired>) -> Self {
        find_trouble(&mut captures, pair.as_mut());
        // What a filter left out is no evidence of anything.
        let is_filtered = |captured: &Captured| {
            captured.cuts_flows || (captured.flows_total == 0 && captured.filtered() > 0)
        };
        let blame = match (&pair, &captures[..]) {
            _ if captures.iter().any(is_filtered) => None,
            (Some(pair), _) => pair.blame.clone(),
            (None, [alone]) => Some(blame::of_one(&alone.evidence)),
            _ => None,
        };
        let verdict = Verdict::of(&captures, pair.as_ref(), blame);
        Self { schema: SCHEMA, captures, pair, verdict, shared_paths: None }
    }

    /// Reads the JSON of a document, to which more may have been added.
    ///
    /// # Errors
    /// It is no such document.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
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

/// Finds the flows that suffered.
fn find_trouble(captures: &mut [Captured], pair: Option<&mut Paired>) {
    for (number, capture) in captures.iter_mut().enumerate() {
        for flow in &mut capture.flows {
            let trouble = Conversation::one(number, flow).compute_trouble();
            flow.trouble = trouble;
        }
        capture.tell_waits();
    }
    for flow in pair.into_iter().flat_map(|pair| &mut pair.flows) {
        flow.trouble = Conversation::both(captures, flow).map(|both| both.compute_trouble());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> String {
        format!("{}/../../tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn a_document_that_is_read_is_the_one_that_was_written() {
        let [server, client] = ["srv", "cli"].map(|end| path(&format!("thin-tcp-wan-{end}.pcapng.gz")));
        let (two, pair) = read_two([&server, &client], &Choice::default(), [&mut (), &mut ()]);
        let udp = path("openarena-4p-srv.pcapng.gz");
        let one = read("udp", &[udp, path("none")], &Choice::default(), &mut ()).unwrap();
        for document in [Document::new(two, pair), Document::new(vec![one], None)] {
            let text = document.text(false);
            let again = Document::parse(&text).unwrap();
            assert_eq!(again.text(false), text);
            assert_eq!(again.lines(80, false), document.lines(80, false));
        }
    }

    #[test]
    fn the_timeline_says_whose_waits_it_shows() {
        let mut captured =
            read("one", &[path("thin-tcp-wan-srv.pcapng.gz")], &Choice::default(), &mut ()).unwrap();
        let mut wait = |udp_games, tcp, flows: &[u32]| {
            captured.games.udp.games = udp_games;
            captured.games.tcp.connections = tcp;
            captured.flows_chosen = flows.to_vec();
            captured.tell_waits();
            let wait = captured.timeline.as_ref().unwrap().wait.as_ref();
            wait.map_or_else(String::new, |wait| format!("{} beyond its {}", wait.of, wait.beyond))
        };
        assert_eq!(wait(1, 0, &[]), "a game beyond its tick");
        assert_eq!(wait(0, 1, &[7]), "flow 7 beyond its fastest round trip");
        assert_eq!(wait(1, 1, &[7, 8]), "a chosen flow beyond its fastest round trip (UDP: its tick)");
        assert_eq!(wait(0, 0, &[]), "");
    }
}
