//! Connections that may share a path, which Python adds to the document (`--shared-paths`).

use serde::{Deserialize, Serialize};

/// `shared_paths`, as far as the terminal shows it.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct SharedPaths {
    towards: String,
    connections: Vec<Connection>,
    variants: Variants,
}

/// A connection's other end.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Connection {
    pub(crate) address: String,
    rtt_ms: Median,
}

#[derive(Debug, Deserialize, Serialize)]
struct Median {
    p50: Option<f64>,
}

/// The test, of RTTs as they are, and of RTTs less their least.
#[derive(Debug, Deserialize, Serialize)]
struct Variants {
    plain: Option<Groups>,
    normalised: Option<Groups>,
}

/// Positions in `connections`.
#[derive(Debug, Deserialize, Serialize)]
struct Groups {
    groups: Vec<Vec<usize>>,
}

impl SharedPaths {
    /// At most `most` groups of each variant, with its name.
    pub(crate) fn groups(&self, most: usize) -> impl Iterator<Item = (&'static str, Vec<&Connection>)> {
        let variants = [("plain", &self.variants.plain), ("normalised", &self.variants.normalised)];
        variants.into_iter().flat_map(move |(name, of)| {
            let groups = of.iter().flat_map(|of| &of.groups).take(most);
            groups.map(move |group| (name, group.iter().filter_map(|at| self.connections.get(*at)).collect()))
        })
    }

    /// What the connections lead to: `servers`.
    pub(crate) fn heading(&self) -> String {
        format!("{}s", self.towards)
    }
}

impl Connection {
    /// Median RTT.
    pub(crate) const fn median_ms(&self) -> Option<f64> {
        self.rtt_ms.p50
    }
}
