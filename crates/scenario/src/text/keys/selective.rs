//! Keys that only some queues or applications read. One table per struct says which; a key that is not in it does not
//! compile.

/// Declares `SELECTIVE`, and `selective` on the struct, from the list of all its keys.
///
/// `everywhere` lists the keys that all readers read. Each other line is a key, in brackets the readers, and after `if` the
/// condition under which the key counts as given. Without a condition it counts unless it is `None`.
macro_rules! selective {
    (
        $name:ident by $reader:ident;
        everywhere: $($always:ident),+;
        $($key:ident: [$($word:ident),+] $(if $given:expr)?;)+
    ) => {
        /// Keys that only some readers read, with these readers.
        pub(crate) const SELECTIVE: &[(&str, &[$reader])] = &[$((stringify!($key), &[$($reader::$word),+])),+];

        impl $name {
            /// The keys given here that only some readers read, with these readers.
            pub(crate) fn selective(&self) -> impl Iterator<Item = (&'static str, &'static [$reader])> {
                // Without `..`, so that a key which is not listed is a compile error.
                let Self { $($always: _,)+ $($key,)+ } = self;
                let given = [$(selective!(@given $key $($given)?)),+];
                SELECTIVE.iter().copied().zip(given).filter_map(|(row, given)| given.then_some(row))
            }
        }
    };
    (@given $key:ident) => { $key.is_some() };
    (@given $key:ident $given:expr) => { $given };
}

pub(super) use selective;
