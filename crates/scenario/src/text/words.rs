//! Values that are one word of a list. Each list is written once: here with [`words!`], or as a list of the catalogue,
//! which [`Word`] reads. Reading, printing, the schema and the error with the allowed words follow from it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use gamelane_core::Catalogued;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::Fault;
use super::from_text::from_text;

/// A word of a list of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<T: Catalogued> FromStr for Word<T> {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        T::ALL.iter().copied().find(|one| one.word() == text).map(Self).ok_or_else(|| {
            let fault = Fault::new(format!("no such {}", T::NOUN));
            fault.one_of(text, T::ALL.iter().map(|one| one.word()))
        })
    }
}

impl<T: Catalogued> fmt::Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.word())
    }
}

impl<'de, T: Catalogued> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words: Vec<_> = T::ALL.iter().map(|one| one.word()).collect();
        from_text(deserializer, &expecting(&words))
    }
}

impl<T: Catalogued> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<T: Catalogued> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(T::ALL.iter().map(|one| (one.word(), one.descriptor().about)))
    }
}

/// What a value that is no text at all should have been.
pub(crate) fn expecting(words: &[&str]) -> String {
    format!("one of these words, in quotes: {}", words.join(", "))
}

/// The schema of a list of words with their meanings.
pub(crate) fn one_of<'a>(words: impl Iterator<Item = (&'a str, &'a str)>) -> Schema {
    let words = words.map(|(word, meaning)| json_schema!({ "const": word, "description": meaning }));
    json_schema!({ "type": "string", "oneOf": words.collect::<Vec<_>>() })
}

/// Declares an enum whose variants are words in a scenario. The string after its name is what errors call one of them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident $noun:literal { $($(#[doc = $meaning:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl $name {
            /// Every word.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word in a scenario.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::text::error::Fault;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.word() == text).ok_or_else(|| {
                    let fault = $crate::text::error::Fault::new(concat!("no such ", $noun));
                    fault.one_of(text, Self::ALL.iter().map(|word| word.word()))
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        $crate::text::from_text::in_text!($name, $crate::text::words::expecting(&[$($word),+]));

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::text::words::one_of([$(($word, concat!($($meaning),+).trim())),+].into_iter())
            }
        }
    };
}

pub(crate) use words;
