//! `gamelane-traffic`: the datagram applications of a scenario between two real hosts (`serve`, `send`), and measurements of a line
//! (`listen`, `measure`).
//! Exit codes: [`Exit`].

mod line;

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::CompleteEnv;
use gamelane_core::Seed;
use gamelane_generator::client::{Client, Ending};
use gamelane_generator::clock;
use gamelane_generator::cookie::{Cookies, Token};
use gamelane_generator::driver::{Sender, send, serve};
use gamelane_generator::record::RecordFile;
use gamelane_generator::server::Server;
use gamelane_generator::socket::Socket;
use gamelane_generator::wire::{Seen, Wish};
use gamelane_scenario::{FlowModel, Model, Scenario};
use gamelane_service::exit::{self, Exit, Failure};
use gamelane_service::output::{print, print_to_reader, say};
use gamelane_service::privileges::calls::Call;
use gamelane_service::privileges::{Keep, User, calls, give_up};
use gamelane_service::signals::endings;
use gamelane_traffic::Transport;
use serde_json::{Value, json};

/// Sends a scenario's games and calls over real UDP sockets.
#[derive(Parser)]
#[command(name = "gamelane-traffic", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server of each datagram flow of a scenario.
    Serve {
        #[command(flatten)]
        common: Common,
        /// Address to listen on.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:27960")]
        listen: SocketAddr,
        /// Stop after the last session has ended.
        #[arg(long)]
        once: bool,
    },
    /// Run the client of each datagram flow of a scenario.
    Send {
        #[command(flatten)]
        common: Common,
        /// Address of the server.
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:27960")]
        to: String,
        /// Run only this flow; repeatable.
        #[arg(long, value_name = "NAME")]
        flow: Vec<String>,
        /// Address to send from.
        #[arg(long, value_name = "ADDRESS", default_value = "::")]
        from: std::net::IpAddr,
        /// Seed of all randomness. Default: the scenario's.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Let clients measure their line to this host.
    Listen(line::Listen),
    /// Measure the line to a host that listens.
    Measure(line::Measure),
}

