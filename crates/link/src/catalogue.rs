//! The links of a scenario. Each is described beside its code; this is the list of them.

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
