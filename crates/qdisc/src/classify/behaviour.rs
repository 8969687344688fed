//! Detection of games and calls by behaviour alone: small packets at a steady rate in both directions, for several
//! windows in a row. This is our construction. The idea comes from Stewart et al. 2005 (cited by but2006), who
//! published no thresholds. It does not detect the video stream of a cloud game, whose packets are large.

use gamelane_core::{Bitrate, IpLen, Protocol};

use super::window::Rhythm;

/// Conditions of a real-time flow. Both directions must meet them in the same window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BehaviourParameters {
    /// Transport of the flow (UDP); `None` accepts every transport, as games over TCP need.
    pub protocol: Option<Protocol>,
    /// Lowest packet rate (8/s). Among the UDP games we model, Quake III servers are the slowest: 15/s, a packet each
    /// 66 ms (burriss2006).
    pub slowest_packets_per_second: u32,
    /// Highest packet rate (250/s). Among the UDP games we model, D-ITG's Quake III client is the fastest: 145/s.
    pub fastest_packets_per_second: u32,
    /// Largest mean length of packets (600 B). Our model of a Quake III server with 16 players has 516 B.
    pub largest_mean_len: IpLen,
    /// Highest rate of IP packets (500 kbit/s).
    pub highest_rate: Bitrate,
    /// Largest standard deviation of the gaps between packets, in per cent of their mean (110). A Poisson process has
    /// 100; a short window can show a little more.
    pub widest_gap_deviation_percent: u32,
    /// Number of windows in a row that meet the conditions before a flow counts as real-time (2).
    pub promote_after: u8,
    /// Number of windows in a row that fail the conditions before a flow no longer counts as real-time (3). One or two
    /// such windows, for example during a loading screen, change nothing.
    pub demote_after: u8,
}

impl Default for BehaviourParameters {
    fn default() -> Self {
        Self {
            protocol: Some(Protocol::Udp),
            slowest_packets_per_second: 8,
            fastest_packets_per_second: 250,
            largest_mean_len: IpLen(600),
            highest_rate: Bitrate::from_bps(500_000),
            widest_gap_deviation_percent: 110,
            promote_after: 2,
            demote_after: 3,
        }
    }
}

impl BehaviourParameters {
    fn is_real_time(&self, rhythm: &Rhythm) -> bool {
        (self.slowest_packets_per_second..=self.fastest_packets_per_second)
            .contains(&rhythm.packets_per_second)
            && rhythm.mean_len <= self.largest_mean_len
            && rhythm.rate <= self.highest_rate
            && rhythm.gap_deviation_percent <= self.widest_gap_deviation_percent
    }
}

/// Behaviour of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Behaviour {
    /// Not decided yet: no full window has been seen.
    #[default]
    Unknown,
    /// Small regular packets in both directions: a game or a call.
    RealTime,
    /// Any other behaviour.
    Other,
}

/// Verdict on one flow, and the number of windows in a row that contradict it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) behaviour: Behaviour,
    against: u8,
}

impl Verdict {
    /// Updates the verdict from one finished window of both directions.
    pub(crate) fn judge(
        &mut self,
        parameters: &BehaviourParameters,
        protocol: Protocol,
        rhythms: &[Rhythm; 2],
    ) {
        let real_time = parameters.protocol.is_none_or(|wanted| wanted == protocol)
            && rhythms.iter().all(|rhythm| parameters.is_real_time(rhythm));
        let (says, patience) = if real_time {
            (Behaviour::RealTime, parameters.promote_after)
        } else if self.behaviour == Behaviour::RealTime {
            (Behaviour::Other, parameters.demote_after)
        } else {
            (Behaviour::Other, 1)
        };
        if says == self.behaviour {
            self.against = 0;
            return;
        }
        self.against += 1;
        if self.against >= patience {
            *self = Self { behaviour: says, against: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: Rhythm = Rhythm {
        packets_per_second: 20,
        rate: Bitrate::from_bps(28_000),
        mean_len: IpLen(180),
        largest: IpLen(400),
        gap_deviation_percent: 10,
    };

    #[test]
    fn two_windows_make_a_game_and_three_unmake_it() {
        let p = BehaviourParameters::default();
        let idle = Rhythm::default();
        let mut verdict = Verdict::default();
        let mut after = |rhythms: [Rhythm; 2]| {
            verdict.judge(&p, Protocol::Udp, &rhythms);
            verdict.behaviour
        };
        use Behaviour::{Other, RealTime, Unknown};
        assert_eq!([after([GAME; 2]), after([GAME; 2])], [Unknown, RealTime]);
        assert_eq!([after([idle; 2]), after([GAME; 2]), after([idle; 2])], [RealTime; 3]);
        assert_eq!([after([idle; 2]), after([idle; 2])], [RealTime, Other]);
        // A flow with packets in one direction only is not real-time.
        assert_eq!([after([GAME, idle]), after([GAME; 2]), after([GAME; 2])], [Other, Other, RealTime]);
    }

    #[test]
    fn each_bound_is_a_bound() {
        let p = BehaviourParameters::default();
        assert!(p.is_real_time(&GAME));
        for other in [
            Rhythm { packets_per_second: 7, ..GAME },
            Rhythm { packets_per_second: 251, ..GAME },
            Rhythm { mean_len: IpLen(601), ..GAME },
            Rhythm { rate: Bitrate::from_bps(500_001), ..GAME },
            Rhythm { gap_deviation_percent: 111, ..GAME },
        ] {
            assert!(!p.is_real_time(&other), "{other:?}");
        }
    }
}
