//! The user that a program becomes when it was started as root.

use std::ffi::CString;
use std::fs;
use std::io::Result;

use nix::unistd::{self, Gid, Uid};
use rustix::thread::CapabilitySet;

/// The user that a program started as root becomes by default.
pub const NOBODY: &str = "nobody";
/// `nobody` where no file of users has it. The kernel shows this number for users that it cannot map (`overflowuid`).
const NOBODY_ID: u32 = 65_534;

/// A user to become, looked up before anything is given up.
#[derive(Clone, Debug)]
pub struct User {
    /// Its name; the number if it has none.
    pub name: String,
    /// The change to make; `None` if the program is this user already.
    ids: Option<Ids>,
    /// Why it is not the user that it should be by default.
    pub(super) note: Option<String>,
}

#[derive(Clone, Debug)]
struct Ids {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

/// Why a program cannot become a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n  hint:    {hint}")]
pub struct UserError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl User {
    /// Looks up the user to become, `named` by its name or number. By default that is `nobody` for a program that was started as
    /// root, and the same user otherwise. `root` stays root, without any capability.
    ///
    /// # Errors
    /// No such user, or this process may not change to it. The default does not fail: it then stays the same user, and
    /// [`give_up`](super::give_up) has a note.
    pub fn find(named: Option<&str>) -> std::result::Result<Self, UserError> {
        let own = unistd::geteuid();
        let name = match named {
            None if own.is_root() => NOBODY,
            None => return Ok(Self::stays(own, None)),
            Some(name) => name,
        };
        let ids = ids(name)?;
        if ids.uid == own {
            return Ok(Self::stays(own, None));
        }
        match forbidden(own, &ids) {
            None => Ok(Self { name: name.into(), ids: Some(ids), note: None }),
            Some(why) if named.is_none() => {
                let note =
                    format!("stays root, without capabilities: it cannot become {name}, because {why}");
                Ok(Self::stays(own, Some(note)))
            }
            Some(why) => Err(UserError {
                message: format!("cannot become {name}: {why}"),
                hint: "leave it out, or start as root".into(),
            }),
        }
    }

    /// The user who called sudo, to whom the files of a recording belong. Without sudo, the program stays the same user. Where the change
    /// is not possible, it stays root, and [`give_up`](super::give_up) has a note.
    pub fn caller() -> Self {
        let own = unistd::geteuid();
        let number = |name| std::env::var(name).ok()?.parse().ok().filter(|number| *number != 0);
        let Some(uid) = number("SUDO_UID").filter(|_| own.is_root()) else {
            return Self::stays(own, None);
        };
        let ids = ids_of(Uid::from_raw(uid), number("SUDO_GID").map(Gid::from_raw));
        match forbidden(own, &ids) {
            None => Self { name: uid.to_string(), ids: Some(ids), note: None },
            Some(why) => {
                let note =
                    format!("stays root, without capabilities: it cannot become user {uid}, because {why}");
                Self::stays(own, Some(note))
            }
        }
    }

    fn stays(own: Uid, note: Option<String>) -> Self {
        let known = unistd::User::from_uid(own).ok().flatten();
        Self { name: known.map_or_else(|| own.to_string(), |user| user.name), ids: None, note }
    }

    /// Number of user and group that files must belong to; `None` if they are those of this process already.
    pub fn owner(&self) -> Option<(u32, u32)> {
        self.ids.as_ref().map(|ids| (ids.uid.as_raw(), ids.gid.as_raw()))
    }

    /// What an operator can do if this user may not read a file. `option` names the user.
    pub fn remedy(&self, option: &str) -> String {
        let sudo = std::env::var("SUDO_USER").ok().filter(|name| name != "root");
        let (own, other) = (&self.name, sudo.unwrap_or_else(|| "NAME".into()));
        format!("let {own} read it, or {option} {other}; `root` stays root, without capabilities")
    }

