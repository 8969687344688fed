//! The command: its output, messages and exit codes, and an unmodified web server behind it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) fn proxy(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamelane-proxy"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn output(arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = proxy(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().expect("not killed"), text(stdout), text(stderr))
}

/// A process that is killed when its test ends.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn start(role: &str, file: &Path) -> Running {
    let mut child =
        proxy(&["--json-log", role, file.to_str().unwrap()]).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    // This machine may allow few descriptors; then a warning comes first.
    while next_entry(&mut log)["fields"]["message"] != "serving" {}
    // The rest of the log must be read, or the process would block.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    Running(child)
}

fn next_entry(log: &mut impl BufRead) -> serde_json::Value {
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
}

/// Writes both configurations, with TLS, and returns the ports of the near proxy and of its status.
fn files(folder: &Path, server: SocketAddr) -> (u16, u16) {
    let (code, made, error) = output(&["certificates", folder.to_str().unwrap()]);
    assert_eq!((code, made.lines().count()), (0, 6), "{error}");
    let (near, far, admin) = (free_port(), free_port(), free_port());
    for (end, text) in [
        ("far", format!("listen = \"127.0.0.1:{far}\"\nserver = \"{server}\"\ncarriers = 2\n")),
        (
            "near",
            format!(
                "listen = \"127.0.0.1:{near}\"\nfar = \"127.0.0.1:{far}\"\ncarriers = 2\n\
                 [admin]\nlisten = \"127.0.0.1:{admin}\"\n"
            ),
        ),
    ] {
        let mut text = text;
        write!(
            text,
            "[tls]\ncertificate = \"{end}.pem\"\nkey = \"{end}.key\"\nauthority = \"authority.pem\"\n"
        )
        .unwrap();
        std::fs::write(folder.join(format!("{end}.toml")), text).unwrap();
    }
    (near, admin)
}

#[test]
fn a_web_server_works_behind_it_unmodified() {
    let folder = TempDir::new().unwrap();
    let content: Vec<u8> = (0..3_000_000_u32).map(|byte| ((byte * 7) >> 3) as u8).collect();
    std::fs::write(folder.path().join("content"), &content).unwrap();
    let web = free_port();
    let server = Command::new("python3")
        .args(["-m", "http.server", "--bind", "127.0.0.1", &web.to_string()])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Running(server.expect("python3 is installed"));
    let (near, admin) = files(folder.path(), ([127, 0, 0, 1], web).into());
    let mut far = start("far", &folder.path().join("far.toml"));
    let mut near_process = start("near", &folder.path().join("near.toml"));

    let fetch = || -> std::io::Result<Vec<u8>> {
        let mut client = TcpStream::connect(("127.0.0.1", near))?;
        client.set_read_timeout(Some(Duration::from_secs(60)))?;
        client.write_all(b"GET /content HTTP/1.0\r\n\r\n")?;
        let mut answer = Vec::new();
        client.read_to_end(&mut answer)?;
        Ok(answer)
    };
    // The web server may take a while to start.
    let answer = (0..50).find_map(|_| {
        let answer = fetch().ok().filter(|answer| answer.starts_with(b"HTTP/1.0 200"));
        if answer.is_none() {
            std::thread::sleep(Duration::from_millis(100));
        }
        answer
    });
    let answer = answer.expect("an answer");
    assert!(answer.ends_with(&content), "{} bytes", answer.len());

    let near_file = folder.path().join("near.toml");
    let near_file = near_file.to_str().unwrap();
    let (code, text, error) = output(&["status", near_file]);
    assert_eq!(code, 0, "{error}");
    assert!(text.contains("carriers         2 of 2 up"), "{text}");
    let (_, text, _) = output(&["status", near_file, "--json"]);
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status["schema"].as_u64(), status["role"].as_str()), (Some(1), Some("near")));
    assert!(status["counters"]["bytes_out"].as_u64().unwrap() >= content.len() as u64);

    let metrics = |path: &str| {
        let mut metrics = TcpStream::connect(("127.0.0.1", admin)).unwrap();
        write!(metrics, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        metrics.read_to_string(&mut text).unwrap();
        text
    };
    let text = metrics("/metrics");
    assert!(text.contains("\ngamelane_proxy_carriers 2\n"), "{text}");
    assert!(metrics("/nothing").starts_with("HTTP/1.1 404"));

    // After SIGTERM, a client that is still connected can finish.
    let mut lingering = TcpStream::connect(("127.0.0.1", near)).unwrap();
    lingering.write_all(b"GET /con").unwrap();
    let client = lingering.local_addr().unwrap();
    let series = format!("gamelane_proxy_player_acknowledged_seconds_count{{client=\"{client}\",stream=");
    // The far end acknowledges it soon.
    let acknowledged = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        metrics("/metrics/players").contains(&series)
    });
    assert!(acknowledged, "{}", metrics("/metrics/players"));
    let (_, text, _) = output(&["status", near_file]);
    assert!(text.contains(&format!("client {client}")), "{text}");
    // SIGHUP reads the certificates again; no stream notices.
    signal("-HUP", &near_process);
    signal("-HUP", &far);
    std::thread::sleep(Duration::from_millis(200));
    terminate(&near_process);
    std::thread::sleep(Duration::from_millis(200));
    lingering.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    lingering.write_all(b"tent HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    lingering.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&content), "an open stream may end by itself");
    drop(lingering);
    assert_eq!(near_process.0.wait().unwrap().code(), Some(0));
    terminate(&far);
    assert_eq!(far.0.wait().unwrap().code(), Some(0));
}

