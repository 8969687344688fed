//! The configuration of either proxy: one TOML file. What is wrong is said with file, key, value, what is allowed, a hint.

use crate::units::{Size, Span};
use gamelane_core::Duration;
use gamelane_mux::{
    Assignment, CarrierId, Coalescing, EarlyRepeat, MAX_CARRIERS, MuxConfig, Role, SessionConfig,
};
use serde::Deserialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A configuration file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(Box<Refusal>);

impl From<Refusal> for ConfigError {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl std::ops::Deref for ConfigError {
    type Target = Refusal;
    fn deref(&self) -> &Refusal {
        &self.0
    }
}

/// The parts of a [`ConfigError`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The file.
    pub file: PathBuf,
    /// Dotted key.
    pub key: Option<String>,
    /// The value as given.
    pub given: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What would have been right.
    pub allowed: Option<String>,
    /// What was probably meant, or what to do.
    pub hint: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "`{key}` in ")?;
        }
        write!(f, "{}: {}", self.file.display(), self.message)?;
        for (label, text) in
            [("given:  ", &self.given), ("allowed:", &self.allowed), ("hint:   ", &self.hint)]
        {
            if let Some(text) = text {
                write!(f, "\n  {label} {text}")?;
            }
        }
        Ok(())
    }
}

/// Either proxy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where clients connect to a near proxy, and near proxies to a far one.
    pub listen: SocketAddr,
    /// Near: where the far proxy listens.
    pub far: Option<SocketAddr>,
    /// Far: the server.
    pub server: Option<SocketAddr>,
    /// Near: whether clients come with a header that says who they are. Far: whether the server gets one.
    #[serde(default)]
    pub proxy_protocol: Header,
    /// Near: a client waits so long for the far proxy, then its connection is refused. Far: the server has so long to accept.
    #[serde(default = "five_seconds")]
    pub refuse_after: Span,
    /// Connections between the two. Both files must say the same.
    #[serde(default = "one")]
    pub carriers: u8,
    /// What they are.
    #[serde(default)]
    pub transport: Transport,
    /// Certificates. Without, both addresses must be loopback.
    pub tls: Option<Tls>,
    /// Which carrier a stream uses.
    #[serde(default)]
    pub assignment: CarrierChoice,
    /// Small messages wait for company.
    pub coalescing: Option<CoalescingKeys>,
    /// Late messages are sent again on another carrier.
    pub repeat: Option<RepeatKeys>,
    /// Socket options of TCP carriers.
    #[serde(default)]
    pub tcp: Tcp,
    /// Times.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Bounds.
    #[serde(default)]
    pub limits: Limits,
    /// For so long after the last byte the event loop asks for more instead of sleeping.
    pub busy_poll: Option<Span>,
    /// Metrics and status.
    pub admin: Option<Admin>,
}

/// PROXY protocol v2.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// Not used.
    #[default]
    None,
    /// Before the client's own bytes, always.
    V2,
}

/// What carriers are.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP connections, with TLS unless on loopback.
    #[default]
    Tcp,
    /// QUIC connections, in which streams do not wait for each other.
    Quic,
}

/// Certificates of this end, and who may be the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// This end's chain, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Who signs the other end's, PEM.
    pub authority: PathBuf,
    /// The name in the far end's certificate. Used by the near one.
    #[serde(default = "far_name")]
    pub name: String,
}

/// See [`Assignment`].
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CarrierChoice {
    /// By stream id.
    #[default]
    Pinned,
    /// The one with least waiting.
    LeastBacklog,
}

/// See [`Coalescing`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoalescingKeys {
    /// No message waits longer.
    pub deadline: Span,
    /// Nor once so many bytes wait.
    #[serde(default = "packet")]
    pub fill: Size,
}

/// See [`EarlyRepeat`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatKeys {
    /// Round trips until a message counts as late.
    pub after: f64,
    /// Largest message repeated.
    #[serde(default = "small")]
    pub max_len: Size,
    /// Copies beyond the first.
    #[serde(default = "one")]
    pub max_repeats: u8,
}

/// Socket options of TCP carriers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Congestion control, as the kernel calls it; without, the kernel's own choice.
    pub congestion: Option<String>,
    /// Linear timeouts while the carrier is thin.
    pub thin_linear_timeouts: bool,
    /// Unsent bytes the kernel may hold: more wait where thin streams can still pass them.
    pub unsent: Size,
}

impl Default for Tcp {
    fn default() -> Self {
        Self { congestion: None, thin_linear_timeouts: true, unsent: Size(16 << 10) }
    }
}

