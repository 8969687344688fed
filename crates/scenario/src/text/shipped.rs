//! The folders of data that the program contains. A new file ships as soon as it is in its folder. A new folder also
//! needs its name in `build.rs`.

use include_dir::{Dir, include_dir};

/// `models/`.
pub(super) static MODELS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../models");
/// `presets/`.
pub(super) static PRESETS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../presets");
/// `profiles/`.
pub(super) static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../profiles");

/// Names and texts of the files `NAME.ending` in a folder, by name. `folder` is relative to `root`; `""` is `root`.
pub(super) fn texts(
    root: &'static Dir<'static>,
    folder: &str,
    ending: &str,
) -> Vec<(&'static str, &'static str)> {
    let folder = if folder.is_empty() { Some(root) } else { root.get_dir(folder) };
    let files = folder.into_iter().flat_map(Dir::files);
    let of_this_kind = files.filter_map(|file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(ending)?.strip_suffix('.')?;
        Some((name, file.contents_utf8()?))
    });
    let mut texts: Vec<_> = of_this_kind.collect();
    texts.sort_unstable();
    texts
}

/// Reads all files `NAME.toml` in a folder of `models/`.
///
/// # Panics
/// A file is not sound. That is an error of ours, which a test of `models` finds.
pub(super) fn models<T>(folder: &str, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
    let read = |(name, text)| parse(text).unwrap_or_else(|why| panic!("models/{folder}/{name}.toml: {why}"));
    texts(&MODELS, folder, "toml").into_iter().map(read).collect()
}
