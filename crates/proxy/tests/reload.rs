//! Certificates that change under traffic: SIGHUP takes every renewal and every step of a change of the authority, and no stream
//! ends. Log, status and metrics warn before an expiry.

use crate::certificates::{PATIENCE, done, one, run, text, tls, until};
use crate::command::{Running, free_port, output, proxy, signal, start};
use gamelane_proxy::certificates::facts::Facts;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;
use tempfile::TempDir;

/// Ends of a pair: writes the configurations, and gives each its own folder, as on two machines.
struct Machines {
    folder: TempDir,
    near: SocketAddr,
    admin: u16,
}

impl Machines {
    fn new(server: SocketAddr, carriers: &dyn Fn(u16) -> u16) -> Self {
        let folder = TempDir::new().unwrap();
        let [near, far, admin, far_admin] = [(); 4].map(|()| free_port());
        let way = carriers(far);
        for (end, text) in [
            (
                "far",
                format!(
                    "listen = \"127.0.0.1:{far}\"\nserver = \"{server}\"\ncarriers = 2\n[admin]\nlisten = \"127.0.0.1:{far_admin}\"\n{}",
                    tls("tokyo")
                ),
            ),
            (
                "near",
                format!(
                    "listen = \"127.0.0.1:{near}\"\nfar = \"127.0.0.1:{way}\"\ncarriers = 2\n[admin]\nlisten = \"127.0.0.1:{admin}\"\n{}",
                    tls("home")
                ),
            ),
            (
                "second",
                format!(
                    "listen = \"127.0.0.1:0\"\nfar = \"127.0.0.1:{far}\"\ncarriers = 2\n{}",
                    tls("second")
                ),
            ),
        ] {
            fs::create_dir(folder.path().join(end)).unwrap();
            // Another user could not read the keys again, which root has made here.
            let user = if rustix::process::geteuid().is_root() { "user = \"root\"\n" } else { "" };
            fs::write(folder.path().join(end).join("proxy.toml"), user.to_string() + &text).unwrap();
        }
        Self { folder, near: ([127, 0, 0, 1], near).into(), admin }
    }

    fn ca(&self) -> std::path::PathBuf {
        self.folder.path().join("ca")
    }

    fn file(&self, end: &str, name: &str) -> std::path::PathBuf {
        self.folder.path().join(end).join(name)
    }

    fn copy(&self, end: &str, names: &[&str]) {
        for name in names {
            fs::copy(self.ca().join(name), self.file(end, name)).unwrap();
        }
    }

    fn start(&self, end: &str) -> Running {
        start(if end == "far" { "far" } else { "near" }, &self.file(end, "proxy.toml"))
    }

    fn status(&self, end: &str) -> Value {
        let (code, out, error) = output(&["status", text(&self.file(end, "proxy.toml")), "--json"]);
        assert_eq!(code, 0, "{error}");
        serde_json::from_str(&out).unwrap()
    }

    /// Reloads a proxy, and waits until it uses the certificates in its folder.
    fn reload(&self, end: &str, name: &str, process: &Running) {
        signal("-HUP", process);
        let mut files = vec![one(&self.file(end, &format!("{name}.pem")))];
        files.extend(Facts::read(&self.file(end, "authority.pem")).unwrap());
        let files: Vec<&str> = files.iter().map(|facts| facts.fingerprint.as_str()).collect();
        until("the files are in use", || {
            let status = self.status(end);
            let used = status["certificates"].as_array().unwrap();
            used.iter().map(|one| one["fingerprint"].as_str().unwrap()).eq(files.iter().copied())
        });
        assert_eq!(self.status(end)["certificates_error"], Value::Null);
    }
}

/// A TCP relay that can cut its connections.
#[derive(Clone, Default)]
struct Relay(Arc<Mutex<Vec<TcpStream>>>);

impl Relay {
    fn to(&self, port: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let open = self.0.clone();
        thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                // The far end may not listen yet; then the near end tries again.
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                for (mut from, mut to) in [(&near, &far), (&far, &near)]
                    .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
                {
                    to.set_nodelay(true).unwrap();
                    thread::spawn(move || {
                        // Either end may leave at any moment.
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                open.lock().unwrap().extend([near, far]);
            }
        });
        own
    }