/// Times.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Connection and handshake of a carrier, header of a client.
    pub handshake: Span,
    /// A carrier idle for so long is pinged.
    pub keep_alive: Span,
    /// One silent for so long is lost.
    pub silence: Span,
    /// Without any carrier for so long, all streams are given up.
    pub resume: Span,
    /// A stream without a byte either way for so long is given up.
    pub idle: Span,
    /// On SIGTERM streams have so long to end by themselves.
    pub drain: Span,
    /// An acknowledgement waits so long for company. Without: long, for acknowledgements only free what is kept for a lost
    /// carrier, unless early repeats wait for them.
    pub acknowledge: Option<Span>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Span::millis(5_000),
            keep_alive: Span::millis(5_000),
            silence: Span::millis(15_000),
            resume: Span::millis(30_000),
            idle: Span::millis(3_600_000),
            drain: Span::millis(30_000),
            acknowledge: None,
        }
    }
}

/// Bounds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Streams at a time.
    pub streams: usize,
    /// Payload waiting, retained and unread, of all streams; beyond, new streams are refused.
    pub memory: Size,
    /// Of one stream, each way.
    pub window: Size,
    /// Carriers and clients in their handshake at a time.
    pub handshakes: usize,
    /// Near proxies at a time, at a far one.
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            streams: 20_000,
            memory: Size(256 << 20),
            window: Size(64 << 10),
            handshakes: 256,
            sessions: 64,
        }
    }
}

/// Metrics and status.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// Where; loopback only.
    pub listen: SocketAddr,
}

fn one() -> u8 {
    1
}
fn five_seconds() -> Span {
    Span::millis(5_000)
}
fn far_name() -> String {
    crate::certificates::FAR_NAME.into()
}
fn packet() -> Size {
    Size(1400)
}
fn small() -> Size {
    Size(300)
}

impl Config {
    /// Reads and checks the file of one end.
    pub fn load(file: &Path, role: Role) -> Result<Self, ConfigError> {
        let config: Self = read(file)?;
        config.check(file, role)?;
        Ok(config)
    }

    /// The other end of a near proxy, the server of a far one.
    pub fn target(&self) -> SocketAddr {
        self.far.or(self.server).expect("checked when it was loaded")
    }

    /// With QUIC, the carrier behind the last: datagrams of any of the connections, for early repeats.
    pub fn datagrams(&self) -> Option<CarrierId> {
        (self.transport == Transport::Quic).then_some(CarrierId(self.carriers))
    }

    /// Carriers as the session counts them.
    pub fn session_carriers(&self) -> u8 {
        self.carriers + u8::from(self.transport == Transport::Quic)
    }

    /// For the session of an end.
    pub fn session(&self, role: Role) -> SessionConfig {
        SessionConfig {
            role,
            mux: MuxConfig {
                carriers: self.session_carriers(),
                assignment: match self.assignment {
                    CarrierChoice::Pinned => Assignment::Pinned,
                    CarrierChoice::LeastBacklog => Assignment::LeastBacklog,
                },
                coalescing: self
                    .coalescing
                    .map(|keys| Coalescing { deadline: keys.deadline.0, fill: keys.fill.0 as u32 }),
                early_repeat: self.repeat.map(|keys| EarlyRepeat {
                    after_permille: (keys.after * 1000.0) as u32,
                    max_len: keys.max_len.0 as u32,
                    max_repeats: keys.max_repeats,
                }),
                buffer: self.limits.window.0,
                ..MuxConfig::default()
            },
            window: self.limits.window.0,
            ack_delay: self
                .timeouts
                .acknowledge
                .unwrap_or(match self.repeat {
                    Some(_) => Span::millis(25),
                    None => Span::millis(200),
                })
                .0,
            keep_alive: self.timeouts.keep_alive.0,
            silence: self.timeouts.silence.0,
            resume_window: self.timeouts.resume.0,
            max_streams: self.limits.streams,
            max_buffered: self.limits.memory.0,
        }
    }

