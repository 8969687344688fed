//! The `uci` commands that set up OpenWrt's SQM (sqm-scripts: `src/*.qos`, `src/functions.sh`, `src/run-openwrt.sh`).
//!
//! CAKE runs under `piece_of_cake.qos` (one tin) or `layer_cake.qos`. Others without classes run under `simplest.qos`. SQM has no
//! classes of its own: its three bands are for code points only.

use core::fmt;

use gamelane_core::{Direction, Overhead};
use gamelane_qdisc::Discipline;
use gamelane_scenario::text::keys::queue::Tins;

use super::options;
use super::recipe::{Recipe, once};
use super::setup::{Lane, Setup, kbit};
use crate::kernel::framing::{Bytes, rate_by_table};

pub(super) const TARGET: &str = "openwrt";

/// Limit in packets that Linux has by default; SQM's default is 1001.
const fn limit_of_linux(discipline: Discipline) -> u64 {
    match discipline {
        Discipline::FqCodel | Discipline::FqPie => 10_240,
        Discipline::DualPi2 => 10_000,
        _ => 1000,
    }
}

/// The commands for a router with OpenWrt and its package sqm-scripts.
pub(super) fn recipe(setup: &Setup<'_>) -> Recipe {
    let lacking = [setup.refused.clone(), inexpressible(&setup.lanes)].concat();
    let [first, ..] = &setup.lanes[..] else { return Recipe::none(TARGET, lacking) };
    if !lacking.is_empty() {
        return Recipe::none(TARGET, lacking);
    }
    let is_cake = first.discipline() == Discipline::Cake;
    let mut edit = vec![WAN.to_owned()];
    if !is_cake {
        edit.push(HEADER.into());
    }
    let mut chosen = if is_cake { cake(setup, first) } else { simplest(setup, first) };
    for (option, variable, way) in [("download", "DOWN", Direction::Down), ("upload", "UP", Direction::Up)] {
        let Some(lane) = setup.towards(way) else {
            chosen.push(given(option, 0));
            continue;
        };
        // HTB's size table has no code words of PTM; CAKE counts them.
        let rate = if is_cake { lane.rate } else { rate_by_table(lane.rate, lane.overhead) };
        let less = if rate == lane.rate { "" } else { ", less the code words of PTM" };
        edit.push(format!("{variable}={}  # kbit/s: {}{less}", kbit(rate), lane.why));
        chosen.push(computed(option, format!("${variable}")));
    }
    let mut apply: Vec<String> = options::needs_newer_linux(&setup.lanes).into_iter().collect();
    apply.extend(BEFORE.map(str::to_owned));
    apply.extend(chosen.iter().map(|(option, value)| format!("uci set sqm.wan.{option}={value}")));
    apply.extend(AFTER.map(str::to_owned));
    let mut unsaid = [&setup.unsaid[..], &setup.elsewhere].concat();
    unsaid.extend(setup.lanes.iter().flat_map(options::unsaid));
    if !is_cake {
        unsaid.push(
            "The game waits longer than simulated: SQM leaves GRO on, and HTB sends joined packets as one. CAKE separates them."
                .into(),
        );
    }
    Recipe { target: TARGET, edit, undo: UNDO.map(str::to_owned).into(), apply, unsaid: once(unsaid) }
}

const WAN: &str = "WAN=$(ifstatus wan | jsonfilter -e '@.l3_device')  # the device of the interface wan";
const HEADER: &str =
    r#"HEADER=14; case "$WAN" in ppp*) HEADER=0 ;; esac  # bytes of the frame's header: PPP has none"#;
const BEFORE: [&str; 4] = [
    "# SQM is the package sqm-scripts: opkg install sqm-scripts, or apk add sqm-scripts (LuCI: luci-app-sqm).",
    "uci set sqm.wan=queue",
    "uci set sqm.wan.enabled='1'",
    "uci set sqm.wan.interface=\"$WAN\"",
];
const AFTER: [&str; 2] = ["uci commit sqm", "/etc/init.d/sqm restart"];
const UNDO: [&str; 3] = ["uci -q delete sqm.wan", AFTER[0], AFTER[1]];

