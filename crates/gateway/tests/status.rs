//! The status over HTTP and on the terminal, of a gateway without interfaces.

use crate::common;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gamelane_core::{Direction, Instant, Seed};
use gamelane_device::{EngineCounters, Frames, Plane as _};
use gamelane_gateway::http::{self, Pages};
use gamelane_gateway::status::metrics::metrics;
use gamelane_gateway::status::{Status, WatchStatus};
use gamelane_gateway::{Gateway, Policy};
use gamelane_service::http::{Address, CLIENTS, Listener, spawn};
use gamelane_service::mailbox;

/// An IPv4 header and a UDP datagram of four bytes.
const DATAGRAM: &[u8] = &[
    0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1, 0x9c, 0x40, 0x6d, 0x38, 0, 12, 0,
    0, 1, 2, 3, 4,
];

fn status() -> Status {
    let policy = Policy::parse(&common::policy_text(common::FQ), "test", &[]).unwrap();
    let mut gateway = Gateway::new(&policy, Seed(1));
    let mut frames = Frames::new(8, 64);
    let frame = frames.fill([&[2; 12], &[8, 0], DATAGRAM]).unwrap();
    gateway.handle_frame(Direction::Up, frame, &mut frames, Instant::ZERO);
    let counters = EngineCounters { sent: [3, 4], ..EngineCounters::default() };
    Status::of(&gateway, &policy, &frames, &counters, Instant::from_secs(1))
}

/// Serves the status until the test ends.
fn serve() -> SocketAddr {
    let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
    let Ok(Address::Tcp(address)) = listener.address() else { unreachable!("it listens on a port") };
    let (mut mailbox, asker) = mailbox::new().unwrap();
    spawn(listener, Pages(asker)).unwrap();
    std::thread::spawn(move || {
        loop {
            while let Some(asked) = mailbox.take() {
                asked.answer(Arc::new(status()));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    address
}

#[test]
fn every_value_of_the_status_has_a_name() {
    let status = serde_json::to_value(status()).unwrap();
    assert_eq!(status["schema"], 3);
    assert_eq!(status["engine"]["sent"], serde_json::json!({ "up": 3, "down": 4 }));
    assert_eq!(status["engine"]["late_us"], serde_json::json!({ "mean": 0.0, "max": 0.0 }));
    assert_eq!(status["pool"], serde_json::json!({ "taken": 1, "capacity": 8 }));
    let up = &status["flows"][0]["up"];
    assert_eq!(up["jitter_ms"], serde_json::json!({ "arriving": 0.0, "leaving": 0.0 }));
    assert_eq!(up["gaps"], serde_json::json!({ "arriving": 0, "leaving": 0 }));
    assert_no_bare_array("status", &status);
}

#[test]
fn a_scenario_of_any_name_gives_valid_metrics() {
    let status = Status { policy: Some("the \"new\" line \\ 2".into()), ..status() };
    let text = metrics(&status).into_text();
    let line = r#"gamelane_gateway_game_fine{policy="the \"new\" line \\ 2"} 1"#;
    assert!(text.lines().any(|own| own == line), "{text}");
}

/// Arrays hold objects or text, never numbers whose meaning is their place.
fn assert_no_bare_array(path: &str, value: &serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => {
            assert!(items.iter().all(|item| !item.is_number()), "{path}: {value}");
            items.iter().for_each(|item| assert_no_bare_array(path, item));
        }
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(key, item)| assert_no_bare_array(&format!("{path}.{key}"), item));
        }
        _ => {}
    }
}

#[test]
fn watch_ends_when_its_reader_does() {
    let address = serve();
    let watch = format!("{} watch --listen {address}; echo code $? >&2", common::PROGRAM);
    let script = format!("({watch}) | head -n 1");
    let out =
        Command::new("timeout").args(["20", "sh", "-c", &script]).stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(String::from_utf8(out.stdout).unwrap().contains("no game"), "{error}");
    assert!(error.contains("code 0") && !error.contains("panicked"), "{error}");
}

/// Sends a request whose head never ends, a byte at a time, until `stop`.
fn drip(address: SocketAddr, stop: &AtomicBool) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(b"GET /status HTTP/1.1\r\nX: ").unwrap();
    while !stop.load(Ordering::Relaxed) && socket.write_all(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn clients_that_say_nothing_do_not_hold_up_another() {
    let address = serve();
    // All places are theirs until they are cut off.
    let silent: Vec<_> = (0..CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(100));
    assert!(common::wait(common::PATIENCE, || http::ask(address).is_ok()));
    drop(silent);
}

#[test]
fn prometheus_itself_accepts_the_metrics() {
    let Ok(promtool) = std::env::var("PROMTOOL") else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "PROMTOOL is not set");
        eprintln!("skipped: PROMTOOL does not name Prometheus' promtool");
        return;
    };
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut status = status();
    let text = metrics(&status).into_text();
    assert!(!text.contains("gamelane_gateway_watch"), "nothing is watched: {text}");
    // With what a gateway of Linux's queues has besides.
    status.watch = Some(WatchStatus { lost: 3, unseen: 1, error: None });
    status.queues.get_mut("up").unwrap().kernel_reasons.insert("QDISC_OVERLIMIT".into(), 7);
    let text = metrics(&status).into_text();
    let drops = "gamelane_gateway_kernel_drops_total{direction=\"up\",reason=\"QDISC_OVERLIMIT\"} 7";
    assert!(text.contains(drops) && text.contains("gamelane_gateway_watch_lost_total 3"), "{text}");
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = check.wait_with_output().unwrap();
    let said = [out.stdout, out.stderr].concat();
    assert!(out.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_client_that_drips_bytes_does_not_hold_up_another() {
    let (address, stop) = (serve(), AtomicBool::new(false));
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| drip(address, &stop));
        // The slow client is there first.
        std::thread::sleep(Duration::from_millis(200));
        let answer = http::ask(address);
        stop.store(true, Ordering::Relaxed);
        answer
    });
    assert_eq!(answer.unwrap().schema, 3);
}
