//! `gamelane-capture IFACE`: records an interface, and explains the lag and loss of the games on it.
//!
//! Exit codes: docs/exit-codes.md.

#![forbid(unsafe_code)]

mod clock;
mod finish;
mod record;
mod rights;
mod stop;

use std::io::{IsTerminal as _, stderr, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser};
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use gamelane_capture::document::{Documented, Findings};
use gamelane_device::Interface;
use gamelane_live::{Files, LiveError, MAX_SNAP_LEN, Recorder, Rotation, Settings, Source};
use gamelane_scenario::text::units::{Size, Span};
use gamelane_service::exit::{Exit, Failure, end, usage};
use gamelane_service::output::say;
use record::{Limits, Shown};
use stop::Stop;

/// Record an interface until Ctrl-C or SIGTERM, then explain the lag and loss of the games on it.
#[derive(Parser)]
#[command(name = "gamelane-capture", version, args_override_self = true)]
struct Arguments {
    /// Network interface, or `any` for all interfaces.
    #[arg(value_name = "IFACE", add = ArgValueCandidates::new(interfaces))]
    interface: String,
    /// Write the packets to this folder. Without -o they are analyzed but not stored.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Record only packets that match this tcpdump expression.
    #[arg(long, value_name = "EXPR", default_value = "", hide_default_value = true)]
    filter: String,
    /// Bytes stored of each packet. 128 keeps all headers and almost no payload.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_SNAP_LEN, value_parser = clap::value_parser!(u32).range(64..=262_144))]
    snaplen: u32,
    /// Start a new file before one exceeds this size: 100MiB.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    rotate_size: Option<String>,
    /// Start a new file when one spans this time: 10min.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    rotate_time: Option<String>,
    /// Keep the N newest files of IFACE in the folder and delete older ones.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Stop after this time, for example 10min. Without it Ctrl-C or SIGTERM stops.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<String>,
    /// Stop after about N packets.
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Also record packets for other machines, for example at a switch's mirror port.
    #[arg(long)]
    promiscuous: bool,
    /// Size of the kernel's buffer. A larger one survives longer bursts.
    #[arg(long, value_name = "SIZE", default_value = "32MiB", allow_hyphen_values = true)]
    ring: String,
    /// Show the flows while recording, those that wait longest first. q quits, s sorts, p pauses.
    #[arg(long)]
    live: bool,
    /// Print JSON instead of tables (docs/json-schema.md).
    #[arg(long)]
    json: bool,
    /// Print only results and errors.
    #[arg(short, long)]
    quiet: bool,
}

fn main() -> ExitCode {
    CompleteEnv::with_factory(Arguments::command).complete();
    end(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interface = &arguments.interface;
    if arguments.live && !(stdin().is_terminal() && stderr().is_terminal()) {
        return Err(usage(
            "--live: needs a terminal for its screen and its keys\n  hint:    omit it: a line a minute says what was seen, \
             and the verdict comes at the end",
        ));
    }
    let duration = arguments.duration.as_deref().map(|text| time("--duration", text)).transpose()?;
    let span = arguments.rotate_time.as_deref().map(|text| time("--rotate-time", text)).transpose()?;
    let rotation = Rotation {
        bytes: arguments.rotate_size.as_deref().map(|text| size("--rotate-size", text)).transpose()?,
        span_ns: span.map(|span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)),
        keep: arguments.keep.map(|files| files as usize),
    };
    let has_rotation = rotation.bytes.is_some() || rotation.span_ns.is_some() || rotation.keep.is_some();
    if arguments.output.is_none() && has_rotation {
        return Err(usage(
            "--rotate-size, --rotate-time and --keep need a folder for files\n  hint:    add -o DIR",
        ));
    }
    let settings = Settings {
        interface: interface.clone(),
        snap_len: arguments.snaplen,
        filter: arguments.filter.clone(),
        promiscuous: arguments.promiscuous,
        ring_bytes: usize::try_from(size("--ring", &arguments.ring)?).unwrap_or(usize::MAX),
    };
    let limits = Limits::new(arguments.packets, duration);
    let source = Source::open(&settings).map_err(refused)?;
    // Until the end of the output: a signal that comes twice must not cut it off.
    let mut stop = Stop::listen()?;
    let notes = rights::give_up_all()?;
    stop.mind_ctrl_c()?;
    if !arguments.quiet {
        notes.iter().for_each(|note| say(&format!("note: {note}")));
    }
    let folder = arguments.output.as_deref();
    folder.map_or(Ok(()), finish::prepare)?;
    let files = folder.map(|folder| Files::new(folder, &source.describe(), rotation));
    let files = files.transpose().map_err(refused)?;
    let sink = Documented { findings: Findings::default(), onward: () };
    let shown = Shown::new(arguments.live, arguments.quiet)?;
    let mut recorder = Recorder::start(source, files, sink, arguments.live);
    let error = record::record(&mut recorder, interface, &limits, &stop, shown).err();
    let found = finish::finish(recorder, interface, folder)?;
    let error = error.map(refused).or(found.unwritten.clone());
    if stop.has_stdout() {
        found.print(arguments.json)?;
    }
    if !arguments.quiet {
        found.hints(interface).iter().for_each(|hint| say(hint));
    }
    error.map_or(Ok(()), Err)
}

fn refused(error: LiveError) -> Failure {
    let exit = match error {
        LiveError::NoInterface { .. } | LiveError::Filter { .. } => Exit::Usage,
        LiveError::Output { .. } => Exit::Output,
        LiveError::NotPermitted { .. }
        | LiveError::NoCompiler { .. }
        | LiveError::Gone { .. }
        | LiveError::System { .. } => Exit::CannotRun,
    };
    Failure(exit, error.to_string())
}

fn time(option: &str, text: &str) -> Result<Duration, Failure> {
    let span = text.parse::<Span>().map_err(|fault| usage(fault.of_option(option, text)))?;
    Ok(Duration::from_nanos(span.0.as_nanos()))
}

fn size(option: &str, text: &str) -> Result<u64, Failure> {
    let size = text.parse::<Size>().map_err(|fault| usage(fault.of_option(option, text)))?;
    let bytes = size.0.bytes();
    if bytes < SMALLEST_FILE {
        return Err(usage(format!("{option} {text}: this is too small\n  allowed: 64KiB or more")));
    }
    Ok(bytes)
}

/// Interfaces, as a shell offers them.
fn interfaces() -> Vec<CompletionCandidate> {
    Interface::candidates().into_iter().chain([CompletionCandidate::new("any")]).collect()
}

/// Bytes of the smallest file, and of the smallest ring.
const SMALLEST_FILE: u64 = 64 << 10;

#[cfg(test)]
#[test]
fn the_manual_is_up_to_date() {
    gamelane_service::manual::check(Arguments::command());
}
