//! What a recording found: `analysis.json` in its folder, and the same for people.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _, stdout};
use std::path::Path;

use gamelane_capture::Sink;
use gamelane_capture::document::{Document, Documented};
use gamelane_capture::numbers::grouped;
use gamelane_capture::terminal::Style;
use gamelane_live::{Progress, Recorder};
use gamelane_scenario::text::known_applications;
use gamelane_service::exit::{Exit, Failure};
use gamelane_service::output::print;
use gamelane_service::terminal;
use serde::Serialize;

/// The document of a recording.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    #[serde(flatten)]
    document: Document,
    recording: Recording,
    /// Why not all of it was written.
    #[serde(skip)]
    pub(crate) unwritten: Option<Failure>,
}

/// `recording` of the document.
#[derive(Debug, Serialize)]
struct Recording {
    packets: u64,
    bytes: u64,
    dropped: u64,
    put_together: u64,
    flows: u32,
    games: usize,
    files: u32,
    written_bytes: u64,
    folder: Option<String>,
}

/// Makes the folder, and checks that files can be written to it, before a long recording starts.
///
/// # Errors
/// They cannot.
pub(crate) fn prepare(folder: &Path) -> Result<(), Failure> {
    let probe = folder.join(own_name("probe"));
    let made = fs::create_dir_all(folder)
        .and_then(|()| File::create_new(&probe))
        .and_then(|_| fs::remove_file(&probe));
    made.map_err(|error| {
        let hint = "choose another folder with -o, or change its permissions";
        let folder = folder.display();
        Failure(Exit::Output, format!("{folder}: cannot write to this folder: {error}\n  hint:    {hint}"))
    })
}

/// Name of a file that only this process makes: several recordings may share a folder.
fn own_name(what: &str) -> String {
    format!(".gamelane-{}-{what}", std::process::id())
}

/// Ends file and analysis, and writes the document into the folder, if the packets could be written.
///
/// # Errors
/// The recorded blocks cannot be read: a bug of ours.
pub(crate) fn finish<S: Sink + Send + 'static>(
    recorder: Recorder<Documented<S>>,
    interface: &str,
    folder: Option<&Path>,
) -> Result<Found, Failure> {
    let (watched, seen, error) = recorder.finish();
    let Some(watched) = watched else {
        return Err(Failure(Exit::Failed, "what was recorded cannot be read".to_owned()));
    };
    let mut findings = watched.sink.findings;
    findings.file(&watched.capture, watched.error);
    findings.dropped(seen.dropped);
    let captured = findings.finish(interface, &watched.analyzer, &known_applications());
    let mut found = Found {
        document: Document::new(vec![captured], None),
        recording: Recording::of(&seen, folder),
        unwritten: error.map(crate::refused),
    };
    if let (Some(folder), None) = (folder, &found.unwritten) {
        let path = folder.join("analysis.json");
        found.unwritten = found
            .text(true)
            .and_then(|text| replace(&path, &text))
            .err()
            .map(|error| Failure(Exit::Output, format!("{}: {error}", path.display())));
    }
    Ok(found)
}

impl Recording {
    fn of(seen: &Progress, folder: Option<&Path>) -> Self {
        Self {
            packets: seen.packets,
            bytes: seen.bytes,
            dropped: seen.dropped,
            put_together: seen.put_together,
            flows: seen.flows,
            games: seen.games,
            files: seen.files,
            written_bytes: seen.written_bytes,
            folder: folder.map(|folder| folder.display().to_string()),
        }
    }
}

impl Found {
    /// Prints it: as JSON, which is indented on a terminal, or for people.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub(crate) fn print(&self, is_json: bool) -> Result<(), Failure> {
        if is_json {
            let text = self.text(stdout().is_terminal());
            return print(&text.map_err(|error| Failure(Exit::Failed, error.to_string()))?);
        }
        let has_styles = stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let mut text = String::new();
        for line in self.document.lines(columns(), is_ascii(locale().as_deref())) {
            let (before, after) = match (line.style, has_styles) {
                (Style::Bold, true) => ("\x1b[1m", "\x1b[0m"),
                (Style::Dim, true) => ("\x1b[2m", "\x1b[0m"),
                _ => ("", ""),
            };
            text.extend([before, &line.text, after, "\n"]);
        }
        print(&text)
    }

    /// What the user may want to know, and to do next.
    pub(crate) fn hints(&self, interface: &str) -> Vec<String> {
        let Recording { put_together, folder, .. } = &self.recording;
        let merged = (*put_together > 0).then(|| {
            format!(
                "note: offloading merged packets before they were recorded, {} in all, so counts of packets are too low\n  hint:    \
                 `ethtool -K {interface} gro off gso off tso off` switches it off",
                grouped(*put_together)
            )
        });
        let recorded = folder.as_ref().map(|folder| {
            format!("recorded: {folder}; the command `gamelane analyze {folder} -o REPORT` makes a report with plots")
        });
        merged.into_iter().chain(recorded).collect()
    }

    fn text(&self, is_indented: bool) -> io::Result<String> {
        let text = if is_indented { serde_json::to_string_pretty(self) } else { serde_json::to_string(self) };
        Ok(text? + "\n")
    }
}

/// Columns of the terminal. Without one, wide enough for most tables.
fn columns() -> usize {
    let named =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let shown = || terminal::size(stdout()).map_or(80, |[columns, _]| columns);
    named.unwrap_or_else(|| if stdout().is_terminal() { shown() } else { WITHOUT_TERMINAL })
}

const WITHOUT_TERMINAL: usize = 160;

fn locale() -> Option<String> {
    let set = |name| std::env::var(name).ok().filter(|locale: &String| !locale.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set)
}

/// Whether a locale has no blocks. `C`, or none, says nothing about the terminal.
fn is_ascii(locale: Option<&str>) -> bool {
    let locale = locale.unwrap_or("C").to_ascii_lowercase();
    !(locale.contains("utf") || locale == "c" || locale == "posix")
}

/// Replaces a file: a reader sees the old one, or all of the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let partial = path.with_file_name(own_name("analysis.json.partial"));
    let written = File::create_new(&partial)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // Nothing depends on it.
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_locale_of_another_encoding_has_no_blocks() {
        assert!(is_ascii(Some("de_DE.ISO-8859-1")) && is_ascii(Some("en_US")));
        assert!(
            [Some("de_DE.UTF-8"), Some("C.utf8"), Some("C"), Some("POSIX"), None]
                .iter()
                .all(|of| !is_ascii(*of))
        );
    }

    #[test]
    fn a_folder_that_several_share_keeps_what_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let [document, victim] = ["analysis.json", "victim"].map(|name| folder.path().join(name));
        fs::write(&victim, "kept").unwrap();
        let partial = folder.path().join(own_name("analysis.json.partial"));
        std::os::unix::fs::symlink(&victim, &partial).unwrap();
        prepare(folder.path()).unwrap();
        assert!(replace(&document, "{}").is_err(), "a link that somebody laid there is not followed");
        replace(&document, "{}").unwrap();
        assert_eq!(fs::read_to_string(&document).unwrap(), "{}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
