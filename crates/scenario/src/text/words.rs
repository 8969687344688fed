//! Values that are one word of a list. Each list is written once. Reading, printing, the schema and the error with the
//! allowed words follow from it.

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

        $crate::text::from_text::in_text!($name, ["one of these words, in quotes: ", [$($word),+].join(", ").as_str()].concat());

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let words = [$(schemars::json_schema!({
                    "const": $word,
                    "description": concat!($($meaning),+).trim(),
                })),+];
                schemars::json_schema!({ "type": "string", "oneOf": words })
            }
        }
    };
}

pub(crate) use words;
