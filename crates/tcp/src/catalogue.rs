//! Lists of the TCP rows of a scenario: congestion controls, recovery methods, timers. The descriptor of a row is beside its
//! code.

use gamelane_core::catalogue;

use crate::config::{CongestionKind, RecoveryKind};
use crate::facts::TcpFacts;
use crate::{congestion, recovery, stack, timer};

catalogue! {
    impl CongestionKind as "Congestion", "congestion control", TcpFacts {
        NewReno: congestion::NEWRENO,
        Cubic: congestion::CUBIC,
        Bic: congestion::BIC,
        Vegas: congestion::VEGAS,
        Westwood: congestion::WESTWOOD,
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
        FreeBsd10: timer::FREEBSD_10,
        Modified: timer::MODIFIED,
        Fixed: timer::FIXED,
    }
}

catalogue! {
    /// A whole row of mechanisms, as hosts have them.
    Stack as "Stack", "TCP stack", TcpFacts {
        Linux: stack::LINUX,
        FreeBsd10: stack::FREEBSD_10,
        Rfc: stack::RFC,
    }
}
