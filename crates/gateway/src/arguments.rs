//! The command line of `gamelane-gateway`.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::ArgValueCandidates;
use gamelane_core::Duration;
use gamelane_device::Interface;
use gamelane_device::guard;
use gamelane_device::preflight::IoChoice;
use gamelane_gateway::run::{Asked, EngineChoice, Live, TruthOptions};
use gamelane_gateway::tap::{self, WhenFull};
use gamelane_policy::kernel::QueueDown;
use gamelane_service::privileges::User;

/// Keeps games playable on a shared link: by queues of its own, or by those of Linux.
#[derive(Parser)]
#[command(name = "gamelane-gateway", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Log as JSON, one object a line. The variable GAMELANE_LOG sets the level, such as `debug`.
    #[arg(long, global = true)]
    pub(crate) json_log: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Queue what passes between two interfaces by a policy, until SIGTERM or SIGINT.
    Run(Run),
    /// Remove what `run --persist` left on two interfaces.
    Undo {
        /// Interface towards the home.
        #[arg(long, add = ArgValueCandidates::new(Interface::candidates))]
        lan: String,
        /// Interface towards the modem.
        #[arg(long, add = ArgValueCandidates::new(Interface::candidates))]
        wan: String,
    },
    /// Show the status of a running gateway.
    Status {
        /// Address where it listens.
        #[arg(long, default_value = DEFAULT_LISTEN)]
        listen: SocketAddr,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the status each second.
    Watch {
        /// Address where it listens.
        #[arg(long, default_value = DEFAULT_LISTEN)]
        listen: SocketAddr,
    },
    /// Watch the queues that somebody else set up, and say whether games are fine and what delays them. Changes nothing.
    Truth(Truth),
    /// Repeat a recording through the same queues, without interfaces, and compare every decision.
    Replay {
        /// Folder that `run --tap` wrote.
        folder: PathBuf,
        /// A policy to use instead of the recording's first one.
        policy: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    #[command(name = guard::COMMAND, hide = true)]
    Guard { words: Vec<String> },
}

#[derive(Args)]
pub(crate) struct Run {
    /// Interface towards the home.
    #[arg(long, add = ArgValueCandidates::new(Interface::candidates))]
    pub(crate) lan: String,
    /// Interface towards the modem.
    #[arg(long, add = ArgValueCandidates::new(Interface::candidates))]
    pub(crate) wan: String,
    /// A scenario; its `[gateway]` is the policy.
    pub(crate) policy: PathBuf,
    /// Access plan that replaces the policy's link: rates, framing and buffers (`gamelane presets plan`).
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Replace a value of the policy: `gateway.shape.up=950kbit`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// What forwards and queues: Linux with queues of its own (`kernel`), or this program (`user`). `auto` takes Linux where it
    /// forwards between the two interfaces already.
    #[arg(long, value_enum, default_value_t = EngineChoice::Auto)]
    engine: EngineChoice,
    /// Where packets to the home queue, with `--engine kernel`: where they arrive (`wan`) or where they leave (`lan`). Default: `wan`,
    /// unless the policy has classes for them.
    #[arg(long, value_enum, value_name = "SIDE")]
    queue_down: Option<QueueDown>,
    /// Burst of HTB with `--engine kernel`, as a time at its rate. It makes up for late timers of the kernel. A longer burst delays a
    /// game; one that is too short costs rate.
    #[arg(long, value_name = "US", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    burst_us: u32,
    /// Remove queues that others set, with `--engine kernel`. They do not come back at the end.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Leave Linux's queues as they are at the end, with `--engine kernel`. `undo` removes them.
    #[arg(long)]
    pub(crate) persist: bool,
    /// Show what would be done, and do nothing. With `--engine kernel`: as lines for a shell.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How frames are received and sent: AF_PACKET or AF_XDP. `status` shows which one and why.
    #[arg(long, value_enum, default_value_t = IoChoice::Auto)]
    pub(crate) io: IoChoice,
    /// Loopback address where status and metrics are served; `none` serves nothing.
    #[arg(long, default_value = DEFAULT_LISTEN)]
    listen: String,
    /// Memory for frames, in MiB.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    memory: u32,
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// User to become once the interfaces are open. Default: nobody if started as root. `root` stays root, without capabilities.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Also use an interface over which you are logged in.
    #[arg(long)]
    pub(crate) allow_login_interface: bool,
}

impl Run {
    /// Keys and values that replace the policy's.
    pub(crate) fn overrides(&self) -> Result<Vec<(String, String)>, String> {
        let pair = |text: &String| {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                format!("--set {text}: this takes KEY=VALUE, such as gateway.shape.up=950kbit")
            })?;
            Ok((key.to_string(), value.to_string()))
        };
        let plan = self.plan.iter().map(|plan| Ok(("plan".to_owned(), plan.clone())));
        plan.chain(self.set.iter().map(pair)).collect()
    }

    /// Address where status is served; `None` for `none`.
    pub(crate) fn listen(&self) -> Result<Option<SocketAddr>, String> {
        listen(&self.listen)
    }

    /// Bytes of memory for frames.
    pub(crate) const fn memory(&self) -> usize {
        (self.memory as usize) << 20
    }

    /// What is asked for of the engine.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            engine: self.engine,
            io: self.io,
            queue_down: self.queue_down,
            burst: Duration::from_micros(self.burst_us.into()),
            allow_login: self.allow_login_interface,
            only_user: (self.io != IoChoice::Auto).then_some("--io"),
        }
    }
}