    /// Changes user and groups. Capabilities of the thread end with that, unless they are kept.
    pub(super) fn become_it(&self) -> Result<()> {
        let Some(Ids { uid, gid, groups }) = &self.ids else { return Ok(()) };
        unistd::setgroups(groups)?;
        unistd::setresgid(*gid, *gid, *gid)?;
        Ok(unistd::setresuid(*uid, *uid, *uid)?)
    }
}

fn ids(name: &str) -> std::result::Result<Ids, UserError> {
    let unknown = |why: String| UserError {
        message: format!("{why}: {name}"),
        hint: "`useradd --system --no-create-home NAME` makes a user; the default is nobody".into(),
    };
    match unistd::User::from_name(name) {
        Ok(Some(user)) => Ok(ids_of(user.uid, Some(user.gid))),
        Ok(None) => {
            let number = if name == NOBODY { Some(NOBODY_ID) } else { name.parse().ok() };
            let number = number.ok_or_else(|| unknown("no such user".into()))?;
            Ok(ids_of(Uid::from_raw(number), None))
        }
        Err(error) => Err(unknown(format!("cannot look up the user: {error}"))),
    }
}

/// The groups of a user, with `gid` as the first; by default it is the one that the file of users has.
fn ids_of(uid: Uid, gid: Option<Gid>) -> Ids {
    let known = unistd::User::from_uid(uid).ok().flatten();
    let gid = gid.or(known.as_ref().map(|user| user.gid)).unwrap_or(Gid::from_raw(uid.as_raw()));
    let name = known.and_then(|user| CString::new(user.name).ok());
    let groups = name.and_then(|name| unistd::getgrouplist(&name, gid).ok());
    Ids { uid, gid, groups: groups.unwrap_or_else(|| vec![gid]) }
}

/// Why this process may not become that user.
fn forbidden(own: Uid, ids: &Ids) -> Option<String> {
    let effective = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    for (needed, name) in [(CapabilitySet::SETUID, "CAP_SETUID"), (CapabilitySet::SETGID, "CAP_SETGID")] {
        if !effective.contains(needed) {
            return Some(match own.is_root() {
                true => format!("it was started without {name}"),
                false => format!("only root may change its user, and this is user {own}"),
            });
        }
    }
    let proc = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let here = "in this user namespace (a container)";
    if !is_mapped(&proc("uid_map"), ids.uid.as_raw()) || !is_mapped(&proc("gid_map"), ids.gid.as_raw()) {
        return Some(format!("{here} there is no such user"));
    }
    (proc("setgroups").trim() == "deny").then(|| format!("{here} groups cannot be changed"))
}

/// Whether a user namespace has this number: user_namespaces(7). Without a map, all numbers are there.
fn is_mapped(map: &str, id: u32) -> bool {
    let mut ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (inside, count) = (numbers.next()?.ok()?, numbers.nth(1)?.ok()?);
        Some(inside..inside + count)
    });
    map.trim().is_empty() || ranges.any(|range| range.contains(&u64::from(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_namespace_may_lack_a_number() {
        assert!(is_mapped("         0          0 4294967295\n", 65_534));
        assert!(!is_mapped("         0       1000          1\n", 65_534));
        assert!(is_mapped("0 1000 1\n1 100000 65536\n", 65_534));
        assert!(is_mapped("", 65_534), "a kernel without user namespaces");
    }

    #[test]
    fn an_unknown_user_is_an_error_that_says_what_to_do() {
        let error = User::find(Some("no-such-user-1f")).unwrap_err();
        assert_eq!(error.message, "no such user: no-such-user-1f");
        assert!(error.to_string().contains("\n  hint:    `useradd"), "{error}");
    }

    #[test]
    fn the_own_user_needs_no_change() {
        let own = unistd::geteuid();
        let name = unistd::User::from_uid(own).unwrap().expect("this user has a name").name;
        let user = User::find(Some(&name)).unwrap();
        assert_eq!((user.name.as_str(), user.owner()), (name.as_str(), None));
        if !own.is_root() {
            let error = User::find(Some("root")).unwrap_err();
            assert!(error.message.contains("only root may change its user"), "{error}");
        }
    }
}
