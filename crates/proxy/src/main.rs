//! `gamelane-proxy near|far CONFIG.toml`, `certificates DIR`, `check near|far CONFIG.toml`, `status CONFIG.toml`.
//! Exit codes: [`Exit`].

mod page;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::CompleteEnv;
use gamelane_mux::Role;
use gamelane_proxy::admin::{Admin, Proxy};
use gamelane_proxy::certificates::command;
use gamelane_proxy::config::{Config, Problems};
use gamelane_proxy::far::Far;
use gamelane_proxy::near::Near;
use gamelane_proxy::rights::{Rights, check_congestion};
use gamelane_proxy::tls::Certificates;
use gamelane_service::exit::{self, Exit, Failure};
use gamelane_service::http::{self, Address, Listener};
use gamelane_service::log;
use gamelane_service::output::print;
use serde_json::Value;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often a running proxy warns of certificates near their end.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Carries many thin TCP streams between two places over few connections.
#[derive(Parser)]
#[command(name = "gamelane-proxy", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Log as JSON, one object a line. GAMELANE_LOG sets what is logged, for example `debug`.
    #[arg(long, global = true)]
    json_log: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run the proxy beside the clients.
    Near {
        /// Configuration file.
        config: PathBuf,
    },
    /// Run the proxy beside the server.
    Far {
        /// Configuration file.
        config: PathBuf,
    },
    /// Make, renew and show the certificates of both ends.
    Certificates(command::Certificates),
    /// Read a configuration and its certificates, and print all that is wrong. Run it as the user who starts the proxy.
    Check {
        /// The end that the file is for.
        role: Ends,
        /// Configuration file.
        config: PathBuf,
    },
    /// Print the status of a running proxy.
    Status {
        /// Configuration file of that proxy.
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

fn main() -> ExitCode {
    CompleteEnv::with_factory(Arguments::command).complete();
    let arguments = Arguments::parse();
    log::start(arguments.json_log);
    exit::end(match arguments.command {
        Command::Near { config } => serve(&config, Role::Near, arguments.json_log),
        Command::Far { config } => serve(&config, Role::Far, arguments.json_log),
        Command::Certificates(arguments) => command::run(arguments),
        Command::Check { role, config } => load(&config, role.into()).and_then(|loaded| {
            loaded.certificates.inspect(|certificates| certificates.warn());
            print(&format!("{}: ok\n", config.display()))
        }),
        Command::Status { config, json } => status(&config, json),
    })
}

/// What a proxy starts with.
struct Loaded {
    config: Arc<Config>,
    certificates: Option<Arc<Certificates>>,
    rights: Rights,
}

/// Reads the configuration and its files, and finds all that is wrong with them and can be known before the start.
fn load(file: &Path, role: Role) -> Result<Loaded, Failure> {
    let (config, mut problems) = Config::examine(file, role).map_err(exit::usage)?;
    let config = Arc::new(config);
    let certificates = config.tls.as_ref().map(|tls| Certificates::load(file, tls, role)).transpose();
    let certificates = certificates.unwrap_or_else(|more| {
        problems.extend(more.0);
        None
    });
    let rights = Rights::find(file, &config).map_err(|problem| problems.push(problem));
    // Only this one may be the machine's fault.
    let code = if problems.is_empty() { Exit::CannotRun } else { Exit::Usage };
    problems.extend(check_congestion(file, &config).err());
    match rights {
        Ok(rights) if problems.is_empty() => Ok(Loaded { config, certificates, rights }),
        _ => Err(Failure(code, Problems(problems).to_string())),
    }
}

fn serve(file: &Path, role: Role, json_log: bool) -> Result<(), Failure> {
    let Loaded { config, certificates, rights } = load(file, role)?;
    // One thread: each byte is moved under the session's lock, and a hand-over to another thread costs more than the byte.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure(Exit::CannotRun, format!("cannot start the event loop: {error}")))?;
    runtime.block_on(async {
        let (proxy, serving) = bind(file, &config, role, certificates.clone())?;
        let admin = config.admin.map(|admin| {
            Listener::bind(&Address::Tcp(admin.listen))
                .map_err(|error| cannot_listen(file, admin.listen, &error))
        });
        let admin = admin.transpose()?;
        rights.give_up(json_log)?;
        if let Some(listener) = admin {
            let site = Admin { proxy: proxy.clone(), certificates: certificates.clone() };
            tokio::spawn(http::serve(listener, site));
        }
        run(&proxy, serving, &config, certificates.as_deref(), &rights).await
    })
}

/// Resolves to the reason why the proxy cannot go on.
type Serving = Pin<Box<dyn Future<Output = Failure> + Send>>;

fn bind(
    file: &Path,
    config: &Arc<Config>,
    role: Role,
    certificates: Option<Arc<Certificates>>,
) -> Result<(Proxy, Serving), Failure> {
    match role {
        Role::Near => {
            let (near, listener) =
                Near::bind(config.clone()).map_err(|error| cannot_listen(file, config.listen, &error))?;
            let serving = near.clone().run(listener, certificates);
            Ok((Proxy::Near(near), Box::pin(async { Failure(Exit::Peer, serving.await) })))
        }
        Role::Far => {
            let identity = certificates.as_ref().map(|certificates| certificates.current());
            let (far, listener) = Far::bind(config.clone(), identity.as_deref())
                .map_err(|error| cannot_listen(file, config.listen, &error))?;
            let serving = far.clone().run(listener, certificates);
            Ok((Proxy::Far(far), Box::pin(async { Failure(Exit::CannotRun, serving.await) })))
        }
    }
}

fn cannot_listen(file: &Path, address: std::net::SocketAddr, error: &dyn std::fmt::Display) -> Failure {
    Failure(Exit::CannotRun, format!("{}: cannot listen on {address}: {error}", file.display()))
}

/// Serves until SIGTERM or SIGINT, then drains. SIGHUP reads the certificates again.
async fn run(
    proxy: &Proxy,
    serving: Serving,
    config: &Config,
    certificates: Option<&Certificates>,
    rights: &Rights,
) -> Result<(), Failure> {
    let mut stop = StopSignals::new()?;
    let mut hangup = on(SignalKind::hangup())?;
    tracing::info!(listen = %config.listen, target = %config.target(), carriers = config.carriers, user = rights.user(), "serving");
    rights.check_readable();
    let serving = tokio::spawn(serving);
    tokio::pin!(serving);
    let mut day = tokio::time::interval(DAY);
    loop {
        tokio::select! {
            why = &mut serving => {
                return Err(why.unwrap_or_else(|panic| Failure(Exit::Failed, panic.to_string())));
            }
            () = stop.recv() => {
                drain(proxy, config.timeouts.drain.std(), &mut stop).await;
                return Ok(());
            }
            _ = hangup.recv() => {
                rights.check_readable();
                renew(certificates);
            }
            _ = day.tick() => certificates.into_iter().for_each(Certificates::warn),
        }
    }
}

/// Waits up to `patience` until all streams have ended. A second signal ends the wait.
async fn drain(proxy: &Proxy, patience: Duration, stop: &mut StopSignals) {
    let hubs = proxy.hubs();
    let streams: usize = hubs.iter().map(|hub| hub.streams()).sum();
    tracing::info!(streams, "draining: new clients are refused, open streams may end by themselves");
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
        () = stop.recv() => {}
    }
    let left: usize = hubs.iter().map(|hub| hub.streams()).sum();
    for hub in &hubs {
        hub.shut_down();
    }
    tracing::info!(left, "stopped");
}

