//! Unmodified servers and clients through a pair: a multiplayer game with a line-based protocol (dopewars), and PostgreSQL for bulk
//! data. A test is skipped, with the reason, if its programs are missing.

use crate::common::*;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A process that is killed when its test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Finds a program on the path or in `also`, and prints a line if there is none.
fn program(name: &str, also: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).chain([PathBuf::from(also)]).map(|folder| folder.join(name));
    let found = found.into_iter().find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

fn until(what: impl Fn() -> bool, name: &str) {
    for _ in 0..600 {
        if what() {
            return;
        }
        std::thread::sleep(millis(50));
    }
    panic!("never: {name}");
}

fn text(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_players_of_a_packaged_game_meet_through_it() {
    let Some(dopewars) = program("dopewars", "/usr/games") else { return };
    let folder = TempDir::new().unwrap();
    let (server, log) = (free_address(), folder.path().join("server.log"));
    let spawn = |arguments: &[&str], out: &Path| {
        let mut command = Command::new(&dopewars);
        command.args(arguments).current_dir(folder.path()).env("HOME", folder.path()).stdin(Stdio::null());
        let out = std::fs::File::create(out).unwrap();
        Running(command.stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap())
    };
    let port = server.port().to_string();
    let files = ["-l", "server.log", "-r", "server.pid", "-f", "scores"];
    // `-S`: do not announce the server in a public list.
    let _server = spawn(&[&["-S", "-p", &port][..], &files].concat(), &folder.path().join("server.out"));
    until(|| text(&log).contains("ready and waiting for connections"), "the server is up");
    let pair = pair(server, &Setup::both("carriers = 2").tls()).await;
    let near = pair.address.port().to_string();
    let outs = [1, 2].map(|player| folder.path().join(format!("player{player}")));
    let _players = outs.each_ref().map(|out| spawn(&["-c", "-o", "127.0.0.1", "-p", &near], out));
    until(|| text(&log).matches("joins the game!").count() == 2, "both are in the game");
    until(|| outs.iter().all(|out| text(out).contains("Jetting to")), "both move");
    assert_eq!(pair.near.hub().streams(), 2);
    let moved = pair.far.metrics.bytes_out.value() + pair.near.metrics.bytes_out.value();
    assert!(moved > 500, "{moved} bytes went through the pair");
}

/// PostgreSQL refuses to run as root.
fn as_user(program: &Path) -> Command {
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn psql_copies_megabytes_both_ways_through_it() {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|entry| entry.path().join("bin")).max().unwrap_or_default();
    let newest = newest.display().to_string();
    let programs = (program("initdb", &newest), program("postgres", &newest), program("psql", &newest));
    let (Some(initdb), Some(postgres), Some(psql)) = programs else { return };
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    // The user that runs the server must be able to write here.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let made = as_user(&initdb)
        .args(["-A", "trust", "-U", "player", "--no-sync", "-D"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let server = free_address();
    let out = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut command = as_user(&postgres);
    command.arg("-D").arg(&data).args(["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-k", ""]);
    command.args(["-p", &server.port().to_string()]).stdin(Stdio::null());
    let _server = Running(command.stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap());
    until(|| text(&folder.path().join("log")).contains("ready to accept connections"), "the server is up");

    let pair = pair(server, &Setup::both("carriers = 2").tls()).await;
    let ask = |sql: &str| {
        let near = pair.address.port().to_string();
        let mut command = Command::new(&psql);
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", &near]);
        let done = command.args(["-U", "player", "-d", "postgres", "-c", sql]).output().unwrap();
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let mut random = gamelane_core::Seed(8).stream("rows");
    let rows: String =
        (0..40_000).map(|row| format!("{row}\t{:016x}{:016x}\n", random.bits(), random.bits())).collect();
    let (sent, back) = (folder.path().join("rows"), folder.path().join("back"));
    std::fs::write(&sent, &rows).unwrap();
    ask("create table message (number int primary key, text text)");
    ask(&format!("\\copy message from '{}'", sent.display()));
    assert_eq!(ask("select count(*), min(number), max(number) from message"), "40000|0|39999\n");
    ask(&format!("\\copy (select * from message order by number) to '{}'", back.display()));
    assert!(std::fs::read_to_string(&back).unwrap() == rows, "other rows came back");
    assert_eq!(pair.near.metrics.aborted.value(), 0);
}
