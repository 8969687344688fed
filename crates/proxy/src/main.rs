//! `gamelane-proxy near|far CONFIG.toml`, `certificates DIR`, `check near|far CONFIG.toml`, `status CONFIG.toml`.
//!
//! Exit codes: 0 ended as asked; 2 the command or the configuration makes no sense; 4 it cannot serve: the address is taken,
//! or the two ends do not understand or accept each other.

use clap::{Parser, Subcommand, ValueEnum};
use gamelane_mux::Role;
use gamelane_proxy::admin::{self, Proxy};
use gamelane_proxy::config::Config;
use gamelane_proxy::far::Far;
use gamelane_proxy::near::Near;
use gamelane_proxy::tls::Certificates;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

const USAGE: u8 = 2;
const CANNOT_SERVE: u8 = 4;
/// Clients shown by `status`; `--json` has a thousand.
const SHOWN: usize = 20;

/// Carries many thin TCP streams between two places over few connections.
#[derive(Parser)]
#[command(name = "gamelane-proxy", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Log as JSON, one object a line. What is logged is set by GAMELANE_LOG, such as `debug`.
    #[arg(long, global = true)]
    json_log: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run the proxy beside the clients.
    Near {
        /// Its configuration.
        config: PathBuf,
    },
    /// Run the proxy beside the server.
    Far {
        /// Its configuration.
        config: PathBuf,
    },
    /// Make an authority and a certificate for each end.
    Certificates {
        /// A folder, made if it does not exist.
        folder: PathBuf,
        /// Days until they expire.
        #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(0..=36_500))]
        days: u32,
    },
    /// Read a configuration and its certificates, and say what is wrong.
    Check {
        /// Of which end.
        role: Ends,
        /// The file.
        config: PathBuf,
    },
    /// Ask a proxy that runs.
    Status {
        /// Its configuration.
        config: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Ends {
    Near,
    Far,
}

impl From<Ends> for Role {
    fn from(end: Ends) -> Self {
        match end {
            Ends::Near => Self::Near,
            Ends::Far => Self::Far,
        }
    }
}

/// What to say, and the exit code.
struct Failure(u8, String);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log(arguments.json_log);
    let result = match arguments.command {
        Command::Near { config } => serve(&config, Role::Near),
        Command::Far { config } => serve(&config, Role::Far),
        Command::Certificates { folder, days } => certificates(&folder, days),
        Command::Check { role, config } => {
            load(&config, role.into()).map(|_| println!("{}: ok", config.display()))
        }
        Command::Status { config, json } => status(&config, json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(code, message)) => {
            eprintln!("error: {message}");
            ExitCode::from(code)
        }
    }
}

fn log(json: bool) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("GAMELANE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    if json { builder.json().init() } else { builder.init() }
}

fn load(file: &Path, role: Role) -> Result<(Arc<Config>, Option<Arc<Certificates>>), Failure> {
    let usage = |error: gamelane_proxy::config::ConfigError| Failure(USAGE, error.to_string());
    let config = Config::load(file, role).map_err(usage)?;
    let certificates =
        config.tls.as_ref().map(|tls| Certificates::load(file, tls)).transpose().map_err(usage)?;
    Ok((Arc::new(config), certificates))
}

fn certificates(folder: &Path, days: u32) -> Result<(), Failure> {
    let written = gamelane_proxy::certificates::make(folder, days).map_err(|error| {
        Failure(USAGE, format!("{error}\n  hint:    files that exist are not overwritten"))
    })?;
    for path in written {
        println!("{}", path.display());
    }
    Ok(())
}

/// One thread: whatever moves a byte holds the session's lock, and a hand-over to another thread costs more than the byte.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure(CANNOT_SERVE, format!("no event loop: {error}")))
}

fn serve(file: &Path, role: Role) -> Result<(), Failure> {
    let (config, certificates) = load(file, role)?;
    runtime()?.block_on(async {
        let taken = |address, error: &dyn std::fmt::Display| {
            Failure(CANNOT_SERVE, format!("{}: cannot listen on {address}: {error}", file.display()))
        };
        let (proxy, serving): (Proxy, std::pin::Pin<Box<dyn Future<Output = String> + Send>>) = match role {
            Role::Near => {
                let (near, listener) = Near::bind(config.clone()).map_err(|error| taken(config.listen, &error))?;
                (Proxy::Near(near.clone()), Box::pin(near.run(listener, certificates.clone())))
            }
            Role::Far => {
                let identity = certificates.as_ref().map(|certificates| certificates.current());
                let (far, listener) = Far::bind(config.clone(), identity.as_deref())
                    .map_err(|error| taken(config.listen, &error))?;
                (Proxy::Far(far.clone()), Box::pin(far.run(listener, certificates.clone())))
            }
        };
        if let Some(admin) = config.admin {
            let listener = tokio::net::TcpListener::bind(admin.listen)
                .await
                .map_err(|error| taken(admin.listen, &error))?;
            tokio::spawn(admin::run(listener, proxy.clone()));
        }
        let mut signals = Signals::new()?;
        let mut hangup = on(SignalKind::hangup())?;
        tracing::info!(listen = %config.listen, target = %config.target(), carriers = config.carriers, "serving");
        let serving = tokio::spawn(serving);
        tokio::pin!(serving);
        loop {
            tokio::select! {
                why = &mut serving => {
                    return Err(Failure(CANNOT_SERVE, why.unwrap_or_else(|error| error.to_string())));
                }
                () = signals.stop() => {
                    drain(&proxy, config.timeouts.drain.std(), &mut signals).await;
                    return Ok(());
                }
                _ = hangup.recv() => renew(certificates.as_deref()),
            }
        }
    })
}

