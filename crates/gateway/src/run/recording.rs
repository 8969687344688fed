//! `--tap`: starts and ends a recording.

use gamelane_core::Seed;
use gamelane_policy::Policy;
use gamelane_service::exit::{Exit, Failure};
use gamelane_service::privileges::User;

use crate::tap::{self, About, EngineKind, Tap, WhenFull};

/// A folder for a recording.
pub(super) struct Opened<'a> {
    options: &'a tap::Options,
    folder: tap::Folder,
}

/// Makes the folder of the recording, for the user that will write there. `None` if nothing is to be recorded.
pub(super) fn open<'a>(options: Option<&'a tap::Options>, user: &User) -> anyhow::Result<Option<Opened<'a>>> {
    let Some(options) = options else { return Ok(None) };
    let folder = tap::Folder::make(&options.folder, user.owner());
    let folder = folder.map_err(|error| cannot_record(options, &error))?;
    if options.when_full == WhenFull::Rotate {
        tracing::warn!(
            "--tap-rotate: once the oldest part is deleted, this recording can be viewed in Wireshark, but not turned into a \
             report; without --tap-rotate it stops at --tap-size instead, and can"
        );
    }
    Ok(Some(Opened { options, folder }))
}

fn cannot_record(tap: &tap::Options, error: &std::io::Error) -> Failure {
    Failure(Exit::Output, format!("--tap {}: cannot record there: {error}", tap.folder.display()))
}

/// What is recorded.
pub(super) struct Subject<'a> {
    pub(super) engine: EngineKind,
    pub(super) interfaces: [String; 2],
    pub(super) epoch_ns: u64,
    pub(super) pool: [usize; 2],
    pub(super) policy: &'a Policy,
    /// Text of the policy.
    pub(super) text: &'a str,
    /// Keys and values that override the text's.
    pub(super) overrides: &'a [(String, String)],
    pub(super) seed: Seed,
}

impl Opened<'_> {
    /// Starts the recording.
    pub(super) fn start(self, subject: Subject<'_>) -> anyhow::Result<Tap> {
        let Self { options, folder } = self;
        let Subject { engine, interfaces, epoch_ns, pool, policy, text, overrides, seed } = subject;
        // The copy of the policy in the recording has another file name, from which a policy without a name would take its name.
        let mut overrides = overrides.to_vec();
        overrides.push(("name".into(), serde_json::to_string(&policy.name)?));
        let about = About {
            schema: tap::about::SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            policy: policy.name.clone(),
            policy_hash: policy.hash.clone(),
            overrides,
            seed: seed.0,
            epoch_ns,
            snap: options.snap,
            interfaces,
            engine,
            pool,
        };
        Ok(Tap::start(folder, options, &about, text).map_err(|error| cannot_record(options, &error))?)
    }
}

/// Says what was recorded.
pub(super) fn report(tap: &tap::TapStatus) {
    let tap::TapStatus { folder, frames, bytes, lost, full, error } = tap;
    tracing::info!(folder, frames, bytes, "recorded");
    if *lost > 0 && !full && error.is_none() {
        tracing::warn!(
            lost,
            "the disk was too slow for the recording; it can be replayed up to the first lost event"
        );
    }
    if *full {
        tracing::warn!("the recording reached its size before the end");
    }
    if let Some(error) = error {
        tracing::error!("the recording ended early: {error}");
    }
}
