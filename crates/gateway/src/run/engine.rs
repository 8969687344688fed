//! Chooses what forwards: Linux with its own queues, or this program in user space.

use std::path::Path;

use gamelane_core::Duration;
use gamelane_device::preflight::{self, Forwarded, IoChoice, Plan};
use gamelane_policy::Policy;
use gamelane_policy::kernel::{self, Forwards, Place, QueueDown};

use super::check::{CheckError, check, speeds};

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineChoice {
    /// Linux, if it forwards between the interfaces; else this program.
    Auto,
    /// This program receives, queues and sends every frame.
    User,
    /// Linux forwards, and queues as this program set it up.
    Kernel,
}

/// What was chosen, checked.
#[derive(Debug)]
pub enum Engine {
    /// This program, and why.
    User(Plan, String),
    /// Linux.
    Kernel(Box<Setup>),
}

/// What is set up for Linux's queues.
#[derive(Debug)]
pub struct Setup {
    /// The interfaces.
    pub forwarded: Forwarded,
    /// How a plan sees them.
    pub place: Place,
    /// What to do.
    pub plan: kernel::Plan,
    /// Why Linux was chosen.
    pub why: &'static str,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What the command line says about the engine.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Which engine.
    pub engine: EngineChoice,
    /// How frames are received.
    pub io: IoChoice,
    /// Where packets to the home queue.
    pub queue_down: Option<QueueDown>,
    /// Burst of HTB, as a time at its rate.
    pub burst: Duration,
    /// Whether an interface may be used over which the user is logged in.
    pub allow_login: bool,
    /// An option that only this program has, such as `--tap`.
    pub only_user: Option<&'static str>,
}

/// Checks everything and changes nothing.
///
/// # Errors
/// The first thing that is wrong.
pub fn choose(names: [&str; 2], policy: &Policy, asked: &Asked) -> Result<Engine, CheckError> {
    let user =
        |why: String| check(names, policy, asked.io, asked.allow_login).map(|plan| Engine::User(plan, why));
    match (asked.engine, asked.only_user) {
        (EngineChoice::User, _) => user(ASKED.into()),
        (EngineChoice::Kernel, Some(option)) => Err(CheckError::OnlyUser(option)),
        (EngineChoice::Kernel, None) => {
            set_up(names, policy, asked, ASKED).map(|setup| Engine::Kernel(Box::new(setup)))
        }
        (EngineChoice::Auto, Some(option)) => user(format!("{option} is for it alone")),
        (EngineChoice::Auto, None) => match set_up(names, policy, asked, FORWARDS) {
            Ok(Setup { forwarded: Forwarded { waits: Some(waits), .. }, place, .. }) => {
                Err(CheckError::MayRoute { waits, lan: place.lan, wan: place.wan })
            }
            Ok(setup) => Ok(Engine::Kernel(Box::new(setup))),
            Err(CheckError::Machine(why)) => user(first_line(&why)),
            // A bridge of this program would lead around the router's firewall, and a kernel's bridge has its ports already.
            Err(error) => Err(error),
        },
    }
}

const ASKED: &str = "asked for";
const FORWARDS: &str = "it forwards between the interfaces";

/// A message without its hint.
fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().into()
}

fn set_up(names: [&str; 2], policy: &Policy, asked: &Asked, why: &'static str) -> Result<Setup, CheckError> {
    let forwarded = preflight::forwarded(["--lan", "--wan"], names)?;
    let place = Place {
        lan: forwarded.home.name.clone(),
        wan: forwarded.internet.name.clone(),
        ifb: kernel::ifb_name(&forwarded.internet.name),
        is_ethernet: [&forwarded.home, &forwarded.internet].map(gamelane_device::Interface::is_ethernet),
        forwards: if forwarded.bridge.is_some() { Forwards::Bridge } else { Forwards::Router },
        tracks: Path::new("/proc/sys/net/netfilter/nf_conntrack_count").exists(),
        queue_down: asked.queue_down,
        burst: asked.burst,
    };
    let plan = kernel::plan(policy, &place)?;
    speeds(policy, &forwarded.internet)?;
    let notes = policy.notes.iter().chain(&forwarded.notes).chain(&plan.notes).cloned().collect();
    Ok(Setup { forwarded, place, plan, why, notes })
}
