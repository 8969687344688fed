//! Where a capture was taken, from the smallest round trips to both sides and from the addresses. The thresholds are ours:
//! an answer of the own machine takes microseconds, one over Wi-Fi or Ethernet at home a few milliseconds.

use super::evidence::Evidence;

/// Place of a capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the player's machine, or on the cable to it.
    Player,
    /// In the home network.
    Home,
    /// Inside the home, as the addresses tell. No round trip tells on which machine.
    SomewhereAtHome,
    /// Between the home and the server.
    Between,
    /// At the server.
    Server,
    /// Nothing tells.
    Unknown,
}

impl Place {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let [home_ns, away_ns] = evidence.least_rtt_ns;
        let is_behind_nat = evidence.games.iter().all(|game| {
            crate::orientation::is_private(game.home) && !crate::orientation::is_private(game.away)
        });
        match (home_ns, away_ns) {
            (Some(home_ns), Some(away_ns)) if home_ns < ONE_MACHINE_NS && away_ns < ONE_MACHINE_NS => Self::Unknown,
            (_, Some(away_ns)) if away_ns < NEXT_DOOR_NS && home_ns.is_none_or(|home_ns| home_ns > away_ns) => {
                Self::Server
            }
            (Some(home_ns), _) if home_ns < ONE_MACHINE_NS => Self::Player,
            (Some(home_ns), _) if home_ns < AT_HOME_NS && is_behind_nat => Self::Home,
            (Some(_), Some(_)) => Self::Between,
            _ if is_behind_nat && !evidence.games.is_empty() => Self::SomewhereAtHome,
            _ => Self::Unknown,
        }
    }

    /// The person who reads this is probably the player.
    pub(super) const fn is_players(self) -> bool {
        matches!(self, Self::Player | Self::Home | Self::SomewhereAtHome)
    }
}

/// Longest answer of the machine on which a capture was taken. A wired neighbour needs 100 us or more.
const ONE_MACHINE_NS: u64 = 200_000;
/// Longest round trip from a capture point at a server, inside a data centre.
const NEXT_DOOR_NS: u64 = 1_500_000;
/// Longest of the smallest round trips over Wi-Fi.
const AT_HOME_NS: u64 = 8_000_000;
