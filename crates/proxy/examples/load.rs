//! A load generator for proxies, used by bench/proxy. `load echo ADDRESS` is a server that echoes. `load run ADDRESS` runs many
//! clients: each sends messages at random times and checks every byte of the echo. It prints the round trips as JSON.

use clap::{Parser, Subcommand};
use gamelane_core::{Seed, Stream};
use gamelane_proxy::clock::Clock;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a server that echoes.
    Echo {
        /// Address to listen on.
        address: SocketAddr,
    },
    /// Run many clients.
    Run {
        /// Address to connect to.
        address: SocketAddr,
        /// Number of clients.
        #[arg(long, default_value_t = 1)]
        streams: usize,
        /// Messages a second of each client, at random times.
        #[arg(long, default_value_t = 4.0)]
        rate: f64,
        /// Size of a message in bytes.
        #[arg(long, default_value_t = 80)]
        bytes: usize,
        /// Seconds to run after all clients are connected.
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// Add one client that writes as fast as it can and never reads.
        #[arg(long)]
        deaf: bool,
    },
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match Arguments::parse().command {
        Command::Echo { address } => runtime.block_on(echo(address)),
        Command::Run { address, streams, rate, bytes, seconds, deaf } => {
            runtime.block_on(run(address, streams, rate, bytes, Duration::from_secs_f64(seconds), deaf))
        }
    }
}

async fn echo(address: SocketAddr) -> anyhow::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    let listener = TcpListener::from_std(socket.into())?;
    loop {
        let (mut socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(async move {
            let mut part = vec![0; 2048];
            while let Ok(count @ 1..) = socket.read(&mut part).await {
                if socket.write_all(&part[..count]).await.is_err() {
                    break;
                }
            }
        });
    }
}

struct Tally {
    clock: Clock,
    connected: AtomicUsize,
    failed: AtomicUsize,
    bytes: AtomicU64,
}

async fn run(
    address: SocketAddr,
    streams: usize,
    rate: f64,
    bytes: usize,
    span: Duration,
    deaf: bool,
) -> anyhow::Result<()> {
    let tally = Arc::new(Tally {
        clock: Clock::start(),
        connected: AtomicUsize::new(0),
        failed: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
    });
    let (report, mut reports) = mpsc::unbounded_channel();
    let (start, started) = tokio::sync::watch::channel(false);
    let deaf = if deaf {
        let mut socket = TcpStream::connect(address).await?;
        Some(tokio::spawn(async move {
            let block = vec![1; 1 << 16];
            while socket.write_all(&block).await.is_ok() {}
        }))
    } else {
        None
    };
    for number in 0..streams {
        let (tally, report, mut started) = (tally.clone(), report.clone(), started.clone());
        tokio::spawn(async move {
            let outcome = client(address, number as u64, rate, bytes, span, &tally, &mut started).await;
            match outcome {
                Ok(round_trips) => drop(report.send(round_trips)),
                Err(error) => {
                    eprintln!("client {number}: {error}");
                    tally.failed.fetch_add(1, Relaxed);
                }
            }
        });
        if number % 100 == 99 {
            // Do not connect faster than connections are accepted.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    drop(report);
    while tally.connected.load(Relaxed) + tally.failed.load(Relaxed) < streams {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    start.send_replace(true);
    let mut all = Vec::new();
    while let Some(round_trips) = reports.recv().await {
        all.extend(round_trips);
    }
    if let Some(deaf) = deaf {
        deaf.abort();
    }
    all.sort_unstable();
    let quantile = |q: f64| {
        let rank = ((all.len() as f64 * q).ceil() as usize).clamp(1, all.len().max(1)) - 1;
        all.get(rank).map(|nanos| *nanos as f64 / 1e3)
    };
    let result = serde_json::json!({
        "streams": streams,
        "failed": tally.failed.load(Relaxed),
        "messages": all.len(),
        "checked_bytes": tally.bytes.load(Relaxed),
        "round_trip_us": {
            "p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99), "p999": quantile(0.999),
            "max": quantile(1.0),
        },
    });
    println!("{result}");
    anyhow::ensure!(tally.failed.load(Relaxed) == 0, "{} clients failed", tally.failed.load(Relaxed));
    Ok(())
}

async fn client(
    address: SocketAddr,
    number: u64,
    rate: f64,
    bytes: usize,
    span: Duration,
    tally: &Tally,
    started: &mut tokio::sync::watch::Receiver<bool>,
) -> anyhow::Result<Vec<u64>> {
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let mut random = Seed(number).stream("messages");
    // One exchange first, so that the whole path is connected.
    exchange(&mut socket, &mut random, bytes, tally).await?;
    tally.connected.fetch_add(1, Relaxed);
    started.wait_for(|started| *started).await?;
    let end = tally.clock.now() + gamelane_core::Duration::from_nanos(span.as_nanos() as u64);
    let mut round_trips = Vec::new();
    loop {
        let pause = 2.0 * random.unit() / rate;
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        if tally.clock.now() > end {
            return Ok(round_trips);
        }
        round_trips.push(exchange(&mut socket, &mut random, bytes, tally).await?);
    }
}

/// Sends a message, checks its echo, and returns the round trip in nanoseconds.
async fn exchange(
    socket: &mut TcpStream,
    random: &mut Stream,
    bytes: usize,
    tally: &Tally,
) -> anyhow::Result<u64> {
    let message: Vec<u8> = (0..bytes).map(|_| random.bits() as u8).collect();
    let sent = tally.clock.now();
    socket.write_all(&message).await?;
    let mut back = vec![0; bytes];
    socket.read_exact(&mut back).await?;
    let took = tally.clock.now().saturating_since(sent);
    anyhow::ensure!(back == message, "the echo differs from the message");
    tally.bytes.fetch_add(bytes as u64, Relaxed);
    Ok(took.as_nanos())
}
