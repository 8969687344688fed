//! Real sockets on loopback: clients that behave, and clients that do not.

use super::*;
use crate::mailbox::{self, Asker};
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::time::Instant;

struct Pages;

impl Site for Pages {
    fn routes(&self) -> &'static [Route] {
        const { &[(Method::GET, "/status"), (Method::POST, "/set")] }
    }

    async fn answer(&self, request: Request<Bytes>) -> Answer {
        match request.uri().path() {
            "/set" => text(StatusCode::OK, &format!("{} bytes", request.body().len())),
            _ => json(&["up", "down"]),
        }
    }
}

fn served(site: impl Site) -> Address {
    let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
    let address = listener.address().unwrap();
    spawn(listener, site).unwrap();
    address
}

#[expect(clippy::disallowed_methods, reason = "the test measures real time")]
fn now() -> Instant {
    Instant::now()
}

fn connect(address: &Address) -> std::net::TcpStream {
    let Address::Tcp(address) = address else { panic!("{address} is no port") };
    std::net::TcpStream::connect(address).unwrap()
}

/// Sends `request` and returns all that comes back.
fn raw(address: &Address, request: &[u8]) -> String {
    let mut socket = connect(address);
    socket.set_read_timeout(Some(2 * DEADLINE)).unwrap();
    socket.write_all(request).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn routes_answer_and_anything_else_is_told_what_there_is() {
    let address = served(Pages);
    assert_eq!(&get(&address, "/status").unwrap()[..], b"[\"up\",\"down\"]");
    assert_eq!(&post(&address, "/set", "delay").unwrap()[..], b"5 bytes\n");
    let refused = |answer: Result<Bytes, AskError>| match answer.unwrap_err() {
        AskError::Refused { code, text } => (code.as_u16(), text),
        error => panic!("{error}"),
    };
    let routes = "not found; there is GET /status, POST /set".to_owned();
    assert_eq!(refused(get(&address, "/")), (404, routes.clone()));
    assert_eq!(refused(get(&address, "/set")), (404, routes));
    let too_long = vec![b'x'; MAX_BODY + 1];
    assert_eq!(refused(post(&address, "/set", too_long)).0, 413);
    assert!(post(&address, "/set", vec![b'x'; MAX_BODY]).is_ok());
    let http_1_0 = raw(&address, b"GET /status HTTP/1.0\r\n\r\n");
    assert!(http_1_0.starts_with("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n"), "{http_1_0}");
}

#[test]
fn a_long_head_and_nonsense_end_their_own_connection() {
    let address = served(Pages);
    let long = format!("GET /status HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(2 * MAX_HEAD));
    let answer = raw(&address, long.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    let answer = raw(&address, b"\x16\x03\x01\x02\x00\x01\x00");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(get(&address, "/status").is_ok());
}

#[test]
fn clients_that_drip_bytes_hold_up_nobody_and_are_cut_off_at_the_deadline_of_their_head() {
    let address = served(Pages);
    let drippers: Vec<_> = (1..CLIENTS)
        .map(|_| {
            let mut socket = connect(&address);
            std::thread::spawn(move || {
                let began = now();
                // Each byte comes long before the deadline of a single read.
                for byte in b"GET /status HTTP/1.1\r\nHost: ".iter().chain(std::iter::repeat(&b'x')) {
                    if socket.write_all(&[*byte]).is_err() || began.elapsed() > 8 * HEAD_DEADLINE {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                began.elapsed()
            })
        })
        .collect();
    // The drippers take their places before the measured client comes.
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..10 {
        get(&address, "/status").unwrap();
    }
    assert!(
        !drippers.iter().any(|dripper| dripper.is_finished()),
        "they were answered while the others dripped"
    );
    for dripper in drippers {
        let lived = dripper.join().unwrap();
        assert!(lived > HEAD_DEADLINE * 4 / 5 && lived < 4 * HEAD_DEADLINE, "{lived:?}");
    }
}

#[test]
fn more_clients_than_places_wait_for_one() {
    let address = served(Pages);
    let silent: Vec<_> = (0..CLIENTS).map(|_| connect(&address)).collect();
    std::thread::sleep(Duration::from_millis(300));
    let began = now();
    let waiting = std::thread::spawn({
        let address = address.clone();
        move || get(&address, "/status")
    });
    std::thread::sleep(Duration::from_millis(300));
    drop(silent);
    waiting.join().unwrap().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300), "all places were taken");
}

#[test]
fn only_loopback_is_served() {
    for wide in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Listener::bind(&Address::Tcp(wide.parse().unwrap())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{wide}");
    }
}

#[test]
fn a_named_socket_answers_and_is_held_once() {
    let name = Address::Name(format!("gamelane-service/test-{}", std::process::id()));
    assert!(matches!(get(&name, "/status"), Err(AskError::Io(_))), "nobody is there");
    let listener = Listener::bind(&name).unwrap();
    assert_eq!(listener.address().unwrap(), name);
    assert!(Listener::bind(&name).is_err());
    spawn(listener, Pages).unwrap();
    assert_eq!(&post(&name, "/set", "four").unwrap()[..], b"4 bytes\n");
}

#[test]
fn a_named_socket_refuses_other_users() {
    if !rustix::process::getuid().is_root() {
        eprintln!("skipped: only root can run a client as another user");
        return;
    }
    let name = format!("gamelane-service/users-{}", std::process::id());
    spawn(Listener::bind(&Address::Name(name.clone())).unwrap(), Pages).unwrap();
    let client = "import socket, sys\n\
                  client = socket.socket(socket.AF_UNIX)\n\
                  client.connect('\\0' + sys.argv[1])\n\
                  try:\n    client.sendall(b'GET /status HTTP/1.0\\r\\n\\r\\n')\n    print(client.recv(12))\n\
                  except OSError:\n    print(b'')\n";
    let said = |uid| {
        let mut command = std::process::Command::new("python3");
        let done = command.args(["-c", client, &name]).uid(uid).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(said(0), "b'HTTP/1.0 200'\n");
    assert_eq!(said(65_534), "b''\n");
}

/// A synchronous program: its loop answers through a mailbox.
struct Looped(Asker<(), u64>);

impl Site for Looped {
    fn routes(&self) -> &'static [Route] {
        const { &[(Method::GET, "/status")] }
    }

    async fn answer(&self, _: Request<Bytes>) -> Answer {
        self.0.ask(()).await.map_or_else(|| unavailable("the loop does not answer"), |count| json(&count))
    }
}

#[test]
fn a_loop_answers_each_client_afresh_and_a_stuck_one_is_503() {
    let (mut mailbox, asker) = mailbox::new().unwrap();
    let address = served(Looped(asker));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let address = address.clone();
            std::thread::spawn(move || get(&address, "/status").unwrap())
        })
        .collect();
    let mut answered = 0;
    while answered < 8 {
        let wake = mailbox.wake();
        let mut waits = [rustix::event::PollFd::new(&wake, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut waits, None).unwrap();
        drop(wake);
        while let Some(asked) = mailbox.take() {
            answered += 1;
            asked.answer(answered);
        }
    }
    let mut answers: Vec<String> = clients
        .into_iter()
        .map(|client| String::from_utf8(client.join().unwrap().to_vec()).unwrap())
        .collect();
    answers.sort();
    assert_eq!(answers, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    match get(&address, "/status").unwrap_err() {
        AskError::Refused { code, text } => {
            assert_eq!((code.as_u16(), text.as_str()), (503, "the loop does not answer"));
        }
        error => panic!("{error}"),
    }
}
