//! What a replay found, as a document and for people.

use std::fmt::Write as _;

use gamelane_policy::Policy;
use serde::Serialize;

use crate::tap::About;

/// Result of a replay, schema 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of this document.
    pub schema: u32,
    /// Name of its first policy.
    pub policy: String,
    /// Hash of that policy.
    pub policy_hash: String,
    /// Hash of the recorded policy.
    pub recorded_hash: String,
    /// Whether no decision differs.
    pub identical: bool,
    /// Calls repeated.
    pub calls: u64,
    /// Frames given to the gateway.
    pub frames: u64,
    /// Frames that left, as recorded.
    pub left: u64,
    /// Frames dropped, as recorded.
    pub dropped: u64,
    /// Windows lowered, as replayed.
    pub windows_lowered: u64,
    /// Policies after the first.
    pub reloads: u64,
    /// Time up to which it was compared, in seconds since the start.
    pub until_s: f64,
    /// Why the comparison ended there.
    pub ended: Ended,
    /// Decisions that differ.
    pub differences: Differences,
    /// The first difference.
    pub first: Option<String>,
}

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It ends with the gateway.
    Whole,
    /// It ends earlier: the gateway was killed, or the recording reached its size.
    Cut,
    /// Events are missing from there on: the disk was too slow.
    Lost,
}

impl Ended {
    /// Its word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Cut => "cut",
            Self::Lost => "lost",
        }
    }
}

/// Decisions that differ, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Another frame left, or a frame left in only one of the two.
    pub left: u64,
    /// Another frame was dropped, for another reason, or in only one of the two.
    pub dropped: u64,
    /// The same frame left with other bytes, such as a window or a congestion mark.
    pub bytes: u64,
}

impl Report {
    /// Of a recording from which nothing was read yet.
    pub(super) fn new(policy: &Policy, about: &About) -> Self {
        Self {
            schema: 1,
            policy: policy.name.clone(),
            policy_hash: policy.hash.clone(),
            recorded_hash: about.policy_hash.clone(),
            identical: false,
            calls: 0,
            frames: 0,
            left: 0,
            dropped: 0,
            windows_lowered: 0,
            reloads: 0,
            until_s: 0.0,
            ended: Ended::Cut,
            differences: Differences::default(),
            first: None,
        }
    }

    /// Describes it for people.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let verdict = if self.identical { "identical" } else { "differs" };
        let recorded =
            if self.policy_hash == self.recorded_hash { "as recorded" } else { "not the recorded one" };
        let _ = writeln!(out, "{verdict}: policy {} ({}), {recorded}", self.policy, self.policy_hash);
        let _ = writeln!(
            out,
            "{} calls, {} frames, {} left, {} dropped, {} windows lowered, {} reloads, until {:.3} s",
            self.calls,
            self.frames,
            self.left,
            self.dropped,
            self.windows_lowered,
            self.reloads,
            self.until_s
        );
        let Differences { left, dropped, bytes } = self.differences;
        if !self.identical {
            let _ = writeln!(
                out,
                "differences: {left} in what leaves, {dropped} in what is dropped, {bytes} in bytes"
            );
        }
        if let Some(first) = &self.first {
            let _ = writeln!(out, "the first: {first}");
        }
        match self.ended {
            Ended::Whole => {}
            Ended::Cut => out
                .push_str("the recording ends before the gateway did: it reached its size, or was killed\n"),
            Ended::Lost => {
                out.push_str("compared up to there only: the disk was too slow for what followed\n")
            }
        }
        out
    }
}
