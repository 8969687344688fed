//! Capabilities (capabilities(7)) that a run needs. `gamelane_service::privileges` gives them up once all sockets are open.

use gamelane_service::privileges::CapabilitySet;

/// Returns what was said beside the first of `needed` that this thread does not have.
pub fn missing(needed: &[(CapabilitySet, &'static str)]) -> Option<&'static str> {
    let effective = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    needed.iter().find(|(capability, _)| !effective.intersects(*capability)).map(|(_, purpose)| *purpose)
}
