//! Sentences of the judgement.

pub(super) use crate::numbers::count;

use super::queues::{Proof, Queue};
use super::{Blame, Sure, Who};

impl Blame {
    pub(super) fn new(who: Who, sure: Sure, text: impl Into<String>) -> Self {
        Self { who, sure, text: text.into(), because: Vec::new(), advice: Vec::new() }
    }

    /// Says of a guess that it is one.
    pub(super) fn hedged(mut self) -> Self {
        let names_culprit = !matches!(self.who, Who::Nobody | Who::Unknown);
        if self.sure == Sure::Guess
            && names_culprit
            && !self.text.starts_with("Perhaps")
            && !self.text.contains(" probably ")
        {
            let mut letters = self.text.chars();
            let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
            self.text = format!("Perhaps {first}{}", letters.as_str());
        }
        self
    }

    pub(super) fn because(mut self, sentence: impl Into<String>) -> Self {
        self.because.push(sentence.into());
        self
    }

    pub(super) fn advise(mut self, advice: &[&str]) -> Self {
        for sentence in advice {
            if !self.advice.iter().any(|known| known == sentence) {
                self.advice.push((*sentence).to_owned());
            }
        }
        self
    }
}

/// Direction of a load.
pub(super) const fn name(load: usize) -> &'static str {
    if load == 0 { "upload" } else { "download" }
}

pub(super) const fn queue_of(load: usize) -> Who {
    if load == 0 { Who::Upload } else { Who::Download }
}

/// `your` for the player, `the player's` for anybody else.
pub(super) const fn your(is_players: bool) -> &'static str {
    if is_players { "your" } else { "the player's" }
}

pub(super) fn ms(ns: u64) -> String {
    if ns >= 9_950_000_000 {
        format!("{:.0} s", ns as f64 / 1e9)
    } else if ns >= 1_000_000_000 {
        format!("{:.1} s", ns as f64 / 1e9)
    } else {
        format!("{:.0} ms", ns as f64 / 1e6)
    }
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    if share >= 10.0 { format!("{share:.0} %") } else { format!("{share:.1} %") }
}

pub(super) fn rate(bytes: u64, ns: u64) -> String {
    let mbit = bytes as f64 * 8e3 / ns.max(1) as f64;
    if mbit >= 0.95 { format!("{mbit:.1} Mbit/s") } else { format!("{:.0} kbit/s", mbit * 1000.0) }
}

/// How many of the troubles came with the load.
pub(super) fn troubles(with: u32, all: u32, load: &str) -> String {
    format!("{with} of {} of lag or loss came while the {load} was busy.", count(all.into(), "moment"))
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What tells that a queue builds up.
pub(super) fn evidence(queue: &Queue) -> Vec<String> {
    let load = name(queue.load);
    let mut said = Vec::new();
    if queue.proof == Proof::Game {
        let [with, all] = queue.troubles;
        said.push(troubles(with, all, load));
    }
    if queue.delay_ns > 0 {
        let waited = ms(queue.delay_ns);
        said.push(match (queue.proof, queue.quiet_ns) {
            (Proof::Always, _) => format!(
                "Packets waited {waited} longer than the fastest ones. Uploads or downloads were busy nearly all the time."
            ),
            (Proof::OwnLoad, _) => {
                format!("Packets of the {load} itself waited {waited} longer than the fastest ones.")
            }
            (_, Some(quiet)) => format!(
                "While the {load} was busy, packets waited {waited} longer than the fastest ones; without it {}.",
                ms(quiet)
            ),
            (_, None) => format!(
                "While the {load} was busy, packets waited {waited} longer than the fastest ones. It was busy all the time."
            ),
        });
    }
    said
}

pub(super) const LIMIT_UPLOAD: &str =
    "Pause or limit uploads (cloud backup, photos, streaming) while you play.";
pub(super) const LIMIT_DOWNLOAD: &str = "Pause or limit downloads and updates while you play.";
pub(super) const AQM: &str = "Let the router manage the queue: CAKE or FQ-CoDel (often called SQM), set to 90 % of the line's \
    rate. `gamelane tune` finds the settings and `gamelane gateway` runs them on Linux.";
pub(super) const CABLE: &str = "Connect the machine that plays by cable, play again and compare. If it must be Wi-Fi, use \
    5 GHz or 6 GHz and go closer to the access point.";
pub(super) const TELL_SERVER: &str =
    "Choose another server, or tell the operator of this one; give them this report.";
pub(super) const REMEDIES: &str = "If you run the server: `gamelane analyze CAPTURE --remedies 20` shows which TCP settings would \
    have helped.";
pub(super) const AT_ROUTER: &str = "Record at the router at the same time, and give both captures to `gamelane analyze`: it \
    then measures what lies between.";
pub(super) const AT_SERVER: &str = "Record at the server at the same time, and give both captures to `gamelane analyze`: it \
    then measures what lies between.";
pub(super) const AT_OTHER_END: &str = "Record at the other end at the same time, and give both captures to `gamelane analyze`: \
    it then measures what lies between.";
pub(super) const AT_PLAYER: &str = "Record on the player's machine at the same time, and give both captures to `gamelane \
    analyze`: it then measures what lies between.";
pub(super) const WITH_TCP: &str = "Record everything that the machine sends, not only the game: connections to other servers \
    show the round trip.";
pub(super) const ASK_PROVIDER: &str = "Connect one machine to the modem by cable, with nothing else on the line, and record \
    again. If packets are still lost, show both captures to the provider.";
pub(super) const ELSEWHERE: &str =
    "Try another server in another network. If the provider has several routes (IPv6, a VPN), try them.";
pub(super) const OTHERS_TRAFFIC: &str = "Look for uploads and downloads of other machines in the home; this capture does not \
    show them.";
pub(super) const MACHINE: &str =
    "Close other programs on the machine that plays, and look at its processor, memory and disk.";
pub(super) const PAUSE: &str = "A pause, a new map, or silence in a call looks the same.";
