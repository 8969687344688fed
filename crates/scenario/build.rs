//! Builds the crate again when a file appears in a folder that it contains. `include_dir` notices only changed files.

fn main() {
    for folder in ["models", "presets", "profiles"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
