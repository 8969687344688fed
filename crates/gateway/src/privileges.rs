//! Privileges, given up once everything is open: what runs then can read and send frames of two interfaces, and no more than
//! any process otherwise.

use std::io::Result;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

/// Gives up all capabilities of this thread and of those it starts later, for good. Root stays root in name, so that the
/// policy file can be read again, but may no more than the owner of root's files.
pub fn drop_all() -> Result<()> {
    let none = CapabilitySet::empty();
    set_no_new_privs(true)?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
