//! The whole catalogue as one document, for programs outside Rust, and the words of the models' index.

use std::fmt::Write;

use gamelane_core::{Catalogued, Descriptor};
use gamelane_link::LinkKind;
use gamelane_qdisc::{Discipline, QueueFacts};
use gamelane_tcp::{Control, RecoveryKind, Stack, TcpFacts, Timer};
use gamelane_traffic::{App, AppFacts};
use serde::Serialize;

/// All words of the catalogue, one list per kind.
#[derive(Debug, Serialize)]
pub struct Catalogue {
    /// Queue disciplines.
    pub queues: Vec<&'static Descriptor<QueueFacts>>,
    /// Types of link.
    pub links: Vec<&'static Descriptor>,
    /// Applications.
    pub apps: Vec<&'static Descriptor<AppFacts>>,
    /// TCP stacks.
    pub stacks: Vec<&'static Descriptor<TcpFacts>>,
    /// Congestion controls of TCP.
    pub congestion: Vec<&'static Descriptor<TcpFacts>>,
    /// Methods of loss recovery of TCP.
    pub recovery: Vec<&'static Descriptor<TcpFacts>>,
    /// Retransmission timers of TCP.
    pub timers: Vec<&'static Descriptor<TcpFacts>>,
}

/// The catalogue.
pub fn catalogue() -> Catalogue {
    fn all<T: Catalogued>() -> Vec<&'static Descriptor<T::Facts>> {
        T::ALL.iter().map(|one| one.descriptor()).collect()
    }
    Catalogue {
        queues: all::<Discipline>(),
        links: all::<LinkKind>(),
        apps: all::<App>(),
        stacks: all::<Stack>(),
        congestion: all::<Control>(),
        recovery: all::<RecoveryKind>(),
        timers: all::<Timer>(),
    }
}

/// The tables of the models' index, in Markdown: every word with its page.
pub fn models_index() -> String {
    fn table<F>(page: &mut String, title: &str, key: &str, rows: &[&Descriptor<F>]) {
        let _ = write!(page, "\n## {title}: `{key}`\n\n| word | what it is | page |\n| --- | --- | --- |\n");
        for Descriptor { word, about, page: own, .. } in rows {
            let _ = writeln!(page, "| `{word}` | {about} | [{own}]({own}.md) |");
        }
    }
    let catalogue = catalogue();
    let mut page = String::new();
    table(&mut page, "Queues", "gateway.up.queue", &catalogue.queues);
    table(&mut page, "Links", "link.kind", &catalogue.links);
    table(&mut page, "Applications", "flow.app", &catalogue.apps);
    table(&mut page, "TCP stacks", "tcp.stack", &catalogue.stacks);
    table(&mut page, "Congestion controls", "tcp.congestion", &catalogue.congestion);
    table(&mut page, "Loss recovery", "tcp.recovery", &catalogue.recovery);
    table(&mut page, "Retransmission timers", "tcp.timer", &catalogue.timers);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::keys::{Flow, Queue};

    #[test]
    fn every_selective_key_has_a_reader() {
        for key in Queue::SELECTIVE {
            assert!(Discipline::readers(key).next().is_some(), "no queue claims to read `{key}`");
        }
        for key in Flow::SELECTIVE {
            assert!(App::readers(key).next().is_some(), "no application claims to read `{key}`");
        }
    }
}
