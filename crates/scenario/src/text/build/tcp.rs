//! `[tcp]` and `flow.tcp` to an endpoint configuration: the flow's keys over the scenario's keys over the defaults.

use gamelane_core::{ByteCount, Catalogued, IpLen};
use gamelane_tcp::stack::{freebsd_window, linux_window};
use gamelane_tcp::timer::INITIAL_RTO;
use gamelane_tcp::{
    Bundling, CongestionKind, Control, DelayedAck, InitialWindow, ModifiedRto, Nagle, Piggyback,
    ReceiveWindow, RecoveryKind, Reduction, SlowStart, Stack, TcpConfig, TcpTuning, Timer, TimerKind,
    WindowCounts, WindowValidation,
};
use gamelane_traffic::{App, Transport};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::Flow;
use crate::text::keys::tcp::{self, Tcp};
use crate::text::scenario::Scenario;

/// Checks the values of one table.
pub(super) fn check(tcp: &Tcp, place: &Place<'_>) -> Result<(), ScenarioError> {
    // A window scale of 14 reaches this far (RFC 7323 section 2.3).
    let too_large = |window| matches!(window, tcp::ReceiveWindow::Fixed(size) if size.0 > ByteCount(1 << 30));
    if tcp.receive_window.is_some_and(too_large) {
        let fault = Fault::new("this window is larger than TCP can advertise").allowed("up to \"1GiB\"");
        return Err(place.key("receive_window").refuse(fault));
    }
    let within = |key: &str, value: Option<u64>, least: u64, most: u64| match value {
        Some(value) if !(least..=most).contains(&value) => {
            let fault = Fault::new("this number is out of range").allowed(format!("{least} to {most}"));
            Err(place.key(key).refuse(fault))
        }
        _ => Ok(()),
    };
    within("modified_in_flight", tcp.modified_in_flight.map(u64::from), 1, 1000)?;
    within("modified_margin_shift", tcp.modified_margin_shift.map(u64::from), 0, 16)?;
    within("linear_syns", tcp.linear_syns.map(u64::from), 0, 100)?;
    within("thin_below", tcp.thin_below.map(u64::from), 1, 1000)?;
    within("rdb_segments", tcp.rdb_segments.map(u64::from), 1, 255)
}

/// Checks keys against each other. `tcp` has the flow's keys over the scenario's. `own` and `top` are the places of
/// both, so that an error points at the table with the key.
pub(super) fn check_together(
    tcp: &Tcp,
    flow: &Flow,
    own: &Place<'_>,
    top: &Place<'_>,
) -> Result<(), ScenarioError> {
    if flow.app.0.descriptor().facts.transport != Transport::Tcp {
        return Ok(());
    }
    let refuse = |key: &str, fault: Fault| {
        let written = flow.tcp.as_ref().and_then(|own| serde_json::to_value(own).ok());
        let place = if written.is_some_and(|written| written.get(key).is_some()) { own } else { top };
        Err(place.key(key).refuse(fault))
    };
    let stack = tcp.stack.map_or(Stack::DEFAULT, |word| word.0).config();
    let recovery = tcp.recovery.map_or(stack.recovery, |word| word.0);
    let congestion = tcp.congestion.map_or(Some(stack.congestion), |word| word.0.simulated());
    if tcp.dsack == Some(true) && recovery == RecoveryKind::NewReno {
        let fault =
            Fault::new("DSACK needs selective acknowledgements, which recovery = \"newreno\" does not use");
        return refuse("dsack", fault.hint("set recovery = \"sack\", \"fack\" or \"rack\""));
    }
    if tcp.rdb == Some(true) && flow.app.0 == App::Bulk {
        let fault = Fault::new("bundling fills up small segments, and a bulk transfer has none");
        return refuse("rdb", fault.hint("use it with app = \"mmo\""));
    }
    if tcp.rdb == Some(true) && tcp.dsack == Some(true) {
        let fault =
            Fault::new("`rdb` and `dsack` exclude each other: the receiver would report every bundled copy");
        return refuse("dsack", fault.hint("remove one of them"));
    }
    if tcp.hystart.is_some() && congestion != Some(CongestionKind::Cubic) {
        let fault = Fault::new("only congestion = \"cubic\" reads this key");
        return refuse("hystart", fault.hint("add congestion = \"cubic\", or remove this key"));
    }
    let timer = tcp.timer.map_or_else(|| timer_of(stack.timer), |word| word.0);
    if timer == Timer::Fixed && tcp.fixed_rto.is_none() {
        let fault = Fault::new("timer = \"fixed\" requires this key").allowed("a time, such as \"300ms\"");
        return refuse("fixed_rto", fault);
    }
    let of_timer = [
        ("fixed_rto", tcp.fixed_rto.is_some()),
        ("modified_in_flight", tcp.modified_in_flight.is_some()),
        ("modified_margin_shift", tcp.modified_margin_shift.is_some()),
    ];
    let of_rdb = [
        ("rdb_segments", tcp.rdb_segments.is_some()),
        ("rdb_shortest_interval", tcp.rdb_shortest_interval.is_some()),
    ];
    let reader =
        |key| Timer::readers(key).map(|word| format!("timer = \"{word}\"")).collect::<Vec<_>>().join(" or ");
    let unread_by_timer = of_timer.into_iter().filter(|(key, _)| !timer.descriptor().keys.contains(key));
    let unread_by_rdb = of_rdb.into_iter().filter(|_| tcp.rdb != Some(true));
    let unread = unread_by_timer.map(|(key, given)| (key, given, reader(key)));
    let mut unread = unread.chain(unread_by_rdb.map(|(key, given)| (key, given, "rdb = true".into())));
    match unread.find(|(_, given, _)| *given) {
        Some((key, _, reader)) => {
            let fault = Fault::new(format!("only {reader} reads this key"));
            refuse(key, fault.hint(format!("add {reader}, or remove this key")))
        }
        None => Ok(()),
    }
}

