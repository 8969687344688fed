//! Results on stdout, messages on stderr.

use std::io::{ErrorKind, Write as _};

use crate::exit::{Exit, Failure};

/// Prints `text` to stdout. It is no error if the reader has ended, as in `gamelane-impair profiles | head -1`.
///
/// # Errors
/// Stdout cannot be written, for example because the disk is full.
pub fn print(text: &str) -> Result<(), Failure> {
    print_to_reader(text).map(|_| ())
}

/// Prints `text` to stdout, for a program that prints repeatedly. Returns false if the reader has ended.
///
/// # Errors
/// As of [`print`].
pub fn print_to_reader(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure(Exit::Output, format!("stdout: cannot be written: {error}"))),
    }
}

/// Prints a line to stderr. `eprintln!` panics if nobody reads stderr any more, as after `2>&1 | head`.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A document as indented JSON with a newline at its end.
///
/// # Errors
/// The document has a value that JSON cannot express: a bug of the program.
#[cfg(feature = "http")]
pub fn json_of(document: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    Ok(text.map_err(|error| Failure(Exit::Failed, error.to_string()))? + "\n")
}
