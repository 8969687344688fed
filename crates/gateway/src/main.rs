//! `gamelane-gateway run --lan IF --wan IF POLICY.toml`, `undo`, `status`, `watch`, `truth IF`, `replay`.
//!
//! Exit codes: docs/exit-codes.md.

mod arguments;

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, Command, Run, Truth};
use clap::{CommandFactory as _, Parser as _};
use clap_complete::CompleteEnv;
use gamelane_device::guard::{self, Others};
use gamelane_gateway::http;
use gamelane_gateway::netlink::Kernel;
use gamelane_gateway::run::{
    self, CheckError, ChosenEngine, Options, choose, describe, lines, run, run_kernel, truth, undo_word,
};
use gamelane_gateway::status::{Status, page, refreshed};
use gamelane_gateway::tap::replay;
use gamelane_policy::Policy;
use gamelane_service::exit::{Exit, Failure, cannot_run, end, usage};
use gamelane_service::log;
use gamelane_service::output::{json_of, print, print_to_reader};
use gamelane_service::privileges::{User, calls};

fn main() -> ExitCode {
    CompleteEnv::with_factory(Arguments::command).complete();
    let arguments = Arguments::parse();
    log::start(arguments.json_log);
    end(match arguments.command {
        Command::Run(run) => forward(run, arguments.json_log),
        Command::Status { listen, json } => status(listen, json),
        Command::Watch { listen } => watch(listen),
        Command::Truth(truth) => look(&truth, arguments.json_log),
        Command::Replay { folder, policy, json } => compare(&folder, policy.as_deref(), json),
        Command::Undo { lan, wan } => undo(&lan, &wan),
        Command::Guard { words } => restore(&words),
    })
}

fn forward(arguments: Run, json_log: bool) -> Result<(), Failure> {
    let listen = arguments.listen().map_err(usage)?;
    let overrides = arguments.overrides().map_err(usage)?;
    let text = Policy::text(&arguments.policy).map_err(usage)?;
    let name = arguments.policy.display().to_string();
    let policy = Policy::parse(&text, &name, &overrides).map_err(usage)?;
    let tap = arguments.recorded.options().map_err(usage)?;
    let user = User::find(arguments.user.as_deref()).map_err(|error| usage(format!("--user: {error}")))?;
    let names = [arguments.lan.as_str(), &arguments.wan];
    let chosen = choose(names, &policy, &arguments.asked()).map_err(|error| match &error {
        CheckError::Machine(cause) if cause.is_of_machine() => cannot_run(error),
        _ => usage(error),
    })?;
    let notes = match &chosen {
        ChosenEngine::User(plan, _) => &plan.notes,
        ChosenEngine::Kernel(setup) => &setup.notes,
    };
    for note in notes {
        tracing::warn!("{note}");
    }
    if arguments.dry_run {
        return print(&match &chosen {
            ChosenEngine::User(plan, why) => describe(plan, why, &policy),
            ChosenEngine::Kernel(setup) => lines(setup),
        });
    }
    let memory = arguments.memory();
    let Run { replace, persist, policy: file, .. } = arguments;
    let options = Options { file, overrides, listen, memory, tap, user, json_log, replace, persist };
    let result = match &chosen {
        ChosenEngine::User(plan, why) => run(plan, why, policy, text, &options),
        ChosenEngine::Kernel(setup) => run_kernel(setup, policy, text, &options),
    };
    result.map_err(|error| error.downcast().unwrap_or_else(|error| cannot_run(format!("{error:#}"))))
}

fn look(arguments: &Truth, json_log: bool) -> Result<(), Failure> {
    let listen = arguments.listen().map_err(usage)?;
    let user = User::find(arguments.user.as_deref()).map_err(|error| usage(format!("--user: {error}")))?;
    let options = arguments.options(user, json_log).map_err(usage)?;
    let last = truth(&options, listen);
    let last =
        last.map_err(|error| error.downcast().unwrap_or_else(|error| cannot_run(format!("{error:#}"))))?;
    match (arguments.json, &options.live) {
        (true, _) => print(&json_of(&last)?),
        (false, None) => print(&page(&last, false)),
        // It is on the screen.
        (false, Some(_)) => Ok(()),
    }
}

fn undo(lan: &str, wan: &str) -> Result<(), Failure> {
    let undone = run::undo(lan, wan).map_err(|error| cannot_run(format!("{error:#}")))?;
    match undone.is_empty() {
        true => print("There was nothing to undo.\n"),
        false => print(&undone.iter().map(|undo| format!("removed {undo}\n")).collect::<String>()),
    }
}

/// Waits as a guard, and restores the machine.
fn restore(words: &[String]) -> Result<(), Failure> {
    let mut kernel = Kernel::default();
    let others = Others { calls: calls::netlink(), undo: &mut |word| undo_word(&mut kernel, word) };
    guard::run(words, Some(others)).map_err(cannot_run)
}

fn ask(address: SocketAddr) -> Result<Status, Failure> {
    http::ask(address)
        .map_err(|error| Failure(Exit::Peer, format!("{address}: {error}; does the gateway run?")))
}

fn status(address: SocketAddr, json: bool) -> Result<(), Failure> {
    let status = ask(address)?;
    print(&if json { json_of(&status)? } else { page(&status, false) })
}

fn compare(folder: &Path, policy: Option<&Path>, json: bool) -> Result<(), Failure> {
    let report =
        replay::replay(folder, policy).map_err(|error| usage(format!("{}: {error}", folder.display())))?;
    print(&if json { json_of(&report)? } else { report.describe() })?;
    match report.identical {
        true => Ok(()),
        false => Err(Failure(Exit::Failed, "decisions differ".into())),
    }
}

fn watch(address: SocketAddr) -> Result<(), Failure> {
    let colour = std::env::var_os("NO_COLOR").is_none();
    let second = std::time::Duration::from_secs(1);
    while print_to_reader(&refreshed(&ask(address)?, colour))? {
        std::thread::sleep(second);
    }
    Ok(())
}

#[cfg(test)]
#[test]
fn the_manual_is_up_to_date() {
    gamelane_service::manual::check(Arguments::command());
}
