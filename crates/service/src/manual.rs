//! Pages of the manual for a program and each of its subcommands, from the text of its `--help`. Only tests write them.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;

/// Compares the pages in `packaging/man` with the program. With `UPDATE=1` it writes them.
///
/// # Panics
///
/// If a page is missing, differs, or is of a subcommand that is no more.
pub fn check(command: Command) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/man");
    let program = command.get_name().to_owned();
    let pages = pages(command);
    let mut written = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == format!("{program}.1") || name.starts_with(&format!("{program}-")) {
            written.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        for name in written.keys() {
            fs::remove_file(folder.join(name)).unwrap();
        }
        for (name, page) in &pages {
            fs::write(folder.join(name), page).unwrap();
        }
    } else {
        assert!(written == pages, "packaging/man is out of date: UPDATE=1 cargo test -p CRATE manual");
    }
}

fn pages(command: Command) -> BTreeMap<String, String> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = BTreeMap::new();
    add(&command, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut BTreeMap<String, String>) {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        add(inner, pages);
    }
    // Without the version, which `--version` says: else each release would change each page.
    let man = Man::new(command.clone()).source("gamelane").manual("gamelane manual").date("");
    let mut page = Vec::new();
    render(&man, command, &mut page).unwrap();
    pages.insert(man.get_filename(), String::from_utf8(page).unwrap());
}

fn render(man: &Man, command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    Ok(())
}
