//! `[tcp]` and `flow.tcp` to an endpoint configuration: the flow's keys over the scenario's, over a present-day host.

use gamelane_core::{ByteCount, IpLen};
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
    }
}

fn congestion(congestion: Congestion) -> CongestionKind {
    match congestion {
        Congestion::NewReno => CongestionKind::NewReno,
    }
}

fn timer(timer: Timer) -> TimerKind {
    match timer {
        Timer::Rfc6298 => TimerKind::Rfc6298,
        Timer::Linux => TimerKind::Linux,
    }
}
