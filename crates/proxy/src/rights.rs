//! What a running proxy may still do: it becomes another user, gives up capabilities, and makes only the system calls of its list.

use crate::config::{Config, Refusal};
use gamelane_service::exit::{Exit, Failure, cannot_run, usage};
use gamelane_service::privileges::{Keep, User, calls, give_up};
use socket2::{Domain, Socket, Type};
use std::io;
use std::path::Path;

/// The user to become, and what that user must be able to do.
#[derive(Debug)]
pub struct Rights<'a> {
    user: User,
    file: &'a Path,
    config: &'a Config,
}

impl<'a> Rights<'a> {
    /// Looks up the user that the configuration `file` names.
    ///
    /// # Errors
    /// There is no such user, or this process cannot become it.
    pub fn find(file: &'a Path, config: &'a Config) -> Result<Self, Failure> {
        let user = User::find(config.user.as_deref()).map_err(|error| {
            usage(Refusal {
                file: file.display().to_string(),
                key: Some("user".into()),
                value: config.user.clone(),
                message: error.message,
                hint: Some(error.hint),
                ..Refusal::default()
            })
        })?;
        Ok(Self { user, file, config })
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
        // As root this loads the kernel's module, which the new user may not do.
        let _ = self.choose_congestion();
        let lists = [calls::common(), calls::waiting(), calls::sockets(), calls::connections()];
        let notes = give_up(&self.user, &Keep { json_log, ..Keep::only(lists) })
            .map_err(|error| cannot_run(format!("cannot give up privileges: {error}")))?;
        for note in notes {
            tracing::warn!("{note}");
        }
        self.check_congestion()
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

    /// Only `CAP_NET_ADMIN` may choose a congestion control that is not for everyone (tcp(7)), and carriers are opened later.
    fn check_congestion(&self) -> Result<(), Failure> {
        let (Some(name), Err(error)) = (&self.config.tcp.congestion, self.choose_congestion()) else {
            return Ok(());
        };
        let (message, hint) = match error.kind() {
            io::ErrorKind::PermissionDenied => (
                "this congestion control is for root only".into(),
                format!(
                    "`sysctl net.ipv4.tcp_allowed_congestion_control` lists those for everyone; add {name} to it"
                ),
            ),
            _ => (
                format!("this kernel does not have it: {error}"),
                "`sysctl net.ipv4.tcp_available_congestion_control` lists those that it has".into(),
            ),
        };
        let refusal = Refusal {
            file: self.file.display().to_string(),
            key: Some("tcp.congestion".into()),
            value: Some(name.clone()),
            message,
            hint: Some(hint),
            ..Refusal::default()
        };
        Err(Failure(Exit::CannotRun, refusal.to_string()))
    }

    /// Sets the configured congestion control on a socket that is closed again.
    fn choose_congestion(&self) -> io::Result<()> {
        let Some(name) = &self.config.tcp.congestion else { return Ok(()) };
        Socket::new(Domain::IPV4, Type::STREAM, None)?.set_tcp_congestion(name.as_bytes())
    }
}
