//! What can be wrong with a set of rules.

use alloc::string::String;
use core::fmt;
use gamelane_core::ClassId;

/// A rule that can never do what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// An earlier rule takes every packet this one could match.
    Shadowed {
        /// The rule that never matches.
        rule: String,
        /// The earlier one.
        by: String,
    },
    /// No packet meets two of its conditions at once.
    Contradiction {
        /// The rule.
        rule: String,
        /// One condition, by its field in [`super::Conditions`].
        one: &'static str,
        /// The other; the same for a range that is empty by itself.
        other: &'static str,
    },
    /// There is no such class.
    NoSuchClass {
        /// The rule, or `None` for the default.
        rule: Option<String>,
        /// What it names.
        class: ClassId,
        /// How many there are.
        classes: usize,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shadowed { rule, by } => {
                write!(f, "rule `{rule}` never matches: the earlier rule `{by}` takes all its packets")
            }
            Self::Contradiction { rule, one, other } if one == other => {
                write!(f, "rule `{rule}` never matches: nothing lies in its `{one}`")
            }
            Self::Contradiction { rule, one, other } => {
                write!(f, "rule `{rule}` never matches: its `{one}` contradicts its `{other}`")
            }
            Self::NoSuchClass { rule: Some(rule), class, classes } => {
                write!(f, "rule `{rule}` names class {}, but there are {classes}, from 0", class.0)
            }
            Self::NoSuchClass { rule: None, class, classes } => {
                write!(f, "the default names class {}, but there are {classes}, from 0", class.0)
            }
        }
    }
}

impl core::error::Error for RuleError {}
