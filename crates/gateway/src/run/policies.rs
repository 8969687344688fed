//! The policy in force and its file, which is read again when it changes.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use gamelane_policy::Policy;

use super::Options;

/// The policy in force, and its file.
pub(super) struct Policies<'a> {
    options: &'a Options,
    pub(super) current: Policy,
    /// Text of the file it was read from.
    pub(super) text: String,
    /// Why the file in its present state is not in force.
    pub(super) refused: Option<String>,
    changed: Option<SystemTime>,
}

impl<'a> Policies<'a> {
    pub(super) fn new(options: &'a Options, current: Policy, text: String) -> Self {
        Self { options, current, text, refused: None, changed: changed(&options.file) }
    }

    /// Keys and values that override the file's.
    pub(super) fn overrides(&self) -> &[(String, String)] {
        &self.options.overrides
    }

    /// The user that this program became.
    pub(super) fn user(&self) -> &str {
        &self.options.user.name
    }

    /// Warns if the user that this program became may not read the file. Changes are not seen then.
    pub(super) fn check_readable(&mut self) {
        let file = &self.options.file;
        if let Err(error) = fs::File::open(file) {
            let (file, remedy) = (file.display(), self.options.user.remedy("start with --user"));
            tracing::warn!("{file}: a change will not be seen: {error}\n  hint:    {remedy}");
            self.changed = changed(&self.options.file);
        }
    }

    /// Reads the file again if it changed, or if `told` to. Returns true if the policy is another one. A policy that is refused
    /// is logged once and changes nothing.
    pub(super) fn read_again(&mut self, told: bool) -> bool {
        self.read_if(told, |_| Ok(()))
    }

    /// The same, and `accept` may refuse the policy, with the reason.
    pub(super) fn read_if(&mut self, told: bool, accept: impl FnOnce(&Policy) -> Result<(), String>) -> bool {
        let changed = changed(&self.options.file);
        if !told && changed == self.changed {
            return false;
        }
        self.changed = changed;
        let name = self.options.file.display().to_string();
        let read = Policy::text(&self.options.file).and_then(|text| {
            Policy::parse(&text, &name, &self.options.overrides).map(|policy| (policy, text))
        });
        let read = read.map_err(|error| error.to_string()).and_then(|(policy, text)| {
            let is_other = policy != self.current;
            if is_other {
                accept(&policy)?;
            }
            Ok((policy, text, is_other))
        });
        match read {
            Ok((policy, text, is_other)) => {
                self.text = text;
                self.refused = None;
                tracing::info!(policy = policy.name, hash = policy.hash, is_other, "policy read again");
                for note in &policy.notes {
                    tracing::warn!("{note}");
                }
                self.current = policy;
                is_other
            }
            Err(error) => {
                tracing::error!("policy refused, the one before it stays in force: {error}");
                self.refused = Some(error);
                false
            }
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|about| about.modified()).ok()
}