/// Refuses a congestion control that only a real kernel has.
pub(super) fn check_simulated(scenario: &Scenario, top: &Place<'_>) -> Result<(), ScenarioError> {
    for (index, flow) in scenario.flow.iter().enumerate() {
        let uses_tcp = flow.enabled && flow.app.0.descriptor().facts.transport == Transport::Tcp;
        let control = merged(&scenario.tcp, flow.tcp.as_ref()).congestion;
        if !uses_tcp || control.is_none_or(|word| word.0.simulated().is_some()) {
            continue;
        }
        let own = flow.tcp.as_ref().is_some_and(|tcp| tcp.congestion.is_some());
        let place = if own { top.key("flow").index(index).key("tcp") } else { top.key("tcp") };
        let there = Control::ALL.iter().filter(|one| one.simulated().is_some()).map(|one| one.word());
        let fault = Fault::new("the simulator does not have this congestion control")
            .allowed(there.collect::<Vec<_>>().join(", "))
            .hint("run it on a real kernel: --engine kernel --vm, or --engine lab");
        return Err(place.key("congestion").refuse(fault));
    }
    Ok(())
}

/// The flow's keys over the scenario's.
pub(super) fn merged(scenario: &Tcp, flow: Option<&Tcp>) -> Tcp {
    flow.map_or_else(|| scenario.clone(), |flow| flow.over(scenario))
}

/// The endpoints of a flow that uses `tcp`.
pub(super) fn endpoint(tcp: &Tcp, mtu: u32) -> TcpConfig {
    let stack = tcp.stack.map_or(Stack::DEFAULT, |word| word.0);
    let base = TcpConfig { mtu: IpLen(mtu), ..stack.config() };
    TcpConfig {
        mtu: base.mtu,
        timestamps: tcp.timestamps.unwrap_or(base.timestamps),
        initial_window: tcp.initial_window.map_or(base.initial_window, initial_window),
        recovery: tcp.recovery.map_or(base.recovery, |word| word.0),
        congestion: tcp.congestion.and_then(|word| word.0.simulated()).unwrap_or(base.congestion),
        timer: tcp.timer.map_or(base.timer, |word| timer(word.0, tcp)),
        limited_transmit: tcp.limited_transmit.unwrap_or(base.limited_transmit),
        nagle: if tcp.nagle == Some(false) { Nagle::Off } else { base.nagle },
        delayed_ack: tcp.delayed_ack.map_or(base.delayed_ack, |delay| match delay {
            tcp::DelayedAck::Off => DelayedAck::Off,
            tcp::DelayedAck::After(wait) => DelayedAck::After(wait),
            tcp::DelayedAck::Linux => DelayedAck::Adaptive,
        }),
        quick_acks: tcp.quick_acks.unwrap_or(base.quick_acks),
        receive_window: tcp.receive_window.map_or(base.receive_window, |window| match window {
            tcp::ReceiveWindow::Auto => linux_window(),
            tcp::ReceiveWindow::FreeBsd => freebsd_window(),
            tcp::ReceiveWindow::Fixed(size) => ReceiveWindow::Fixed(size.0),
        }),
        ecn: tcp.ecn.unwrap_or(base.ecn),
        restart_after_idle: tcp.restart_after_idle.unwrap_or(base.restart_after_idle),
        tuning: tuning(base.tuning, tcp),
    }
}

