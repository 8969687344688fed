//! Sums over all games, in the document.

use serde::{Deserialize, Serialize};

use super::ms;
use super::tcp::ByCause;
use crate::analysis::Games;
use crate::analysis::games::{Counted, TcpWay, UdpWay};

/// `games` of a capture, or of a comparison.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Sums {
    pub(crate) udp: Udp,
    pub(crate) tcp: Tcp,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Udp {
    pub(crate) games: u64,
    pub(crate) voice_calls: u64,
    up: UdpSums,
    down: UdpSums,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Tcp {
    pub(crate) connections: u64,
    pub(crate) up: TcpSums,
    pub(crate) down: TcpSums,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct UdpSums {
    pub(crate) counted: CountedSums,
    pub(crate) steady: u64,
    pub(crate) late: u64,
    pub(crate) gaps: u64,
    missing_by_pace: u64,
    pub(crate) longest_gap_ms: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct TcpSums {
    pub(crate) counted: CountedSums,
    data_packets: u64,
    pub(crate) resent: u64,
    spurious: u64,
    pub(crate) lag_ms: ByCause<f64>,
    pub(crate) stalls: u64,
    pub(crate) longest_stall_ms: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct CountedSums {
    pub(crate) flows: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    duplicated: u64,
    reordered: u64,
}

impl Sums {
    pub(super) fn of(games: &Games) -> Self {
        let ([udp_up, udp_down], [tcp_up, tcp_down]) =
            (games.udp.map(UdpSums::of), games.tcp.map(TcpSums::of));
        Self {
            udp: Udp { games: games.games, voice_calls: games.voice_calls, up: udp_up, down: udp_down },
            tcp: Tcp { connections: games.thin_tcp, up: tcp_up, down: tcp_down },
        }
    }

    /// Number of games and calls.
    pub(crate) const fn count(&self) -> u64 {
        self.udp.games + self.udp.voice_calls + self.tcp.connections
    }
}

impl Udp {
    /// Sums of a direction: 0 to the servers, 1 to the players.
    pub(crate) const fn way(&self, direction: usize) -> &UdpSums {
        if direction == 0 { &self.up } else { &self.down }
    }
}

impl Tcp {
    /// Sums of a direction: 0 to the servers, 1 to the players.
    pub(crate) const fn way(&self, direction: usize) -> &TcpSums {
        if direction == 0 { &self.up } else { &self.down }
    }
}

impl UdpSums {
    fn of(way: UdpWay) -> Self {
        Self {
            counted: CountedSums::of(way.counted),
            steady: way.steady,
            late: way.late,
            gaps: way.gaps,
            missing_by_pace: way.missing_by_pace,
            longest_gap_ms: ms(way.longest_gap_ns),
        }
    }
}

impl TcpSums {
    fn of(way: TcpWay) -> Self {
        Self {
            counted: CountedSums::of(way.counted),
            data_packets: way.data_packets,
            resent: way.resent,
            spurious: way.spurious,
            lag_ms: ByCause(way.lag_ns.map(ms)),
            stalls: way.stalls,
            longest_stall_ms: ms(way.longest_stall_ns),
        }
    }
}

impl CountedSums {
    const fn of(counted: Counted) -> Self {
        let Counted { flows, sent, lost, duplicated, reordered } = counted;
        Self { flows, sent, lost, duplicated, reordered }
    }
}
