//! TCP stacks: whole rows of mechanisms, as hosts have them.

use crate::config::{
    CongestionKind, DelayedAck, Nagle, ReceiveWindow, RecoveryKind, Reduction, SlowStart, TcpConfig,
    TcpTuning, TimerKind, WindowCounts, WindowValidation,
};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Duration};

/// Linux in the catalogue.
pub const LINUX: TcpDescriptor = TcpDescriptor {
    word: "linux",
    label: "Linux 6.12",
    about: "Linux 6.12: CUBIC with HyStart, RACK-TLP, proportional rate reduction, and windows that grow by themselves.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[]) },
};

/// The RFCs in the catalogue.
pub const RFC: TcpDescriptor = TcpDescriptor {
    word: "rfc",
    label: "RFCs",
    about: "The RFCs: NewReno (RFC 5681), SACK (RFC 6675), a timeout of at least 1 s (RFC 6298), windows in bytes.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
};

/// Largest receive buffer of Linux (`tcp_rmem[2]`).
const LINUX_BUFFER: ByteCount = ByteCount(6 << 20);

impl crate::catalogue::Stack {
    /// The word of the row of a scenario that names none.
    pub const DEFAULT: Self = Self::Linux;

    /// The configuration of this row.
    pub fn config(self) -> TcpConfig {
        let rfc = TcpConfig { timer: TimerKind::Rfc6298, ..TcpConfig::default() };
        match self {
            Self::Linux => TcpConfig {
                recovery: RecoveryKind::Rack,
                congestion: CongestionKind::Cubic,
                timer: TimerKind::Linux,
                nagle: Nagle::Small,
                delayed_ack: DelayedAck::Adaptive,
                receive_window: ReceiveWindow::Auto(LINUX_BUFFER),
                tuning: TcpTuning {
                    duplicate_sack: true,
                    forward_rto: true,
                    eifel: true,
                    window_counts: WindowCounts::Segments,
                    slow_start: SlowStart::Linux,
                    hystart: true,
                    reduction: Reduction::Proportional,
                    window_validation: WindowValidation::Decay,
                    ..TcpTuning::default()
                },
                ..rfc
            },
            Self::Rfc => TcpConfig { delayed_ack: DelayedAck::After(Duration::from_millis(200)), ..rfc },
        }
    }
}

/// The largest receive buffer of an automatic window.
pub const fn automatic_window() -> ReceiveWindow {
    ReceiveWindow::Auto(LINUX_BUFFER)
}

#[cfg(test)]
mod tests {
    use crate::Stack;
    use gamelane_core::Catalogued;

    #[test]
    fn every_row_differs_from_the_others() {
        for (index, stack) in Stack::ALL.iter().enumerate() {
            for other in &Stack::ALL[index + 1..] {
                assert_ne!(stack.config(), other.config());
            }
        }
    }
}
