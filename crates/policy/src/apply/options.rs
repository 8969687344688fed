//! The options of a queue discipline in `tc`, and the keys that have none.
//!
//! Options that a scenario does not set keep the kernel's defaults, which the model uses too if `parameters = "linux"`.

use gamelane_core::Catalogued;
use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_qdisc::{Discipline, Limit};
use gamelane_scenario::text::keys::Queue;
use gamelane_scenario::text::units::QueueLimit;
use toml::Value;

use super::setup::Lane;

/// Bytes of a full Ethernet frame.
const FRAME: u64 = 1500 + ETHERNET_HEADER as u64;
/// Default of the model. The kernel would take the device's `txqueuelen`: 32 packets for an IFB.
const FIFO_LIMIT: u32 = 1000;
/// Keys that other lines express.
const BY_OTHER_LINES: [&str; 6] = ["queue", "parameters", "grace", "acks", "bandwidth", "overhead"];

/// The kernel's name of a discipline. A FIFO has one for packets and one for bytes.
pub(super) fn name(queue: &Queue) -> &'static str {
    let own = queue.queue.0.descriptor().facts.tc.name;
    if own == "pfifo" && is_in_bytes(queue) { "bfifo" } else { own }
}

/// The options of the keys that a scenario sets, without the limit.
pub(super) fn options(lane: &Lane<'_>) -> Vec<String> {
    let known = lane.discipline().descriptor().facts.tc.options.iter();
    let given = known
        .filter(|(key, _)| *key != "limit")
        .filter_map(|(key, option)| Some((key, option, lane.keys.get(*key)?)));
    given.filter_map(|(key, option, value)| word(lane.queue, key, option, value)).collect()
}

/// The limit: the option and its number. `None` if a scenario sets none, and the kernel's default will do.
pub(super) fn limit(queue: &Queue) -> Option<(&'static str, u64)> {
    let option = if queue.queue.0 == Discipline::Cake { "memlimit" } else { "limit" };
    let number = match queue.limit {
        None if queue.queue.0 == Discipline::Fifo => FIFO_LIMIT.into(),
        None => return None,
        Some(QueueLimit(Limit::Packets(packets))) => packets.into(),
        Some(QueueLimit(Limit::Bytes(bytes))) if counts_packets(queue) => packets(bytes.bytes()),
        Some(QueueLimit(Limit::Bytes(bytes))) => bytes.bytes(),
    };
    Some((option, number))
}

/// A limit in bytes as a number of full frames, at least one.
pub(super) fn packets(bytes: u64) -> u64 {
    ((bytes + FRAME / 2) / FRAME).max(1)
}

/// A comment that names the versions, if a discipline is too new for many systems.
pub(super) fn needs_newer_linux(lanes: &[Lane<'_>]) -> Option<String> {
    let has = lanes.iter().any(|lane| lane.discipline() == Discipline::DualPi2);
    has.then(|| "# DualPI2 needs Linux 6.17 and iproute2 6.18.".into())
}

/// A sentence for each key that `tc` has no option for.
pub(super) fn unsaid(lane: &Lane<'_>) -> Vec<String> {
    let way = lane.way.name();
    let known = lane.discipline().descriptor().facts.tc.options;
    let is_cake = lane.discipline() == Discipline::Cake;
    let has_option = |key: &str| {
        BY_OTHER_LINES.contains(&key)
            || known.iter().any(|(own, _)| *own == key)
            || (is_cake && key == "limit")
    };
    let lacking = lane.keys.iter().filter(|(key, _)| !has_option(key));
    let mut found: Vec<String> = lacking
        .map(|(key, value)| format!("`gateway.{way}.{key} = {}` has no option in tc.", plain(value)))
        .collect();
    for (key, what) in [("parameters", "defaults and details"), ("grace", "grace")] {
        if let Some(value) = lane.keys.get(key).map(plain).filter(|value| value != "linux") {
            found.push(format!("`gateway.{way}.{key} = {value}`: Linux has its own {what}."));
        }
    }
    if is_cake && lane.keys.get("bandwidth") == Some(&Value::Boolean(false)) {
        found.push(format!(
            "`gateway.{way}.bandwidth = false`: these lines give CAKE the rate of the shaper."
        ));
    }
    if let Some(limit) = lane.queue.limit.filter(|_| counts_packets(lane.queue)) {
        found.push(format!(
            "`gateway.{way}.limit = {limit}`: {} counts packets, not bytes.",
            name(lane.queue)
        ));
    }
    found
}

/// The value of a key, as people write it in a sentence.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn word(queue: &Queue, key: &str, option: &str, value: &Value) -> Option<String> {
    let is_on = value.as_bool() == Some(true);
    Some(match key {
        "ecn" => format!("{}{option}", if is_on { "" } else { "no" }),
        "acks" => plain(value).strip_prefix("filter").map(|more| format!("ack-filter{more}"))?,
        "ingress" => if is_on { "ingress" } else { "egress" }.into(),
        "wash" => if is_on { "wash" } else { "nowash" }.into(),
        "quantum" => format!("{option} {}", queue.quantum?.0.bytes()),
        _ if option.is_empty() => plain(value),
        _ => format!("{option} {}", plain(value)),
    })
}

/// Whether the scenario limits bytes, but the kernel's discipline limits packets.
fn counts_packets(queue: &Queue) -> bool {
    is_in_bytes(queue) && !matches!(queue.queue.0, Discipline::Fifo | Discipline::Cake)
}

fn is_in_bytes(queue: &Queue) -> bool {
    matches!(queue.limit, Some(QueueLimit(Limit::Bytes(_))))
}
