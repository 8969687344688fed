//! What one target gets to put a gateway's setting into effect.

/// Shell lines for one target. The lines of `undo` come before those of `apply`, so all of them can be pasted
/// again at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// One of [`TARGETS`](super::TARGETS).
    pub target: &'static str,
    /// Variables that name this machine's interfaces and ports, to edit first.
    pub edit: Vec<String>,
    /// Lines that end what an earlier run set up. After `edit`, they alone undo everything.
    pub undo: Vec<String>,
    /// Lines that put the setting into effect. Empty if the target cannot express the setting.
    pub apply: Vec<String>,
    /// Sentences: what of the setting the lines leave out.
    pub unsaid: Vec<String>,
}

impl Recipe {
    /// A target that cannot express the setting.
    pub(super) fn none(target: &'static str, unsaid: Vec<String>) -> Self {
        Self { target, unsaid: once(unsaid), ..Self::default() }
    }

    /// Whether the lines do all that the setting says.
    pub fn matches(&self) -> bool {
        !self.apply.is_empty() && self.unsaid.is_empty()
    }

    /// The text to paste, with comments. They begin with what the lines leave out.
    pub fn lines(&self) -> Vec<String> {
        let missing = match self.apply.is_empty() {
            true => format!("There are no {} lines:", self.target),
            false => "These lines differ from the setting:".into(),
        };
        // A sentence may quote a stranger's scenario, and what follows a line break would be a command.
        let comment = |sentence: &String| format!("# {missing} {}", sentence.replace(['\n', '\r'], " "));
        self.unsaid.iter().map(comment).chain(self.paste()).collect()
    }

    /// The text to paste without what the lines leave out. Empty if the target cannot express the setting.
    pub fn paste(&self) -> Vec<String> {
        if self.apply.is_empty() {
            return Vec::new();
        }
        let mut found = self.edit.clone();
        if !self.undo.is_empty() {
            found.extend([String::new(), UNDO.into()]);
            found.extend_from_slice(&self.undo);
        }
        found.push(String::new());
        found.extend_from_slice(&self.apply);
        found
    }
}

const UNDO: &str =
    "# End what an earlier run set up. To undo everything, paste only the lines above and this block.";

/// The sentences without repetitions.
pub(super) fn once(sentences: Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in sentences {
        if !found.contains(&sentence) {
            found.push(sentence);
        }
    }
    found
}
