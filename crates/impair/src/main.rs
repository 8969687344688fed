//! `gamelane-impair run IF [--to IF] --delay 40ms --loss 1%`, `set IF --delay 80ms`, `show IF`, `tune IF`, `profiles`,
//! `check`.
//!
//! Exit codes: docs/exit-codes.md.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use gamelane_core::Duration;
use gamelane_device::preflight::{self, IoChoice, PreflightError};
use gamelane_device::{Interface, guard};
use gamelane_impair::control::{self, Begin, Request};
use gamelane_impair::detour;
use gamelane_impair::page::page;
use gamelane_impair::run::{Options, Place, run};
use gamelane_impair::tune::tune;
use gamelane_scenario::text::source::Label;
use gamelane_scenario::text::units::Span;
use gamelane_scenario::{Impair, profiles as shipped};
use gamelane_service::exit::{Exit, Failure, end, usage};
use gamelane_service::output::{json_of, print, say};
use gamelane_service::privileges::User;

/// Delay, jitter, loss, reordering, duplication and rates on real packets, changed live.
#[derive(Parser)]
#[command(name = "gamelane-impair", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Impair the packets of an interface, or of a bridge between two, until Ctrl-C, SIGTERM or SIGHUP.
    Run(Run),
    /// Change the impairment while it runs.
    Set {
        /// The interface it was started with.
        #[arg(add = ArgValueCandidates::new(Interface::candidates))]
        interface: String,
        /// Start from no impairment instead of the one in force.
        #[arg(long, conflicts_with = "profile")]
        clear: bool,
        /// Start from a shipped profile instead of the impairment in force.
        #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(profile_names))]
        profile: Option<String>,
        #[command(flatten)]
        values: Values,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the impairment in force and the counters.
    Show {
        /// The interface it was started with.
        #[arg(add = ArgValueCandidates::new(Interface::candidates))]
        interface: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    #[command(name = guard::COMMAND, hide = true)]
    Guard { words: Vec<String> },
    /// Show the impairment in force and change it by keys, in a terminal.
    Tune {
        /// The interface it was started with.
        #[arg(add = ArgValueCandidates::new(Interface::candidates))]
        interface: String,
    },
    /// Check whether this machine can impair one interface, without --to. Changes nothing.
    Check,
    /// List the shipped profiles.
    Profiles {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Run {
    /// The interface that this machine plays over; what it sends goes up. With --to, the interface towards the player.
    #[arg(add = ArgValueCandidates::new(Interface::candidates))]
    interface: String,
    /// Bridge to this interface, for players on other machines.
    #[arg(long, value_name = "IF", add = ArgValueCandidates::new(Interface::candidates))]
    to: Option<String>,
    /// A shipped profile to start with.
    #[arg(long, value_name = "NAME", conflicts_with = "file", add = ArgValueCandidates::new(profile_names))]
    profile: Option<String>,
    /// A profile of your own to start with.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    values: Values,
    /// Seed of all randomness; without it, one is drawn and printed.
    #[arg(long)]
    seed: Option<u64>,
    /// End by itself after this.
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Append a line of JSON for each change to this file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Memory for frames, in MiB.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    memory: u32,
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// End when standard input ends: with the program that started this, however that ends.
    #[arg(long)]
    until_input_ends: bool,
    /// User to become once everything is open. Default: nobody if started as root. `root` stays root, without capabilities.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Also use an interface over which you are logged in.
    #[arg(long)]
    allow_login_interface: bool,
}

/// The impairment. Each value goes both ways; for one way, `--set delay.up=40ms`.
#[derive(Args)]
struct Values {
    /// Delay of every packet, such as 40ms.
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// Variation of the delay, such as 5ms, or a table with shape and correlation.
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,
    /// Share of packets lost, such as 1%, or a table for bursts.
    #[arg(long, value_name = "SHARE")]
    loss: Option<String>,
    /// Share of packets held back so that others overtake them, such as 2%.
    #[arg(long, value_name = "SHARE")]
    reorder: Option<String>,
    /// Share of packets that arrive twice, such as 0.1%.
    #[arg(long, value_name = "SHARE")]
    duplicate: Option<String>,
    /// Rate of a bottleneck, such as 10mbit.
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Queue of the bottleneck, such as 100p or 256KiB.
    #[arg(long, value_name = "LIMIT")]
    limit: Option<String>,
    /// Any key of a profile, such as delay.up=40ms.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// The shipped profiles, as a shell offers them.
fn profile_names() -> Vec<CompletionCandidate> {
    shipped().map(CompletionCandidate::new).collect()
}

/// The failure's own exit code if `error` is one, [`Exit::CannotRun`] otherwise.
fn cannot_run(error: anyhow::Error) -> Failure {
    error.downcast().unwrap_or_else(|error| Failure(Exit::CannotRun, format!("{error:#}")))
}

fn main() -> ExitCode {
    CompleteEnv::with_factory(Arguments::command).complete();
    end(match Arguments::parse().command {
        Command::Run(arguments) => begin(arguments),
        Command::Set { interface, clear, profile, values, json } => {
            let begin = profile.map(Begin::Profile).or(clear.then_some(Begin::Nothing));
            values.pairs().and_then(|set| {
                if begin.is_none() && set.is_empty() {
                    return Err(usage("set: no value is given\n  hint:    `show` shows what is in force"));
                }
                ask(&interface, &Request { begin, set }, json)
            })
        }
        Command::Show { interface, json } => ask(&interface, &Request::default(), json),
        Command::Guard { words } => guard::run(&words, None).map_err(|error| cannot_run(error.into())),
        Command::Tune { interface } => tune(&interface).map_err(cannot_run),
        Command::Check => detour::check().map_err(unable),
        Command::Profiles { json } => profiles(json),
    })
}

fn begin(arguments: Run) -> Result<(), Failure> {
    let set = arguments.values.pairs()?;
    let impair = match (&arguments.profile, &arguments.file) {
        (Some(name), _) => Impair::shipped(name, &set),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| usage(format!("--file {}: cannot be read: {error}", file.display())))?;
            Impair::parse(&text, &file.display().to_string(), &set)
        }
        (None, None) => Impair::parse("", "nothing", &set),
    };
    let impair = impair.map_err(usage)?;
    impair.to_configs().map_err(usage)?;
    let duration = arguments.duration.as_deref().map(|text| {
        let span = text.parse::<Span>().map_err(|fault| usage(fault.of_option("--duration", text)))?;
        Ok::<Duration, Failure>(span.0)
    });
    let duration = duration.transpose()?;
    let user = User::find(arguments.user.as_deref()).map_err(|error| usage(format!("--user: {error}")))?;
    let place = place(&arguments)?;
    let notes = match &place {
        Place::Between(plan) => &plan.notes,
        Place::At(alone) => &alone.notes,
    };
    for note in notes {
        say(&format!("note: {note}"));
    }
    if arguments.dry_run {
        return print(&(describe(&place) + &impair.to_toml()));
    }
    let memory = (arguments.memory as usize) << 20;
    let Run { seed, log, until_input_ends, .. } = arguments;
    let options = Options { impair, seed, memory, duration, log, until_input_ends, user };
    run(&place, &options).map_err(cannot_run)
}

/// Checks whether it can run, and changes nothing.
fn place(arguments: &Run) -> Result<Place, Failure> {
    let allow = arguments.allow_login_interface;
    let refused = |error: PreflightError| {
        let exit = if error.is_of_machine() { Exit::CannotRun } else { Exit::Usage };
        Failure(exit, error.to_string())
    };
    match &arguments.to {
        Some(to) => {
            let names = [arguments.interface.as_str(), to];
            preflight::interfaces(["INTERFACE", "--to"], names, IoChoice::Packet, allow)
                .map(Place::Between)
                .map_err(refused)
        }
        None => {
            let alone = preflight::alone("INTERFACE", &arguments.interface, allow).map_err(refused)?;
            detour::check().map_err(unable)?;
            Ok(Place::At(alone))
        }
    }
}

fn unable(error: anyhow::Error) -> Failure {
    let refused = error.downcast_ref::<std::io::Error>().or_else(|| error.root_cause().downcast_ref());
    let hint = match refused.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::PermissionDenied) => "run it as root",
        _ => "a bridge between two interfaces, with --to IF, works everywhere",
    };
    Failure(Exit::CannotRun, format!("one interface cannot be impaired here: {error:#}\n  hint:    {hint}"))
}

