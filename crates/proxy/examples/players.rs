//! Players of an online game over TCP, to measure delivery times over a path. `players serve SCENARIO ADDRESS` writes to each player
//! the messages that the scenario's generator draws. `players join ADDRESS` runs all players and prints delivery times as JSON. Both
//! must run on one machine because they share its clock; network namespaces with a link may be between them. A message holds its
//! length, a number and its send time, so lost, duplicate and changed messages are found.

use anyhow::{Context as _, ensure};
use clap::{Parser, Subcommand};
use gamelane_core::{Instant, Seed};
use gamelane_scenario::text::Scenario;
use gamelane_traffic::config::{AppConfig, Schedule};
use gamelane_traffic::{AppAction, AppEvent, TrafficSource as _, build_connection};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Bytes of a message's header: length (2), number (4), send time (8).
const HEADER: usize = 14;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the game's server.
    Serve {
        /// A scenario with an `mmo` flow. Seed and numbering are the simulator's, so the messages are the same.
        scenario: PathBuf,
        /// Address to listen on.
        address: SocketAddr,
        /// Seconds to write to a player after it has connected.
        #[arg(long)]
        seconds: f64,
    },
    /// Run the players.
    Join {
        /// Address to connect to.
        address: SocketAddr,
        /// Number of players.
        #[arg(long, default_value_t = 175)]
        players: u32,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Serve { scenario, address, seconds } => serve(&scenario, address, seconds).await,
        Command::Join { address, players } => join(address, players).await,
    }
}

struct Game {
    app: AppConfig,
    name: String,
    seed: Seed,
    schedule: Schedule,
}

async fn serve(scenario: &PathBuf, address: SocketAddr, seconds: f64) -> anyhow::Result<()> {
    let name = scenario.display().to_string();
    let model = Scenario::parse(&std::fs::read_to_string(scenario)?, &name, &[])?.to_model()?;
    let flow = model.flows.iter().find(|flow| matches!(flow.app, AppConfig::Mmo(_)));
    let flow = flow.with_context(|| format!("{name} has no mmo flow"))?;
    let stop = gamelane_core::Duration::from_secs_f64(seconds);
    let schedule = Schedule { start: gamelane_core::Duration::ZERO, stop: Some(stop) };
    let game = Arc::new(Game { app: flow.app.clone(), name: flow.name.clone(), seed: model.seed, schedule });
    let listener = TcpListener::bind(address).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        let game = game.clone();
        tokio::spawn(async move {
            if let Err(error) = play(socket, &game).await {
                eprintln!("a player left: {error}");
            }
        });
    }
}

async fn play(mut socket: TcpStream, game: &Game) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let player = socket.read_u32().await?;
    let path = format!("flow/{}/{player}/app", game.name);
    let (_, mut source) = build_connection(&game.app, player, game.schedule, game.seed, &path);
    let (began, began_ns) = (tokio::time::Instant::now(), monotonic_ns());
    source.handle_event(&AppEvent::Connected, Instant::ZERO);
    let mut number = 0;
    while let Some(due) = source.poll_timeout() {
        tokio::time::sleep_until(began + Duration::from_nanos(due.as_nanos())).await;
        source.handle_timeout(due);
        while let Some(action) = source.poll_action(due) {
            let AppAction::Write { bytes } = action else { continue };
            let len = usize::try_from(bytes.0)?.max(HEADER);
            let mut message = Vec::with_capacity(len);
            message.extend(u16::try_from(len)?.to_be_bytes());
            message.extend(u32::to_be_bytes(number));
            // The time of the write, so that late timers of a busy machine do not count as network delay.
            message.extend(monotonic_ns().max(began_ns).to_be_bytes());
            message.resize(len, number as u8);
            socket.write_all(&message).await?;
            number += 1;
        }
    }
    socket.shutdown().await?;
    ensure!(socket.read(&mut [0; 1]).await? == 0, "a player sent bytes");
    Ok(())
}

async fn join(address: SocketAddr, players: u32) -> anyhow::Result<()> {
    let mut tasks = Vec::new();
    for player in 0..players {
        tasks.push(tokio::spawn(listen(address, player)));
        // Spread the connections over time.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (mut all, mut own, mut failed) = (Vec::new(), Vec::new(), 0);
    for task in tasks {
        match task.await? {
            Ok(mut delays) => {
                delays.sort_unstable();
                own.push(delays.clone());
                all.extend(delays);
            }
            Err(error) => {
                eprintln!("{error}");
                failed += 1;
            }
        }
    }
    all.sort_unstable();
    let of_players = |q: f64| {
        let mut quantiles: Vec<f64> = own.iter().filter_map(|delays| quantile(delays, q)).collect();
        quantiles.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            quantiles.get(((quantiles.len() as f64 * part) as usize).min(quantiles.len().max(1) - 1)).copied()
        };
        serde_json::json!({ "median_player": at(0.5), "worst_player": at(1.0) })
    };
    let result = serde_json::json!({
        "players": players,
        "failed": failed,
        "messages": all.len(),
        "delivery_ms": { "p50": quantile(&all, 0.5), "p99": quantile(&all, 0.99), "p999": quantile(&all, 0.999), "max": quantile(&all, 1.0) },
        "delivery_ms_by_player": { "p50": of_players(0.5), "p99": of_players(0.99) },
    });
    println!("{result}");
    ensure!(failed == 0, "{failed} players failed");
    Ok(())
}

/// Runs one player, and returns the delays of its messages in nanoseconds.
async fn listen(address: SocketAddr, player: u32) -> anyhow::Result<Vec<u64>> {
    let mut socket = TcpStream::connect(address).await?;
    socket.write_u32(player).await?;
    let mut delays = Vec::new();
    loop {
        let mut header = [0; HEADER];
        match socket.read_exact(&mut header).await {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(delays),
            Err(error) => return Err(error.into()),
        }
        let [l0, l1, n0, n1, n2, n3, due @ ..] = header;
        let mut rest = vec![0; usize::from(u16::from_be_bytes([l0, l1])) - HEADER];
        socket.read_exact(&mut rest).await?;
        let took = monotonic_ns().saturating_sub(u64::from_be_bytes(due));
        let number = u32::from_be_bytes([n0, n1, n2, n3]);
        ensure!(
            number as usize == delays.len(),
            "player {player}: message {number} arrived after {} others",
            delays.len()
        );
        ensure!(
            rest.iter().all(|byte| *byte == number as u8),
            "player {player}: message {number} is changed"
        );
        delays.push(took);
    }
}

fn quantile(sorted: &[u64], q: f64) -> Option<f64> {
    let rank = ((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(rank).map(|nanos| *nanos as f64 / 1e6)
}

/// The machine's monotonic clock, which all processes and namespaces share.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
