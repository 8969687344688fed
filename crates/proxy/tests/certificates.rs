//! The authority that stays: what each command writes and refuses.

use crate::command::{output, proxy};
use gamelane_proxy::certificates::facts::{Facts, Purpose};
use gamelane_proxy::certificates::folder::Folder;
use gamelane_proxy::config::Config;
use gamelane_proxy::tls::Certificates;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// How long to wait for what must happen: a busy machine may take this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `certificates`, and returns code, stdout and stderr. No run may print a private key.
pub(crate) fn run(words: &[&str]) -> (i32, String, String) {
    let (code, out, error) = output(&[&["certificates"], words].concat());
    assert!(!(out.clone() + &error).contains("PRIVATE"), "{out}{error}");
    (code, out, error)
}

/// Runs `certificates`, which must succeed, and returns stdout and stderr.
pub(crate) fn done(words: &[&str]) -> (String, String) {
    let (code, out, error) = run(words);
    assert_eq!(code, 0, "{words:?}: {error}");
    (out, error)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

pub(crate) fn one(file: &Path) -> Facts {
    let mut read = Facts::read(file).unwrap();
    assert_eq!(read.len(), 1, "{}", file.display());
    read.remove(0)
}

pub(crate) fn tls(name: &str) -> String {
    format!("[tls]\ncertificate = \"{name}.pem\"\nkey = \"{name}.key\"\nauthority = \"authority.pem\"\n")
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
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

/// Regression: `add` refused to go on, and `renew` signed for the old key, so the proxy refused the pair.
#[test]
fn a_command_that_was_killed_between_two_files_is_repaired_by_the_next() {
    let folder = TempDir::new().unwrap();
    let (ca, at) = (text(folder.path()), |name: &str| folder.path().join(name));
    let fits = |name: &str| {
        let config = format!("listen = \"127.0.0.1:0\"\nserver = \"127.0.0.1:1\"\n{}", tls(name));
        fs::write(at("far.toml"), config).unwrap();
        output(&["check", "far", text(&at("far.toml"))]).0 == 0
    };
    done(&["init", ca]);
    fs::remove_file(at("authority.pem")).unwrap();
    done(&["init", ca]);
    done(&["add", ca, "home", "--far"]);
    assert!(fits("home"));
    fs::remove_file(at("home.pem")).unwrap();
    done(&["add", ca, "home", "--far"]);
    assert!(fits("home"));
    let before = fs::read(at("home.pem")).unwrap();
    done(&["renew", ca, "home", "--new-key"]);
    fs::write(at("home.pem"), before).unwrap();
    assert!(!fits("home"));
    let (_, said) = done(&["renew", ca, "home"]);
    assert!(said.contains("home.pem was for another key than home.key"), "{said}");
    assert!(fits("home"));
}
