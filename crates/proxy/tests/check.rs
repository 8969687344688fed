//! `check` finds what cannot run, and the start refuses the same with the same words.

use crate::certificates::{done, text, tls};
use crate::command::output;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::TempDir;

/// Runs `check` and the start, which must say the same, and returns the code and what they say.
fn refused(role: &str, file: &Path) -> (i32, String) {
    let (code, out, error) = output(&["check", role, text(file)]);
    assert_ne!(code, 0, "{}{out}{error}", fs::read_to_string(file).unwrap());
    assert_eq!((code, String::new(), error.clone()), output(&[role, text(file)]));
    (code, error)
}

/// Two folders of certificates, and a far end's configuration in the first.
struct Files(TempDir, TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(TempDir::new().unwrap(), TempDir::new().unwrap());
        done(&[text(files.0.path())]);
        done(&[text(files.1.path())]);
        files
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, keys: &str, tls: &str) -> std::path::PathBuf {
        let file = self.path("far.toml");
        fs::write(&file, format!("listen = \"127.0.0.1:0\"\nserver = \"127.0.0.1:9\"\n{keys}\n{tls}"))
            .unwrap();
        file
    }
}

#[test]
fn certificates_that_do_not_fit_are_refused_by_their_key_with_a_hint() {
    let files = Files::new();
    let other = files.1.path().display();
    let plain = tls("far");
    let file = files.write("", &plain);
    assert_eq!(output(&["check", "far", text(&file)]).0, 0);
    let der = pem::parse(fs::read(files.path("far.pem")).unwrap()).unwrap().into_contents();
    fs::write(files.path("far.der"), der).unwrap();
    let pipe = files.path("pipe.pem");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (from, to, key, why, hint) in [
        (
            "far.pem",
            "near.pem",
            "certificate",
            "CN=near.gamelane has the role near, not far",
            "add DIR NAME --far",
        ),
        ("far.pem", "authority.pem", "certificate", "has the role authority, not far", "add DIR NAME --far"),
        (
            "far.pem",
            "far.key",
            "certificate",
            "holds no certificate, but a private key",
            "add DIR NAME --far",
        ),
        (
            "far.pem",
            "far.der",
            "certificate",
            "holds no certificate, but a certificate in DER",
            "add DIR NAME --far",
        ),
        ("far.pem", "pipe.pem", "certificate", "is not a regular file", "add DIR NAME --far"),
        (
            "authority.pem",
            "near.pem",
            "authority",
            "CN=near.gamelane is the certificate of an end",
            "`authority.pem` in the folder",
        ),
        (
            "authority.pem",
            "nothing.pem",
            "authority",
            "cannot be read: No such file",
            "`authority.pem` in the folder",
        ),
        (
            "authority.pem",
            &format!("{other}/authority.pem"),
            "authority",
            "holds no authority that signed CN=far.gamelane",
            "from the same folder",
        ),
        ("far.key", "near.key", "key", "does not fit far.pem: ", "renew DIR NAME --new-key"),
        ("far.key", "far.pem", "key", "holds no private key, but a certificate", "renew DIR NAME --new-key"),
        ("far.key", "pipe.pem", "key", "is not a regular file", "renew DIR NAME --new-key"),
    ] {
        let (code, error) = refused("far", &files.write("", &plain.replace(from, to)));
        assert_eq!(code, 2, "{error}");
        assert!(error.starts_with(&format!("error: `tls.{key}` in {}: ", file.display())), "{to}: {error}");
        assert!(error.contains(why) && error.contains(hint), "{to}: {error}");
        assert_eq!(error.matches("error: ").count(), 1, "{error}");
    }
}

#[test]
fn all_problems_are_printed_at_once() {
    let files = Files::new();
    let keys = "user = \"\"\nallow = []\n[limits]\nsessions = 0\n[tcp]\ncongestion = \"no-such-1f\"\n";
    let lost = tls("far").replace("far.pem", "lost.pem").replace("far.key", "lost.key");
    let (code, error) = refused("far", &files.write(keys, &lost));
    assert_eq!(code, 2);
    let keys: Vec<&str> =
        error.lines().filter_map(|line| line.strip_prefix("error: `")?.split('`').next()).collect();
    assert_eq!(
        keys,
        ["limits.sessions", "allow", "tls.certificate", "tls.key", "user", "tcp.congestion"],
        "{error}"
    );
    assert!(
        error.contains("no such user\n  given:   \"\"\n  allowed: name or number of a user\n"),
        "{error}"
    );
}

#[test]
fn a_user_or_a_congestion_control_that_is_not_there_is_refused() {
    let files = Files::new();
    let (code, error) = refused("far", &files.write("user = \"no-such-user-1f\"", &tls("far")));
    assert!(code == 2 && error.starts_with("error: `user` in ") && error.contains("no such user"), "{error}");
    let read =
        |list| fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control")).unwrap();
    let allowed = read("allowed");
    let only_for_root = read("available")
        .split_whitespace()
        .find(|one| !allowed.split_whitespace().any(|it| it == *one))
        .map(str::to_owned);
    let missing = Some(("no-such-1f".to_owned(), "this kernel does not have it"));
    for (name, why) in missing.into_iter().chain(only_for_root.map(|name| (name, "is for root only"))) {
        let keys = format!("[tcp]\ncongestion = \"{name}\"\n");
        let (code, error) = refused("far", &files.write(&keys, &tls("far")));
        assert!(
            code == 5 && error.starts_with("error: `tcp.congestion` in ") && error.contains(why),
            "{error}"
        );
    }
}

#[test]
fn a_key_that_everyone_may_read_is_a_warning() {
    let files = Files::new();
    let file = files.write("", &tls("far"));
    for (mode, warns) in [(0o600, false), (0o640, false), (0o644, true)] {
        fs::set_permissions(files.path("far.key"), fs::Permissions::from_mode(mode)).unwrap();
        let (code, out, error) = output(&["check", "far", text(&file)]);
        assert_eq!((code, out), (0, format!("{}: ok\n", file.display())));
        assert_eq!(error.contains("far.key: every user of this machine may read this key"), warns, "{error}");
        assert_eq!(error.contains("chmod o= "), warns, "{error}");
    }
}

#[test]
fn a_name_instead_of_an_address_is_refused_with_what_is_allowed() {
    let files = Files::new();
    for (key, given) in
        [("server", "game.example.com:7777"), ("listen", "localhost:7700"), ("server", "127.0.0.1")]
    {
        let file = files.write("", "");
        let own = fs::read_to_string(&file).unwrap();
        let own: Vec<&str> = own.lines().filter(|line| !line.starts_with(key)).collect();
        fs::write(&file, format!("{key} = \"{given}\"\n{}\n", own.join("\n"))).unwrap();
        let (code, error) = refused("far", &file);
        assert_eq!(code, 2);
        let expected = format!(
            "error: `{key}` in {}: invalid socket address syntax\n  given:   \"{given}\"\n  allowed: an IP address and a port, such \
             as 203.0.113.5:7700 or [2001:db8::5]:7700\n  hint:    a name is not looked up; `getent ahosts NAME` prints its addresses\n",
            file.display()
        );
        assert_eq!(error, expected);
    }
}
