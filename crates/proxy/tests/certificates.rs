//! The authority that stays: what each command writes and refuses, expiry in log, status and metrics, and every change under traffic.

use crate::command::{Running, free_port, output, proxy, signal, start};
use gamelane_proxy::certificates::facts::{Facts, Purpose};
use gamelane_proxy::certificates::folder::Folder;
use gamelane_proxy::config::Config;
use gamelane_proxy::tls::Certificates;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;
use tempfile::TempDir;

/// How long to wait for what must happen: a busy machine may take this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `certificates`, and returns code, stdout and stderr. No run may print a private key.
fn run(words: &[&str]) -> (i32, String, String) {
    let (code, out, error) = output(&[&["certificates"], words].concat());
    assert!(!(out.clone() + &error).contains("PRIVATE"), "{out}{error}");
    (code, out, error)
}

/// Runs `certificates`, which must succeed, and returns stdout and stderr.
fn done(words: &[&str]) -> (String, String) {
    let (code, out, error) = run(words);
    assert_eq!(code, 0, "{words:?}: {error}");
    (out, error)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

fn one(file: &Path) -> Facts {
    let mut read = Facts::read(file).unwrap();
    assert_eq!(read.len(), 1, "{}", file.display());
    read.remove(0)
}

fn tls(name: &str) -> String {
    format!("[tls]\ncertificate = \"{name}.pem\"\nkey = \"{name}.key\"\nauthority = \"authority.pem\"\n")
}

fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

#[test]
fn an_authority_signs_further_ends_and_no_key_is_readable_by_others() {
    let folder = TempDir::new().unwrap();
    let ca = folder.path().join("deep/ca");
    let path = text(&ca);
    let (out, next) = done(&["init", path]);
    assert_eq!(out, format!("{path}/authority.key\n{path}/authority.pem\n"));
    assert!(next.starts_with("next: keep authority.key on this machine"), "{next}");
    done(&["add", path, "home", "--near"]);
    let (out, next) = done(&["add", path, "tokyo", "--far", "--days", "90"]);
    assert_eq!(out, format!("{path}/tokyo.key\n{path}/tokyo.pem\n"));
    assert!(next.contains("copy authority.pem, tokyo.pem and tokyo.key to the machine of tokyo"), "{next}");
    for (file, expected) in [
        ("authority.key", 0o600),
        ("home.key", 0o600),
        ("tokyo.key", 0o600),
        ("authority.pem", 0o644),
        ("tokyo.pem", 0o644),
    ] {
        assert_eq!(mode(&ca.join(file)), expected, "{file}");
    }
    let authority = one(&ca.join("authority.pem"));
    let [home, tokyo] = ["home", "tokyo"].map(|name| one(&ca.join(format!("{name}.pem"))));
    assert_eq!(
        (authority.purpose, home.purpose, tokyo.purpose),
        (Purpose::Authority, Purpose::Near, Purpose::Far)
    );
    assert!(home.is_signed_by(&authority) && tokyo.is_signed_by(&authority) && !home.is_signed_by(&tokyo));
    assert_eq!(tokyo.dns, ["tokyo.gamelane", "far.gamelane"]);
    assert_eq!((authority.left().whole_days(), tokyo.left().whole_days()), (3649, 89));

    let (out, _) = done(&["show", path]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4 + 5 + 5, "{out}");
    assert_eq!(lines[1], "  role         authority, signs here");
    assert_eq!(lines[10], "  role         far, for tokyo.gamelane, far.gamelane");
    assert!(
        lines[11].starts_with("  until        20") && lines[11].ends_with(", expires in 89 days"),
        "{out}"
    );
    assert_eq!(lines[12], format!("  authority    {}", authority.name));
    assert_eq!(lines[13], format!("  fingerprint  {}", tokyo.fingerprint));
    let (out, _) = done(&["show", text(&ca.join("tokyo.pem")), "--json"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    let shown = &shown["certificates"][0];
    assert_eq!(
        (shown["days_left"].as_i64(), shown["authority"].as_str()),
        (Some(89), Some(&*authority.name))
    );
}

#[test]
fn what_the_commands_refuse() {
    let folder = TempDir::new().unwrap();
    let path = text(folder.path());
    let refused = |words: &[&str], expected: i32, complaint: &str| {
        let (code, out, error) = run(words);
        assert_eq!((code, out.as_str()), (expected, ""), "{words:?}: {error}");
        assert!(error.contains(complaint), "{words:?}: {error}");
    };
    refused(&["add", path, "home", "--near"], 2, "authority.pem: cannot be read: No such file");
    refused(&["show", path], 2, "`gamelane-proxy certificates init DIR` makes an authority");
    done(&[path]);
    refused(&["init", path], 3, "authority.pem: File exists");
    refused(&["add", path, "near", "--near"], 3, "near.pem: File exists");
    for name in ["../up", "Home", "", "-a", "authority", "a.b", &"x".repeat(55)] {
        refused(
            &["add", path, "--near", "--", name],
            2,
            "cannot name a file and a host\n  allowed: 1 to 54 of a-z",
        );
    }
    refused(&["add", path, "home"], 2, "--near");
    refused(&["add", path, "home", "--near", "--far"], 2, "--far");
    refused(&["renew", path, "home"], 2, "  hint:    the ends here are far, near");
    for name in ["authority", "../far", "/tmp/far"] {
        refused(&["renew", path, name], 2, "cannot name a file and a host");
    }
    let trusted = folder.path().join("authority.pem");
    let before = fs::read(&trusted).unwrap();
    fs::write(folder.path().join("notes.pem"), "nothing").unwrap();
    refused(&["authority", path], 2, "notes.pem: holds no certificate");
    assert_eq!(fs::read(&trusted).unwrap(), before, "what is refused changes nothing");
    fs::remove_file(folder.path().join("notes.pem")).unwrap();
    refused(&["retire", path], 2, "is the only authority");
    refused(&["show", &format!("{path}/near.key")], 2, "near.key: holds no certificate");
    let key = folder.path().join("authority.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    refused(
        &["add", path, "home", "--near"],
        2,
        "mode 0640: other users may use the authority's key\n  hint:    chmod 600 ",
    );
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::copy(folder.path().join("near.key"), &key).unwrap();
    refused(&["add", path, "home", "--near"], 2, "belongs to none of the authorities");
}

#[test]
fn a_renewal_keeps_names_and_key_and_does_not_need_the_key() {
    let folder = TempDir::new().unwrap();
    let (path, file) = (text(folder.path()), folder.path().join("far.pem"));
    done(&[path, "--days", "5"]);
    let (before, key) = (one(&file), fs::read(folder.path().join("far.key")).unwrap());
    fs::remove_file(folder.path().join("far.key")).unwrap();
    let (out, next) = done(&["renew", path, "far"]);
    assert_eq!(out, format!("{path}/far.pem\n"));
    assert!(next.contains("copy far.pem to the machine of far"), "{next}");
    let after = one(&file);
    assert_eq!((&after.key, &after.dns, &after.name), (&before.key, &before.dns, &before.name));
    assert_eq!((before.left().whole_days(), after.left().whole_days()), (4, 364));
    // The key that is elsewhere fits the renewed certificate.
    fs::write(folder.path().join("far.key"), &key).unwrap();
    fs::write(
        folder.path().join("far.toml"),
        format!("listen = \"127.0.0.1:0\"\nserver = \"127.0.0.1:1\"\n{}", tls("far")),
    )
    .unwrap();
    let config = format!("{path}/far.toml");
    assert_eq!(output(&["check", "far", &config]).0, 0);

    let (out, _) = done(&["renew", path, "far", "near", "--new-key"]);
    assert_eq!(out.lines().count(), 4, "{out}");
    assert_ne!(one(&file).key, before.key);
    assert_eq!(mode(&folder.path().join("far.key")), 0o600);
    assert_eq!(output(&["check", "far", &config]).0, 0);
}

#[test]
fn no_certificate_outlives_its_authority() {
    let folder = TempDir::new().unwrap();
    let path = text(folder.path());
    done(&["init", path, "--days", "40"]);
    let (_, said) = done(&["add", path, "home", "--near"]);
    assert!(
        said.contains("note: home.gamelane expires on 20") && said.contains("with its authority"),
        "{said}"
    );
    assert_eq!(
        one(&folder.path().join("home.pem")).expires,
        one(&folder.path().join("authority.pem")).expires
    );
}

#[test]
fn a_folder_without_the_authoritys_key_goes_on_with_a_second_authority() {
    let folder = TempDir::new().unwrap();
    let path = text(folder.path());
    done(&[path]);
    fs::remove_file(folder.path().join("authority.key")).unwrap();
    let (code, _, error) = run(&["add", path, "home", "--near"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("`certificates authority` starts another"), "{error}");
    let (_, next) = done(&["authority", path]);
    assert!(next.contains(&format!("`gamelane-proxy certificates renew {path} far near`")), "{next}");
    let trusted = Facts::read(&folder.path().join("authority.pem")).unwrap();
    assert_eq!(trusted.len(), 2);
    assert!(one(&folder.path().join("near.pem")).is_signed_by(&trusted[1]));
    let (_, said) = done(&["add", path, "home", "--near"]);
    let note = format!(
        "note: a change of the authority is under way: other ends must trust {} first",
        trusted[0].name
    );
    assert!(said.contains(&note), "{said}");
    done(&["renew", path, "far", "near"]);
    done(&["retire", path]);
    assert_eq!(one(&folder.path().join("authority.pem")).fingerprint, trusted[0].fingerprint);
}

#[test]
fn of_two_authorities_an_expired_one_is_not_trusted() {
    let folder = TempDir::new().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    Folder::create(&old).unwrap().init(0).unwrap();
    done(&[text(&new)]);
    sleep(Duration::from_millis(1100));
    let read = |folder: &Path| fs::read_to_string(folder.join("authority.pem")).unwrap();
    let both = read(&old) + &read(&new);
    fs::write(new.join("authority.pem"), both).unwrap();
    let file = new.join("far.toml");
    fs::write(&file, format!("listen = \"127.0.0.1:0\"\nserver = \"127.0.0.1:1\"\n{}", tls("far"))).unwrap();
    let config = Config::load(&file, gamelane_mux::Role::Far).unwrap();
    let certificates = Certificates::load(&file, config.tls.as_ref().unwrap()).unwrap();
    let soon: Vec<bool> = certificates.in_use().iter().map(|one| one.expires_soon).collect();
    assert_eq!(soon, [false, true, false]);
    // Alone it is refused.
    fs::copy(old.join("authority.pem"), new.join("authority.pem")).unwrap();
    let (code, _, error) = output(&["check", "far", text(&file)]);
    assert_eq!(code, 2);
    assert!(error.contains("`tls.authority`") && error.contains(" expired on "), "{error}");
    assert!(error.contains("hint:    `gamelane-proxy certificates renew DIR NAME`"), "{error}");
    // A second authority replaces the expired one at once.
    let (_, said) = done(&["authority", text(&old)]);
    assert!(said.contains("and is no longer trusted"), "{said}");
    one(&old.join("authority.pem"));
}

#[test]
fn of_several_at_once_one_makes_the_name() {
    let folder = TempDir::new().unwrap();
    let path = text(folder.path());
    done(&["init", path]);
    let all: Vec<_> = (0..8)
        .map(|_| {
            let mut command = proxy(&["certificates", "add", path, "home", "--near"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> = all.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 3))), "{codes:?}");
}

#[test]
fn a_command_that_is_killed_leaves_whole_files() {
    let folder = TempDir::new().unwrap();
    let path = text(folder.path());
    done(&[path]);
    let mut renewed = 0;
    let (pem, key) = (folder.path().join("far.pem"), folder.path().join("far.key"));
    for round in 0..60 {
        let before = one(&pem).fingerprint;
        let mut command = proxy(&["certificates", "renew", path, "far"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_micros(round * 150));
        child.kill().unwrap();
        child.wait().unwrap();
        let after = one(&pem);
        renewed += u32::from(after.fingerprint != before);
        assert!(after.is_signed_by(&one(&folder.path().join("authority.pem"))));
        assert!(fs::read_to_string(&key).unwrap().ends_with("-----END PRIVATE KEY-----\n"));
    }
    // The lock of a killed command is free, and the next one removes what it left.
    fs::write(folder.path().join(".gamelane-certificates-left"), "").unwrap();
    done(&["renew", path, "far"]);
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort_unstable();
    assert_eq!(files, ["authority.key", "authority.pem", "far.key", "far.pem", "near.key", "near.pem"]);
    eprintln!("{renewed} of 60 renewals were done before the kill");
}

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

    // An end that was left behind: it trusts the far end, which refuses its certificate of the first authority.
    machines.copy("second", &["authority.pem"]);
    let (code, _, error) = output(&["near", text(&machines.file("second", "proxy.toml"))]);
    assert_eq!(code, 6, "{error}");
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
    assert!(error.contains("certificate expires in 19 days: renew it"), "{error}");

    let mut child = proxy(&["near", text(&file)]).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let near = Running(child);
    let lines: Arc<Mutex<String>> = Arc::default();
    let filled = lines.clone();
    thread::spawn(move || {
        log.lines().map_while(Result::ok).for_each(|line| *filled.lock().unwrap() += &(line + "\n"))
    });
    let warnings = || lines.lock().unwrap().matches("certificate expires in 19 days: renew it").count();
    until("the log warns", || warnings() == 1);
    let status = || machines.status("near");
    assert_eq!(status()["certificates"][0]["expires_soon"], true);
    assert_eq!(status()["certificates"][1]["expires_soon"], false);
    let (_, page, _) = output(&["status", text(&file)]);
    assert!(
        page.contains("\ncertificate      home.pem: CN=home.gamelane expires in 19 days: renew it\n"),
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
    assert!(error.contains("certificate expires in 364 days: renew it"), "{error}");
}
