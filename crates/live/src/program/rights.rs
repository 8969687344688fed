//! What the program gives up once the interface is open.

use gamelane_service::exit::{Failure, cannot_run};
use gamelane_service::privileges::{Keep, User, calls, give_up};

/// Becomes the user who called sudo, if any, and keeps only what a recording needs. Returns notes for people.
///
/// # Errors
/// This process may not become that user.
pub(crate) fn give_up_all() -> Result<Vec<String>, Failure> {
    let user = User::find(caller().as_deref()).map_err(cannot_run)?;
    let lists = [
        calls::common(),
        calls::waiting(),
        calls::sockets(),
        calls::presence(),
        calls::files(),
        calls::folders(),
        calls::screen(),
    ];
    give_up(&user, &Keep::only(lists))
        .map_err(|error| cannot_run(format!("cannot give up privileges: {error}")))
}

/// Number of the user who called sudo; root's own for root.
fn caller() -> Option<String> {
    rustix::process::geteuid().is_root().then(|| {
        let sudo = std::env::var("SUDO_UID").ok().filter(|user| user.parse::<u32>().is_ok());
        sudo.unwrap_or_else(|| "0".to_owned())
    })
}