    fn cut(&self) {
        for socket in self.0.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            thread::spawn(move || {
                let mut part = [0; 4096];
                while let Ok(count @ 1..) = socket.read(&mut part) {
                    if socket.write_all(&part[..count]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// A client that sends numbers, and expects each back in order.
struct Player {
    /// How many came back.
    answers: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Player {
    fn start(address: SocketAddr) -> Self {
        let (answers, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopped) = (answers.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.set_nodelay(true).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            while !stopped.load(SeqCst) {
                let number = count.load(SeqCst);
                socket.write_all(&number.to_be_bytes()).expect("the stream is open");
                let mut back = [0; 8];
                socket.read_exact(&mut back).expect("the stream is open");
                assert_eq!(u64::from_be_bytes(back), number);
                count.store(number + 1, SeqCst);
                sleep(Duration::from_millis(2));
            }
        });
        Self { answers, stop, thread }
    }

    /// Waits for ten more answers.
    fn goes_on(&self) {
        let before = self.answers.load(SeqCst);
        until("more answers", || self.answers.load(SeqCst) >= before + 10 || self.thread.is_finished());
    }

    fn end(self) {
        self.stop.store(true, SeqCst);
        self.thread.join().expect("the stream lived through it");
    }
}

/// Renewals, a second near end, and a change of the authority, step by step as the guide says. Each step is followed by new carriers,
/// so each pair of certificates is tried; one stream lives through all of it.
#[test]
fn certificates_and_authority_change_under_one_stream() {
    let relay = Relay::default();
    let machines = Machines::new(echo(), &|far| relay.to(far));
    let ca = machines.ca();
    let ca = text(&ca);
    done(&["init", ca]);
    done(&["add", ca, "tokyo", "--far"]);
    done(&["add", ca, "home", "--near"]);
    machines.copy("far", &["authority.pem", "tokyo.pem", "tokyo.key"]);
    machines.copy("near", &["authority.pem", "home.pem", "home.key"]);
    let (far, near) = (machines.start("far"), machines.start("near"));
    let player = Player::start(machines.near);
    let ups = || machines.status("near")["counters"]["carriers_up"].as_u64().unwrap();
    until("both carriers are up", || ups() == 2);
    let new_carriers = |step: &str| {
        let before = ups();
        relay.cut();
        until(step, || {
            let status = machines.status("near");
            ups() >= before + 2 && status["sessions"][0]["carriers_up"] == 2
        });
        player.goes_on();
    };

    // A further near end: the far end needs nothing.
    done(&["add", ca, "second", "--near"]);
    machines.copy("second", &["authority.pem", "second.pem", "second.key"]);
    let second = machines.start("second");
    until("the second near end is up", || machines.status("far")["sessions"].as_array().unwrap().len() == 2);
    drop(second);

    done(&["renew", ca, "tokyo", "home"]);
    machines.copy("far", &["tokyo.pem"]);
    machines.reload("far", "tokyo", &far);
    new_carriers("the far end is renewed");
    machines.copy("near", &["home.pem"]);
    machines.reload("near", "home", &near);
    new_carriers("both are renewed");

    done(&["authority", ca]);
    let (code, _, error) = run(&["authority", ca]);
    assert_eq!(code, 2);
    assert!(error.contains("a change is under way"), "{error}");
    machines.copy("far", &["authority.pem"]);
    machines.reload("far", "tokyo", &far);
    new_carriers("the far end trusts two");
    machines.copy("near", &["authority.pem"]);
    machines.reload("near", "home", &near);
    new_carriers("both trust two");
    done(&["renew", ca, "home", "--new-key"]);
    machines.copy("near", &["home.pem", "home.key"]);
    machines.reload("near", "home", &near);
    new_carriers("the near end is of the second authority, the far end of the first");
    let (code, _, error) = run(&["retire", ca]);
    assert_eq!(code, 2);
    assert!(error.contains("these ends would be refused: second, tokyo"), "{error}");
    done(&["renew", ca, "tokyo"]);
    machines.copy("far", &["tokyo.pem"]);
    machines.reload("far", "tokyo", &far);
    new_carriers("both are of the second authority");
    for file in ["second.pem", "second.key"] {
        fs::remove_file(machines.ca().join(file)).unwrap();
    }
    let (_, said) = done(&["retire", ca]);
    assert!(said.contains("no longer trusted: gamelane authority "), "{said}");
    machines.copy("far", &["authority.pem"]);
    machines.reload("far", "tokyo", &far);
    new_carriers("the far end trusts one");
    machines.copy("near", &["authority.pem"]);
    machines.reload("near", "home", &near);
    new_carriers("both trust one");

    // An end that was left behind has a certificate of the first authority. The far end refuses it, and with the new file the end itself.
    for (expected, why) in [
        (6, "do not accept each other's certificates"),
        (2, "holds no authority that signed CN=second.gamelane"),
    ] {
        let (code, _, error) = output(&["near", text(&machines.file("second", "proxy.toml"))]);
        assert_eq!(code, expected, "{error}");
        assert!(error.contains(why), "{error}");
        machines.copy("second", &["authority.pem"]);
    }
    player.end();
    for end in ["near", "far"] {
        assert_eq!(machines.status(end)["counters"]["streams_aborted"], 0, "{end}");
    }
}

#[test]
fn an_expiry_within_a_month_shows_in_log_status_and_metrics_until_it_is_renewed() {
    let machines = Machines::new(echo(), &|far| far);
    let ca = machines.ca();
    let ca = text(&ca);
    done(&["init", ca]);
    done(&["add", ca, "home", "--near", "--days", "20"]);
    machines.copy("near", &["authority.pem", "home.pem", "home.key"]);
    let file = machines.file("near", "proxy.toml");
    let (code, out, error) = output(&["check", "near", text(&file)]);
    assert_eq!((code, out), (0, format!("{}: ok\n", file.display())));
    assert!(error.contains("certificate expires in 20 days: renew it"), "{error}");

    let mut child = proxy(&["near", text(&file)]).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let near = Running(child);
    let lines: Arc<Mutex<String>> = Arc::default();
    let filled = lines.clone();
    thread::spawn(move || {
        log.lines().map_while(Result::ok).for_each(|line| *filled.lock().unwrap() += &(line + "\n"))
    });
    let warnings = || lines.lock().unwrap().matches("certificate expires in 20 days: renew it").count();
    until("the log warns", || warnings() == 1);
    let status = || machines.status("near");
    assert_eq!(status()["certificates"][0]["expires_soon"], true);
    assert_eq!(status()["certificates"][1]["expires_soon"], false);
    let (_, page, _) = output(&["status", text(&file)]);
    assert!(
        page.contains("\ncertificate      home.pem: CN=home.gamelane expires in 20 days: renew it\n"),
        "{page}"
    );
    let metrics = || {
        let mut socket = TcpStream::connect(("127.0.0.1", machines.admin)).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    };
    let left = || {
        let text = metrics();
        let line = text.lines().find(|line| line.starts_with("gamelane_proxy_certificate_expires_in_seconds{file=\"home.pem\",subject=\"CN=home.gamelane\""));
        line.expect(&text).rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!((19.9 * 86_400.0..20.0 * 86_400.0).contains(&left()), "{}", left());

    // A file that makes no sense is not used, and that shows.
    fs::write(machines.file("near", "home.pem"), "nonsense").unwrap();
    signal("-HUP", &near);
    until("the failure shows", || {
        status()["certificates_error"].as_str().is_some_and(|why| why.contains("`tls.certificate`"))
    });
    assert!(metrics().contains("\ngamelane_proxy_certificates_failed 1\n"));
    assert_eq!(status()["certificates"][0]["expires_soon"], true);

    done(&["renew", ca, "home"]);
    machines.copy("near", &["home.pem"]);
    machines.reload("near", "home", &near);
    assert_eq!(status()["certificates"][0]["expires_soon"], false);
    assert!(left() > 364.0 * 86_400.0 && metrics().contains("\ngamelane_proxy_certificates_failed 0\n"));
    assert_eq!(warnings(), 1, "{}", lines.lock().unwrap());

    // The number of days is a setting.
    let text_of = fs::read_to_string(&file).unwrap();
    fs::write(&file, text_of + "expiry_warning_days = 400\n").unwrap();
    let (_, _, error) = output(&["check", "near", text(&file)]);
    assert!(error.contains("certificate expires in 365 days: renew it"), "{error}");
}
