//! Requests to a running process. It listens on a Unix socket named after its interface. Each connection carries one request, a line
//! of JSON, and its answer, another line. The kernel keeps such names for each network namespace and forgets them with the process.
//! Only the same user and root may ask.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use gamelane_service::exit::{Exit, Failure};
use serde::{Deserialize, Serialize};

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Where the change starts, if not from the impairment in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Begin>,
    /// Keys and values to change.
    #[serde(default)]
    pub set: Vec<(String, String)>,
}

/// Where a change starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Begin {
    /// From no impairment.
    Nothing,
    /// From a shipped profile.
    Profile(String),
    /// From keys and values, as TOML.
    Text(String),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Version of this format.
    pub schema: u32,
    /// Why the request was refused, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The impairment in force, as TOML.
    pub config: String,
    /// Counters of packets that go up.
    pub up: Counters,
    /// Counters of packets that go down.
    pub down: Counters,
}

/// Frames of one direction since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Arrived.
    pub arrived: u64,
    /// Left, copies included.
    pub delivered: u64,
    /// Lost by the impairment.
    pub lost: u64,
    /// Dropped because the queue of the bottleneck was full.
    pub tail: u64,
    /// Copied.
    pub duplicated: u64,
    /// Held back so that others overtake.
    pub reordered: u64,
    /// On the path.
    pub inside: u64,
    /// Lost because the pool was full.
    pub no_room: u64,
    /// Dropped by the kernel because this program was late. They count nowhere else.
    #[serde(default)]
    pub ring_full: u64,
    /// Refused by the interface.
    pub not_sent: u64,
}

/// A request, and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub request: Request,
    answer: SyncSender<Answer>,
}

impl Asked {
    /// Answers it. The client may have left; that is no error.
    pub fn answer(self, answer: Answer) {
        let _ = self.answer.send(answer);
    }
}

/// Binds the socket of `interface`; an error if another process has it.
pub fn bind(interface: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(interface)?)
}

/// Listens in a thread of its own, so that a slow client does not delay frames. Each request writes a byte to `wake`.
pub fn listen(listener: UnixListener, wake: UnixStream) -> io::Result<Receiver<Asked>> {
    let (sender, receiver) = channel();
    std::thread::Builder::new().name("control".into()).spawn(move || {
        for connection in listener.incoming().flatten() {
            // An error ends only this connection.
            let _ = serve(connection, &sender, &wake);
        }
    })?;
    Ok(receiver)
}

fn serve(connection: UnixStream, asked: &Sender<Asked>, mut wake: &UnixStream) -> io::Result<()> {
    let asker = rustix::net::sockopt::socket_peercred(&connection)?.uid;
    if !asker.is_root() && asker != rustix::process::getuid() {
        return Ok(());
    }
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&connection).take(LONGEST)).read_line(&mut line)?;
    let request = serde_json::from_str(&line)?;
    let (answer, answered) = sync_channel(1);
    if asked.send(Asked { request, answer }).is_err() {
        return Ok(());
    }
    wake.write_all(&[0])?;
    let Ok(answer) = answered.recv_timeout(PATIENCE) else { return Ok(()) };
    let mut text = serde_json::to_string(&answer)?;
    text.push('\n');
    (&connection).write_all(text.as_bytes())
}

/// Asks the process that impairs `interface` in this network namespace.
///
/// # Errors
/// Nobody impairs it, or there is no answer in time: [`Exit::Peer`].
pub fn ask(interface: &str, request: &Request) -> Result<Answer, Failure> {
    exchange(interface, request).map_err(|error| {
        let hint =
            format!("start it with `gamelane impair {interface} …`, and ask in the same network namespace");
        Failure(Exit::Peer, format!("{interface}: nobody impairs it: {error}\n  hint:    {hint}"))
    })
}

fn exchange(interface: &str, request: &Request) -> io::Result<Answer> {
    let connection = UnixStream::connect_addr(&address(interface)?)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_string(request)?;
    text.push('\n');
    (&connection).write_all(text.as_bytes())?;
    let mut line = String::new();
    BufReader::new(&connection).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn address(interface: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("gamelane-impair/{interface}"))
}

const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_answered_and_nonsense_does_no_harm() {
        let name = format!("test-{}", std::process::id());
        let (wake, mut woken) = UnixStream::pair().unwrap();
        let asked = listen(bind(&name).unwrap(), wake).unwrap();
        let answer = Answer {
            schema: 1,
            error: None,
            config: "delay = \"40ms\"\n".into(),
            up: Counters { arrived: 3, ..Counters::default() },
            down: Counters::default(),
        };
        let expected = answer.clone();
        let server = std::thread::spawn(move || {
            woken.read_exact(&mut [0]).unwrap();
            let one = asked.recv().unwrap();
            assert_eq!(one.request.set, [("delay".to_owned(), "40ms".to_owned())]);
            one.answer(answer);
        });
        let nonsense = UnixStream::connect_addr(&address(&name).unwrap()).unwrap();
        (&nonsense).write_all(b"{]\n").unwrap();
        let set = vec![("delay".to_owned(), "40ms".to_owned())];
        let got = ask(&name, &Request { begin: Some(Begin::Profile("lte".into())), set }).unwrap();
        assert_eq!(got, expected);
        server.join().unwrap();
        assert!(bind(&name).is_err(), "one at a time");
    }
}