    fn check(&self, file: &Path, role: Role) -> Result<(), ConfigError> {
        let wrong = |key: &str, given: String, message: &str, allowed: &str, hint: Option<&str>| {
            Err(ConfigError::from(Refusal {
                file: file.into(),
                key: Some(key.into()),
                given: Some(given),
                message: message.into(),
                allowed: Some(allowed.into()),
                hint: hint.map(Into::into),
            }))
        };
        let (needed, other, end) = match role {
            Role::Near => (("far", self.far), ("server", self.server), "near"),
            Role::Far => (("server", self.server), ("far", self.far), "far"),
        };
        if let Some(address) = other.1 {
            let message = format!("a {end} proxy has no `{}`", other.0);
            let hint = format!("is this the file of the other end? A {end} proxy has `{}`", needed.0);
            return wrong(other.0, address.to_string(), &message, &format!("`{}`", needed.0), Some(&hint));
        }
        let Some(target) = needed.1 else {
            let message = format!("a {end} proxy needs `{}`", needed.0);
            return wrong(needed.0, "nothing".into(), &message, "an address such as 192.0.2.1:7700", None);
        };
        let (key, between) = match role {
            Role::Near => ("far", target),
            Role::Far => ("listen", self.listen),
        };
        let (most, allowed) = match self.transport {
            Transport::Tcp => (MAX_CARRIERS, "1 to 16"),
            // Datagrams count as one.
            Transport::Quic => (MAX_CARRIERS - 1, "1 to 15 over QUIC"),
        };
        if !(1..=most).contains(&usize::from(self.carriers)) {
            return wrong("carriers", self.carriers.to_string(), "so many carriers cannot be", allowed, None);
        }
        if self.tls.is_none() && !between.ip().is_loopback() {
            return wrong(
                key,
                between.to_string(),
                "without certificates the pair may only talk over loopback",
                "127.0.0.1, [::1], or any address with a [tls] table",
                Some("`gamelane-proxy certificates DIR` makes a pair's"),
            );
        }
        if self.tls.is_none() && self.transport == Transport::Quic {
            return wrong(
                "transport",
                "quic".into(),
                "QUIC has no unencrypted form",
                "tcp, or quic with a [tls] table",
                Some("`gamelane-proxy certificates DIR` makes a pair's"),
            );
        }
        if let Some(admin) = self.admin
            && !admin.listen.ip().is_loopback()
        {
            return wrong(
                "admin.listen",
                admin.listen.to_string(),
                "metrics are for this machine only",
                "a loopback address such as 127.0.0.1:9700",
                None,
            );
        }
        if let Some(repeat) = self.repeat {
            if !(0.0..=100.0).contains(&repeat.after) {
                return wrong(
                    "repeat.after",
                    repeat.after.to_string(),
                    "not a number of round trips",
                    "0 to 100",
                    None,
                );
            }
            if self.carriers < 2 && self.transport == Transport::Tcp {
                return wrong(
                    "repeat",
                    format!("with carriers = {}", self.carriers),
                    "a repeat needs another carrier to go by",
                    "carriers = 2 or more, or transport = \"quic\", which repeats in datagrams",
                    None,
                );
            }
        }
        if self.limits.window.0 < 1024 || self.limits.window.0 > 16 << 20 {
            let given = format!("{}B", self.limits.window.0);
            return wrong("limits.window", given, "a window of no use", "1KiB to 16MiB", None);
        }
        if let Some(span) = self.busy_poll
            && !(Duration::from_micros(1)..=Duration::from_millis(100)).contains(&span.0)
        {
            return wrong(
                "busy_poll",
                format!("{}us", span.0.as_nanos() / 1000),
                "a core would hardly ever sleep",
                "1us to 100ms",
                Some("a few times what an answer takes, such as 50us"),
            );
        }
        if self.timeouts.silence <= self.timeouts.keep_alive {
            return wrong(
                "timeouts.silence",
                format!("{}ms", self.timeouts.silence.0.as_millis_f64()),
                "every idle carrier would be lost before it is pinged",
                "more than timeouts.keep_alive",
                None,
            );
        }
        if self.timeouts.resume.0 == Duration::ZERO || self.limits.streams == 0 || self.limits.handshakes == 0
        {
            return wrong("limits", "0".into(), "nothing could pass", "more than zero", None);
        }
        Ok(())
    }
}

fn read<T: for<'de> Deserialize<'de>>(file: &Path) -> Result<T, ConfigError> {
    let error = |message: String| Refusal { file: file.into(), message, ..Refusal::default() };
    let text = std::fs::read_to_string(file).map_err(|why| error(format!("cannot be read: {why}")))?;
    let deserializer = toml::Deserializer::parse(&text)
        .map_err(|why| error(format!("is not TOML: {}", why.to_string().trim_end())))?;
    serde_path_to_error::deserialize(deserializer).map_err(|why| {
        let path = why.path().to_string();
        let inner = why.into_inner();
        let message = inner.message().to_string();
        let unknown = quoted(&message, "unknown field `");
        let key = match &unknown {
            Some(field) if path == "." => Some(field.clone()),
            Some(field) if !path.ends_with(field.as_str()) => Some(format!("{path}.{field}")),
            _ => Some(path).filter(|path| path != "."),
        };
        // A quantity says what is allowed on lines of its own.
        let line = |label| message.lines().find_map(|line| line.trim_start().strip_prefix(label));
        let said = |label| line(label).map(|said| said.trim().to_string());
        let hint = unknown.as_deref().and_then(|field| nearest(field, &message)).or_else(|| said("hint:"));
        let given = inner.span().and_then(|span| text.get(span)).map(|given| given.trim().to_string());
        let first = message.lines().next().unwrap_or_default().to_string();
        let given = given.filter(|given| given.len() < 80);
        Refusal { key, given, allowed: said("allowed:"), hint, ..error(first) }.into()
    })
}

fn quoted(message: &str, before: &str) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once('`').map(|(name, _)| name.to_string())
}

fn nearest(field: &str, message: &str) -> Option<String> {
    let names = message.split('`').skip(3).step_by(2);
    let (distance, name) = names.map(|name| (strsim::damerau_levenshtein(field, name), name)).min()?;
    (distance <= 3).then(|| format!("did you mean `{name}`?"))
}
