//! The configuration of a proxy, for either end: nothing may panic, what is refused names its file, and what is accepted makes a
//! session.

use std::path::PathBuf;
use std::sync::LazyLock;

use gamelane_mux::Role;
use gamelane_proxy::config::Config;

/// A file of one end, chosen by its first byte.
pub(crate) fn file(bytes: &[u8]) {
    static FILE: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("proxy.toml");
        (folder, file)
    });
    let Some((&choice, text)) = bytes.split_first() else { return };
    let role = if choice & 1 == 0 { Role::Near } else { Role::Far };
    std::fs::write(&FILE.1, text).expect("there is room");
    match Config::load(&FILE.1, role) {
        Ok(config) => {
            let session = config.session(role);
            assert!(session.mux.carriers >= 1 && session.window >= 1024 && session.max_streams >= 1);
            assert_eq!(Some(config.target()), if role == Role::Near { config.far } else { config.server });
        }
        Err(error) => assert!(error.to_string().contains("proxy.toml"), "{error}"),
    }
}
