//! Puts the host back as it was, however the gateway ends. What the kernel undoes by itself (sockets, promiscuous mode) needs
//! nobody; offloads do. So a second process, started while there still are privileges, waits for the end of a pipe that the
//! gateway holds: it ends with the gateway, on SIGKILL too.

use std::io::{Read as _, Result};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::device::{Offload, Offloads};

/// The waiting process.
#[derive(Debug)]
pub struct Guard(Option<Child>);

/// The hidden command it runs.
pub const COMMAND: &str = "guard";

impl Guard {
    /// Starts a process that will switch `offloads` on again.
    pub fn start(offloads: &[(String, Offload)]) -> Result<Self> {
        if offloads.is_empty() {
            return Ok(Self(None));
        }
        let words = offloads.iter().map(|(interface, offload)| format!("{interface}={}", offload.name));
        let child = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A process group of its own: what ends the gateway by Ctrl-C must not end it.
            .process_group(0)
            .spawn()?;
        Ok(Self(Some(child)))
    }

    /// Lets it do its work and waits for it.
    pub fn finish(mut self) -> Result<()> {
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }
}

/// What the process does: waits until nobody holds the other end of its input, then switches on what `words` name.
/// The names of interfaces may have been given to others meanwhile only if the old ones are gone.
pub fn run(words: &[String]) -> Result<()> {
    // Whoever tells the gateway to end may tell every process of its kind: this one has work left then.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ignored))?;
    }
    let mut nothing = [0; 64];
    let mut input = std::io::stdin().lock();
    while input.read(&mut nothing)? > 0 {}
    for word in words {
        let Some((interface, name)) = word.rsplit_once('=') else { continue };
        let Some(offload) = Offload::named(name) else { continue };
        // An interface that is gone has nothing to be put back.
        if let Err(error) = Offloads::of(interface).and_then(|offloads| offloads.switch(&offload, true)) {
            eprintln!("{interface}: {name} could not be switched on again: {error}");
        }
    }
    Ok(())
}
