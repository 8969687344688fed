//! The game or application of a flow, from all signs together.

use super::known::{Group, Known, KnownApplication, shared_name};
use super::protocol::{Spoken, spoken};
use super::signature::Means;
use crate::analysis::FlowReport;

/// What a flow belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(serde::Deserialize, serde::Serialize))]
pub struct Application {
    /// Word of a shipped preset, or a protocol such as `webrtc`; `None` if it is unknown.
    pub name: Option<String>,
    /// How sure the name is.
    pub confidence: Confidence,
    /// What it rests on, in a sentence.
    pub because: String,
    /// The name is only that of a protocol, which many applications use.
    #[cfg_attr(feature = "document", serde(skip))]
    pub is_protocol: bool,
}

/// How sure a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "document",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Confidence {
    /// Nothing tells, or the signs contradict each other.
    Unknown,
    /// The port alone, or the form of the messages alone.
    Possible,
    /// Port and behaviour agree, or the form of many messages does.
    Likely,
    /// The bytes of the protocol say so.
    Sure,
}

impl Application {
    fn named(name: impl Into<String>, confidence: Confidence, because: String) -> Self {
        Self { name: Some(name.into()), confidence, because, is_protocol: false }
    }

    fn unknown(because: impl Into<String>) -> Self {
        Self { name: None, confidence: Confidence::Unknown, because: because.into(), is_protocol: false }
    }

    /// The name of the application, if it is likely or sure.
    pub fn told(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| self.confidence >= Confidence::Likely && !self.is_protocol)
    }
}

/// Names the game or application of a flow.
pub fn application(report: &FlowReport, known: &Known) -> Application {
    if let Some((signature, server)) = report.heard.name {
        let of_domain: Vec<_> = known.of_domain(&server).collect();
        if let Some(name) = shared_name(&of_domain) {
            return Application::named(
                name,
                Confidence::Sure,
                format!("{} asks for {server}.", capital(signature.sign())),
            );
        }
    }
    let spoken = spoken(report);
    let by_port = by_port(report, spoken.as_ref(), known);
    match spoken {
        Some(spoken)
            if spoken.means == Means::Application
                || by_port.name.is_none()
                || by_port.told().is_none() && spoken.confidence > by_port.confidence =>
        {
            let server = report.heard.name.map_or_else(String::new, |(_, server)| format!(" for {server}"));
            let because = format!("It has {}{server}.", spoken.sign);
            let is_protocol = spoken.means == Means::Protocol;
            Application { is_protocol, ..Application::named(spoken.name, spoken.confidence, because) }
        }
        _ => by_port,
    }
}

/// The application that the server's port belongs to, if the flow behaves like it.
fn by_port(report: &FlowReport, spoken: Option<&Spoken>, known: &Known) -> Application {
    let (protocol, port) = (report.key.protocol, report.key.destination.port());
    let may_be = |group: Group| spoken.is_none_or(|spoken| spoken.carries(group));
    let candidates: Vec<_> = known.on_port(protocol, port).filter(|(of, _)| may_be(of.group)).collect();
    let is_media = spoken.is_some_and(Spoken::is_media);
    let of = |agrees: Option<bool>| {
        candidates
            .iter()
            .filter(move |(of, _)| of.agrees(report, is_media) == agrees)
            .copied()
            .collect::<Vec<_>>()
    };
    let (agreeing, open) = (of(Some(true)), of(None));
    let tells = |of: &[(&KnownApplication, bool)]| of.iter().all(|(_, tells)| *tells);
    let whose =
        |of: &[(&KnownApplication, bool)]| shared_name(&of.iter().map(|(of, _)| *of).collect::<Vec<_>>());
    let several = |of: &[(&KnownApplication, bool)]| {
        let names = of.iter().map(|(of, _)| of.name.as_str()).collect::<Vec<_>>().join(", ");
        Application::unknown(format!("Port {port} belongs to several: {names}."))
    };
    if !agreeing.is_empty() {
        let Some(name) = whose(&agreeing) else { return several(&agreeing) };
        let confidence = if tells(&agreeing) { Confidence::Likely } else { Confidence::Possible };
        let also = spoken.map_or_else(String::new, |spoken| format!(", and the flow has {}", spoken.sign));
        let because = format!("Its server has port {port}, and packets come as those of {name} do{also}.");
        return Application::named(name, confidence, because);
    }
    let open: Vec<_> = open.into_iter().filter(|(_, tells)| *tells).collect();
    if !open.is_empty() {
        let Some(name) = whose(&open) else { return several(&open) };
        return Application::named(
            &*name,
            Confidence::Possible,
            format!("Only its port tells: {port} is one of {name}."),
        );
    }
    match &candidates[..] {
        [] => Application::unknown("It has no known signature and no known port."),
        [(one, _)] => Application::unknown(format!(
            "Port {port} is one of {}, but packets do not come as those do.",
            one.name
        )),
        several => Application::unknown(format!(
            "Port {port} is one of {}, but packets do not come as those of any do.",
            several.iter().map(|(of, _)| of.name.as_str()).collect::<Vec<_>>().join(", ")
        )),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
