//! Capabilities (capabilities(7)): checked before a run, and given up once all sockets are open. From then on the process can
//! read and send on the sockets it has, and nothing else that needs a privilege.

use std::io::Result;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

/// Gives up all capabilities of this thread, and of threads it starts later, for good. The user stays the same: root can still
/// read root's own files, such as the policy, but may do no more than their owner.
pub fn drop_all() -> Result<()> {
    let none = CapabilitySet::empty();
    set_no_new_privs(true)?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Returns what was said beside the first of `needed` that this thread does not have.
pub fn missing(needed: &[(CapabilitySet, &'static str)]) -> Option<&'static str> {
    let effective = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    needed.iter().find(|(capability, _)| !effective.intersects(*capability)).map(|(_, purpose)| *purpose)
}