fn tuning(base: TcpTuning, tcp: &Tcp) -> TcpTuning {
    TcpTuning {
        thin_below: tcp.thin_below.unwrap_or(base.thin_below),
        linear_timeouts: tcp.linear_timeouts.unwrap_or(base.linear_timeouts),
        single_duplicate_ack: tcp.thin_dupack.unwrap_or(base.single_duplicate_ack),
        early_retransmit: tcp.early_retransmit.unwrap_or(base.early_retransmit),
        // With bundling, the receiver would report every copy.
        duplicate_sack: tcp.dsack.unwrap_or(base.duplicate_sack && tcp.rdb != Some(true)),
        forward_rto: tcp.frto.unwrap_or(base.forward_rto),
        eifel: tcp.eifel.unwrap_or(base.eifel),
        linear_syns: tcp.linear_syns.unwrap_or(base.linear_syns),
        hystart: tcp.hystart.unwrap_or(base.hystart),
        reduction: tcp.reduction.map_or(base.reduction, |how| match how {
            tcp::Reduction::Rfc5681 => Reduction::AtOnce,
            tcp::Reduction::Prr => Reduction::Proportional,
        }),
        window_validation: tcp.window_validation.map_or(base.window_validation, |how| match how {
            tcp::WindowValidation::Rfc5681 => WindowValidation::Restart,
            tcp::WindowValidation::Rfc2861 => WindowValidation::Decay,
        }),
        merge_writes: tcp.merge_writes.unwrap_or(base.merge_writes),
        piggyback: tcp.piggyback.map_or(base.piggyback, |what| match what {
            tcp::Piggyback::Off => Piggyback::Off,
            tcp::Piggyback::Next => Piggyback::Next,
            tcp::Piggyback::Sent => Piggyback::Sent,
            tcp::Piggyback::All => Piggyback::AllThatFit,
        }),
        window_counts: tcp.window_counts.map_or(base.window_counts, |what| match what {
            tcp::WindowCounts::Bytes => WindowCounts::Bytes,
            tcp::WindowCounts::Segments => WindowCounts::Segments,
        }),
        slow_start: tcp.slow_start.map_or(base.slow_start, |what| match what {
            tcp::SlowStart::Rfc5681 => SlowStart::Rfc5681,
            tcp::SlowStart::Rfc3465 => SlowStart::Rfc3465,
            tcp::SlowStart::Linux => SlowStart::Linux,
        }),
        bundling: if tcp.rdb == Some(true) { Some(bundling(tcp)) } else { base.bundling },
    }
}

fn bundling(tcp: &Tcp) -> Bundling {
    let base = Bundling::default();
    Bundling {
        segments: tcp.rdb_segments.unwrap_or(base.segments),
        shortest_interval: tcp.rdb_shortest_interval.map_or(base.shortest_interval, |interval| interval.0),
    }
}

fn initial_window(window: tcp::InitialWindow) -> InitialWindow {
    match window {
        tcp::InitialWindow::Segments(segments) => InitialWindow::Segments(segments),
        tcp::InitialWindow::Rfc5681 => InitialWindow::Rfc5681,
    }
}

/// The word of a timer.
const fn timer_of(kind: TimerKind) -> Timer {
    match kind {
        TimerKind::Rfc6298 => Timer::Rfc6298,
        TimerKind::Linux => Timer::Linux,
        TimerKind::Linux26 => Timer::Linux26,
        TimerKind::FreeBsd14 => Timer::FreeBsd14,
        TimerKind::FreeBsd10 => Timer::FreeBsd10,
        TimerKind::Windows11 => Timer::Windows11,
        TimerKind::Modified(_) => Timer::Modified,
        TimerKind::Fixed(_) => Timer::Fixed,
    }
}

fn timer(timer: Timer, tcp: &Tcp) -> TimerKind {
    match timer {
        Timer::Rfc6298 => TimerKind::Rfc6298,
        Timer::Linux => TimerKind::Linux,
        Timer::Linux26 => TimerKind::Linux26,
        Timer::FreeBsd14 => TimerKind::FreeBsd14,
        Timer::FreeBsd10 => TimerKind::FreeBsd10,
        Timer::Windows11 => TimerKind::Windows11,
        Timer::Modified => {
            let base = ModifiedRto::default();
            TimerKind::Modified(ModifiedRto {
                in_flight_below: tcp.modified_in_flight.unwrap_or(base.in_flight_below),
                margin_shift: tcp.modified_margin_shift.unwrap_or(base.margin_shift),
                ..base
            })
        }
        Timer::Fixed => TimerKind::Fixed(tcp.fixed_rto.map_or(INITIAL_RTO, |time| time.0)),
    }
}