/// Describes for people what would be done.
fn describe(place: &Place) -> String {
    let (mut text, offloads) = match place {
        Place::Between(plan) => (
            format!(
                "bridge {} and {}, both promiscuous while this runs\n",
                plan.home.name, plan.internet.name
            ),
            &plan.offloads,
        ),
        Place::At(alone) => (
            format!(
                "divert the frames of {}, both ways, by programs at its hooks and two pairs of virtual interfaces; the kernel \
                 removes all of it when this ends\n",
                alone.interface.name
            ),
            &alone.offloads,
        ),
    };
    for (name, offload) in offloads {
        text += &format!("{name}: switch {} off, and on again at the end\n", offload.name);
    }
    text
}

impl Values {
    /// Returns keys and values in the order of the command's help; `--set` last.
    fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        let own = [
            ("delay", &self.delay),
            ("jitter", &self.jitter),
            ("loss", &self.loss),
            ("reorder", &self.reorder),
            ("duplicate", &self.duplicate),
            ("rate", &self.rate),
            ("limit", &self.limit),
        ];
        let own = own.into_iter().filter_map(|(key, value)| Some(Ok((key.to_owned(), value.clone()?))));
        let set = self.set.iter().map(|text| {
            let (key, value) = text
                .split_once('=')
                .ok_or_else(|| usage(format!("--set {text}: this takes KEY=VALUE, such as delay.up=40ms")))?;
            Ok((key.to_owned(), value.to_owned()))
        });
        own.chain(set).collect()
    }
}

fn ask(interface: &str, request: &Request, json: bool) -> Result<(), Failure> {
    let answer = control::ask(interface, request)?;
    if let Some(error) = answer.error {
        return Err(usage(error));
    }
    print(&if json { json_of(&answer)? } else { page(&answer) })
}

fn profiles(json: bool) -> Result<(), Failure> {
    let read = |name| Impair::shipped(name, &[]).map_err(usage);
    let all: Vec<(&str, Impair)> =
        shipped().map(|name| Ok((name, read(name)?))).collect::<Result<_, Failure>>()?;
    let text = if json {
        let all: Vec<_> = all
            .iter()
            .map(|(name, own)| {
                serde_json::json!({
                    "name": name, "title": own.title, "provenance": own.source.weakest().map(Label::word), "notes": own.notes,
                    "config": own.to_toml(),
                })
            })
            .collect();
        format!("{}\n", serde_json::json!({ "schema": 1, "profiles": all }))
    } else {
        let mark = |own: &Impair| own.source.weakest().map_or("", Label::word);
        all.iter().map(|(name, own)| format!("{name:<14} {} [{}]\n", own.title, mark(own))).collect()
    };
    print(&text)
}

#[cfg(test)]
#[test]
fn the_manual_is_up_to_date() {
    gamelane_service::manual::check(Arguments::command());
}
