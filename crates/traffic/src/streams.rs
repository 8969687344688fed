//! The random streams of one application: one per quantity, by name. The draws of one quantity do not depend on those
//! of another.

use alloc::format;
use alloc::string::String;
use gamelane_core::{Seed, Stream};

/// The random streams of one application, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams<'a> {
    pub(crate) seed: Seed,
    /// Prefix of the names.
    pub(crate) path: &'a str,
}

impl Streams<'_> {
    /// The random stream of one quantity, such as `server/size`.
    pub(crate) fn of(&self, name: &str) -> Stream {
        self.seed.stream(&self.path_of(name))
    }

    /// The path of a part of the application.
    pub(crate) fn path_of(&self, part: &str) -> String {
        format!("{}/{part}", self.path)
    }

    /// The random streams below `path`.
    pub(crate) const fn at<'b>(&self, path: &'b str) -> Streams<'b> {
        Streams { seed: self.seed, path }
    }
}

#[cfg(test)]
impl<'a> Streams<'a> {
    /// Random streams for a test.
    pub(crate) const fn for_test(seed: u64, path: &'a str) -> Self {
        Self { seed: Seed(seed), path }
    }
}
