//! What the kernel still allows after `give_up`, in a process of its own: the usual test program runs its tests in threads, beside
//! which `give_up` refuses to work.

use std::io::{ErrorKind, Result};
use std::process::Command;

use gamelane_service::privileges::{Keep, User, calls, give_up};
use rustix::thread::{CpuSet, sched_setaffinity};

const CHILD: &str = "child";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(CHILD) => keep_little(),
        _ => a_refused_call_is_named_and_fails_and_the_program_goes_on(),
    }
}

fn refused<T>(result: Result<T>) {
    assert_eq!(result.err().map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
}

/// The list has threads and reading files. It lacks sockets, other processes, and writing files.
fn keep_little() {
    let program = std::env::current_exe().unwrap();
    let notes =
        give_up(&User::find(None).unwrap(), &Keep::only([calls::common(), calls::waiting()])).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    refused(std::net::UdpSocket::bind("127.0.0.1:0"));
    refused(std::fs::File::create("/tmp/gamelane-must-not-exist"));
    refused(Command::new(program).output());
    assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
    assert!(std::fs::read_to_string("/proc/loadavg").is_ok());
    for _ in 0..100 {
        refused(sched_setaffinity(None, &CpuSet::new()).map_err(Into::into));
    }
}

fn a_refused_call_is_named_and_fails_and_the_program_goes_on() {
    let out = Command::new(std::env::current_exe().unwrap()).arg(CHILD).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{error}");
    let named = |call: &str| error.matches(&format!("error: system call refused: {call} (")).count();
    // musl creates a file by the older of both calls.
    assert_eq!((named("socket"), named("openat") + named("open")), (1, 1), "{error}");
    assert_eq!(named("execve"), 0, "no process was made that could start a program: {error}");
    assert!(error.lines().count() == 50 && named("sched_setaffinity") > 40, "fifty lines in all: {error}");
}
