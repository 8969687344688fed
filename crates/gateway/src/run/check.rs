//! Checks interfaces and policy together before a run, and describes what the run would do.

use std::fmt::Write as _;

use gamelane_core::{Bitrate, Direction};
use gamelane_device::Interface;
use gamelane_device::preflight::{self, IoChoice, Plan, PreflightError};
use gamelane_policy::Policy;
use gamelane_policy::kernel::{Refused, joins_hurt, text};

use super::engine::Setup;

/// Why a gateway cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The interfaces or this process do not allow it.
    #[error(transparent)]
    Machine(#[from] PreflightError),
    /// It is not clear whether this machine is to route or to be a bridge.
    #[error(
        "this machine routes (net.ipv4.ip_forward), but {waits} has no address yet\n  hint:    write --engine kernel if it is a router; \
             --engine user makes it a bridge between {lan} and {wan}, around any firewall"
    )]
    MayRoute {
        /// The interface without an address.
        waits: String,
        /// Interface towards the home.
        lan: String,
        /// Interface towards the internet.
        wan: String,
    },
    /// Linux cannot do all of the policy.
    #[error(transparent)]
    Kernel(#[from] Refused),
    /// An option was given that the kernel engine does not have.
    #[error(
        "{0} is for --engine user: with --engine kernel no frame comes to this program\n  hint:    remove one of the two"
    )]
    OnlyUser(&'static str),
    /// The policy was made for another link.
    #[error(
        "`gateway.shape.{direction}`: {shape} is above {speed}, the speed of {name}: this policy is for another link\n  \
             hint:    the queue would build up below the gateway; shape to a little less than the link's rate"
    )]
    AnotherLink {
        /// `up` or `down`.
        direction: &'static str,
        /// Rate in the policy.
        shape: Bitrate,
        /// Speed of the interface.
        speed: Bitrate,
        /// Name of the interface.
        name: String,
    },
}

/// Checks everything and changes nothing.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn check(
    names: [&str; 2],
    policy: &Policy,
    io: IoChoice,
    allow_login: bool,
) -> Result<Plan, CheckError> {
    let mut plan = preflight::interfaces(["--lan", "--wan"], names, io, allow_login)?;
    plan.notes.splice(..0, policy.notes.iter().cloned());
    if preflight::routes_between([&plan.home, &plan.internet]) {
        let [lan, wan] = names;
        plan.notes.push(format!(
            "this machine routes between {lan} and {wan}; the gateway makes a bridge of them, around its firewall"
        ));
    }
    speeds(policy, &plan.internet)?;
    Ok(plan)
}

/// Refuses a policy that shapes to more than the interface towards the modem can send.
pub(super) fn speeds(policy: &Policy, internet: &Interface) -> Result<(), CheckError> {
    for direction in Direction::BOTH {
        let shape = policy.lanes[direction.index()].shape.as_ref().map(|shape| shape.rate);
        if let (Some(shape), Some(speed)) = (shape, internet.speed())
            && shape > speed
        {
            let (direction, name) = (direction.name(), internet.name.clone());
            return Err(CheckError::AnotherLink { direction, shape, speed, name });
        }
    }
    Ok(())
}

/// The lines that do by hand what a run with the kernel engine would do.
pub fn lines(setup: &Setup) -> String {
    let mut text = String::new();
    let operations = &setup.plan.operations;
    let _ = writeln!(text, "# By the kernel: {}.", setup.why);
    let _ = writeln!(text, "# End what an earlier run set up. To undo everything, paste only this block.");
    for line in text::undo(&setup.place) {
        let _ = writeln!(text, "{line}");
    }
    let offloads = if joins_hurt(&setup.plan.operations) { &setup.forwarded.offloads[..] } else { &[] };
    for (name, offload) in offloads {
        let _ = writeln!(text, "ethtool -K {name} {} on", offload.name);
    }
    if !offloads.is_empty() {
        let _ = writeln!(text, "\n# Let no packets be joined: a queue would count and send them as one.");
        for (name, offload) in offloads {
            let _ = writeln!(text, "ethtool -K {name} {} off", offload.name);
        }
    }
    let _ = writeln!(text);
    for line in text::lines(operations) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Describes for people what a run in user space would do, and why it is in user space.
pub fn describe(plan: &Plan, why: &str, policy: &Policy) -> String {
    let mut text = format!("in user space: {why}\n");
    let _ = writeln!(text, "policy {} ({})", policy.name, policy.hash);
    for (side, interface) in [("lan", &plan.home), ("wan", &plan.internet)] {
        let _ = writeln!(
            text,
            "{side} {}: receive and send every frame by {}, promiscuous while running",
            interface.name, plan.io
        );
    }
    let _ = writeln!(
        text,
        "both: from Linux 6.6 on, a program in the kernel that passes frames on while this one stands still"
    );
    for (name, offload) in &plan.offloads {
        let _ = writeln!(text, "{name}: switch {} off, and on again at the end", offload.name);
    }
    for direction in Direction::BOTH {
        let lane = &policy.lanes[direction.index()];
        let shape =
            lane.shape.as_ref().map_or("not shaped".into(), |shape| format!("shaped to {}", shape.rate));
        let follows = policy.autorate[direction.index()].map_or(String::new(), |config| {
            format!(", follows the link from {} to {}", config.law.lowest, config.law.highest)
        });
        let _ = writeln!(text, "{}: {}, {shape}{follows}", direction.name(), lane.discipline().word);
    }
    if let Some(voap) = &policy.voap {
        let _ = writeln!(text, "voap: alpha {}, beta {}", voap.alpha, voap.beta);
    }
    for rule in policy.classifier.iter().flat_map(|config| &config.rules) {
        let _ = writeln!(text, "class {}: {}", rule.class.0, rule.name);
    }
    text
}
