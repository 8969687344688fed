//! `make bench`: 100,000 players of a game over TCP behind one access link. The goal is 60 simulated seconds in under 60 s of
//! CPU time and 4 GiB. Smaller numbers of players show that the cost is linear. Peak memory includes all records.

use std::path::Path;

use gamelane_core::Seed;
use gamelane_record::Records;
use gamelane_scenario::{Model, Scenario};
use gamelane_sim::Household;
use rustix::time::{ClockId, clock_gettime};

fn main() {
    println!(
        "{:<12} {:>9} {:>10} {:>10} {:>16} {:>10}",
        "connections", "sim-s", "CPU-s", "packets", "us/connection-s", "peak MiB"
    );
    for connections in [1_000, 10_000, 100_000] {
        let model = model(connections);
        let started = cpu_seconds();
        let outcome = Household::new(&model, Seed(1), Records::new(&model)).run();
        let cpu = cpu_seconds() - started;
        let simulated = model.duration.as_secs_f64();
        println!(
            "{connections:<12} {simulated:>9} {cpu:>10.2} {:>10} {:>16.2} {:>10}",
            outcome.bottleneck_packets(),
            cpu * 1e6 / f64::from(connections) / simulated,
            peak_mib().map_or("unknown".into(), |mib| mib.to_string()),
        );
    }
}

fn model(connections: u32) -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/operator.toml");
    let text = std::fs::read_to_string(&file).expect("the shipped scenario is readable");
    let overrides = [("flow.players.connections".to_string(), connections.to_string())];
    let scenario = Scenario::parse(&text, &file.to_string_lossy(), &overrides);
    scenario.and_then(|scenario| scenario.to_model()).unwrap_or_else(|error| panic!("{error}"))
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Peak resident memory of the process so far, if the system reports it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}
