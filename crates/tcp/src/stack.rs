//! TCP stacks: whole rows of mechanisms, as hosts have them.

use crate::config::{
    CongestionKind, DelayedAck, Nagle, Piggyback, ReceiveWindow, RecoveryKind, Reduction, SlowStart,
    TcpConfig, TcpTuning, TimerKind, WindowCounts, WindowValidation,
};
use crate::facts::{TcpDescriptor, TcpFacts};
use gamelane_core::{ByteCount, Duration};

/// The newest Linux, in the catalogue.
pub const LINUX: TcpDescriptor = TcpDescriptor {
    word: "linux",
    label: "Linux",
    about: "The newest of the Linux rows, now `linux-6.12`. It moves with new versions of gamelane.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[]) },
};

/// Linux 6.12 in the catalogue.
pub const LINUX_6_12: TcpDescriptor = TcpDescriptor {
    word: "linux-6.12",
    label: "Linux 6.12",
    about: "Linux 6.12: CUBIC with HyStart, RACK-TLP, proportional rate reduction, and windows that grow by themselves.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[]) },
};

/// FreeBSD 14 in the catalogue.
pub const FREEBSD_14: TcpDescriptor = TcpDescriptor {
    word: "freebsd-14",
    label: "FreeBSD 14",
    about: "FreeBSD 14: CUBIC without HyStart, SACK, proportional rate reduction, ACKs delayed by 40 ms, a receive buffer that grows by half.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: None },
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

/// Windows 11 in the catalogue.
pub const WINDOWS_11: TcpDescriptor = TcpDescriptor {
    word: "windows-11",
    label: "Windows 11",
    about: "Windows 11 and Windows Server 2022: CUBIC with HyStart, RACK-TLP, proportional rate reduction, a timeout of at least 300 ms, ACKs delayed by 40 ms, no timestamps.",
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
/// Largest receive buffer of FreeBSD: `recvbuf_max` is 2 MiB, but `sbreserve_locked` refuses more than this.
const FREEBSD_BUFFER: ByteCount = ByteCount(1_864_135);
/// A receive buffer of which 16 MiB are payload, in Linux's arithmetic (160/256). That is the largest window of Windows with
/// `AutoTuningLevel` `Normal`.
const WINDOWS_BUFFER: ByteCount = ByteCount((16 << 20) * 256 / 160 + 1);

impl crate::catalogue::Stack {
    /// The row of a scenario that names none.
    pub const DEFAULT: Self = Self::Linux;

    /// The configuration of this row.
    pub fn config(self) -> TcpConfig {
        let rfc = TcpConfig { timer: TimerKind::Rfc6298, ..TcpConfig::default() };
        match self {
            Self::Linux => Self::Linux612.config(),
            Self::Linux612 => TcpConfig {
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
            Self::FreeBsd14 => TcpConfig {
                congestion: CongestionKind::Cubic,
                timer: TimerKind::FreeBsd14,
                delayed_ack: DelayedAck::After(Duration::from_millis(40)),
                quick_acks: 0,
                receive_window: ReceiveWindow::ByHalf(FREEBSD_BUFFER),
                tuning: TcpTuning {
                    eifel: true,
                    linear_syns: 4,
                    slow_start: SlowStart::Rfc3465,
                    reduction: Reduction::Proportional,
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
            Self::Windows11 => TcpConfig {
                timestamps: false,
                recovery: RecoveryKind::Rack,
                congestion: CongestionKind::Cubic,
                timer: TimerKind::Windows11,
                delayed_ack: DelayedAck::After(Duration::from_millis(40)),
                quick_acks: 0,
                receive_window: ReceiveWindow::Auto(WINDOWS_BUFFER),
                restart_after_idle: false,
                tuning: TcpTuning {
                    duplicate_sack: true,
                    forward_rto: true,
                    slow_start: SlowStart::Linux,
                    hystart: true,
                    reduction: Reduction::Proportional,
                    ..TcpTuning::default()
                },
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

/// FreeBSD 10's automatic window.
pub const fn freebsd_window() -> ReceiveWindow {
    ReceiveWindow::Steps(FREEBSD_BUFFER)
}

#[cfg(test)]
mod tests {
    use crate::{ReceiveWindow, Stack};
    use gamelane_core::Catalogued;
    use std::vec::Vec;

    #[test]
    fn every_pinned_row_differs_from_the_others() {
        let pinned: Vec<Stack> = Stack::ALL.iter().copied().filter(|&stack| stack != Stack::Linux).collect();
        for (index, stack) in pinned.iter().enumerate() {
            for other in &pinned[index + 1..] {
                assert_ne!(stack.config(), other.config());
            }
        }
    }

    /// Who gives `linux` the row of a newer kernel adds its pinned row, and leaves this one.
    #[test]
    fn linux_is_the_newest_pinned_linux() {
        let version = |stack: &Stack| {
            let numbers = stack.word().strip_prefix("linux-")?.split('.').map(str::parse::<u32>);
            numbers.collect::<Result<Vec<_>, _>>().ok()
        };
        let newest =
            Stack::ALL.iter().filter(|stack| version(stack).is_some()).max_by_key(|stack| version(stack));
        assert_eq!(newest.map(|stack| stack.config()), Some(Stack::Linux.config()));
    }

    #[test]
    fn windows_offers_up_to_16_mib() {
        let ReceiveWindow::Auto(buffer) = Stack::Windows11.config().receive_window else { panic!() };
        assert_eq!(buffer.bytes() * 160 / 256, 16 << 20);
    }
}
