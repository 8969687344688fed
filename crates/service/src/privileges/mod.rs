//! Gives up what a program needs only to start. Once its sockets are open, [`give_up`] drops, in this order and for good:
//!
//! 1. root: it becomes another [`User`], with that user's groups, and empties the bounding set;
//! 2. capabilities (capabilities(7)), except those that are named;
//! 3. gaining privileges by starting a program (`PR_SET_NO_NEW_PRIVS`);
//! 4. system calls that are not on its list (seccomp(2)).
//!
//! A call that is not on the list is not carried out. It fails with EPERM, and a line on stderr names it. The program is not
//! killed: an attacker gains nothing by a call that fails, but a library that makes a new call on another machine would end the
//! games of a household. [`calls`] has the lists.
//!
//! User, capabilities and list belong to a thread, and later threads inherit them. So [`give_up`] refuses to run beside other
//! threads.

pub mod calls;
mod filter;
mod names;
mod refused;
mod user;

use std::io::{Error, ErrorKind, Result};

pub use calls::Call;
use rustix::process::{
    Signal, getpid, getppid, kill_process, parent_process_death_signal, set_parent_process_death_signal,
};
pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities,
    set_no_new_privs,
};
pub use user::{NOBODY, User, UserError};

/// What a program keeps.
#[derive(Debug)]
pub struct Keep {
    /// Capabilities; most programs keep none.
    pub capabilities: CapabilitySet,
    /// System calls.
    pub calls: Vec<Call>,
    /// A refused call is reported as a line of JSON.
    pub json_log: bool,
}

impl Keep {
    /// Keeps no capability, and these calls.
    pub fn only(calls: impl IntoIterator<Item = Vec<Call>>) -> Self {
        Self {
            capabilities: CapabilitySet::empty(),
            calls: calls.into_iter().flatten().collect(),
            json_log: false,
        }
    }
}

/// Becomes `user`, and keeps only what `keep` names. Returns notes for people: what this machine does not allow.
///
/// # Errors
/// The program has other threads, or the kernel refuses. The program must end then.
pub fn give_up(user: &User, keep: &Keep) -> Result<Vec<String>> {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return Err(Error::other("other threads run already, and would keep their privileges: a bug"));
    }
    let mut notes: Vec<String> = user.note.iter().cloned().collect();
    let (parent, ends_with) = (getppid(), parent_process_death_signal()?);
    empty_bounding_set();
    set_keep_capabilities(!keep.capabilities.is_empty())?;
    user.become_it()?;
    keep_capabilities(keep.capabilities)?;
    if let Some(signal) = ends_with {
        end_with_parent(signal, || getppid() == parent)?;
    }
    notes.extend(match filter::program(&keep.calls) {
        None => Some("this processor's system calls are not known here, so all stay allowed".into()),
        Some(program) => match refused::install(&program, keep.json_log) {
            Ok(()) => None,
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Some(
                "this kernel has no filter for system calls (CONFIG_SECCOMP_FILTER), so all stay allowed"
                    .into(),
            ),
            Err(error) => return Err(error),
        },
    });
    Ok(notes)
}

/// Asks again for a signal at the end of the parent, as `setpriv --pdeathsig` does. The kernel forgets that wish when a process changes
/// its user (prctl(2)). If the parent ended before, the signal is sent now.
fn end_with_parent(signal: Signal, lives: impl Fn() -> bool) -> Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    if !lives() {
        kill_process(getpid(), signal)?;
    }
    Ok(())
}

/// Keeps these capabilities of this thread, and of threads it starts later. A program that it starts gets none.
///
/// # Errors
/// The thread does not have them.
pub fn keep_capabilities(kept: CapabilitySet) -> Result<()> {
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?)
}

/// Without `CAP_SETPCAP` the set stays; it only matters to programs that this one starts, and `no_new_privs` covers them.
fn empty_bounding_set() {
    for capability in CapabilitySet::all() {
        // A kernel may know fewer.
        let _ = remove_capability_from_bounding_set(capability);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_other_threads_nothing_is_given_up() {
        let error = give_up(&User::find(None).unwrap(), &Keep::only([calls::common()])).unwrap_err();
        assert!(error.to_string().contains("other threads"), "tests are threads: {error}");
    }
}
