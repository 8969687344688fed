//! `gamelane-gateway run --lan IF --wan IF POLICY.toml`, `status`, `watch`, `replay`.
//!
//! Exit codes: 0 ended as asked; 1 what was replayed differs from what was recorded; 2 the command, the policy or the interfaces make no sense; 4 it cannot run: no privilege,
//! no socket, an interface was removed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use gamelane_gateway::io::IoChoice;
use gamelane_gateway::policy::Policy;
use gamelane_gateway::preflight::{self, PreflightError};
use gamelane_gateway::run::{Options, run};
use gamelane_gateway::tap::{self, WhenFull};
use gamelane_gateway::{guard, http, replay, watch};

const DIFFERS: u8 = 1;
const USAGE: u8 = 2;
const CANNOT_RUN: u8 = 4;

/// A transparent bridge that keeps games playable.
#[derive(Parser)]
#[command(name = "gamelane-gateway", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Log as JSON, one object a line. What is logged is set by GAMELANE_LOG, such as `debug`.
    #[arg(long, global = true)]
    json_log: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Forward between two interfaces under a policy, until SIGTERM or SIGINT.
    Run(Run),
    /// Ask a gateway that runs.
    Status {
        /// Where it listens.
        #[arg(long, default_value = DEFAULT_LISTEN)]
        listen: SocketAddr,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask each second and show it.
    Watch {
        /// Where it listens.
        #[arg(long, default_value = DEFAULT_LISTEN)]
        listen: SocketAddr,
    },
    /// Feed a recording's frames at their moments to the same queues, without interfaces, and compare every decision.
    Replay {
        /// What `run --tap` wrote.
        folder: PathBuf,
        /// In place of the policy the recording began with.
        policy: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    #[command(name = guard::COMMAND, hide = true)]
    Guard { words: Vec<String> },
}

#[derive(Args)]
struct Run {
    /// Interface towards the home.
    #[arg(long)]
    lan: String,
    /// Interface towards the modem.
    #[arg(long)]
    wan: String,
    /// A scenario; its `[gateway]` is the policy.
    policy: PathBuf,
    /// Put a value over one of the policy: `gateway.shape.up=950kbit`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// How frames come and go: AF_PACKET or AF_XDP; `status` says which it is and why.
    #[arg(long, value_enum, default_value_t = IoChoice::Auto)]
    io: IoChoice,
    /// Where status and metrics are served, on loopback; `none` serves nothing.
    #[arg(long, default_value = DEFAULT_LISTEN)]
    listen: String,
    /// MiB of frames there is room for.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    memory: u32,
    /// Record frames, moments and decisions into this folder: `gamelane-gateway replay` checks them, Wireshark opens them.
    #[arg(long, value_name = "DIR")]
    tap: Option<PathBuf>,
    /// Bytes recorded of each frame.
    #[arg(long, default_value_t = tap::about::SNAP, value_parser = clap::value_parser!(u32).range(160..=65_535), requires = "tap")]
    tap_snap: u32,
    /// MiB of disk for the recording; it stops there.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..), requires = "tap")]
    tap_size: u32,
    /// Delete the oldest part instead of stopping; what remains cannot be replayed, for its beginning is gone.
    #[arg(long, requires = "tap")]
    tap_rotate: bool,
    /// Also use an interface you are logged in over.
    #[arg(long)]
    allow_login_interface: bool,
}

const DEFAULT_LISTEN: &str = "127.0.0.1:9720";

/// What to say, and the exit code.
struct Failure(u8, String);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log(arguments.json_log);
    let result = match arguments.command {
        Command::Run(arguments) => forward(arguments),
        Command::Status { listen, json } => status(listen, json),
        Command::Watch { listen } => watch(listen),
        Command::Replay { folder, policy, json } => replay(&folder, policy.as_deref(), json),
        Command::Guard { words } => {
            guard::run(&words).map_err(|error| Failure(CANNOT_RUN, error.to_string()))
        }
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

fn forward(arguments: Run) -> Result<(), Failure> {
    let usage = |message: String| Failure(USAGE, message);
    let listen = listen(&arguments.listen)?;
    let overrides = arguments.set.iter().map(|text| {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            usage(format!("--set {text}: this takes KEY=VALUE, such as gateway.shape.up=950kbit"))
        })?;
        Ok((key.to_string(), value.to_string()))
    });
    let overrides = overrides.collect::<Result<Vec<_>, Failure>>()?;
    let text = Policy::text(&arguments.policy).map_err(|error| usage(error.to_string()))?;
    let policy = Policy::parse(&text, &arguments.policy.display().to_string(), &overrides)
        .map_err(|error| usage(error.to_string()))?;
    if let Some(folder) = &arguments.tap {
        tap::about::check_folder(folder).map_err(|error| {
            usage(format!(
                "--tap {}: {error}\n  hint:    name a folder that is not there yet",
                folder.display()
            ))
        })?;
    }
    let Run { lan, wan, io, allow_login_interface, .. } = &arguments;
    let plan = preflight::check(lan, wan, &policy, *io, *allow_login_interface).map_err(|error| {
        let code = if matches!(error, PreflightError::Privilege(_)) { CANNOT_RUN } else { USAGE };
        Failure(code, error.to_string())
    })?;
    for note in &plan.notes {
        tracing::warn!("{note}");
    }
    if arguments.dry_run {
        print!("{}", plan.describe(&policy));
        return Ok(());
    }
    let tap = arguments.tap.map(|folder| tap::Options {
        folder,
        snap: arguments.tap_snap,
        size: u64::from(arguments.tap_size) << 20,
        when_full: if arguments.tap_rotate { WhenFull::Rotate } else { WhenFull::Stop },
    });
    let memory = (arguments.memory as usize) << 20;
    let options = Options { file: arguments.policy, overrides, listen, memory, tap };
    run(&plan, policy, text, &options).map_err(|error| Failure(CANNOT_RUN, format!("{error:#}")))
}

