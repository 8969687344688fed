//! What a TCP conversation's packets say about it.

pub(crate) mod sequence;
pub(crate) mod stream;
