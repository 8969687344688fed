//! What the gateway and its second process may still do while frames pass.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::common::{FQ, Net, PATIENCE, Running, SERVER, net, of_process, wait, ways, write_policy};

const NOBODY: u32 = 65_534;
/// A bit of `CapEff`: `CAP_NET_ADMIN`.
const NET_ADMIN: &str = "0000000000001000";
const NONE: &str = "0000000000000000";

/// The process that restores offloads.
fn guard(net: &Net, gateway: &Running<'_>) -> u32 {
    let processes = net.processes();
    let mut others = processes.lines().map(|id| id.parse().unwrap()).filter(|id| *id != gateway.id());
    others.next().expect("virtual interfaces have offloads, so there is a guard")
}

/// Asserts what a process is and has, but for its user.
fn assert_confined(process: u32, capabilities: &str) {
    for key in ["CapInh", "CapAmb", "CapBnd"] {
        assert_eq!(of_process(process, key), NONE, "{key}");
    }
    for key in ["CapPrm", "CapEff"] {
        assert_eq!(of_process(process, key), capabilities, "{key}");
    }
    assert_eq!(of_process(process, "NoNewPrivs"), "1");
    assert_eq!(of_process(process, "Seccomp"), "2", "a filter");
}

fn assert_is(process: u32, user: u32) {
    let ids = [user; 4].map(|id| id.to_string()).join(" ");
    assert_eq!(of_process(process, "Uid"), ids);
    assert_eq!(of_process(process, "Gid"), ids);
    assert_eq!(of_process(process, "Groups"), user.to_string());
}

#[test]
fn nothing_is_kept_while_frames_pass_and_status_reload_and_tap_still_work() {
    let Some(net) = net(1500, &[]) else { return };
    for way in ways() {
        let policy = net.policy(&format!("shape = \"20mbit\"\nautorate = {{}}\n{FQ}"));
        let tap = net.folder.path().join(format!("tap-{way}"));
        // Each part of the recording holds 128 KiB, so that parts are begun and removed.
        let options = ["--io", way, "--tap", tap.to_str().unwrap(), "--tap-size", "1", "--tap-rotate"];
        let gateway = net.gateway_with(&policy, &options);
        let guard = guard(&net, &gateway);
        let ping = || net.ping(&["-c", "20", SERVER]);
        assert!(ping().contains("20 received"));
        for (process, capabilities) in [(gateway.id(), NONE), (guard, NET_ADMIN)] {
            let in_time = || of_process(process, "Seccomp") == "2";
            assert!(wait(PATIENCE, in_time), "{process} is not confined: {}", gateway.log());
            assert_is(process, NOBODY);
            assert_confined(process, capabilities);
        }

        write_policy(&policy, "up = { queue = \"pie\" }\ndown = { queue = \"fq_codel\" }");
        assert!(wait(PATIENCE, || gateway.status().reloads == 1), "{}", gateway.log());
        gateway.signal("HUP");
        net.run(crate::common::Place::Home, &["ping", "-q", "-f", "-c", "9000", "-s", "100", SERVER]);
        let removed = || !tap.join("frames-0000.pcapng").exists();
        assert!(wait(PATIENCE, removed), "{:?}", gateway.status().tap);
        let recorded = gateway.status().tap.expect("there is a tap");
        assert_eq!((recorded.error, recorded.lost), (None, 0));
        for entry in std::fs::read_dir(&tap).unwrap() {
            let about = entry.unwrap().metadata().unwrap();
            assert_eq!((about.uid(), about.mode() & 0o777), (NOBODY, 0o600));
        }
        assert!(tap.join("policy-0001.toml").exists());
        gateway.assert_conserves();
        let found = net.state();
        assert_eq!(gateway.end("TERM"), Some(0));
        assert!(wait(PATIENCE, || net.state() != found), "the guard restores offloads");
        assert!(wait(PATIENCE, || net.processes().is_empty()), "nothing is left");
    }
}

#[test]
fn root_stays_root_if_asked_to_but_keeps_no_capability() {
    let Some(net) = net(1500, &[]) else { return };
    // Only root may read this folder.
    set_permissions(net.folder.path(), Permissions::from_mode(0o700)).unwrap();
    let policy = net.policy(FQ);
    let gateway = net.gateway_with(&policy, &["--user", "root"]);
    assert_eq!(of_process(gateway.id(), "Uid"), "0 0 0 0");
    assert_confined(gateway.id(), NONE);
    write_policy(&policy, "up = { queue = \"pie\" }\ndown = { queue = \"pie\" }");
    assert!(wait(PATIENCE, || gateway.status().reloads == 1), "{}", gateway.log());
    assert!(!gateway.log().contains("will not be seen"), "{}", gateway.log());
}

#[test]
fn a_policy_that_the_new_user_cannot_read_again_is_said_with_the_remedy() {
    let Some(net) = net(1500, &[]) else { return };
    set_permissions(net.folder.path(), Permissions::from_mode(0o700)).unwrap();
    let gateway = net.gateway(FQ);
    let log = gateway.log();
    let said = "policy.toml: a change will not be seen: Permission denied";
    assert!(log.contains(said) && log.contains("let nobody read it, or start with --user"), "{log}");
    assert!(net.ping(&["-c", "20", SERVER]).contains("20 received"));
    assert_eq!(gateway.status().policy_refused, None, "it was not asked to read");
    gateway.signal("HUP");
    let refused = || gateway.status().policy_refused.is_some_and(|why| why.contains("Permission denied"));
    assert!(wait(PATIENCE, refused), "{}", gateway.log());
}

#[test]
fn an_unknown_user_is_refused_before_anything_is_touched() {
    let Some(net) = net(1500, &[]) else { return };
    let (policy, found) = (net.policy(FQ), net.state());
    let words =
        ["run", "--lan", "lan", "--wan", "wan", policy.to_str().unwrap(), "--user", "no-such-user-1f"];
    let (code, _, error) = net.program(&words);
    assert_eq!(code, 2, "{error}");
    assert!(
        error.starts_with("error: --user: no such user: no-such-user-1f\n  hint:    `useradd"),
        "{error}"
    );
    assert_eq!(net.state(), found);
}