/// What SQM cannot do at all.
fn inexpressible(lanes: &[Lane<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for lane in lanes.iter().filter(|lane| lane.queue.has_classes()) {
        found.push(format!("SQM has no classes, and `queue = {}` needs them.", lane.word()));
    }
    if !found.is_empty() {
        return found;
    }
    let differ =
        |same: fn(&Lane<'_>, &Lane<'_>) -> bool| lanes.windows(2).any(|pair| !same(&pair[0], &pair[1]));
    if differ(|one, other| options::name(one.queue) == options::name(other.queue)) {
        found.push("`gateway.up` and `gateway.down` differ, and SQM has one discipline for both.".into());
    } else if differ(|one, other| one.overhead == other.overhead) {
        found.push("`overhead` differs by direction, and SQM has one for both.".into());
    }
    found
}

/// Options of SQM, each with its value in quotes.
type Chosen = Vec<(String, String)>;

fn cake(setup: &Setup<'_>, lane: &Lane<'_>) -> Chosen {
    let lanes = &setup.lanes;
    let is_single = lanes.iter().all(|lane| lane.queue.tins == Some(Tins::BestEffort));
    let washes = lanes.iter().any(|lane| lane.way == Direction::Down && lane.queue.wash == Some(true));
    let Bytes { added, .. } = Bytes::of(lane.overhead);
    let mut chosen = vec![
        given("qdisc", "cake"),
        given("script", if is_single { "piece_of_cake.qos" } else { "layer_cake.qos" }),
        // Otherwise SQM clears code points downstream, or does not read them.
        given("squash_dscp", u8::from(washes)),
        given("squash_ingress", 0),
    ];
    chosen.extend(framing(lane, given("overhead", added)));
    let is_ptm = matches!(lane.overhead, Overhead::Ptm { .. });
    for lane in lanes {
        let mut words: Vec<String> = is_ptm.then(|| "ptm".to_owned()).into_iter().collect();
        words.extend(options::limit(lane.queue).map(|(option, number)| format!("{option} {number}")));
        words.extend(options::options(lane));
        chosen.extend(more_options(lane, &words));
    }
    chosen
}

fn simplest(setup: &Setup<'_>, lane: &Lane<'_>) -> Chosen {
    let Bytes { added, .. } = Bytes::of(lane.overhead);
    let mut chosen = vec![given("qdisc", options::name(lane.queue)), given("script", "simplest.qos")];
    // HTB's size table adds to the frame's length, which includes the Ethernet header.
    chosen.extend(framing(lane, computed("overhead", format!("$(({added} - HEADER))"))));
    for lane in &setup.lanes {
        let side = side(lane);
        let marks = lane.queue.ecn.unwrap_or(lane.discipline() == Discipline::FqCodel);
        let limit =
            options::limit(lane.queue).map_or(limit_of_linux(lane.discipline()), |(_, number)| number);
        // SQM lets every discipline mark; in Linux only FQ-CoDel does by default.
        chosen.push(given(&format!("{side}gress_ecn"), if marks { "ECN" } else { "NOECN" }));
        chosen.push(given(&format!("{}target", &side[..1]), "default"));
        chosen.push(given(&format!("{}limit", &side[..1]), limit));
    }
    chosen.extend(setup.lanes.iter().filter_map(|lane| more_options(lane, &options::options(lane))));
    chosen
}

/// Framing, and what LuCI needs to show the other options and to keep them.
fn framing(lane: &Lane<'_>, overhead: (String, String)) -> Chosen {
    let is_atm = matches!(lane.overhead, Overhead::Atm { .. });
    let Bytes { least, .. } = Bytes::of(lane.overhead);
    vec![
        given("linklayer", if is_atm { "atm" } else { "ethernet" }),
        overhead,
        given("tcMPU", least),
        given("linklayer_advanced", 1),
        given("qdisc_advanced", 1),
        given("qdisc_really_really_advanced", 1),
    ]
}

fn more_options(lane: &Lane<'_>, words: &[String]) -> Option<(String, String)> {
    (!words.is_empty()).then(|| given(&format!("{}qdisc_opts", &side(lane)[..1]), words.join(" ")))
}

/// SQM's word for a direction.
const fn side(lane: &Lane<'_>) -> &'static str {
    match lane.way {
        Direction::Up => "e",
        Direction::Down => "in",
    }
}

fn given(option: &str, value: impl fmt::Display) -> (String, String) {
    (option.into(), format!("'{value}'"))
}

/// A value that the shell computes.
fn computed(option: &str, value: impl fmt::Display) -> (String, String) {
    (option.into(), format!("\"{value}\""))
}
