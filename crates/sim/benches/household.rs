//! `make bench`: how fast a household runs. Prints bottleneck packets and simulated seconds per CPU-second for both links
//! of collom2016 and each queue, then for each other kind of link. Each number is the median of several runs. Compare
//! ratios of numbers from one invocation only.

use std::path::Path;

use gamelane_core::Seed;
use gamelane_record::Records;
use gamelane_scenario::{Model, Scenario};
use gamelane_sim::Household;
use rustix::time::{ClockId, clock_gettime};

const QUEUES: [(&str, &str); 5] =
    [("fifo", "100p"), ("pie", "1000p"), ("codel", "1000p"), ("fq_pie", "1000p"), ("fq_codel", "1000p")];
const LINKS: [(&str, &str); 2] = [("12mbit", "1mbit"), ("50mbit", "20mbit")];
/// Queues with several parts, and the keys that they need.
const COMPOSITE: [(&str, &[(&str, &str)]); 7] = [
    ("priority", &[("gateway.*.queue", "priority")]),
    ("acks", &[("gateway.*.queue", "priority"), ("gateway.*.acks", "filter")]),
    ("drr", &[("gateway.*.queue", "drr")]),
    ("htb", &[("gateway.*.queue", "htb")]),
    ("cake", &[("gateway.*", "{ queue = \"cake\" }")]),
    ("dualpi2", &[("gateway.*.queue", "dualpi2")]),
    ("voap", &[("gateway.voap", "{ data = \"both\" }")]),
];
/// Shipped scenarios on other links.
const LINK_SCENARIOS: [&str; 3] = ["docsis", "wifi", "lte"];
const REPEATS: usize = 7;

fn main() {
    println!(
        "{:<10} {:<9} {:>9} {:>14} {:>14} {:>10}",
        "link", "queue", "packets", "packets/CPU-s", "sim-s/CPU-s", "events/pkt"
    );
    for (down, up) in LINKS {
        for (queue, limit) in QUEUES {
            let rates = [("link.down", down), ("link.up", up)];
            let queues = [("gateway.*.queue", queue), ("gateway.*.limit", limit)];
            let link = format!("{}/{}", down.trim_end_matches("mbit"), up.trim_end_matches("mbit"));
            measure(&link, queue, &model("collom2016", &[rates, queues].concat()));
        }
    }
    let first = [("gateway.priority", "[\"game\"]")];
    for (down, up) in LINKS {
        for (name, queue) in COMPOSITE {
            let rates = [("link.down", down), ("link.up", up)];
            let link = format!("{}/{}", down.trim_end_matches("mbit"), up.trim_end_matches("mbit"));
            measure(&link, name, &model("collom2016", &[&rates, &first[..], queue].concat()));
        }
    }
    for link in LINK_SCENARIOS {
        for queue in ["fifo", "fq_codel"] {
            measure(link, queue, &model(link, &[("gateway.*.queue", queue)]));
        }
    }
}

fn measure(link: &str, queue: &str, model: &Model) {
    let mut runs: Vec<(f64, u64, u64)> = (0..REPEATS).map(|_| run(model)).collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, packets, events) = runs[REPEATS / 2];
    println!(
        "{link:<10} {queue:<9} {packets:>9} {:>14.0} {:>14.0} {:>10.2}",
        packets as f64 / seconds,
        model.duration.as_secs_f64() / seconds,
        events as f64 / packets as f64,
    );
}

fn model(name: &str, overrides: &[(&str, &str)]) -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
    let text = std::fs::read_to_string(&file).expect("the shipped scenario is readable");
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = Scenario::parse(&text, &file.to_string_lossy(), &overrides);
    scenario.and_then(|scenario| scenario.to_model()).unwrap_or_else(|error| panic!("{error}"))
}

/// CPU seconds, bottleneck packets and events of one run.
fn run(model: &Model) -> (f64, u64, u64) {
    let started = cpu_seconds();
    let outcome = Household::new(model, Seed(1), Records::new(model)).run();
    (cpu_seconds() - started, outcome.bottleneck_packets(), outcome.events)
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