#[derive(Args)]
struct Common {
    /// Scenario file. The other end must have the same scenario.
    scenario: PathBuf,
    /// Replace a value of the scenario; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// File with the secret that both ends share. Required beyond loopback.
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Write a record of each packet to this file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn main() -> ExitCode {
    CompleteEnv::with_factory(Arguments::command).complete();
    exit::end(match Arguments::parse().command {
        Command::Serve { common, listen, once } => run_server(&common, listen, once),
        Command::Send { common, to, flow, from, seed } => run_client(&common, &to, &flow, from, seed),
        Command::Listen(options) => line::listen(&options),
        Command::Measure(options) => line::run(&options),
    })
}

fn run_server(common: &Common, listen: SocketAddr, once: bool) -> Result<(), Failure> {
    let model = common.model()?;
    let token = common.token(listen)?;
    let flows = datagram_flows(&model, &[])?.len();
    let mut server = Server::new(model, token, Cookies::new().map_err(no_random)?, clock::boot());
    let cannot_listen = |error| Failure(Exit::CannotRun, format!("cannot listen on {listen}: {error}"));
    let mut socket = Socket::bind(listen).map_err(cannot_listen)?;
    let at = socket.local().map_err(cannot_listen)?;
    let mut records = common.records()?;
    let stop = stopped()?;
    confine([])?;
    say(&format!("listening on {at} for {flows} flow{}", if flows == 1 { "" } else { "s" }));
    let mut printed = Ok(true);
    let mut on_end = |from: SocketAddr, seen: Seen| {
        // Without a reader the server goes on for its clients.
        if printed == Ok(true) {
            let line = json!({ "client": from.to_string(), "server": counts(&seen) });
            printed = print_to_reader(&format!("{line}\n"));
        }
    };
    let served = serve(&mut server, &mut socket, once, &stop, &mut records, &mut on_end);
    served.map_err(|error| Failure(Exit::CannotRun, format!("{at}: {error}")))?;
    common.finish(records)?;
    printed.map(|_| ())
}

fn run_client(
    common: &Common,
    to: &str,
    named: &[String],
    from: std::net::IpAddr,
    seed: Option<u64>,
) -> Result<(), Failure> {
    let model = common.model()?;
    let unknown = |why: String| {
        Failure(
            Exit::Usage,
            format!("--to {to}: {why}\n  allowed: HOST:PORT, as in 127.0.0.1:27960 or [::1]:27960"),
        )
    };
    let mut addresses = to.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let to = addresses.next().ok_or_else(|| unknown("this name has no address".into()))?;
    let token = common.token(to)?;
    let flows = datagram_flows(&model, named)?;
    let (fingerprint, boot) = (model.fingerprint(), clock::boot());
    let seed = seed.map_or(model.seed, Seed);
    let local = if from.is_unspecified() && to.is_ipv4() { [0, 0, 0, 0].into() } else { from };
    let mut senders = Vec::new();
    for (place, flow) in &flows {
        let session = getrandom::u64().map_err(no_random)?;
        let wish = Wish { flow: *place, fingerprint, seed: seed.0, session, boot };
        let path = format!("flow/{}/app", flow.name);
        let (source, _) = gamelane_traffic::build(&flow.app, flow.schedule, seed, &path);
        let client = Client::new(wish, source, model.duration, &token, clock::now());
        let socket = Socket::bind(SocketAddr::new(local, 0))
            .and_then(|socket| socket.connect(to).map(|()| socket))
            .map_err(|error| Failure(Exit::CannotRun, format!("{to}: {error}")))?;
        senders.push(Sender { client, socket, dscp: flow.dscp });
    }
    let mut records = common.records()?;
    let stop = stopped()?;
    confine([])?;
    let endings = send(&mut senders, &stop, &mut records)
        .map_err(|error| Failure(Exit::CannotRun, format!("{to}: {error}")))?;
    common.finish(records)?;
    let mut said = serde_json::Map::new();
    let mut failures = Vec::new();
    for ((_, flow), ending) in flows.iter().zip(endings) {
        match ending {
            Ok(Ending { ours, theirs }) => {
                let theirs = theirs.as_ref().map_or(Value::Null, counts);
                said.insert(flow.name.clone(), json!({ "client": counts(&ours), "server": theirs }));
            }
            Err(error) => failures.push(format!("{to}: flow {}: {error}", flow.name)),
        }
    }
    if !said.is_empty() {
        print(&format!("{}\n", json!({ "schema": 1, "seed": seed.0, "flows": said })))?;
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure(Exit::Peer, failures.join("\n"))) }
}

/// Becomes `nobody` if started as root, and keeps only what open sockets and files need.
fn confine(more: impl IntoIterator<Item = Vec<Call>>) -> Result<(), Failure> {
    let keep = Keep::only([calls::common(), calls::waiting(), calls::sockets()].into_iter().chain(more));
    let user = User::find(None).map_err(exit::cannot_run)?;
    let notes = give_up(&user, &keep)
        .map_err(|error| exit::cannot_run(format!("cannot give up privileges: {error}")))?;
    for note in notes {
        say(&format!("note: {note}"));
    }
    Ok(())
}

/// Returns the flows to run with their indices: those in `named`, or all flows over UDP.
fn datagram_flows<'a>(model: &'a Model, named: &[String]) -> Result<Vec<(u16, &'a FlowModel)>, Failure> {
    let all = || (0..).zip(&model.flows).filter(|(_, flow)| flow.app.transport() == Transport::Udp);
    let names = || all().map(|(_, flow)| flow.name.as_str()).collect::<Vec<_>>().join(", ");
    if all().next().is_none() {
        return Err(Failure(Exit::Usage, "this scenario has no flow over UDP".into()));
    }
    if let Some(unknown) = named.iter().find(|name| !all().any(|(_, flow)| flow.name == **name)) {
        return Err(Failure(
            Exit::Usage,
            format!("--flow {unknown}: this scenario has no such flow over UDP\n  allowed: {}", names()),
        ));
    }
    Ok(all().filter(|(_, flow)| named.is_empty() || named.contains(&flow.name)).collect())
}

