//! `gamelane-traffic listen` and `measure`: the two ends of a measurement of the line.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;

use clap::Args;
use gamelane_core::Instant;
use gamelane_generator::measure::client::{Measured, Progress, measure};
use gamelane_generator::measure::limits::Limits;
use gamelane_generator::measure::plan::{Plan, SECONDS, STREAMS};
use gamelane_generator::measure::reach::reach;
use gamelane_generator::measure::server::Server;
use gamelane_generator::measure::trouble::Trouble;
use gamelane_generator::record::Record;
use gamelane_service::exit::{self, Exit, Failure};
use gamelane_service::output::{print, print_to_reader, say};
use gamelane_service::privileges::calls;
use serde_json::json;

use crate::{confine, key, no_random, stopped, unwritable};

/// Options of `listen`.
#[derive(Args)]
pub(crate) struct Listen {
    /// Address to listen on, for TCP and UDP. The following UDP ports serve further clients.
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)))]
    listen: SocketAddr,
    /// File with the secret that both ends share. Required beyond loopback.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Measurements at a time.
    #[arg(long, value_name = "N", default_value_t = Limits::default().clients, value_parser = clap::value_parser!(u16).range(1..=64))]
    clients: u16,
    /// Measurements at a time from one address, or from one /64 network of IPv6.
    #[arg(long, value_name = "N", default_value_t = Limits::default().per_address, value_parser = clap::value_parser!(u16).range(1..=64))]
    per_address: u16,
    /// Longest measurement, in seconds.
    #[arg(long, value_name = "S", default_value_t = Limits::default().seconds, value_parser = clap::value_parser!(u16).range(i64::from(*SECONDS.start())..=i64::from(*SECONDS.end())))]
    seconds: u16,
    /// Rate of all loads together in each direction, in Mbit/s.
    #[arg(long, value_name = "MBIT", default_value_t = Limits::default().mbit, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
}