pub(crate) fn terminate(process: &Running) {
    signal("-TERM", process);
}

pub(crate) fn signal(which: &str, process: &Running) {
    let status = Command::new("kill").args([which, &process.0.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// CPU time of a process, in clock ticks.
fn ticks(process: &Running) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.0.id())).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn busy_polling_ends_when_no_bytes_arrive() {
    let folder = TempDir::new().unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut socket = server.accept().unwrap().0;
        let mut part = [0; 64];
        while let Ok(count @ 1..) = socket.read(&mut part) {
            socket.write_all(&part[..count]).unwrap();
        }
    });
    let (near, far) = (free_port(), free_port());
    let [far, near_file] = [
        ("far", format!("listen = \"127.0.0.1:{far}\"\nserver = \"{address}\"\nbusy_poll = \"100ms\"\n")),
        (
            "near",
            format!("listen = \"127.0.0.1:{near}\"\nfar = \"127.0.0.1:{far}\"\nbusy_poll = \"100ms\"\n"),
        ),
    ]
    .map(|(end, text)| {
        let file = folder.path().join(format!("{end}.toml"));
        std::fs::write(&file, text).unwrap();
        file
    });
    let processes = [start("far", &far), start("near", &near_file)];
    let mut client = TcpStream::connect(("127.0.0.1", near)).unwrap();
    let run = || processes.each_ref().map(ticks);
    let spent = |was: [u64; 2]| {
        let now = run();
        [now[0] - was[0], now[1] - was[1]]
    };
    let begun = run();
    // At most ten seconds, on busy cores. A message itself costs a hundredth of a tick.
    for byte in 0..250 {
        let mut back = [0];
        client.write_all(&[byte]).unwrap();
        client.read_exact(&mut back).unwrap();
        assert_eq!(back, [byte]);
        std::thread::sleep(Duration::from_millis(40));
        if spent(begun).iter().all(|ticks| *ticks >= 5) {
            break;
        }
    }
    let awake = spent(begun);
    assert!(awake.iter().all(|ticks| *ticks >= 5), "{awake:?}");
    std::thread::sleep(Duration::from_millis(200));
    let quiet = run();
    std::thread::sleep(Duration::from_millis(600));
    let asleep = spent(quiet);
    assert!(asleep.iter().all(|ticks| *ticks <= 1), "{asleep:?} after {awake:?}");
}

#[test]
fn the_limit_of_descriptors_is_raised_and_one_that_is_too_low_lowers_the_others() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("near.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:1\"\n[limits]\nstreams = 900\n")
        .unwrap();
    let mut process = Command::new("prlimit")
        .args(["--nofile=100:1000", env!("CARGO_BIN_EXE_gamelane-proxy"), "--json-log", "near"])
        .arg(&file)
        .stderr(Stdio::piped())
        .spawn()
        .expect("prlimit is installed (util-linux)");
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let process = Running(process);
    let warning = next_entry(&mut log)["fields"].clone();
    let said = ["descriptors", "handshakes", "streams"].map(|key| warning[key].as_u64());
    assert_eq!(said, [Some(1000), Some(234), Some(702)]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.0.id())).unwrap();
    let open = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(open.split_whitespace().nth(3), Some("1000"), "{open}");
}

