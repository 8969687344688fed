//! Keys that only some queues or applications read. The catalogue says which (`Descriptor::keys`). A key that is in
//! neither list of its struct does not compile.

/// Declares `SELECTIVE` and `selective` on the struct.
///
/// `everywhere` lists the keys that all readers read, `selective` all others. After `if` stands the condition under which
/// the key counts as given. Without a condition it counts unless it is `None`.
macro_rules! selective {
    (
        $name:ident;
        everywhere: $($always:ident),+;
        selective: $($key:ident $(if $given:expr)?),+;
    ) => {
        impl $name {
            /// Keys that only some readers read.
            pub(crate) const SELECTIVE: &[&str] = &[$(stringify!($key)),+];

            /// The keys given here that only some readers read.
            pub(crate) fn selective(&self) -> impl Iterator<Item = &'static str> {
                // Without `..`, so that a key which is not listed is a compile error.
                let Self { $($always: _,)+ $($key,)+ } = self;
                let given = [$(selective!(@given $key $($given)?)),+];
                Self::SELECTIVE.iter().copied().zip(given).filter_map(|(key, given)| given.then_some(key))
            }
        }
    };
    (@given $key:ident) => { $key.is_some() };
    (@given $key:ident $given:expr) => { $given };
}

pub(super) use selective;
