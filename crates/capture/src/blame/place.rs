//! Where a capture was taken, from the smallest round trips to both sides and from the addresses. The thresholds are ours:
//! an answer of the own machine takes microseconds, one over Wi-Fi or Ethernet at home a few milliseconds.

use super::evidence::Evidence;
use super::words::{AT_OTHER_END, AT_PLAYER, AT_SERVER};
use crate::orientation::is_private;

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
        let games = &evidence.games;
        // A router has connections of its own, and the home may have servers. They are near, but the game is not.
        let home_ns = games.iter().filter_map(|game| *evidence.home.get(&game.home)?).min();
        let is_away_private = games.iter().all(|game| is_private(game.away));
        // Another server may be near the capture point; the distance of the game's own server counts.
        let away_ns = games.iter().filter_map(|game| evidence.away_rtt_ns(Some(game.away))).min();
        let any_away_ns = evidence.away_rtt_ns(None);
        let is_behind_nat =
            !games.is_empty() && games.iter().all(|game| is_private(game.home)) && !is_away_private;
        // Behind the router of a home that does not translate addresses, they are private too.
        let is_inside = is_behind_nat && games.iter().all(|game| game.hops[0] == 0);
        let is_next_door = games.iter().any(|game| game.hops[1] <= NEXT_DOOR_HOPS);
        let next_door_ns = if is_behind_nat { ONE_MACHINE_NS } else { NEXT_DOOR_NS };
        match (home_ns, away_ns) {
            (Some(home_ns), Some(away_ns)) if home_ns.max(away_ns) < ONE_MACHINE_NS => Self::Unknown,
            (_, Some(away_ns))
                if away_ns < next_door_ns
                    && is_next_door
                    && home_ns.is_none_or(|home_ns| home_ns > away_ns) =>
            {
                Self::Server
            }
            (Some(home_ns), _) if home_ns < ONE_MACHINE_NS => Self::Player,
            (Some(home_ns), _) if home_ns < AT_HOME_NS && is_inside => Self::Home,
            (Some(_), _) if any_away_ns.is_some() => Self::Between,
            _ if is_inside => Self::SomewhereAtHome,
            _ => Self::Unknown,
        }
    }

    /// Advice to record at the other end too.
    pub(super) const fn other_end(self) -> &'static str {
        match self {
            Self::Player | Self::Home | Self::SomewhereAtHome => AT_SERVER,
            Self::Server => AT_PLAYER,
            // It may be the server's own capture.
            Self::Between | Self::Unknown => AT_OTHER_END,
        }
    }

    /// The person who reads this is probably the player.
    pub(super) const fn is_players(self) -> bool {
        matches!(self, Self::Player | Self::Home | Self::SomewhereAtHome)
    }
}

/// Longest answer of the machine on which a capture was taken. A wired neighbour needs 100 us or more.
const ONE_MACHINE_NS: u64 = 200_000;
/// Longest round trip from a capture point at a server, inside a data centre. A home with private addresses may be as near
/// to a server of its provider, so there a server must be on the same machine.
const NEXT_DOOR_NS: u64 = 1_000_000;
/// Routers between a server and a capture point at it.
const NEXT_DOOR_HOPS: u8 = 2;
/// Longest of the smallest round trips over Wi-Fi.
const AT_HOME_NS: u64 = 8_000_000;
