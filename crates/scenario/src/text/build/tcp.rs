//! `[tcp]` and `flow.tcp` to an endpoint configuration: the flow's keys over the scenario's, over a present-day host.

use gamelane_core::{ByteCount, IpLen};
use gamelane_tcp::config::{Bundling, Piggyback, TcpTuning};
use gamelane_tcp::timer::ModifiedRto;
use gamelane_tcp::{CongestionKind, InitialWindow, RecoveryKind, TcpConfig, TimerKind};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::tcp::{self, Congestion, DelayedAck, Recovery, Tcp, Timer};

/// Checks the values of one table.
pub(super) fn check(tcp: &Tcp, place: &Place<'_>) -> Result<(), ScenarioError> {
    // A window scale of 14 reaches this far (RFC 7323 section 2.3).
    if tcp.receive_window.is_some_and(|window| window.0 > ByteCount(1 << 30)) {
        let fault = Fault::new("TCP cannot offer so large a window").allowed("up to \"1GiB\"");
        return Err(place.key("receive_window").refuse(fault));
    }
    Ok(())
}

/// The endpoints of a flow.
pub(super) fn endpoint(scenario: &Tcp, flow: Option<&Tcp>, mtu: u32) -> TcpConfig {
    let base = TcpConfig { mtu: IpLen(mtu), ..TcpConfig::default() };
    [Some(scenario), flow].into_iter().flatten().fold(base, over)
}

fn over(base: TcpConfig, tcp: &Tcp) -> TcpConfig {
    TcpConfig {
        mtu: base.mtu,
        timestamps: tcp.timestamps.unwrap_or(base.timestamps),
        initial_window: tcp.initial_window.map_or(base.initial_window, initial_window),
        recovery: tcp.recovery.map_or(base.recovery, recovery),
        congestion: tcp.congestion.map_or(base.congestion, congestion),
        timer: tcp.timer.map_or(base.timer, timer),
        limited_transmit: tcp.limited_transmit.unwrap_or(base.limited_transmit),
        nagle: tcp.nagle.unwrap_or(base.nagle),
        delayed_ack: tcp.delayed_ack.map_or(base.delayed_ack, |delay| match delay {
            DelayedAck::Off => None,
            DelayedAck::After(wait) => Some(wait),
        }),
        quick_acks: tcp.quick_acks.unwrap_or(base.quick_acks),
        receive_window: tcp.receive_window.map_or(base.receive_window, |window| window.0),
        ecn: tcp.ecn.unwrap_or(base.ecn),
        restart_after_idle: tcp.restart_after_idle.unwrap_or(base.restart_after_idle),
        tuning: tuning(base.tuning, tcp),
    }
}

fn tuning(base: TcpTuning, tcp: &Tcp) -> TcpTuning {
    TcpTuning {
        thin_below: base.thin_below,
        linear_timeouts: tcp.linear_timeouts.unwrap_or(base.linear_timeouts),
        single_duplicate_ack: tcp.thin_dupack.unwrap_or(base.single_duplicate_ack),
        early_retransmit: tcp.early_retransmit.unwrap_or(base.early_retransmit),
        duplicate_sack: tcp.dsack.unwrap_or(base.duplicate_sack),
        forward_rto: tcp.frto.unwrap_or(base.forward_rto),
        merge_writes: tcp.merge_writes.unwrap_or(base.merge_writes),
        piggyback: tcp.piggyback.map_or(base.piggyback, |what| match what {
            tcp::Piggyback::Off => Piggyback::Off,
            tcp::Piggyback::Next => Piggyback::Next,
            tcp::Piggyback::All => Piggyback::AllThatFit,
        }),
        bundling: tcp.rdb.map_or(base.bundling, |on| on.then(Bundling::default)),
    }
}

fn initial_window(window: tcp::InitialWindow) -> InitialWindow {
    match window {
        tcp::InitialWindow::Segments(segments) => InitialWindow::Segments(segments),
        tcp::InitialWindow::Rfc5681 => InitialWindow::Rfc5681,
    }
}

fn recovery(recovery: Recovery) -> RecoveryKind {
    match recovery {
        Recovery::NewReno => RecoveryKind::NewReno,
        Recovery::Sack => RecoveryKind::Sack,
        Recovery::Fack => RecoveryKind::Fack,
        Recovery::Rack => RecoveryKind::Rack,
    }
}

fn congestion(congestion: Congestion) -> CongestionKind {
    match congestion {
        Congestion::NewReno => CongestionKind::NewReno,
        Congestion::Cubic => CongestionKind::Cubic,
        Congestion::Bic => CongestionKind::Bic,
        Congestion::Vegas => CongestionKind::Vegas,
        Congestion::Westwood => CongestionKind::Westwood,
    }
}

fn timer(timer: Timer) -> TimerKind {
    match timer {
        Timer::Rfc6298 => TimerKind::Rfc6298,
        Timer::Linux => TimerKind::Linux,
        Timer::Linux26 => TimerKind::Linux26,
        Timer::Modified => TimerKind::Modified(ModifiedRto::default()),
    }
}
