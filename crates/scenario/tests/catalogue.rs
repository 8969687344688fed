//! Every descriptor of the catalogue is complete, and agrees with the keys and pages that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gamelane_core::{Catalogued, Descriptor, Direction};
use gamelane_scenario::Scenario;
use gamelane_scenario::text::catalogue::{Catalogue, catalogue};
use serde_json::Value;

/// The parts of all descriptors that every kind has: list, word, label, keys, page.
fn everything() -> Vec<(&'static str, Descriptor)> {
    fn plain<F>(list: &'static str, rows: &[&Descriptor<F>]) -> Vec<(&'static str, Descriptor)> {
        let plain = |row: &&Descriptor<F>| Descriptor {
            word: row.word,
            label: row.label,
            about: row.about,
            keys: row.keys,
            page: row.page,
            facts: (),
        };
        rows.iter().map(|row| (list, plain(row))).collect()
    }
    let Catalogue { queues, links, apps, stacks, congestion, recovery, timers } = catalogue();
    [
        plain("Queue", &queues),
        plain("Link", &links),
        plain("Flow", &apps),
        plain("Tcp", &stacks),
        plain("Tcp", &congestion),
        plain("Tcp", &recovery),
        plain("Tcp", &timers),
    ]
    .concat()
}

fn keys(schema: &Value, table: &str) -> BTreeSet<String> {
    schema["$defs"][table]["properties"].as_object().expect(table).keys().cloned().collect()
}

#[test]
fn a_descriptor_names_only_keys_of_its_table() {
    let schema = gamelane_scenario::schema();
    for (table, one) in everything() {
        let known = keys(&schema, table);
        for key in one.keys {
            assert!(
                known.contains(*key),
                "`{}` claims to read `{key}`, which {table} does not have",
                one.word
            );
        }
    }
}

#[test]
fn every_word_has_a_page_that_treats_it() {
    for (_, one) in everything() {
        let page = models().join(one.page).with_extension("md");
        let text = std::fs::read_to_string(&page)
            .unwrap_or_else(|error| panic!("`{}`: {page:?}: {error}", one.word));
        let says = |what: &str| text.to_lowercase().contains(&what.to_lowercase());
        assert!(
            says(one.word) || says(one.label),
            "docs/models/{}.md does not mention `{}`",
            one.page,
            one.word
        );
        assert!(one.about.ends_with('.'), "`{}`: its line is no sentence", one.word);
    }
}

#[test]
fn every_word_makes_a_model() {
    let build = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let scenario =
            Scenario::parse(HOUSEHOLD, "household.toml", &sets).unwrap_or_else(|error| panic!("{error}"));
        scenario.to_model().unwrap_or_else(|error| panic!("{error}"))
    };
    let Catalogue { queues, stacks, congestion, recovery, timers, .. } = catalogue();
    for queue in queues {
        let model = build(&[("gateway.up.queue", queue.word), ("gateway.priority", "[\"game\"]")]);
        assert_eq!(model.hop(Direction::Up).queue.discipline().word(), queue.word);
    }
    for (key, rows) in [("tcp", stacks), ("tcp.congestion", congestion), ("tcp.recovery", recovery)] {
        rows.into_iter().for_each(|row| drop(build(&[(key, row.word)])));
    }
    for timer in timers {
        let needed =
            if timer.keys.contains(&"fixed_rto") { ("tcp.fixed_rto", "300ms") } else { ("duration", "1s") };
        build(&[("tcp.timer", timer.word), needed]);
    }
}

const HOUSEHOLD: &str = "
name = \"all\"
link = { up = \"1mbit\", down = \"1mbit\" }
flow = [{ name = \"game\", app = \"game\", model = \"quake3\" }, { name = \"up\", app = \"bulk\", direction = \"up\" }]
";

#[test]
fn the_index_links_every_page() {
    let index = std::fs::read_to_string(models().join("README.md")).unwrap();
    for entry in std::fs::read_dir(models()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || index.contains(&format!("]({name})")),
            "docs/models/{name} is not in the index"
        );
    }
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models")
}
