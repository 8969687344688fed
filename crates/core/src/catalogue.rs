//! The catalogue: what there is of each kind, such as queues, links, applications and TCP rows. Each thing has one
//! [`Descriptor`] beside its code. Scenario text, documents, status, plots and `tc` commands all read it.

use serde::Serialize;

/// Description of one thing of the catalogue. `F` holds the facts that only its kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Descriptor<F: 'static = ()> {
    /// Word in a scenario.
    pub word: &'static str,
    /// Label in reports and plots.
    pub label: &'static str,
    /// What it is, in a sentence or two. The scenario reference has this text.
    pub about: &'static str,
    /// Keys that it reads, and that others of its kind may not read.
    pub keys: &'static [&'static str],
    /// Page in `docs/models`, without `.md`.
    pub page: &'static str,
    /// Facts of its kind.
    #[serde(flatten)]
    pub facts: F,
}

/// One word of a closed list in which every word has a descriptor. [`catalogue!`](crate::catalogue!) declares such lists.
pub trait Catalogued: Copy + PartialEq + 'static {
    /// Name of the list in the JSON Schema of scenarios.
    const NAME: &'static str;
    /// What error messages call one of the list.
    const NOUN: &'static str;
    /// The whole list.
    const ALL: &'static [Self];
    /// Facts that all of the list have.
    type Facts: 'static;

    /// The descriptor.
    fn descriptor(self) -> &'static Descriptor<Self::Facts>;

    /// The word in a scenario.
    fn word(self) -> &'static str {
        self.descriptor().word
    }

    /// The words that read `key`.
    fn readers(key: &str) -> impl Iterator<Item = &'static str> {
        Self::ALL
            .iter()
            .map(|one| one.descriptor())
            .filter(move |one| one.keys.contains(&key))
            .map(|one| one.word)
    }
}

/// Implements [`Catalogued`](crate::catalogue::Catalogued) for an enum without fields: each variant with the path of its
/// descriptor. Without `impl` it declares the enum too.
#[macro_export]
macro_rules! catalogue {
    (
        impl $name:ident as $schema:literal, $noun:literal, $facts:ty {
            $($variant:ident: $descriptor:path,)+
        }
    ) => {
        impl $crate::catalogue::Catalogued for $name {
            const NAME: &'static str = $schema;
            const NOUN: &'static str = $noun;
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            type Facts = $facts;

            fn descriptor(self) -> &'static $crate::catalogue::Descriptor<$facts> {
                match self {
                    $(Self::$variant => &$descriptor,)+
                }
            }
        }
    };
    (
        $(#[$outer:meta])*
        $name:ident as $schema:literal, $noun:literal, $facts:ty {
            $($(#[$inner:meta])* $variant:ident: $descriptor:path,)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = concat!("Described by [`", stringify!($descriptor), "`].")]
                $(#[$inner])*
                $variant,
            )+
        }

        $crate::catalogue! {
            impl $name as $schema, $noun, $facts {
                $($variant: $descriptor,)+
            }
        }
    };
}
