//! Exit codes, the same for every program (docs/exit-codes.md, `python/gamelane/errors.py`), and how a program ends with one.

use crate::output::say;
use std::fmt;
use std::process::ExitCode;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The program did what it was asked to do. For a program that runs until it is stopped, this includes SIGTERM and SIGINT.
    Ok = 0,
    /// The work itself failed: a bug in gamelane, failed runs of a sweep, or a replay that differs from its recording.
    Failed = 1,
    /// The command line, a scenario, a configuration or another input cannot be used.
    Usage = 2,
    /// Output cannot be written.
    Output = 3,
    /// Only part of the input could be read; the results cover that part.
    Partial = 4,
    /// This machine cannot do it: a privilege, a port, an interface, a program or a kernel feature is missing or lost.
    CannotRun = 5,
    /// The other end did not answer, or the two ends do not agree: certificates, version, token or scenario differ.
    Peer = 6,
    /// Ctrl-C ended the work early. Finished results are kept.
    Interrupted = 130,
}

impl Exit {
    /// All codes, in order.
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::Failed,
        Self::Usage,
        Self::Output,
        Self::Partial,
        Self::CannotRun,
        Self::Peer,
        Self::Interrupted,
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a program ends early: its exit code, and the message for stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub Exit, pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

/// Allows [`Failure`] as the cause of an `anyhow` error, so that its exit code reaches `main`.
impl std::error::Error for Failure {}

/// The failure of a command line, a configuration or another input that cannot be used.
pub fn usage(error: impl ToString) -> Failure {
    Failure(Exit::Usage, error.to_string())
}

/// The failure of a machine that cannot do it.
pub fn cannot_run(error: impl ToString) -> Failure {
    Failure(Exit::CannotRun, error.to_string())
}

/// Ends `main`: prints a failure's message to stderr and returns its code.
pub fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => Exit::Ok.into(),
        Err(Failure(exit, message)) => {
            say(&format!("error: {message}"));
            exit.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn repository(file: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// `CannotRun` as Python writes it: `CANNOT_RUN`.
    fn upper_snake(name: &str) -> String {
        let mut out = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !out.is_empty() {
                out.push('_');
            }
            out.extend(letter.to_uppercase());
        }
        out
    }

    #[test]
    fn python_has_the_same_codes() {
        let python = repository("python/gamelane/errors.py");
        let (_, body) = python.split_once("class ExitCode(IntEnum):").expect("errors.py defines ExitCode");
        let members = body.lines().map_while(|line| match line.strip_prefix("    ") {
            Some(member) => Some(member),
            None => line.is_empty().then_some(""),
        });
        let members: Vec<String> =
            members.filter(|line| line.contains(" = ")).map(|line| line.to_owned()).collect();
        let ours = Exit::ALL.map(|exit| format!("{} = {}", upper_snake(&format!("{exit:?}")), exit as u8));
        assert_eq!(members, ours);
    }

    #[test]
    fn the_page_lists_the_same_codes() {
        let page = repository("docs/exit-codes.md");
        let listed: Vec<u8> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok())
            .collect();
        assert_eq!(listed, Exit::ALL.map(|exit| exit as u8));
    }

    #[test]
    fn a_failure_ends_with_its_code() {
        assert_eq!(end(Ok(())), ExitCode::SUCCESS);
        assert_eq!(end(Err(Failure(Exit::Peer, "no answer".into()))), ExitCode::from(6));
    }
}