impl Common {
    fn model(&self) -> Result<Model, Failure> {
        let file = self.scenario.display().to_string();
        let text = std::fs::read_to_string(&self.scenario)
            .map_err(|error| Failure(Exit::Usage, format!("{file}: cannot be read: {error}")))?;
        let pair = |text: &String| {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                Failure(
                    Exit::Usage,
                    format!("--set {text}: the value is missing\n  allowed: --set KEY=VALUE"),
                )
            })?;
            Ok((key.to_owned(), value.to_owned()))
        };
        let overrides: Vec<_> = self.overrides.iter().map(pair).collect::<Result<_, Failure>>()?;
        Scenario::parse(&text, &file, &overrides)
            .and_then(|scenario| scenario.to_model())
            .map_err(exit::usage)
    }

    fn token(&self, address: SocketAddr) -> Result<Token, Failure> {
        key(self.token.as_deref(), address, "--token")
    }

    fn records(&self) -> Result<RecordFile<BufWriter<File>>, Failure> {
        let open = |path: &PathBuf| {
            let file = File::create(path).map_err(|error| unwritable(path, &error))?;
            Ok(BufWriter::with_capacity(1 << 20, file))
        };
        Ok(RecordFile::new(self.output.as_ref().map(open).transpose()?))
    }

    fn finish(&self, records: RecordFile<BufWriter<File>>) -> Result<(), Failure> {
        let path = self.output.as_deref().unwrap_or(Path::new(""));
        records.finish().map_err(|error| unwritable(path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure(Exit::Output, format!("{}: cannot be written: {error}", path.display()))
}

/// Reads the secret that both ends share. On loopback the default is an empty one.
fn key(file: Option<&Path>, address: SocketAddr, option: &str) -> Result<Token, Failure> {
    match file {
        Some(file) => read_token(file, option),
        None if address.ip().to_canonical().is_loopback() => Ok(Token::new("")),
        None => Err(Failure(
            Exit::Usage,
            format!(
                "{address}: beyond loopback both ends need a {0}\n  hint:    head -c 24 /dev/urandom | base64 > {0}, \
                 copy it to the other host, and give {option} {0} to both",
                &option[2..]
            ),
        )),
    }
}

fn read_token(file: &Path, option: &str) -> Result<Token, Failure> {
    let wrong = |why: String| Failure(Exit::Usage, format!("{option} {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| {
        let why = if error.kind() == ErrorKind::NotFound { "no such file".into() } else { error.to_string() };
        wrong(why)
    })?;
    if text.trim().len() < SHORTEST_TOKEN {
        return Err(wrong(format!("too short for a secret\n  allowed: {SHORTEST_TOKEN} characters or more")));
    }
    Ok(Token::new(&text))
}

const SHORTEST_TOKEN: usize = 16;

fn no_random(error: getrandom::Error) -> Failure {
    Failure(Exit::CannotRun, format!("the system has no random numbers: {error}"))
}

/// Returns a flag that the signals of [`endings`] set.
fn stopped() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in endings() {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| Failure(Exit::CannotRun, format!("cannot handle signals: {error}")))?;
    }
    Ok(stop)
}

fn counts(seen: &Seen) -> Value {
    json!({ "sent": seen.sent, "received": seen.received, "duplicates": seen.duplicates, "bytes": seen.bytes })
}

#[cfg(test)]
#[test]
fn the_manual_is_up_to_date() {
    gamelane_service::manual::check(Arguments::command());
}
