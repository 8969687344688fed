//! `gamelane-gateway run --lan IF --wan IF POLICY.toml`, `status`, `watch`, `replay`.
//!
//! Exit codes: 0 ended as asked; 1 a replay differs from its recording; 2 the command, the policy or the interfaces are wrong; 4 it
//! cannot run: a privilege is missing, an address is taken, an interface was removed.

mod arguments;

use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, Command, Run};
use clap::Parser as _;
use gamelane_device::guard;
use gamelane_gateway::http;
use gamelane_gateway::policy::Policy;
use gamelane_gateway::run::{CheckError, Options, check, describe, run};
use gamelane_gateway::status::{Status, page};
use gamelane_gateway::tap::{about, replay};
use serde::Serialize;

const DIFFERS: u8 = 1;
const USAGE: u8 = 2;
const CANNOT_RUN: u8 = 4;

/// What to print, and the exit code.
struct Failure(u8, String);

impl Failure {
    fn usage(error: impl ToString) -> Self {
        Self(USAGE, error.to_string())
    }

    fn cannot_run(error: impl ToString) -> Self {
        Self(CANNOT_RUN, error.to_string())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log(arguments.json_log);
    let result = match arguments.command {
        Command::Run(arguments) => forward(arguments),
        Command::Status { listen, json } => status(listen, json),
        Command::Watch { listen } => watch(listen),
        Command::Replay { folder, policy, json } => compare(&folder, policy.as_deref(), json),
        Command::Guard { words } => guard::run(&words).map_err(Failure::cannot_run),
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
    let listen = arguments.listen().map_err(Failure::usage)?;
    let overrides = arguments.overrides().map_err(Failure::usage)?;
    let text = Policy::text(&arguments.policy).map_err(Failure::usage)?;
    let name = arguments.policy.display().to_string();
    let policy = Policy::parse(&text, &name, &overrides).map_err(Failure::usage)?;
    if let Some(folder) = &arguments.tap {
        about::check_folder(folder).map_err(|error| {
            let hint = "name a folder that does not exist yet";
            Failure::usage(format!("--tap {}: {error}\n  hint:    {hint}", folder.display()))
        })?;
    }
    let names = [arguments.lan.as_str(), &arguments.wan];
    let plan =
        check(names, &policy, arguments.io, arguments.allow_login_interface).map_err(
            |error| match &error {
                CheckError::Machine(cause) if cause.is_privilege() => Failure::cannot_run(error),
                _ => Failure::usage(error),
            },
        )?;
    for note in &plan.notes {
        tracing::warn!("{note}");
    }
    if arguments.dry_run {
        return say(&describe(&plan, &policy)).map(|_| ());
    }
    let (memory, tap) = (arguments.memory(), arguments.tap());
    let options = Options { file: arguments.policy, overrides, listen, memory, tap };
    run(&plan, policy, text, &options).map_err(|error| Failure::cannot_run(format!("{error:#}")))
}

fn ask(address: SocketAddr) -> Result<Status, Failure> {
    http::ask(address)
        .map_err(|error| Failure::cannot_run(format!("{address}: {error}; does the gateway run?")))
}

fn status(address: SocketAddr, json: bool) -> Result<(), Failure> {
    let status = ask(address)?;
    if json {
        say(&json_of(&status)?)?;
    } else {
        say(&page(&status, false))?;
    }
    Ok(())
}

fn compare(folder: &Path, policy: Option<&Path>, json: bool) -> Result<(), Failure> {
    let report = replay::replay(folder, policy)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    if json {
        say(&json_of(&report)?)?;
    } else {
        say(&report.describe())?;
    }
    match report.identical {
        true => Ok(()),
        false => Err(Failure(DIFFERS, "decisions differ".into())),
    }
}

fn watch(address: SocketAddr) -> Result<(), Failure> {
    let colour = std::env::var_os("NO_COLOR").is_none();
    let second = std::time::Duration::from_secs(1);
    // Cursor to the top left, then the page; the rest of each line and of the screen is cleared.
    while say(&format!("\x1b[H{}\x1b[J", page(&ask(address)?, colour).replace('\n', "\x1b[K\n")))? {
        std::thread::sleep(second);
    }
    Ok(())
}

fn json_of(document: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(document).map_err(Failure::cannot_run)? + "\n")
}

/// Prints to standard output. Returns false if nobody reads it any more, as in `gamelane-gateway watch | head`.
fn say(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::cannot_run(format!("standard output: {error}"))),
    }
}