/// Lets streams end by themselves, for a while; a second signal ends the patience.
async fn drain(proxy: &Proxy, patience: Duration, signals: &mut Signals) {
    let hubs = proxy.hubs();
    let streams: usize = hubs.iter().map(|hub| hub.streams()).sum();
    tracing::info!(streams, "going down: no new streams, those there are may end");
    for hub in &hubs {
        hub.drain();
    }
    let ended = async {
        while !hubs.iter().all(|hub| hub.is_idle()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = ended => {}
        () = tokio::time::sleep(patience) => {}
        () = signals.stop() => {}
    }
    let left: usize = hubs.iter().map(|hub| hub.streams()).sum();
    for hub in &hubs {
        hub.shut_down();
    }
    tracing::info!(left, "stopped");
}

/// Reads the certificates again: carriers that come up from now on show the new ones, streams go on.
fn renew(certificates: Option<&Certificates>) {
    match certificates.map(Certificates::renew) {
        None => tracing::info!("SIGHUP: no certificates to renew"),
        Some(Ok(())) => tracing::info!("certificates renewed"),
        Some(Err(error)) => tracing::error!(%error, "certificates not renewed, the old ones stay"),
    }
}

fn on(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure(CANNOT_SERVE, format!("no signals: {error}")))
}

struct Signals(Signal, Signal);

impl Signals {
    fn new() -> Result<Self, Failure> {
        Ok(Self(on(SignalKind::terminate())?, on(SignalKind::interrupt())?))
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

fn status(file: &Path, json: bool) -> Result<(), Failure> {
    let config = Config::load(file, Role::Near)
        .or_else(|near| Config::load(file, Role::Far).map_err(|_| near))
        .map_err(|error| Failure(USAGE, error.to_string()))?;
    let Some(admin) = config.admin else {
        let message = format!("`admin.listen` in {}: not set, so there is nobody to ask", file.display());
        return Err(Failure(
            USAGE,
            message + "\n  hint:    add\n           [admin]\n           listen = \"127.0.0.1:9700\"",
        ));
    };
    let answer = runtime()?
        .block_on(admin::ask(admin.listen))
        .map_err(|error| Failure(CANNOT_SERVE, format!("{}: {error}; does the proxy run?", admin.listen)))?;
    if json {
        println!("{answer:#}");
        return Ok(());
    }
    let number = |path: &str| answer.pointer(path).cloned().unwrap_or_default();
    let percent =
        |path: &str| number(path).as_f64().map_or("-".into(), |part| format!("{:.1} %", part * 100.0));
    println!("{} proxy, version {}", text(&number("/role")), text(&number("/version")));
    println!("streams          {}", number("/streams"));
    println!("packets saved    {}", percent("/saved/packets"));
    println!("bytes saved      {}", percent("/saved/bytes"));
    for (name, key) in [("added delay", "added"), ("acknowledged", "acknowledged")] {
        let quantile = |q| {
            number(&format!("/delay_ms/{key}_{q}")).as_f64().map_or("-".into(), |ms| format!("{ms:.3} ms"))
        };
        println!("{name:<16} p50 {}  p99 {}", quantile("p50"), quantile("p99"));
    }
    for session in number("/sessions").as_array().into_iter().flatten() {
        let rtts = session["carrier_rtt_ms"].as_array().into_iter().flatten();
        let rtts: Vec<String> =
            rtts.map(|rtt| rtt.as_f64().map_or("down".into(), |ms| format!("{ms:.2} ms"))).collect();
        println!(
            "carriers         {} of {} up: {}",
            session["carriers_up"],
            session["carriers"],
            rtts.join(", ")
        );
    }
    for client in number("/clients").as_array().into_iter().flatten().take(SHOWN) {
        let p =
            |delay: &str, q: &str| client[delay][q].as_f64().map_or("-".into(), |ms| format!("{ms:.3} ms"));
        println!(
            "client {:<21} added p50 {}  p99 {}  acknowledged p50 {}  p99 {}  stalls {}",
            text(&client["client"]),
            p("added_delay", "p50_ms"),
            p("added_delay", "p99_ms"),
            p("acknowledged", "p50_ms"),
            p("acknowledged", "p99_ms"),
            client["stalls"]
        );
    }
    Ok(())
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
