//! Values that are one word of a list. The list is written once; reading, printing, the schema and the error that says
//! what is allowed follow from it.

/// Declares an enum whose variants are words in a scenario; the string after its name is what one of them is called.
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

            /// The word as written.
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
                    let fault = $crate::text::error::Fault::new(concat!("there is no such ", $noun));
                    fault.one_of(text, Self::ALL.iter().map(|word| word.word()))
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        $crate::text::from_text::in_text!($name, ["a ", $noun, " in quotes: ", [$($word),+].join(", ").as_str()].concat());

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