/// Options of `measure`.
#[derive(Args)]
pub(crate) struct Measure {
    /// The server: HOST or HOST:PORT.
    host: String,
    /// File with the secret that both ends share. Required beyond loopback.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Length of the measurement, in seconds.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u16).range(i64::from(*SECONDS.start())..=i64::from(*SECONDS.end())))]
    seconds: u16,
    /// TCP streams in each direction.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(i64::from(*STREAMS.start())..=i64::from(*STREAMS.end())))]
    streams: u8,
    /// TCP congestion control of both ends' loads. Default: each system's own.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    congestion: String,
    /// Seed of the games' and calls' random numbers.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Folder that gets `client.rec`, `server.rec` and `scenario.toml`.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Port of a server that names none.
const PORT: u16 = 27970;

/// Runs a server until a signal.
pub(crate) fn listen(options: &Listen) -> Result<(), Failure> {
    let key = key(options.key.as_deref(), options.listen, "--key")?;
    let refused = |error| Failure(Exit::CannotRun, format!("cannot listen on {}: {error}", options.listen));
    let listener = TcpListener::bind(options.listen).map_err(refused)?;
    let at = listener.local_addr().map_err(refused)?;
    let limits = Limits {
        clients: options.clients,
        per_address: options.per_address,
        seconds: options.seconds,
        mbit: options.rate,
        ..Limits::default()
    };
    let server = Server::new(key, limits, stopped()?);
    confine([calls::connections()])?;
    say(&format!(
        "listening on {at}, UDP ports {} to {}",
        at.port(),
        at.port().saturating_add(limits.clients - 1)
    ));
    server.run(&listener, say).map_err(|error| Failure(Exit::CannotRun, format!("{at}: {error}")))
}

/// Measures, prints a line of JSON for each progress and one for the end, and writes the records.
pub(crate) fn run(options: &Measure) -> Result<(), Failure> {
    let addresses = addresses(&options.host)?;
    let is_far = |to: &&SocketAddr| !to.ip().to_canonical().is_loopback();
    let strictest = addresses.iter().find(is_far).unwrap_or(&addresses[0]);
    let key = key(options.key.as_deref(), *strictest, "--key")?;
    let id = getrandom::u64().map_err(no_random)?;
    let (seed, seconds, streams) = (options.seed, options.seconds, options.streams);
    let plan = Plan { id, seed, seconds, streams, congestion: options.congestion.clone() };
    if !plan.is_allowed() {
        let why = format!(
            "--congestion {}: not a name of a congestion control\n  allowed: up to 15 letters, digits, - and _",
            options.congestion
        );
        return Err(exit::usage(why));
    }
    let folder = &options.output;
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let stop = stopped()?;
    let mut reader = Ok(true);
    let mut on_progress = |now: Progress| {
        if reader == Ok(true) {
            let line = json!({
                "t_s": now.since.as_secs_f64(),
                "phase": now.phase,
                "rtt_ms": now.rtt.as_secs_f64() * 1e3,
                "up_bytes": now.moved[0],
                "down_bytes": now.moved[1],
            });
            reader = print_to_reader(&format!("{line}\n"));
        }
    };
    let reached = reach(&addresses).map_err(|trouble| {
        let whose = if addresses.len() > 1 { format!("{}: ", options.host) } else { String::new() };
        Failure(Exit::Peer, format!("{whose}{trouble}"))
    })?;
    let to = reached.to;
    let failure = |trouble: Trouble| match trouble {
        Trouble::Congestion(..) => exit::usage(trouble.to_string()),
        _ => Failure(Exit::Peer, format!("{to}: {trouble}")),
    };
    let measured = measure(reached, &key, &plan, &stop, &mut on_progress).map_err(failure)?;
    write(folder, "client.rec", &bytes(&measured.client))?;
    match &measured.server {
        Ok(server) => write(folder, "server.rec", &bytes(server))?,
        Err(error) => say(&format!(
            "note: the server's records did not arrive, so losses and one-way delays are unknown: {error}"
        )),
    }
    write(folder, "scenario.toml", plan.scenario().as_bytes())?;
    print(&format!("{}\n", ending(&measured, &plan)))?;
    reader?;
    measured.trouble.map_or(Ok(()), |trouble| Err(failure(trouble)))
}

fn ending(measured: &Measured, plan: &Plan) -> serde_json::Value {
    let phase = |(name, from, to): &(&str, gamelane_core::Duration, gamelane_core::Duration)| json!({ "phase": name, "from_s": from.as_secs_f64(), "to_s": to.as_secs_f64() });
    let clocks = measured.clocks.map(|clocks| {
        json!({
            "uncertainty_ms": clocks.uncertainty.as_secs_f64() * 1e3,
            "drift_ppm": clocks.drift_ppb.map(|ppb| ppb / 1e3),
        })
    });
    json!({
        "phases": measured.phases.iter().map(phase).collect::<Vec<_>>(),
        "same_clock": measured.same_clock,
        "clocks": clocks,
        "limit_mbit": measured.limit_mbit,
        "stopped": measured.stopped,
        "failed": measured.trouble.as_ref().and_then(|why| why.to_string().lines().next().map(str::to_owned)),
        "plan": {
            "seconds": plan.seconds,
            "streams": plan.streams,
            "congestion": plan.congestion,
            "seed": plan.seed,
        },
    })
}

fn bytes(records: &[Record]) -> Vec<u8> {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record: &&Record| -> Instant { record.at });
    sorted.into_iter().flat_map(Record::bytes).collect()
}

fn write(folder: &std::path::Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))
}

/// Finds the addresses of `HOST` or `HOST:PORT`; there is at least one.
fn addresses(host: &str) -> Result<Vec<SocketAddr>, Failure> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = match bare.parse::<std::net::IpAddr>() {
        Ok(address) => return Ok(vec![SocketAddr::new(address, PORT)]),
        Err(_) if host.contains(':') => host.to_socket_addrs().map(Vec::from_iter),
        Err(_) => (host, PORT).to_socket_addrs().map(Vec::from_iter),
    };
    let unknown = |why: String| {
        exit::usage(format!(
            "{host}: {why}\n  allowed: HOST or HOST:PORT, as in 192.0.2.1, [2001:db8::1]:{PORT}"
        ))
    };
    let found = found.map_err(|error| unknown(error.to_string()))?;
    if found.is_empty() { Err(unknown("this name has no address".into())) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_may_be_addresses_with_or_without_a_port() {
        for (host, address) in
            [("::1", "[::1]:27970"), ("[::1]:5", "[::1]:5"), ("127.0.0.1", "127.0.0.1:27970")]
        {
            assert_eq!(addresses(host).unwrap(), [address.parse().unwrap()]);
        }
        assert!(addresses("127.0.0.1:x").is_err());
    }
}
