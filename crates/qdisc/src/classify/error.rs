//! Errors in a list of classifier rules. Each message names the rule, what is wrong and what to do.

use alloc::string::String;
use core::fmt;
use gamelane_core::ClassId;

/// A rule that can never match, or that names a class that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// An earlier rule matches every packet that this rule could match.
    Shadowed {
        /// Name of the rule that never matches.
        rule: String,
        /// Name of the earlier rule.
        by: String,
    },
    /// No packet can meet two conditions of a rule at once, or one of them by itself.
    Contradiction {
        /// Name of the rule.
        rule: String,
        /// First condition: the name of its field in [`super::Conditions`].
        one: &'static str,
        /// Second condition; equal to `one` if no value meets `one`.
        other: &'static str,
    },
    /// The class does not exist.
    NoSuchClass {
        /// Name of the rule; `None` for the default class.
        rule: Option<String>,
        /// The class that does not exist.
        class: ClassId,
        /// Number of classes.
        classes: usize,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shadowed { rule, by } => {
                write!(
                    f,
                    "rule `{rule}` never matches: the earlier rule `{by}` matches all its packets; move `{rule}` \
                     before `{by}` or remove it"
                )
            }
            Self::Contradiction { rule, one, other } if one == other => {
                write!(f, "rule `{rule}` never matches: no packet has its `{one}`; change or remove `{one}`")
            }
            Self::Contradiction { rule, one, other } => {
                write!(
                    f,
                    "rule `{rule}` never matches: its `{one}` contradicts its `{other}`; change or remove one of them"
                )
            }
            Self::NoSuchClass { rule, class, classes } => {
                match rule {
                    Some(rule) => write!(f, "rule `{rule}`")?,
                    None => f.write_str("the default")?,
                }
                write!(f, " names class {}; allowed: 0 to {}", class.0, classes.saturating_sub(1))
            }
        }
    }
}

impl core::error::Error for RuleError {}
