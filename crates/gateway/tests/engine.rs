//! Which engine the program chooses, and why.

use crate::common::net;
use crate::kernel::{FIFO, at_gateway, policy, routed};

/// Regression: a router that waits for its address became a bridge around its firewall.
#[test]
fn a_router_without_an_address_yet_becomes_no_bridge_unless_asked() {
    let Some(net) = routed() else { return };
    at_gateway(&net, "ip addr flush dev wan");
    let file = policy(&net, FIFO);
    let run = |more: &[&str]| {
        let words = ["run", "--lan", "lan", "--wan", "wan", file.to_str().unwrap(), "--dry-run"];
        net.program(&[&words[..], more].concat())
    };
    let (code, _, error) = run(&[]);
    assert!(
        code == 2 && error.contains("wan has no address yet") && error.contains("--engine user"),
        "{error}"
    );
    let (code, said, error) = run(&["--engine", "kernel"]);
    assert!(code == 0 && said.contains("# By the kernel: asked for."), "{error}");
    at_gateway(&net, "ip addr add 10.77.0.254/24 dev wan");
    let (code, said, error) = run(&["--engine", "user"]);
    assert!(code == 0 && said.contains("in user space: asked for"), "{error}");
    assert!(error.contains("around its firewall"), "{error}");
}

#[test]
fn without_a_kernel_that_forwards_auto_takes_user_space_and_says_why() {
    let Some(net) = net(1500, &[]) else { return };
    let gateway = net.gateway(FIFO);
    assert_eq!(gateway.status().io.kind, "AF_PACKET");
    assert!(gateway.log().contains("this kernel forwards nothing between lan and wan"), "{}", gateway.log());
    gateway.end("TERM");
    let file = policy(&net, FIFO);
    let (code, _, error) =
        net.program(&["run", "--engine", "kernel", "--lan", "lan", "--wan", "wan", file.to_str().unwrap()]);
    assert!(code != 0 && error.contains("forwards nothing between lan and wan"), "{error}");
}
