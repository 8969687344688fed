//! What each end may still do while streams flow, under every option that makes other system calls.

use std::fs::{File, Permissions, set_permissions};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_gamelane-proxy");
const NOBODY: u32 = 65_534;

/// Whether this is root. If not, that is reported, and fails in CI.
fn is_root() -> bool {
    let is = rustix::process::geteuid().is_root();
    if !is {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "this is not root");
        eprintln!("skipped: this is not root");
    }
    is
}

/// One end, with its log in a file.
struct End {
    child: Child,
    config: PathBuf,
}

impl End {
    fn start(role: &str, folder: &Path) -> Self {
        Self::start_by(&[PROGRAM], role, folder)
    }

    fn start_by(words: &[&str], role: &str, folder: &Path) -> Self {
        let config = folder.join(format!("{role}.toml"));
        let log = File::create(config.with_extension("log")).unwrap();
        let child = Command::new(words[0])
            .args(&words[1..])
            .args(["--json-log", role, config.to_str().unwrap()])
            .stderr(log)
            .spawn()
            .unwrap();
        let end = Self { child, config };
        end.says("\"serving\"");
        end
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.config.with_extension("log")).unwrap()
    }

    fn says(&self, what: &str) {
        for _ in 0..6000 {
            if self.log().contains(what) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("never: {what}\n{}", self.log());
    }

    fn signal(&self, which: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([which, &id]).status().unwrap().success());
    }

    /// A line of `/proc/PID/status`, with single blanks.
    fn has(&self, key: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn assert_confined(&self, user: u32) {
        let ids = [user; 4].map(|id| id.to_string()).join(" ");
        assert_eq!(self.has("Uid"), ids);
        if user != 0 {
            assert_eq!(self.has("Gid"), ids);
            assert_eq!(self.has("Groups"), user.to_string());
        }
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(self.has(set), "0000000000000000", "{set}");
        }
        assert_eq!((self.has("NoNewPrivs").as_str(), self.has("Seccomp").as_str()), ("1", "2"));
    }

    fn end(mut self) {
        self.signal("-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.log());
        assert!(!self.log().contains("system call refused"), "{}", self.log());
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that echoes.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut &socket, &mut &socket));
        }
    });
    address
}

/// Files of both ends with these keys, and with certificates in a folder that everyone may enter. Returns the address for players.
fn files(folder: &Path, keys: &str) -> SocketAddr {
    let mut make = Command::new(PROGRAM);
    make.args(["certificates", folder.to_str().unwrap()]).stdout(Stdio::null());
    assert!(make.status().unwrap().success());
    set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let (near, far) = (free_port(), free_port());
    for (end, addresses) in [
        ("far", format!("listen = \"127.0.0.1:{far}\"\nserver = \"{}\"\n", echo())),
        ("near", format!("listen = \"127.0.0.1:{near}\"\nfar = \"127.0.0.1:{far}\"\n")),
    ] {
        let text = format!(
            "{addresses}{keys}\n[tls]\ncertificate = \"{end}.pem\"\nkey = \"{end}.key\"\nauthority = \"authority.pem\"\n\
             [admin]\nlisten = \"127.0.0.1:{}\"\n",
            free_port()
        );
        std::fs::write(folder.join(format!("{end}.toml")), text).unwrap();
    }
    ([127, 0, 0, 1], near).into()
}

fn player(address: SocketAddr) -> TcpStream {
    let player = TcpStream::connect(address).unwrap();
    player.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    player
}

fn plays(mut player: &TcpStream) {
    let message: Vec<u8> = (0..3000).map(|byte: u32| byte as u8).collect();
    for _ in 0..20 {
        player.write_all(&message).unwrap();
        let mut back = vec![0; message.len()];
        player.read_exact(&mut back).unwrap();
        assert_eq!(back, message);
    }
}

fn plays_confined(keys: &str) {
    let folder = TempDir::new().unwrap();
    let address = files(folder.path(), keys);
    for end in ["near", "far"] {
        std::os::unix::fs::chown(folder.path().join(format!("{end}.key")), Some(NOBODY), None).unwrap();
    }
    let ends = ["far", "near"].map(|role| End::start(role, folder.path()));
    let first = player(address);
    plays(&first);
    for end in &ends {
        end.assert_confined(NOBODY);
        let mut status = Command::new(PROGRAM);
        let said = status.args(["status", end.config.to_str().unwrap(), "--json"]).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        end.signal("-HUP");
        end.says("certificates renewed");
    }
    plays(&first);
    // A player who comes later, and one who leaves without a word.
    plays(&player(address));
    drop(first);
    ends.into_iter().rev().for_each(End::end);
}

