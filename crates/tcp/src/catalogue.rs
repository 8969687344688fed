//! Lists of the TCP rows of a scenario: congestion controls, recovery methods, timers. The descriptor of a row is beside its
//! code.

use gamelane_core::catalogue;

use crate::config::{CongestionKind, RecoveryKind};
use crate::facts::{TcpDescriptor, TcpFacts};
use crate::{congestion, recovery, stack, timer};

catalogue! {
    /// Congestion control of a scenario: a [`CongestionKind`], or one that only a real kernel runs.
    Control as "Congestion", "congestion control", TcpFacts {
        NewReno: congestion::NEWRENO,
        Cubic: congestion::CUBIC,
        Bic: congestion::BIC,
        Vegas: congestion::VEGAS,
        Westwood: congestion::WESTWOOD,
        Bbr: BBR,
    }
}

/// BBR in the catalogue.
pub const BBR: TcpDescriptor = TcpDescriptor {
    word: "bbr",
    label: "BBR",
    about: "BBR, version 1: keeps about as much in flight as the measured bandwidth times the smallest round trip. Only the \
            lab and the kernel engine have it, not the simulator.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_congestion_control", "bbr")]) },
};

impl Control {
    /// What the simulator runs; `None` if it does not have it.
    pub const fn simulated(self) -> Option<CongestionKind> {
        match self {
            Self::NewReno => Some(CongestionKind::NewReno),
            Self::Cubic => Some(CongestionKind::Cubic),
            Self::Bic => Some(CongestionKind::Bic),
            Self::Vegas => Some(CongestionKind::Vegas),
            Self::Westwood => Some(CongestionKind::Westwood),
            Self::Bbr => None,
        }
    }
}

catalogue! {
    impl RecoveryKind as "Recovery", "loss recovery", TcpFacts {
        NewReno: recovery::NEWRENO,
        Sack: recovery::SACK,
        Fack: recovery::FACK,
        Rack: recovery::RACK,
    }
}

catalogue! {
    /// Retransmission timer of a scenario: a [`crate::TimerKind`] without its parameters.
    Timer as "Timer", "retransmission timer", TcpFacts {
        Rfc6298: timer::RFC_6298,
        Linux: timer::LINUX,
        Linux26: timer::LINUX_2_6,
        FreeBsd14: timer::FREEBSD_14,
        FreeBsd10: timer::FREEBSD_10,
        Windows11: timer::WINDOWS_11,
        Modified: timer::MODIFIED,
        Fixed: timer::FIXED,
    }
}

catalogue! {
    /// A whole row of mechanisms, as hosts have them.
    Stack as "Stack", "TCP stack", TcpFacts {
        Linux: stack::LINUX,
        Linux612: stack::LINUX_6_12,
        FreeBsd14: stack::FREEBSD_14,
        FreeBsd10: stack::FREEBSD_10,
        Windows11: stack::WINDOWS_11,
        Rfc: stack::RFC,
    }
}