fn listen(text: &str) -> Result<Option<SocketAddr>, Failure> {
    if text == "none" {
        return Ok(None);
    }
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Some(address)),
        Ok(_) => Err(Failure(
            USAGE,
            format!("--listen {text}: not on loopback: what is said there is not for the network"),
        )),
        Err(_) => Err(Failure(USAGE, format!("--listen {text}: this takes {DEFAULT_LISTEN}, or none"))),
    }
}

fn ask(address: SocketAddr) -> Result<gamelane_gateway::status::Status, Failure> {
    http::ask(address)
        .map_err(|error| Failure(CANNOT_RUN, format!("{address}: {error}; does the gateway run?")))
}

fn status(address: SocketAddr, json: bool) -> Result<(), Failure> {
    let status = ask(address)?;
    if json {
        let text =
            serde_json::to_string_pretty(&status).map_err(|error| Failure(CANNOT_RUN, error.to_string()))?;
        println!("{text}");
    } else {
        print!("{}", watch::page(&status, false));
    }
    Ok(())
}

fn replay(folder: &Path, policy: Option<&Path>, json: bool) -> Result<(), Failure> {
    let report = replay::replay(folder, policy)
        .map_err(|error| Failure(USAGE, format!("{}: {error}", folder.display())))?;
    if json {
        let text =
            serde_json::to_string_pretty(&report).map_err(|error| Failure(CANNOT_RUN, error.to_string()))?;
        println!("{text}");
    } else {
        print!("{}", report.describe());
    }
    match report.identical {
        true => Ok(()),
        false => Err(Failure(DIFFERS, "decisions differ".into())),
    }
}

fn watch(address: SocketAddr) -> Result<(), Failure> {
    let colour = std::env::var_os("NO_COLOR").is_none();
    loop {
        let page = watch::page(&ask(address)?, colour);
        // To the top left, the page, and nothing of the page before below it.
        print!("\x1b[H{}\x1b[J", page.replace('\n', "\x1b[K\n"));
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}
