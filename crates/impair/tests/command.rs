//! How the program ends: its exit code and what it says.

use std::fs::File;
use std::process::{Command, Output, Stdio};

fn program(words: &[&str], stdout: impl Into<Stdio>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamelane-impair")).args(words).stdout(stdout).output().unwrap()
}

fn ends(words: &[&str], stdout: impl Into<Stdio>) -> (Option<i32>, String) {
    let out = program(words, stdout);
    (out.status.code(), String::from_utf8(out.stderr).unwrap())
}

#[test]
fn a_reader_that_ends_first_is_no_error() {
    for words in [["profiles"].as_slice(), &["profiles", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(ends(words, writer), (Some(0), String::new()), "{words:?}");
    }
}

#[test]
fn each_kind_of_failure_has_its_code() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (code, error) = ends(&["profiles"], full);
    assert!(code == Some(3) && error.contains("stdout: cannot be written"), "{code:?} {error}");
    for words in [["show", "nowhere"].as_slice(), &["set", "nowhere", "--delay", "1ms"]] {
        let (code, error) = ends(words, Stdio::null());
        assert!(code == Some(6) && error.contains("nowhere: nobody impairs it"), "{code:?} {error}");
    }
    let (code, error) = ends(&["run", "nowhere", "--loss", "2"], Stdio::null());
    assert!(code == Some(2) && error.contains("`loss`"), "{code:?} {error}");
}