#[derive(Args)]
pub(crate) struct Recorded {
    /// Record frames, times and decisions into this folder. `gamelane report` shows them, and Wireshark opens them. `gamelane-gateway
    /// replay` repeats the decisions of a gateway in user space.
    #[arg(long, value_name = "DIR")]
    tap: Option<PathBuf>,
    /// Bytes recorded of each frame.
    #[arg(long, default_value_t = tap::about::SNAP, value_parser = clap::value_parser!(u32).range(160..=65_535), requires = "tap")]
    tap_snap: u32,
    /// Size at which the recording stops, in MiB.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..), requires = "tap")]
    tap_size: u32,
    /// Delete the oldest part instead of stopping. Such a recording can be viewed in Wireshark, but neither replayed nor turned into a
    /// report: the state of the queues at its start is gone.
    #[arg(long, requires = "tap")]
    tap_rotate: bool,
}

impl Recorded {
    /// The recording asked for.
    ///
    /// # Errors
    /// It cannot be written there.
    pub(crate) fn options(&self) -> Result<Option<tap::Options>, String> {
        let Some(folder) = &self.tap else { return Ok(None) };
        tap::about::check_folder(folder).map_err(|error| {
            let hint = "name a folder that does not exist yet";
            format!("--tap {}: {error}\n  hint:    {hint}", folder.display())
        })?;
        Ok(Some(tap::Options {
            folder: folder.clone(),
            snap: self.tap_snap,
            size: u64::from(self.tap_size) << 20,
            when_full: if self.tap_rotate { WhenFull::Rotate } else { WhenFull::Stop },
        }))
    }
}

fn listen(text: &str) -> Result<Option<SocketAddr>, String> {
    if text == "none" {
        return Ok(None);
    }
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Some(address)),
        Ok(_) => {
            Err(format!("--listen {text}: not on loopback: the status must not be visible on the network"))
        }
        Err(_) => Err(format!("--listen {text}: this takes an address such as {DEFAULT_LISTEN}, or none")),
    }
}

#[derive(Args)]
pub(crate) struct Truth {
    /// Interface towards the internet.
    #[arg(add = ArgValueCandidates::new(Interface::candidates))]
    interface: String,
    /// Interface whose queue holds packets to the home: an IFB interface, or the one towards the home. Default: where packets that
    /// arrive at the first interface are redirected.
    #[arg(long, value_name = "INTERFACE", add = ArgValueCandidates::new(Interface::candidates))]
    down: Option<String>,
    /// End after this many seconds. Default: at SIGINT or SIGTERM.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Print the last status as JSON instead of the page.
    #[arg(long)]
    pub(crate) json: bool,
    /// Loopback address where status and metrics are served while it runs, for `status`, `watch` and Prometheus; `none` serves
    /// nothing.
    #[arg(long, default_value = "none")]
    listen: String,
    #[command(flatten)]
    recorded: Recorded,
    /// User to become once it watches. Default: nobody if started as root. `root` stays root, without capabilities.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
}

impl Truth {
    /// Address where status is served; `None` for `none`.
    pub(crate) fn listen(&self) -> Result<Option<SocketAddr>, String> {
        listen(&self.listen)
    }

    /// What is to be watched. The page is shown each second on a terminal.
    ///
    /// # Errors
    /// As of [`Recorded::options`].
    pub(crate) fn options(&self, user: User, json_log: bool) -> Result<TruthOptions, String> {
        let is_terminal = std::io::stdout().is_terminal() && !self.json;
        let colour = std::env::var_os("NO_COLOR").is_none();
        Ok(TruthOptions {
            wan: self.interface.clone(),
            down: self.down.clone(),
            span: self.seconds.map(|seconds| Duration::from_secs(seconds.into())),
            live: is_terminal.then_some(Live { colour }),
            tap: self.recorded.options()?,
            user,
            json_log,
        })
    }
}

const DEFAULT_LISTEN: &str = "127.0.0.1:9720";
