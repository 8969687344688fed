//! What a measurement sends, and when. Both ends make the same scenario of a plan, so the plan is all that crosses the network.

use std::fmt::Write as _;

use gamelane_core::{Direction, Duration};
use gamelane_scenario::{Model, Scenario};

/// A measurement that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Id of the measurement. The UDP session of flow `n` has the id `id + n`.
    pub id: u64,
    /// Seed of the applications.
    pub seed: u64,
    /// Length of all phases together, in seconds.
    pub seconds: u16,
    /// TCP streams of a load in each direction.
    pub streams: u8,
    /// TCP congestion control of the loads; empty for the system's own.
    pub congestion: String,
}

/// A part of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// `idle`, `up`, `down` or `both`.
    pub name: &'static str,
    /// Flows of the scenario that load the line in this phase, with the direction of their data.
    pub loads: &'static [(u16, Direction)],
}

/// The phases, in order. Each has a quarter of the time.
pub const PHASES: [Phase; 4] = [
    Phase { name: "idle", loads: &[] },
    Phase { name: "up", loads: &[(2, Direction::Up)] },
    Phase { name: "down", loads: &[(3, Direction::Down)] },
    Phase { name: "both", loads: &[(4, Direction::Up), (5, Direction::Down)] },
];

/// Number of UDP flows; they come first in the scenario.
pub const PROBES: u16 = 2;

/// Shortest and longest measurement, in seconds.
pub const SECONDS: std::ops::RangeInclusive<u16> = 8..=600;
/// Smallest and largest number of streams.
pub const STREAMS: std::ops::RangeInclusive<u8> = 1..=32;
/// Loads end this long before their phase, so that the queue is empty when the next phase begins.
pub const DRAIN: Duration = Duration::from_millis(500);
/// More records than both probes make in a second at one end: 164 packets, 83 of which give a round trip.
const RECORDS_OF_PROBES: usize = 1000;
/// More records than the two streams of a number make in a second: 100 reads, and 10 states in two records each.
const RECORDS_OF_LOADS: usize = 250;
/// Bytes of a plan in a message.
pub const PLAN_BYTES: usize = 35;
/// Longest name of a congestion control in Linux (`TCP_CA_NAME_MAX` without its final zero).
const LONGEST_NAME: usize = 15;

impl Plan {
    /// Length of a phase.
    pub fn phase(&self) -> Duration {
        Duration::from_millis(u64::from(self.seconds) * 1000 / PHASES.len() as u64)
    }

    /// More records than an end makes of this plan: it cannot fill the other's memory.
    pub fn most_records(&self) -> usize {
        let loads = RECORDS_OF_LOADS * usize::from(self.streams);
        usize::from(self.seconds) * (RECORDS_OF_PROBES + loads)
    }

    /// Text of the scenario. Rates of the link are placeholders until they have been measured.
    pub fn scenario(&self) -> String {
        let congestion = if self.congestion.is_empty() { "the system's" } else { &self.congestion };
        let mut text = format!(
            "name = \"line\"\nquestion = \"How do games and calls fare on this line while TCP loads it ({} streams, {congestion} \
             congestion control)?\"\nduration = \"{}s\"\nseed = {}\n[link]\ndown = \"1gbit\"\nup = \"1gbit\"\nrtt = \"0ms\"\n\
             [[flow]]\nname = \"game\"\napp = \"game\"\nmodel = \"{GAME}\"\n[[flow]]\nname = \"call\"\napp = \"voip\"\n",
            self.streams, self.seconds, self.seed
        );
        let length = self.phase().as_nanos() / 1_000_000;
        for (place, phase) in (0..).zip(PHASES) {
            for (_, direction) in phase.loads {
                let (name, direction) = (phase.name, direction.name());
                let alone = if name == direction { String::new() } else { format!("-{direction}") };
                let (start, stop) = (place * length, (place + 1) * length - DRAIN.as_nanos() / 1_000_000);
                let _ = writeln!(
                    text,
                    "[[flow]]\nname = \"load-{name}{alone}\"\napp = \"bulk\"\ndirection = \"{direction}\"\nstart = \"{start}ms\"\n\
                     stop = \"{stop}ms\"",
                );
            }
        }
        text
    }

    /// The scenario as a model.
    pub fn model(&self) -> Model {
        let scenario = Scenario::parse(&self.scenario(), "gamelane measure", &[]);
        scenario.and_then(|scenario| scenario.to_model()).expect("a checked plan makes a valid scenario")
    }

    /// The plan's bytes in a message.
    pub fn bytes(&self) -> [u8; PLAN_BYTES] {
        let mut bytes = [0; PLAN_BYTES];
        bytes[..8].copy_from_slice(&self.id.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.seed.to_be_bytes());
        bytes[16..18].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[18] = self.streams;
        let name = self.congestion.as_bytes();
        bytes[19..19 + name.len()].copy_from_slice(name);
        bytes
    }

    /// Reads what [`Plan::bytes`] writes. `None` if a value is out of range.
    pub fn read(bytes: &[u8; PLAN_BYTES]) -> Option<Self> {
        let number = |at: usize| bytes[at..].first_chunk().copied().map(u64::from_be_bytes);
        let (name, rest) = bytes[19..].split_at(bytes[19..].iter().position(|byte| *byte == 0)?);
        let plan = Self {
            id: number(0)?,
            seed: number(8)?,
            seconds: u16::from_be_bytes([bytes[16], bytes[17]]),
            streams: bytes[18],
            congestion: String::from_utf8(name.to_vec()).ok()?,
        };
        let is_whole = rest.iter().all(|byte| *byte == 0);
        (is_whole && plan.is_allowed()).then_some(plan)
    }

    /// True if every value is in its range.
    pub fn is_allowed(&self) -> bool {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        SECONDS.contains(&self.seconds)
            && STREAMS.contains(&self.streams)
            && self.seed <= i64::MAX as u64
            && self.congestion.len() <= LONGEST_NAME
            && self.congestion.bytes().all(is_of_name)
    }
}

/// The model of the game.
const GAME: &str = "cssource";

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { id: 7, seed: 1, seconds: 30, streams: 4, congestion: "cubic".into() }
    }

    #[test]
    fn a_plan_comes_back_and_flows_are_where_the_phases_say() {
        assert_eq!(Plan::read(&plan().bytes()), Some(plan()));
        let model = plan().model();
        let names: Vec<_> = model.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["game", "call", "load-up", "load-down", "load-both-up", "load-both-down"]);
    }

    #[test]
    fn a_plan_out_of_range_is_none() {
        for wrong in [
            Plan { seconds: 7, ..plan() },
            Plan { seconds: 601, ..plan() },
            Plan { streams: 0, ..plan() },
            Plan { streams: 33, ..plan() },
            Plan { congestion: "a\"b".into(), ..plan() },
        ] {
            assert_eq!(Plan::read(&wrong.bytes()), None, "{wrong:?}");
        }
    }
}
