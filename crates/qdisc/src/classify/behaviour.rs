//! Is this flow a game or a call? Judged by behaviour alone: small packets, at a steady rate, both ways, window after
//! window. Our construction; the idea is that of Stewart et al. 2005 (reference [5] of but2006), whose classifier is not
//! published in numbers. A video stream of a cloud game is large and so not meant.

use gamelane_core::{Bitrate, IpLen, Protocol};

use super::window::Rhythm;

/// What counts as a real-time flow, in each direction and every window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BehaviourParameters {
    /// Only flows of this transport; `None` judges every transport (a game over TCP, reference/game-traffic.md section 5).
    pub protocol: Option<Protocol>,
    /// Slowest: 8 packets a second. The slowest server of reference/game-traffic.md sends 15.
    pub slowest_packets_per_second: u32,
    /// Fastest: 250 packets a second. The fastest client there sends 145.
    pub fastest_packets_per_second: u32,
    /// Mean packet at most: 600 B. A Quake III server with 16 players sends 516.
    pub largest_mean_len: IpLen,
    /// Rate at most: 500 kbit/s.
    pub highest_rate: Bitrate,
    /// Gaps deviate by at most 110 % of their mean: what a Poisson process (100 %) shows in a short window.
    pub widest_gap_deviation_percent: u32,
    /// Windows in a row that make a flow real-time: 2.
    pub promote_after: u8,
    /// Windows in a row that unmake it: 3, so that one loading screen does not.
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

/// What a flow behaves like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Behaviour {
    /// Not seen for long enough to tell.
    #[default]
    Unknown,
    /// Small and regular both ways: a game, a call.
    RealTime,
    /// Anything else.
    Other,
}

/// The verdict on one flow, and how many windows in a row spoke against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) behaviour: Behaviour,
    against: u8,
}

impl Verdict {
    /// A window of both directions has closed.
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
        // One way only is no game.
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
