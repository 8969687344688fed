//! Requests to a running process, as JSON over HTTP. It listens on a Unix socket named after its interface. The kernel keeps such
//! names for each network namespace and forgets them with the process. Only root and the user who started it may ask.

use std::io;

use gamelane_service::exit::{Exit, Failure};
use gamelane_service::http::{self, Address, Bytes, Listener, Method, Route, Site, StatusCode};
use gamelane_service::mailbox::Asker;
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

/// Hands requests to the loop.
#[derive(Debug)]
pub struct Control(pub Asker<Request, Answer>);

impl Site for Control {
    fn routes(&self) -> &'static [Route] {
        const { &[(Method::POST, PATH)] }
    }

    async fn answer(&self, request: http::Request<Bytes>) -> http::Answer {
        let request = match serde_json::from_slice(request.body()) {
            Ok(request) => request,
            Err(error) => return http::text(StatusCode::BAD_REQUEST, &format!("not a request: {error}")),
        };
        match self.0.ask(request).await {
            Some(answer) => http::json(&answer),
            None => http::unavailable("it does not answer"),
        }
    }
}

/// Binds the socket of `interface`.
///
/// # Errors
/// Another process has it.
pub fn bind(interface: &str) -> io::Result<Listener> {
    Listener::bind(&address(interface))
}

/// Asks the process that impairs `interface` in this network namespace.
///
/// # Errors
/// Nobody impairs it, or there is no answer in time: [`Exit::Peer`].
pub fn ask(interface: &str, request: &Request) -> Result<Answer, Failure> {
    exchange(interface, request).map_err(|error| {
        let hint = format!(
            "start it with `gamelane-impair run {interface} …`, and ask in the same network namespace"
        );
        Failure(Exit::Peer, format!("{interface}: nobody impairs it: {error}\n  hint:    {hint}"))
    })
}

fn exchange(interface: &str, request: &Request) -> anyhow::Result<Answer> {
    let answer = http::post(&address(interface), PATH, serde_json::to_vec(request)?)?;
    Ok(serde_json::from_slice(&answer)?)
}

fn address(interface: &str) -> Address {
    Address::Name(format!("gamelane-impair/{interface}"))
}

const PATH: &str = "/impairment";

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream};
    use std::time::Duration;

    use gamelane_service::mailbox;

    use super::*;

    fn connect(interface: &str) -> UnixStream {
        let name = address(interface).to_string();
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
    }

    #[test]
    fn a_request_is_answered_beside_slow_clients_and_nonsense() {
        let name = format!("test-{}", std::process::id());
        let (mut mailbox, asker) = mailbox::new().unwrap();
        http::spawn(bind(&name).unwrap(), Control(asker)).unwrap();
        let answer = Answer {
            schema: 1,
            error: None,
            config: "delay = \"40ms\"\n".into(),
            up: Counters { arrived: 3, ..Counters::default() },
            down: Counters::default(),
        };
        let expected = answer.clone();
        let server = std::thread::spawn(move || {
            loop {
                if let Some(asked) = mailbox.take() {
                    assert_eq!(asked.question.set, [("delay".to_owned(), "40ms".to_owned())]);
                    return asked.answer(answer);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // Both stay connected; neither request ever ends.
        let waiting = [b"POST /impairment HTTP/1.1\r\nX: ".as_slice(), b"{]"].map(|start| {
            let mut socket = connect(&name);
            socket.write_all(start).unwrap();
            socket
        });
        let error = http::post(&address(&name), PATH, "{]").unwrap_err().to_string();
        assert!(error.contains("not a request"), "{error}");
        let set = vec![("delay".to_owned(), "40ms".to_owned())];
        let got = ask(&name, &Request { begin: Some(Begin::Profile("lte".into())), set }).unwrap();
        assert_eq!(got, expected);
        server.join().unwrap();
        drop(waiting);
        assert!(bind(&name).is_err(), "one at a time");
    }
}