#[test]
fn far_keeps_descriptors_for_carriers_when_several_near_proxies_have_all_their_streams() {
    let folder = TempDir::new().unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = server.accept() {
            socket.write_all(b"x").unwrap();
            held.push(socket);
        }
    });
    let far = free_port();
    let file = folder.path().join("far.toml");
    let keys = "carriers = 2\n[limits]\nstreams = 100\nhandshakes = 16\nsessions = 4\n";
    std::fs::write(&file, format!("listen = \"127.0.0.1:{far}\"\nserver = \"{address}\"\n{keys}")).unwrap();
    let mut child = Command::new("prlimit");
    child.args(["--nofile=200:200", env!("CARGO_BIN_EXE_gamelane-proxy"), "far"]).arg(&file);
    let _far = Running(child.stderr(Stdio::null()).spawn().expect("prlimit is installed (util-linux)"));
    let near = |name: &str| {
        let (port, admin) = (free_port(), free_port());
        let file = folder.path().join(name);
        let text = format!(
            "listen = \"127.0.0.1:{port}\"\nfar = \"127.0.0.1:{far}\"\ncarriers = 2\n[limits]\nstreams = 100\n\
             streams_per_source = 100\n[admin]\nlisten = \"127.0.0.1:{admin}\"\n"
        );
        std::fs::write(&file, text).unwrap();
        (start("near", &file), port, file)
    };
    // The server speaks first, so each client learns whether it is served or refused.
    let clients = |port: u16| {
        let clients = (0..100).map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let served = client.read(&mut [0]).is_ok_and(|count| count == 1);
            (client, served)
        });
        clients.filter(|(_, served)| *served).map(|(client, _)| client).collect::<Vec<_>>()
    };
    let nears = [near("one.toml"), near("two.toml")];
    let served = nears.each_ref().map(|(_, port, _)| clients(*port));
    // 200 descriptors without 64 of its own, and 8 of carriers.
    let count = served.iter().map(Vec::len).sum::<usize>();
    assert_eq!(count, 200 - 64 - 8 - 16, "{:?}", served.each_ref().map(Vec::len));
    let (_third, _, file) = near("three.toml");
    let up = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        output(&["status", file.to_str().unwrap()]).1.contains("carriers         2 of 2 up")
    });
    assert!(up, "{}", output(&["status", file.to_str().unwrap()]).1);
}

/// Starts a near proxy without a far one, and connects clients that leave after `first`, until the log says why one is refused.
fn refused_because(keys: &str, first: &[u8], expected: &str) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("near.toml");
    let port = free_port();
    let text =
        format!("listen = \"127.0.0.1:{port}\"\nfar = \"127.0.0.1:1\"\nrefuse_after = \"300s\"\n{keys}");
    std::fs::write(&file, text).unwrap();
    let mut child =
        proxy(&["--json-log", "near", file.to_str().unwrap()]).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let _near = Running(child);
    while next_entry(&mut log)["fields"]["message"] != "serving" {}
    let clients = std::thread::spawn({
        let first = first.to_vec();
        move || {
            // Until the proxy ends.
            while let Ok(mut client) = TcpStream::connect(("127.0.0.1", port)) {
                if client.write_all(&first).is_ok() {
                    std::thread::sleep(Duration::from_micros(500));
                }
            }
        }
    });
    loop {
        let entry = next_entry(&mut log);
        if entry["fields"]["message"] == "client refused" {
            assert_eq!(entry["fields"]["why"], expected);
            break;
        }
    }
    drop(_near);
    clients.join().unwrap();
}

#[test]
fn a_refused_client_is_logged_with_the_one_reason() {
    refused_because("[limits]\nmemory = \"64B\"\n", &[1; 200], "limits.memory is reached");
    refused_because(
        "[limits]\nstreams = 1\nstreams_per_source = 1\n",
        b"",
        "the far end has not confirmed the end of too many earlier clients; is a carrier up?",
    );
}

#[test]
fn a_port_in_use_is_an_error_with_code_5() {
    let folder = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = folder.path().join("near.toml");
    let address = taken.local_addr().unwrap();
    std::fs::write(&file, format!("listen = \"{address}\"\nfar = \"127.0.0.1:1\"\n")).unwrap();
    let (code, _, error) = output(&["near", file.to_str().unwrap()]);
    assert_eq!(code, 5);
    assert!(error.contains(&format!("cannot listen on {address}: Address already in use")), "{error}");
}

