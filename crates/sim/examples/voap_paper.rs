//! palazzi-voap figures 2 and 3 on a wired link of the radio's rate: throughput of the FTP flow and mean queueing delay, with
//! and without VoAP, for each game flow of its Table I over 50 seeds. Prints a Markdown table of means and the worst seed.
//! `cargo run --release -p gamelane-sim --example voap_paper [SEEDS]`

use std::path::Path;

use gamelane_core::{Direction, Seed};
use gamelane_scenario::{Model, Scenario};
use gamelane_sim::{Household, Records, Summary};

fn main() {
    let seeds: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(50);
    println!(
        "| game | FTP, Mbit/s: FIFO, VoAP | least share kept | delay, ms: FIFO, VoAP | waiting, packets: FIFO, VoAP | game loss, %: FIFO, VoAP |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for game in ["ut-2-3", "ut-1-3", "rome", "rome-2-3", "rome-1-3"] {
        let model = model(game);
        let fifo = {
            let mut model = model.clone();
            model.gateway.voap = None;
            model
        };
        let runs: Vec<[Measured; 2]> =
            (1..=seeds).map(|seed| [run(&fifo, seed), run(&model, seed)]).collect();
        let mean = |arm: usize, of: fn(&Measured) -> f64| {
            runs.iter().map(|pair| of(&pair[arm])).sum::<f64>() / seeds as f64
        };
        let both = |of: fn(&Measured) -> f64, digits: usize| {
            format!("{:.digits$}, {:.digits$}", mean(0, of), mean(1, of))
        };
        let kept = runs
            .iter()
            .map(|[fifo, voap]| voap.goodput_mbit / fifo.goodput_mbit)
            .fold(f64::INFINITY, f64::min);
        println!(
            "| {game} | {} | {:.1} % | {} | {} | {} |",
            both(|run| run.goodput_mbit, 2),
            100.0 * kept,
            both(|run| run.delay_ms, 1),
            both(|run| run.waiting, 0),
            both(|run| run.game_loss_percent, 2),
        );
    }
}

struct Measured {
    goodput_mbit: f64,
    delay_ms: f64,
    waiting: f64,
    game_loss_percent: f64,
}

fn model(game: &str) -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/voap.toml");
    let text = std::fs::read_to_string(&file).expect("the shipped scenario is readable");
    Scenario::parse(&text, &file.to_string_lossy(), &[("flow.game.model".into(), game.into())])
        .and_then(|scenario| scenario.to_model())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(model: &Model, seed: u64) -> Measured {
    let outcome = Household::new(model, Seed(seed), Records::new(model, false)).run();
    let summary = Summary::new(model, &outcome);
    let down = Direction::Down.index();
    let arrivals = outcome.recorder.flows.iter().flat_map(|flow| &flow.directions[down].arrivals);
    let late = arrivals.filter(|row| row.at.as_secs_f64() >= model.warmup.as_secs_f64());
    let (sum, count) =
        late.fold((0.0, 0.0), |(sum, count), row| (sum + row.queue_delay.as_millis_f64(), count + 1.0));
    Measured {
        goodput_mbit: summary.flows[0].goodput_bps / 1e6,
        delay_ms: sum / count,
        waiting: summary.queues[down].mean_backlog,
        game_loss_percent: 100.0 * summary.flows[1].directions[down].loss,
    }
}
