//! What the program gives up once the interface is open.

use gamelane_service::exit::{Failure, cannot_run};
use gamelane_service::privileges::{Keep, User, calls, give_up};

/// Becomes the user who called sudo, if any, and keeps only what a recording needs. Returns notes for people.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn give_up_all() -> Result<Vec<String>, Failure> {
    let lists = [
        calls::common(),
        calls::listening(),
        calls::presence(),
        calls::files(),
        calls::folders(),
        calls::screen(),
    ];
    give_up(&User::caller(), &Keep::only(lists))
        .map_err(|error| cannot_run(format!("cannot give up privileges: {error}")))
}
