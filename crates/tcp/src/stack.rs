//! TCP stacks: whole rows of mechanisms, as hosts have them.

use crate::config::{
    CongestionKind, DelayedAck, Nagle, Piggyback, ReceiveWindow, RecoveryKind, Reduction, SlowStart,
    TcpConfig, TcpTuning, TimerKind, WindowCounts, WindowValidation,
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

/// FreeBSD 10 in the catalogue.
pub const FREEBSD_10: TcpDescriptor = TcpDescriptor {
    word: "freebsd-10",
    label: "FreeBSD 10",
    about: "FreeBSD 10: NewReno that doubles in slow start, SACK, ACKs delayed by 100 ms, a receive buffer that grows in steps of 16 KiB.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
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
/// Largest receive buffer of FreeBSD 10: `recvbuf_max` is 2 MiB, but `sbreserve_locked` refuses more than this.
const FREEBSD_BUFFER: ByteCount = ByteCount(1_864_135);

impl crate::catalogue::Stack {
    /// The row of a scenario that names none.
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
                receive_window: linux_window(),
                tuning: TcpTuning {
                    duplicate_sack: true,
                    forward_rto: true,
                    eifel: true,
                    linear_syns: 4,
                    piggyback: Piggyback::Sent,
                    window_counts: WindowCounts::Segments,
                    slow_start: SlowStart::Linux,
                    hystart: true,
                    reduction: Reduction::Proportional,
                    window_validation: WindowValidation::Decay,
                    ..TcpTuning::default()
                },
                ..rfc
            },
            Self::FreeBsd10 => TcpConfig {
                timer: TimerKind::FreeBsd10,
                delayed_ack: DelayedAck::After(Duration::from_millis(100)),
                quick_acks: 0,
                receive_window: freebsd_window(),
                tuning: TcpTuning { slow_start: SlowStart::Rfc3465, ..TcpTuning::default() },
                ..rfc
            },
            Self::Rfc => TcpConfig { delayed_ack: DelayedAck::After(Duration::from_millis(200)), ..rfc },
        }
    }
}

/// Linux's automatic window.
pub const fn linux_window() -> ReceiveWindow {
    ReceiveWindow::Auto(LINUX_BUFFER)
}

/// FreeBSD's automatic window.
pub const fn freebsd_window() -> ReceiveWindow {
    ReceiveWindow::Steps(FREEBSD_BUFFER)
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
