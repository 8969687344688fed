//! Errors about a scenario. Each says what is wrong and where (file, line, key, value), what is allowed, and often a
//! hint.

use std::fmt;

pub use gamelane_core::Refusal;

/// Why a scenario was refused.
pub type ScenarioError = gamelane_core::Refused;

/// What is wrong with a value, without its place.
///
/// Serde passes errors on as text. So a fault prints as lines, and `Fault::read` reads them back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// What is allowed.
    pub allowed: Option<String>,
    /// What to do, or what was probably meant.
    pub hint: Option<String>,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), allowed: None, hint: None }
    }

    pub(crate) fn allowed(self, allowed: impl Into<String>) -> Self {
        Self { allowed: Some(allowed.into()), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds a hint if there is none.
    pub(crate) fn or_hint(self, hint: &str) -> Self {
        if self.hint.is_none() { self.hint(hint) } else { self }
    }

    /// Lists the allowed names, and suggests the one nearest to `given`.
    pub(crate) fn one_of<'a>(self, given: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        let fault = match nearest(given, &names) {
            Some(name) => self.hint(format!("did you mean \"{name}\"?")),
            None => self,
        };
        if names.is_empty() { fault } else { fault.allowed(names.join(", ")) }
    }

    /// Reads the text of a deserialiser's error: a fault of ours, or serde's own message about a key or a type.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let mut fault = Self::in_serdes_words(lines.next().unwrap_or_default());
        for line in lines {
            if let Some(allowed) = line.strip_prefix(ALLOWED) {
                fault = fault.allowed(allowed);
            } else if let Some(hint) = line.strip_prefix(HINT) {
                fault = fault.hint(hint);
            }
        }
        fault
    }

    /// The fault as one line, for use inside a message.
    pub(crate) fn on_one_line(&self) -> String {
        let allowed = self.allowed.iter().map(|allowed| format!("; allowed: {allowed}"));
        let hint = self.hint.iter().map(|hint| format!("; {hint}"));
        self.message.clone() + &allowed.chain(hint).collect::<String>()
    }

    fn in_serdes_words(text: &str) -> Self {
        // Serde writes names between backquotes, so every second piece is a name.
        let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        if text.starts_with("unknown field") {
            let (given, names) =
                quoted.split_first().map_or(("", &quoted[..]), |(given, names)| (*given, names));
            return Self::new("no such key").one_of(given, names.iter().copied());
        }
        if text.starts_with("missing field") {
            return Self::new("this key is required");
        }
        match text.split_once(", expected ") {
            Some((given, "u32")) => Self::no_whole_number(given, u64::from(u32::MAX)),
            Some((given, "u64")) => Self::no_whole_number(given, LARGEST_IN_TOML),
            Some((_, "f64")) => Self::new("this takes a number, without quotes"),
            Some((_, "a boolean")) => Self::new("this takes true or false, without quotes"),
            Some((_, "a sequence")) => Self::new("this takes a list such as [\"…\", \"…\"]"),
            Some((_, "a map")) => Self::new("this takes a table"),
            Some((_, expected)) if expected.starts_with("struct ") => Self::new("this takes a table"),
            Some((_, expected)) => Self::new(format!("this takes {expected}")),
            None => Self::new(text),
        }
    }

    /// `given` is serde's description of the value: "invalid type: string \"many\"".
    fn no_whole_number(given: &str, most: u64) -> Self {
        let number = given.rsplit(' ').next().unwrap_or_default().trim_matches(['"', '`']);
        let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole && number.parse::<u64>().map_or(true, |number| number > most) {
            return Self::new("this number is too large").allowed(format!("up to {most}"));
        }
        Self::new("this takes a whole number, 0 or more")
    }
}

/// TOML's integers have a sign and 64 bits. `--set` reads a larger one as text.
const LARGEST_IN_TOML: u64 = i64::MAX.unsigned_abs();

impl Fault {
    /// The message about an option of a command line that was given so.
    pub fn of_option(&self, option: &str, given: &str) -> String {
        let allowed = self.allowed.iter().map(|allowed| format!("\n  allowed: {allowed}"));
        let hint = self.hint.iter().map(|hint| format!("\n  hint:    {hint}"));
        format!("{option} {given}: {}{}", self.message, allowed.chain(hint).collect::<String>())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(allowed) = &self.allowed {
            write!(f, "\n{ALLOWED}{allowed}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n{HINT}{hint}")?;
        }
        Ok(())
    }
}

/// The name nearest to `given`, if near enough to be a typing mistake.
pub(crate) fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&given, &name.to_lowercase()), *name))
        .filter(|(distance, name)| {
            *distance <= 1 + name.len() / 4 || (given.len() > 2 && name.contains(&given))
        })
        .min()
        .map(|(_, name)| name)
}

const ALLOWED: &str = "allowed: ";
const HINT: &str = "hint: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_survives_being_text() {
        let fault = Fault::new("`x` is not a rate").allowed("12mbit").hint("write \"12mbit\"");
        assert_eq!(Fault::read(&fault.to_string()), fault);
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(nearest("upp", &["up", "down"]), Some("up"));
        assert_eq!(nearest("fq-codel", &["fifo", "fq_codel"]), Some("fq_codel"));
        assert_eq!(nearest("quake", &["quake3", "quake4"]), Some("quake3"));
        assert_eq!(nearest("colour", &["up", "down"]), None);
    }
}