#[test]
fn carriers_over_tcp_with_tls() {
    if is_root() {
        plays_confined(
            "carriers = 2\nproxy_protocol = \"none\"\n[tcp]\ncongestion = \"reno\"\n[repeat]\nafter = 0.5",
        );
    }
}

#[test]
fn carriers_over_quic() {
    if is_root() {
        plays_confined("transport = \"quic\"\n[repeat]\nafter = 0.5\n[coalescing]\ndeadline = \"1ms\"");
    }
}

#[test]
fn busy_polling() {
    if is_root() {
        plays_confined("busy_poll = \"5ms\"");
    }
}

#[test]
fn carriers_that_break_come_back_over_either_transport() {
    if !is_root() {
        return;
    }
    for keys in ["", "transport = \"quic\"\n[timeouts]\nkeep_alive = \"200ms\"\nsilence = \"1s\""] {
        let folder = TempDir::new().unwrap();
        let address = files(folder.path(), keys);
        let [far, near] = ["far", "near"].map(|role| End::start(role, folder.path()));
        plays(&player(address));
        drop(far);
        let far = End::start("far", folder.path());
        near.says("next attempt");
        // Players of the lost session are reset, so each attempt is a new player.
        let mut attempts = 0;
        let came_back = || {
            attempts += 1;
            let mut player = TcpStream::connect(address).unwrap();
            player.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            player.write_all(b"x").is_ok() && player.read_exact(&mut [0]).is_ok()
        };
        assert!(std::iter::repeat_with(came_back).take(20).any(|came| came), "{}", near.log());
        near.assert_confined(NOBODY);
        near.end();
        far.end();
    }
}

#[test]
fn a_key_that_the_new_user_cannot_read_is_said_at_the_start_and_at_sighup_and_players_stay() {
    if !is_root() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let address = files(folder.path(), "");
    // As a temporary folder of root is: the certificates are out of reach as well.
    set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let [far, near] = ["far", "near"].map(|role| End::start(role, folder.path()));
    let player = player(address);
    plays(&player);
    for end in [&near, &far] {
        end.says("nobody may not read it, so SIGHUP cannot renew certificates, only a restart can: Permission denied");
        end.says("useradd --system gamelane; chown gamelane ");
        end.signal("-HUP");
        end.says("certificates not renewed; the old ones stay in use");
    }
    plays(&player);
    drop(player);
    near.end();
    far.end();
}

#[test]
fn root_stays_root_if_asked_to_and_still_reads_its_certificates() {
    if !is_root() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let address = files(folder.path(), "user = \"root\"");
    set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let [far, near] = ["far", "near"].map(|role| End::start(role, folder.path()));
    plays(&player(address));
    for end in [&near, &far] {
        end.assert_confined(0);
        end.signal("-HUP");
        end.says("certificates renewed");
        assert!(!end.log().contains("may not read it"), "{}", end.log());
    }
    near.end();
    far.end();
}

#[test]
fn root_that_may_not_change_its_user_stays_root_and_says_so() {
    if !is_root() {
        return;
    }
    let folder = TempDir::new().unwrap();
    files(folder.path(), "");
    let end = End::start_by(&["setpriv", "--bounding-set=-setuid", PROGRAM], "far", folder.path());
    end.says("stays root, without capabilities: it cannot become nobody, because it was started without CAP_SETUID");
    end.assert_confined(0);
    end.end();
}

#[test]
fn a_user_or_a_congestion_control_that_is_not_there_is_refused_by_its_key() {
    for (keys, unprivileged, code, expected) in [
        ("user = \"no-such-user-1f\"", false, 2, ["error: `user` in ", "no such user", "hint:    `useradd"]),
        (
            "[tcp]\ncongestion = \"no-such-1f\"",
            false,
            5,
            [
                "error: `tcp.congestion` in ",
                "this kernel does not have it",
                "tcp_available_congestion_control",
            ],
        ),
        ("user = \"root\"", true, 2, ["error: `user` in ", "only root may change its user", "start as root"]),
    ] {
        let folder = TempDir::new().unwrap();
        files(folder.path(), keys);
        let config = folder.path().join("far.toml");
        let mut command = Command::new(PROGRAM);
        if unprivileged && rustix::process::geteuid().is_root() {
            // The program and its files must be in reach of `nobody`.
            let copy = folder.path().join("program");
            std::fs::copy(PROGRAM, &copy).unwrap();
            std::os::unix::fs::chown(folder.path().join("far.key"), Some(NOBODY), None).unwrap();
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
        }
        let out = command.args(["far", config.to_str().unwrap()]).output().unwrap();
        let error = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(code), "{error}");
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }
}
