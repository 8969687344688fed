//! List of the links of a scenario. The descriptor of each is beside its code.

use gamelane_core::catalogue;

use crate::{docsis, trace, wifi, wired};

catalogue! {
    /// Type of link.
    #[derive(Default)]
    LinkKind as "LinkKind", "link type", () {
        #[default]
        Wired: wired::WIRED,
        Docsis: docsis::DOCSIS,
        WifiG: wifi::WIFI_G,
        Trace: trace::TRACE,
    }
}
