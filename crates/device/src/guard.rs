//! Restores a machine however the program ends. The kernel itself undoes sockets and promiscuous mode, but not offloads or queue
//! disciplines. So the program starts a second process while it still has privileges. That process waits until its input ends, which
//! happens when the program does, by SIGKILL too; then it switches the offloads on again, and undoes what else it was told. Meanwhile
//! it keeps `CAP_NET_ADMIN` alone, and the system calls for that.

use std::io::{Error, Read as _, Result, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gamelane_service::output::say;
use gamelane_service::privileges::{Call, CapabilitySet, Keep, User, calls, give_up};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::interface::{Offload, Offloads};

/// The process that waits to restore a machine.
#[derive(Debug)]
pub struct Guard(Option<Child>);

/// Hidden command of the program, which runs [`run`].
pub const COMMAND: &str = "guard";

/// What a guard restores besides offloads.
pub struct Others<'a> {
    /// System calls for that.
    pub calls: Vec<Call>,
    /// Undoes what a word names, which starts with `undo:`. Opens what it needs at the first call, with an empty word.
    pub undo: &'a mut dyn FnMut(&str) -> Result<()>,
}

/// Tells the process that everything stays.
const KEEP: &[u8] = b"keep";

/// Begins the words that [`Others`] undoes.
const UNDO: &str = "undo:";

impl Guard {
    /// Starts a process that will switch `offloads` on again and undo `others`, as `user`. Starts none if there is nothing to do.
    pub fn start(offloads: &[(String, Offload)], others: &[String], user: &User) -> Result<Self> {
        if offloads.is_empty() && others.is_empty() {
            return Ok(Self(None));
        }
        let words = offloads.iter().map(|(interface, offload)| format!("{interface}={}", offload.name));
        let child = Command::new(std::env::current_exe()?)
            .args([COMMAND, &user.name])
            .args(others.iter().map(|word| format!("{UNDO}{word}")))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A process group of its own, so that Ctrl-C does not reach it.
            .process_group(0)
            .spawn()?;
        Ok(Self(Some(child)))
    }

    /// Ends the process, and everything stays as it is.
    pub fn keep(mut self) -> Result<()> {
        if let Some(mut child) = self.0.take() {
            if let Some(mut input) = child.stdin.take() {
                input.write_all(KEEP)?;
            }
            child.wait()?;
        }
        Ok(())
    }

    /// Lets the process restore the machine, and waits for it.
    pub fn finish(mut self) -> Result<()> {
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }
}

/// Waits for the end of standard input as the user in the first of `words`. Then restores what the others name, in their order: an
/// offload as `interface=offload`. If an interface was removed and its name reused meanwhile, the new one is changed.
pub fn run(words: &[String], mut others: Option<Others<'_>>) -> Result<()> {
    // `pkill` and service managers signal every process of this name. This one still has work to do.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ignored))?;
    }
    let Some((user, words)) = words.split_first() else { return Ok(()) };
    // With too many privileges it still does its work.
    let calls = match &mut others {
        Some(others) if words.iter().any(|word| word.starts_with(UNDO)) => {
            (others.undo)("")?;
            std::mem::take(&mut others.calls)
        }
        _ => Vec::new(),
    };
    match keep_one_capability(user, calls) {
        Ok(notes) => notes.iter().for_each(|note| say(&format!("note: {note}"))),
        Err(error) => {
            say(&format!("note: the process that restores this machine keeps its privileges: {error}"))
        }
    }
    // A word says that everything stays, and the end says that the program ended.
    if std::io::stdin().lock().read(&mut [0; KEEP.len()])? > 0 {
        return Ok(());
    }
    for word in words {
        if let (Some(word), Some(others)) = (word.strip_prefix(UNDO), &mut others) {
            if let Err(error) = (others.undo)(word) {
                say(&format!("cannot undo {word}: {error}"));
            }
            continue;
        }
        let Some((interface, name)) = word.rsplit_once('=') else { continue };
        let Some(offload) = Offload::named(name) else { continue };
        // An interface that was removed needs no restoring, so the error only is printed.
        if let Err(error) = Offloads::of(interface).and_then(|offloads| offloads.switch(&offload, true)) {
            say(&format!("{interface}: cannot switch {name} on again: {error}"));
        }
    }
    Ok(())
}

fn keep_one_capability(user: &str, more: Vec<Call>) -> Result<Vec<String>> {
    let user = User::find(Some(user)).map_err(Error::other)?;
    let keep = Keep {
        capabilities: CapabilitySet::NET_ADMIN,
        ..Keep::only([calls::common(), calls::waiting(), calls::offloads(), more])
    };
    give_up(&user, &keep)
}

/// Switches offloads off. Start a [`Guard`] for them first.
///
/// # Errors
/// Which one cannot be switched, and why.
pub fn switch_off(offloads: &[(String, Offload)]) -> Result<()> {
    for (interface, offload) in offloads {
        Offloads::of(interface).and_then(|all| all.switch(offload, false)).map_err(|error| {
            Error::new(error.kind(), format!("{interface}: cannot switch {} off: {error}", offload.name))
        })?;
    }
    Ok(())
}
