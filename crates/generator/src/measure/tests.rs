//! The server against clients that break its rules, on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration as Wait;

use gamelane_core::Duration;

use crate::cookie::Token;
use crate::measure::handshake::{ANSWER_BYTES, ASKING_BYTES, Answer, Exchange, Load, Opening, Refusal};
use crate::measure::limits::Limits;
use crate::measure::plan::Plan;
use crate::measure::server::Server;
use crate::wire::{Control, Wish};

const KEY: &str = "a secret of both ends";
/// Limit of a wait for what must happen.
const PATIENCE: Wait = Wait::from_secs(30);

struct Running {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn new(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (at, stop) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let server = Server::new(Token::new(KEY), limits, stop.clone());
        let thread = Some(std::thread::spawn(move || server.run(&listener, |_| {}).unwrap()));
        Self { at, stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.at).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Says hello and gets the server's nonce.
    fn greet(&self) -> (TcpStream, Exchange) {
        let (mut socket, mut server) = (self.connect(), [0; 32]);
        socket.write_all(&Opening::Control { nonce: [1; 32] }.bytes()).unwrap();
        socket.read_exact(&mut server).unwrap();
        (socket, Exchange { client: [1; 32], server })
    }

    /// Asks for `plan`; a client that is accepted stays connected.
    fn ask(&self, plan: &Plan, key: &str) -> (TcpStream, Exchange, Option<Answer>) {
        let (mut socket, exchange) = self.greet();
        let key = Token::new(key);
        let answer = answer(&mut socket, &exchange.ask(&key, plan));
        let answer = answer.and_then(|bytes| exchange.answer(&Token::new(KEY), &bytes));
        (socket, exchange, answer)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn answer(socket: &mut TcpStream, asked: &[u8; ASKING_BYTES]) -> Option<[u8; ANSWER_BYTES]> {
    socket.write_all(asked).unwrap();
    let mut bytes = [0; ANSWER_BYTES];
    socket.read_exact(&mut bytes).ok().map(|()| bytes)
}

/// True if the server closes the connection without a byte.
fn is_closed(mut socket: TcpStream) -> bool {
    matches!(socket.read(&mut [0; 1]), Ok(0))
        || socket.take_error().is_ok_and(|error| error.is_some())
        || socket.write(&[0]).is_err()
}

fn plan(id: u64) -> Plan {
    Plan { id, seed: 1, seconds: 30, streams: 2, congestion: String::new() }
}

#[test]
fn a_wrong_key_and_a_replayed_request_are_refused() {
    let running = Running::new(Limits::default());
    let (.., refused) = running.ask(&plan(1), "another secret of mine");
    assert_eq!(refused, Some(Answer::Refused(Refusal::Key)));
    let (.., refused) = running.ask(&plan(1), "");
    assert_eq!(refused, Some(Answer::Refused(Refusal::Key)), "no key");
    // The server has a new nonce for each connection, so it refuses a recorded request.
    let (_socket, exchange, accepted) = running.ask(&plan(1), KEY);
    assert!(matches!(accepted, Some(Answer::Accepted { .. })), "{accepted:?}");
    let (mut later, now) = running.greet();
    let replayed = answer(&mut later, &exchange.ask(&Token::new(KEY), &plan(1))).unwrap();
    assert_eq!(now.answer(&Token::new(KEY), &replayed), Some(Answer::Refused(Refusal::Key)));
}

#[test]
fn clients_addresses_and_seconds_are_limited() {
    let running = Running::new(Limits { seconds: 30, ..Limits::default() });
    let (.., refused) = running.ask(&Plan { seconds: 31, ..plan(1) }, KEY);
    assert_eq!(refused, Some(Answer::Refused(Refusal::Seconds(30))));
    let (first, _, accepted) = running.ask(&plan(1), KEY);
    assert!(matches!(accepted, Some(Answer::Accepted { .. })), "{accepted:?}");
    let (.., refused) = running.ask(&plan(2), KEY);
    assert_eq!(refused, Some(Answer::Refused(Refusal::Address(1))));
    drop(first);
    // The place is free once the server has noticed.
    let freed = (0..300).any(|_| {
        std::thread::sleep(Wait::from_millis(100));
        matches!(running.ask(&plan(3), KEY).2, Some(Answer::Accepted { .. }))
    });
    assert!(freed);
    let full = Running::new(Limits { clients: 1, per_address: 9, ..Limits::default() });
    let _first = full.ask(&plan(1), KEY);
    assert_eq!(full.ask(&plan(2), KEY).2, Some(Answer::Refused(Refusal::Busy(1))));
}

#[test]
fn a_stranger_gets_nothing_and_is_dropped_in_time() {
    let running = Running::new(Limits { handshake: Duration::from_millis(300), ..Limits::default() });
    assert!(is_closed(running.connect()), "a silent client");
    let mut noise = running.connect();
    noise.write_all(&[7; 37]).unwrap();
    assert!(is_closed(noise), "noise");
    let (socket, _) = running.greet();
    assert!(is_closed(socket), "a client that never asks");
}

#[test]
fn a_load_needs_the_token_of_its_measurement_and_opens_once() {
    let running = Running::new(Limits::default());
    let (_control, exchange, _) = running.ask(&plan(5), KEY);
    let token = exchange.token(&Token::new(KEY));
    let load = |token: &Token, id: u64| {
        let mut socket = running.connect();
        socket.write_all(&Opening::Load(Load::new(token, id, 3, 0)).bytes()).unwrap();
        socket
    };
    assert!(is_closed(load(&Token::new(KEY), 5)), "a proof with the key itself");
    assert!(is_closed(load(&token, 6)), "another measurement");
    let mut first = load(&token, 5);
    first.read_exact(&mut [0; 100]).unwrap();
    assert!(is_closed(load(&token, 5)), "the same stream again");
}

#[test]
fn udp_answers_a_stranger_with_no_more_than_it_got() {
    let running = Running::new(Limits::default());
    let (_control, _, accepted) = running.ask(&plan(5), KEY);
    let Some(Answer::Accepted { port, .. }) = accepted else { panic!("{accepted:?}") };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Wait::from_millis(500))).unwrap();
    let wish = Wish { flow: 0, fingerprint: plan(5).model().fingerprint(), seed: 1, session: 5, boot: 0 };
    let hello = Control::Hello(wish).bytes();
    socket.send(&hello).unwrap();
    let mut buffer = [0; 2000];
    let mut got = 0;
    while let Ok(more) = socket.recv(&mut buffer) {
        got += more;
    }
    assert!(0 < got && got < hello.len(), "{got} B for {} B", hello.len());
}
