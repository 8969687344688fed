//! Who is to blame for the lag of a game: a judgement from what one capture, or two, show. [`Evidence`] collects the facts
//! about each flow while a capture is read; [`of_one`] and [`of_two`] judge them. `docs/models/captures.md` has the rules
//! as a table. Nothing here reads packets.
//!
//! A person may call a provider because of the answer. So a culprit is *likely* only if a fact rules the other
//! culprits out, and *certain* only if the trouble was measured between two points. Everything else is a guess, or
//! unknown.

mod elsewhere;
mod evidence;
mod findings;
mod hosts;
mod one;
mod place;
mod queues;
mod sides;
mod silence;
mod two;
mod wifi;
mod words;

pub use evidence::Evidence;
pub use one::of_one;
pub use two::of_two;

/// The judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(serde::Deserialize, serde::Serialize))]
pub struct Blame {
    /// The culprit.
    pub who: Who,
    /// How sure that is.
    pub sure: Sure,
    /// Who is to blame, in one or two sentences.
    pub text: String,
    /// The evidence, a sentence each.
    pub because: Vec<String>,
    /// What to try, the most useful first.
    pub advice: Vec<String>,
}

/// A culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "document",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Who {
    /// The player's Wi-Fi.
    Wifi,
    /// The player's machine or home network.
    Home,
    /// A queue builds up in front of the uplink, because of an upload.
    Upload,
    /// A queue builds up in front of the downlink, because of a download.
    Download,
    /// The access line.
    Line,
    /// The network between the access line and the server.
    Path,
    /// The server.
    Server,
    /// Nothing was wrong.
    Nobody,
    /// The captures cannot tell.
    Unknown,
}

/// How sure a judgement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "document",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Sure {
    /// The most probable of several culprits.
    Guess,
    /// The facts fit this culprit and rule the others out, as far as one capture can.
    Likely,
    /// It was measured.
    Certain,
}
