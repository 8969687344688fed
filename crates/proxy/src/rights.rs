//! What a running proxy may still do: it becomes another user, gives up capabilities, and makes only the system calls of its list.

use crate::config::{Config, Refusal, Refused};
use gamelane_service::exit::{Failure, cannot_run};
use gamelane_service::privileges::{Keep, User, calls, give_up};
use socket2::{Domain, Socket, Type};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The user to become, and what that user must be able to do.
#[derive(Debug)]
pub struct Rights {
    user: User,
    file: PathBuf,
    config: Arc<Config>,
}

impl Rights {
    /// Looks up the user that the configuration `file` names.
    ///
    /// # Errors
    /// There is no such user, or this process cannot become it.
    pub fn find(file: &Path, config: &Arc<Config>) -> Result<Self, Refused> {
        let user = User::find(config.user.as_deref()).map_err(|error| {
            Refused::from(Refusal {
                file: file.display().to_string(),
                key: Some("user".into()),
                value: config.user.as_ref().map(|name| format!("\"{name}\"")),
                message: error.message.trim_end_matches(": ").into(),
                allowed: Some("name or number of a user".into()),
                hint: Some(error.hint),
                ..Refusal::default()
            })
        })?;
        Ok(Self { user, file: file.into(), config: config.clone() })
    }

    /// Name of the user.
    pub fn user(&self) -> &str {
        &self.user.name
    }

    /// Gives up everything that serving does not need. All sockets that listen must be open.
    ///
    /// # Errors
    /// If the kernel refuses, or the new user may not do what the configuration needs.
    pub fn give_up(&self, json_log: bool) -> Result<(), Failure> {
        let lists = [calls::common(), calls::waiting(), calls::sockets(), calls::connections()];
        let notes = give_up(&self.user, &Keep { json_log, ..Keep::only(lists) })
            .map_err(|error| cannot_run(format!("cannot give up privileges: {error}")))?;
        for note in notes {
            tracing::warn!("{note}");
        }
        check_congestion(&self.file, &self.config).map_err(cannot_run)
    }

    /// Warns of certificates that the new user cannot read again at SIGHUP.
    pub fn check_readable(&self) {
        let Some(tls) = &self.config.tls else { return };
        let folder = self.file.parent().unwrap_or(Path::new("."));
        for path in [&tls.certificate, &tls.key, &tls.authority].map(|path| folder.join(path)) {
            if let Err(error) = std::fs::File::open(&path) {
                // A key that `nobody` may read is open to other services that run as `nobody`.
                tracing::warn!(
                    "{}: {} may not read it, so SIGHUP cannot renew certificates, only a restart can: {error}\n  hint:    \
                     `useradd --system gamelane; chown gamelane {0}`, and `user = \"gamelane\"` in {}; \
                     `user = \"root\"` stays root, without capabilities",
                    path.display(),
                    self.user.name,
                    self.file.display(),
                );
            }
        }
    }
}

/// Checks the congestion control of carriers, which are opened when privileges are gone: only `CAP_NET_ADMIN` may choose one that is
/// not for everyone (tcp(7)). As root this loads the kernel's module, which a later user may not do.
pub fn check_congestion(file: &Path, config: &Config) -> Result<(), Refused> {
    let Some(name) = &config.tcp.congestion else { return Ok(()) };
    let chosen = Socket::new(Domain::IPV4, Type::STREAM, None)
        .and_then(|socket| socket.set_tcp_congestion(name.as_bytes()));
    // Older kernels have this file in the first network namespace only.
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let is_allowed = allowed.map_or(true, |list| list.split_whitespace().any(|one| one == name));
    let (message, hint) = match chosen {
        Ok(()) if is_allowed => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => (
            format!("this kernel does not have it: {error}"),
            format!(
                "`sysctl net.ipv4.tcp_available_congestion_control` lists those that it has; `modprobe tcp_{name}` may add it"
            ),
        ),
        _ => (
            "this congestion control is for root only".into(),
            format!(
                "`sysctl net.ipv4.tcp_allowed_congestion_control` lists those for everyone; add {name} to it"
            ),
        ),
    };
    let refusal = Refusal {
        file: file.display().to_string(),
        key: Some("tcp.congestion".into()),
        value: Some(name.clone()),
        message,
        hint: Some(hint),
        ..Refusal::default()
    };
    Err(refusal.into())
}