#[test]
fn a_status_without_a_running_proxy_is_an_error_with_code_6() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("near.toml");
    let admin = free_port();
    let text =
        format!("listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:1\"\n[admin]\nlisten = \"127.0.0.1:{admin}\"\n");
    std::fs::write(&file, text).unwrap();
    let (code, _, error) = output(&["status", file.to_str().unwrap()]);
    assert_eq!(code, 6, "{error}");
    assert!(error.starts_with(&format!("error: 127.0.0.1:{admin}: Connection refused")), "{error}");
    assert!(error.ends_with("\n  hint:    is the proxy running?\n"), "{error}");
}

#[test]
fn certificates_of_another_authority_end_the_near_proxy_with_code_6() {
    let (ours, theirs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (_, _) = files(ours.path(), ([127, 0, 0, 1], 1).into());
    let (_, _) = files(theirs.path(), ([127, 0, 0, 1], 1).into());
    let _far = start("far", &theirs.path().join("far.toml"));
    let far = std::fs::read_to_string(theirs.path().join("far.toml")).unwrap();
    let far = far.split('"').nth(1).unwrap();
    let near = ours.path().join("near.toml");
    let text = std::fs::read_to_string(&near).unwrap();
    let own = text.split('"').nth(3).unwrap();
    std::fs::write(&near, text.replace(own, far)).unwrap();
    let (code, _, error) = output(&["near", near.to_str().unwrap()]);
    assert_eq!(code, 6, "{error}");
    assert!(error.contains("do not accept each other's certificates"), "{error}");
}

#[test]
fn certificates_that_exist_are_not_overwritten_and_the_code_is_3() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(output(&["certificates", path]).0, 0);
    let before = std::fs::read(folder.path().join("near.key")).unwrap();
    let (code, _, error) = output(&["certificates", path]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("authority.pem: File exists"), "{error}");
    assert_eq!(std::fs::read(folder.path().join("near.key")).unwrap(), before);
}

#[test]
fn each_value_that_cannot_be_used_is_refused_by_its_key() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("near.toml");
    let good = "listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:7700\"\n";
    for (text, key) in [
        ("listen = \"127.0.0.1:0\"\n".to_owned(), "far"),
        (format!("{good}carriers = 17\n"), "carriers"),
        (format!("{good}carriers = 0\n"), "carriers"),
        (format!("{good}transport = \"quic\"\ncarriers = 16\n"), "carriers"),
        (format!("{good}transport = \"quic\"\n"), "transport"),
        (format!("{good}[repeat]\nafter = -1.0\n"), "repeat.after"),
        (format!("{good}[limits]\nwindow = \"1000B\"\n"), "limits.window"),
        (format!("{good}[limits]\nstreams = 0\n"), "limits.streams"),
        (format!("{good}[limits]\nstreams_per_source = 0\n"), "limits.streams_per_source"),
        (format!("{good}[limits]\nhandshakes = 0\n"), "limits.handshakes"),
        (format!("{good}[limits]\nhandshakes_per_source = 0\n"), "limits.handshakes_per_source"),
        (format!("{good}[limits]\nstreams = 9\nstreams_per_source = 10\n"), "limits.streams_per_source"),
        (format!("{good}[limits]\nhandshakes_per_source = 257\n"), "limits.handshakes_per_source"),
        (format!("{good}[limits]\nsessions = 0\n"), "limits.sessions"),
        (format!("{good}[limits]\nmemory = \"0B\"\n"), "limits.memory"),
        (format!("{good}carriers = 2\n[repeat]\nafter = 1.0\nmax_len = \"0B\"\n"), "repeat.max_len"),
        (format!("{good}carriers = 2\n[repeat]\nafter = 1.0\nmax_repeats = 0\n"), "repeat.max_repeats"),
        (format!("{good}refuse_after = \"0s\"\n"), "refuse_after"),
        (format!("{good}[timeouts]\nidle = \"0s\"\n"), "timeouts.idle"),
        (format!("{good}[timeouts]\nkeep_alive = \"0s\"\n"), "timeouts.keep_alive"),
        (format!("{good}[timeouts]\nfirst_byte = \"6s\"\n"), "timeouts.first_byte"),
        ("listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:0\"\n".to_owned(), "far"),
        (format!("{good}allow = []\n"), "allow"),
        (format!("{good}allow = [\"203.0.113.0/24\", \"203.0.113.5/24\"]\n"), "allow[1]"),
        (format!("{good}[timeouts]\nfirst_byte = \"0s\"\n"), "timeouts.first_byte"),
        (format!("{good}[timeouts]\nhandshake = \"0s\"\n"), "timeouts.handshake"),
        (format!("{good}[timeouts]\nresume = \"0s\"\n"), "timeouts.resume"),
        (format!("{good}[timeouts]\nsilence = \"5s\"\n"), "timeouts.silence"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let (code, _, error) = output(&["check", "near", file.to_str().unwrap()]);
        assert_eq!(code, 2, "{error}");
        let path = file.display();
        assert!(error.starts_with(&format!("error: `{key}` in {path}: ")), "{key}: {error}");
        assert!(error.contains("\n  allowed: "), "{key}: {error}");
    }
    // A total below the default share, or below the default time for the first byte, is no mistake.
    for keys in ["", "[limits]\nhandshakes = 16\n[timeouts]\nhandshake = \"1s\"\n"] {
        std::fs::write(&file, format!("{good}{keys}")).unwrap();
        assert_eq!(output(&["check", "near", file.to_str().unwrap()]).0, 0);
    }
}

