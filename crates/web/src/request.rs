//! What a page can ask for.

use serde::Deserialize;

/// A scenario as a person wrote it, with what the page put over it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// TOML.
    pub text: String,
    /// Name in errors.
    pub file: String,
    /// Keys and values put over the text, as with `--set`.
    #[serde(default)]
    pub overrides: Vec<(String, String)>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Presets, and the catalogue of words.
    Catalogue,
    /// Gives the bytes that were kept the name by which scenarios and `analyze` know them.
    Give {
        /// Name without a folder.
        name: String,
    },
    /// Checks a scenario and describes it.
    Describe {
        /// The scenario.
        scenario: Written,
    },
    /// Builds the run at time zero, in place of the one before, and describes its scenario. `advance` runs it.
    Start {
        /// The scenario.
        scenario: Written,
    },
    /// Lines to paste for the scenario's gateway, for each target.
    Recipes {
        /// The scenario.
        scenario: Written,
        /// That of the gateway to be changed.
        #[serde(default)]
        today: Option<Written>,
    },
    /// The summary of the run, which has ended: an element of `runs` in the JSON of `gamelane run`.
    Summary,
    /// Where the columns of a table are, for a run that may still go on. They stay there until the next call.
    Table {
        /// Name of the table (docs/records.md).
        table: String,
    },
    /// Analyses a capture as `gamelane analyze` does.
    Analyze {
        /// Name by which it was given.
        name: String,
        /// Columns of the text.
        width: usize,
    },
}