/// Reads the certificates again. New carriers use the new ones; existing carriers and their streams go on.
fn renew(certificates: Option<&Certificates>) {
    match certificates.map(Certificates::renew) {
        None => tracing::info!("SIGHUP: there are no certificates to renew"),
        Some(Ok(())) => {
            tracing::info!("certificates renewed");
            certificates.into_iter().for_each(Certificates::warn);
        }
        Some(Err(error)) => tracing::error!(%error, "certificates not renewed; the old ones stay in use"),
    }
}

fn on(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure(Exit::CannotRun, format!("cannot handle signals: {error}")))
}

/// SIGTERM and SIGINT.
struct StopSignals(Signal, Signal);

impl StopSignals {
    fn new() -> Result<Self, Failure> {
        Ok(Self(on(SignalKind::terminate())?, on(SignalKind::interrupt())?))
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

fn status(file: &Path, json: bool) -> Result<(), Failure> {
    let config = Config::load(file, Role::Near)
        .or_else(|near| Config::load(file, Role::Far).map_err(|_| near))
        .map_err(exit::usage)?;
    let Some(admin) = config.admin else {
        let message =
            format!("`admin.listen` in {}: not set, so this proxy answers no status", file.display());
        return Err(Failure(
            Exit::Usage,
            message + "\n  hint:    add\n           [admin]\n           listen = \"127.0.0.1:9700\"",
        ));
    };
    let failed = |error: &dyn std::fmt::Display| {
        Failure(Exit::Peer, format!("{}: {error}\n  hint:    is the proxy running?", admin.listen))
    };
    let answer = http::get(&Address::Tcp(admin.listen), "/status").map_err(|error| failed(&error))?;
    let status: Value = serde_json::from_slice(&answer).map_err(|_| failed(&"not a gamelane-proxy"))?;
    print(&if json { format!("{status:#}\n") } else { page::page(&status) })
}

#[cfg(test)]
#[test]
fn the_manual_is_up_to_date() {
    gamelane_service::manual::check(Arguments::command());
}