#[test]
fn a_configuration_error_names_key_value_allowed_values_and_hint() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("near.toml");
    let path = file.to_str().unwrap().to_string();
    let said = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let (code, _, error) = output(&["check", "near", &path]);
        assert_eq!(code, 2, "{error}");
        error.replace(&path, "near.toml")
    };
    let good = "listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:7700\"\n";
    assert_eq!(
        said(&format!("{good}carrriers = 2\n")),
        "error: `carrriers` in near.toml: unknown field `carrriers`, expected one of `listen`, `far`, `server`, \
         `proxy_protocol`, `allow`, `refuse_after`, `carriers`, `transport`, `tls`, `assignment`, `coalescing`, `repeat`, `tcp`, \
         `timeouts`, `limits`, `busy_poll`, `admin`, `user`\n  given:   carrriers\n  hint:    did you mean `carriers`?\n"
    );
    assert_eq!(
        said(&format!("{good}[timeouts]\nidle = \"1 fortnight\"\n")),
        "error: `timeouts.idle` in near.toml: `fortnight` is not a unit for a time\n  given:   \"1 fortnight\"\n  allowed: a \
         number and ns, us, ms, s, min, h or d, such as \"40ms\"\n"
    );
    assert_eq!(
        said(&format!("{good}[limits]\nwindow = 65536\n")),
        "error: `limits.window` in near.toml: a size needs a unit\n  given:   65536\n  allowed: a number and B, KiB, MiB or \
         GiB, such as \"64KiB\"\n  hint:    write \"65536KiB\" or \"65536B\"\n"
    );
    assert_eq!(
        said("listen = \"0.0.0.0:7777\"\nfar = \"192.0.2.1:7700\"\n"),
        "error: `far` in near.toml: without certificates, near and far proxy may only talk over loopback\n  given:   \
         192.0.2.1:7700\n  allowed: 127.0.0.1, [::1], or any address with a [tls] table\n  hint:    `gamelane-proxy \
         certificates DIR` makes certificates for both ends\n"
    );
    assert_eq!(
        said("listen = \"127.0.0.1:0\"\nserver = \"127.0.0.1:80\"\n"),
        "error: `server` in near.toml: a near proxy has no `server`\n  given:   127.0.0.1:80\n  allowed: `far`\n  hint:    is \
         this the file of the other end? A near proxy has `far`\n"
    );
    assert_eq!(
        said(&format!("{good}busy_poll = \"2s\"\n")),
        "error: `busy_poll` in near.toml: too short to help, or so long that a core would hardly ever sleep\n  given:   \
         2000000us\n  allowed: 1us to 100ms; a few times what an answer takes, such as 50us\n"
    );
    assert!(said(&format!("{good}[repeat]\nafter = 1.5\n")).contains("a repeat needs a second carrier"));
    assert!(
        said(&format!("{good}[admin]\nlisten = \"0.0.0.0:9700\"\n"))
            .contains("metrics and status are for this machine only")
    );
    let missing = "[tls]\ncertificate = \"near.pem\"\nkey = \"near.key\"\nauthority = \"authority.pem\"\n";
    assert!(said(&format!("{good}{missing}")).contains("`tls.certificate` in near.toml: cannot be read"));
    std::fs::remove_file(&file).unwrap();
    let (code, _, error) = output(&["check", "near", &path]);
    assert_eq!(code, 2);
    assert!(error.contains("cannot be read: No such file"), "{error}");
}

#[test]
fn a_reader_that_ends_first_is_no_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(output(&["certificates", path]).0, 0);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let words = ["certificates", "show", path];
    let out = proxy(&words).stdout(writer).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), error.as_str()), (Some(0), ""));
}
