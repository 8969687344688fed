//! The configuration of either proxy: one TOML file. `check` has the values that are refused.

mod check;

use crate::network::Network;
use crate::units::{Size, Span};
pub use gamelane_core::{Refusal, Refused};
use gamelane_mux::{Assignment, CarrierId, Coalescing, EarlyRepeat, MuxConfig, Role, SessionConfig};
use serde::Deserialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Everything that is wrong with a configuration, or with the files that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Refused>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        // The first one gets its `error: ` where it is printed.
        f.write_str(&all.join("\nerror: "))
    }
}

/// The configuration of either proxy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address for clients at a near proxy, for near proxies at a far one.
    pub listen: SocketAddr,
    /// Near only: address of the far proxy.
    pub far: Option<SocketAddr>,
    /// Far only: address of the server.
    pub server: Option<SocketAddr>,
    /// Near: whether clients begin with a header that names the player. Far: whether the server gets such a header.
    #[serde(default)]
    pub proxy_protocol: Header,
    /// Networks that may connect; others are refused before TLS. They have no share per source.
    pub allow: Option<Vec<Network>>,
    /// Near: longest time a client waits for the far proxy. Far: longest time for the server to accept. Then the client is refused.
    #[serde(default = "five_seconds")]
    pub refuse_after: Span,
    /// Number of connections between the two proxies. Both files must have the same.
    #[serde(default = "one")]
    pub carriers: u8,
    /// Protocol of the carriers.
    #[serde(default)]
    pub transport: Transport,
    /// Certificates. Without them, the proxies may only talk over loopback.
    pub tls: Option<Tls>,
    /// Which carrier a stream uses.
    #[serde(default)]
    pub assignment: CarrierChoice,
    /// Holds small messages back, to send several in one packet.
    pub coalescing: Option<CoalescingKeys>,
    /// Sends late messages again on another carrier.
    pub repeat: Option<RepeatKeys>,
    /// Socket options of TCP carriers.
    #[serde(default)]
    pub tcp: Tcp,
    /// Timeouts.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
    /// Time after a stream's last byte in which the event loop polls instead of sleeping.
    pub busy_poll: Option<Span>,
    /// Metrics and status over HTTP.
    pub admin: Option<Admin>,
    /// User to become once the sockets are open. Default: `nobody` if started as root. `root` stays root, without capabilities.
    pub user: Option<String>,
}

/// Use of the PROXY protocol.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// No header.
    #[default]
    None,
    /// A header of version 2 before the client's own bytes; it is required.
    V2,
}

/// Protocol of the carriers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP connections. Beyond loopback they have TLS.
    #[default]
    Tcp,
    /// QUIC connections, without head-of-line blocking between streams.
    Quic,
}

/// Certificates of this end, and the authority of the other end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// This end's certificate chain, PEM.
    pub certificate: PathBuf,
    /// This end's private key, PEM.
    pub key: PathBuf,
    /// The authority that signed the other end's certificate, PEM.
    pub authority: PathBuf,
    /// Near only: the name in the far end's certificate.
    #[serde(default = "far_name")]
    pub name: String,
    /// Days before an expiry from which log and status warn.
    #[serde(default = "a_month")]
    pub expiry_warning_days: u32,
}

/// See [`Assignment`].
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CarrierChoice {
    /// Chosen once by stream id.
    #[default]
    Pinned,
    /// The carrier with the smallest backlog.
    LeastBacklog,
}

/// See [`Coalescing`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoalescingKeys {
    /// Longest time a message is held back.
    pub deadline: Span,
    /// Messages are sent at once when this many bytes wait.
    #[serde(default = "packet")]
    pub fill: Size,
}

/// See [`EarlyRepeat`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatKeys {
    /// Round trips after which a message counts as late.
    pub after: f64,
    /// Largest message that is repeated.
    #[serde(default = "small")]
    pub max_len: Size,
    /// Largest number of repeats of a message.
    #[serde(default = "one")]
    pub max_repeats: u8,
}

/// Socket options of TCP carriers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Congestion control by its name in the kernel. Default: the kernel's own.
    pub congestion: Option<String>,
    /// Linear instead of exponential retransmission timeouts while the carrier is thin (TCP_THIN_LINEAR_TIMEOUTS).
    pub thin_linear_timeouts: bool,
    /// Limit of unsent bytes in the kernel (TCP_NOTSENT_LOWAT). More bytes wait in the proxy, where thin streams can pass them.
    pub unsent: Size,
}

impl Default for Tcp {
    fn default() -> Self {
        Self { congestion: None, thin_linear_timeouts: true, unsent: Size(16 << 10) }
    }
}

/// Timeouts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For the connection and handshake of a carrier, and for the header of a client.
    pub handshake: Span,
    /// Time limit for the first byte of a handshake. Default: 2 s, or `handshake` if that is shorter.
    pub first_byte: Option<Span>,
    /// Idle time after which a keep-alive is sent on a carrier.
    pub keep_alive: Span,
    /// Silence after which a carrier counts as lost.
    pub silence: Span,
    /// Time without any carrier after which all streams are reset.
    pub resume: Span,
    /// Time without a byte in either direction after which a stream is reset.
    pub idle: Span,
    /// Time for open streams to end by themselves after SIGTERM.
    pub drain: Span,
    /// Longest time an acknowledgement waits for other frames. The default is long: acknowledgements only free memory kept for a
    /// lost carrier. With `repeat` it is shorter, because a missing acknowledgement triggers a repeat.
    pub acknowledge: Option<Span>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Span::millis(5_000),
            first_byte: None,
            keep_alive: Span::millis(5_000),
            silence: Span::millis(15_000),
            resume: Span::millis(30_000),
            idle: Span::millis(3_600_000),
            drain: Span::millis(30_000),
            acknowledge: None,
        }
    }
}

impl Timeouts {
    /// Time for the first byte of a handshake.
    pub fn first_byte(&self) -> Span {
        self.first_byte.unwrap_or(Span::millis(2_000)).min(self.handshake)
    }
}

/// Limits.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Number of streams at a time. Near: a newcomer takes the place of a client whom the server has not answered.
    pub streams: usize,
    /// Near only: number of streams from one source, an IPv4 address or an IPv6 /64. Default: a quarter of `streams`.
    pub streams_per_source: Option<usize>,
    /// Payload of all streams that waits to be sent, acknowledged or read. Above it, new streams are refused.
    pub memory: Size,
    /// Payload of one stream in each direction.
    pub window: Size,
    /// Number of carriers and clients in their handshake at a time.
    pub handshakes: usize,
    /// Of them, from one source. Default: 32.
    pub handshakes_per_source: Option<usize>,
    /// Far only: number of near proxies at a time.
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            streams: 20_000,
            streams_per_source: None,
            memory: Size(256 << 20),
            window: Size(64 << 10),
            handshakes: 256,
            handshakes_per_source: None,
            sessions: 64,
        }
    }
}

impl Limits {
    /// Number of streams from one source, of `streams` in all.
    pub fn streams_per_source(&self, streams: usize) -> usize {
        self.streams_per_source.unwrap_or(streams.div_ceil(4)).min(streams)
    }

    /// Number of handshakes from one source, of `handshakes` in all.
    pub fn handshakes_per_source(&self, handshakes: usize) -> usize {
        self.handshakes_per_source.unwrap_or(32).min(handshakes)
    }

    /// Streams of a session. A stream that an end has reset stays until the other end confirms that, and a new one may take its place
    /// before: near keeps those that it evicted within a round trip, and at far a new stream may overtake a reset on another carrier.
    fn session_streams(&self, role: Role) -> usize {
        self.streams.saturating_add(match role {
            Role::Near => self.streams.saturating_add(1024),
            Role::Far => self.streams / 8 + 64,
        })
    }
}

/// Metrics and status over HTTP.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// Address, on loopback only.
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
fn a_month() -> u32 {
    30
}
fn packet() -> Size {
    Size(1400)
}
fn small() -> Size {
    Size(300)
}

impl Config {
    /// Reads and checks the file of one end.
    pub fn load(file: &Path, role: Role) -> Result<Self, Problems> {
        let (config, problems) = Self::examine(file, role)?;
        if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
    }

    /// Reads the file of one end, and returns what is wrong with its values too.
    ///
    /// # Errors
    /// The file cannot be read, or is no configuration.
    pub fn examine(file: &Path, role: Role) -> Result<(Self, Vec<Refused>), Problems> {
        let config: Self = read(file).map_err(|refused| Problems(vec![refused]))?;
        let named = |refusal| Refusal { file: file.display().to_string(), ..refusal }.into();
        let problems = config.check(role).into_iter().map(named).collect();
        Ok((config, problems))
    }

    /// Address of the far proxy at a near one, of the server at a far one.
    pub fn target(&self) -> SocketAddr {
        self.far.or(self.server).expect("checked when it was loaded")
    }

    /// QUIC only: the id of an additional carrier for early repeats. Its frames go in datagrams of any of the connections.
    pub fn datagrams(&self) -> Option<CarrierId> {
        (self.transport == Transport::Quic).then_some(CarrierId(self.carriers))
    }

    /// Number of carriers in the session, with the one for datagrams.
    pub fn session_carriers(&self) -> u8 {
        self.carriers + u8::from(self.transport == Transport::Quic)
    }

    /// Settings of the session.
    pub fn session(&self, role: Role) -> SessionConfig {
        let max_streams = self.limits.session_streams(role);
        SessionConfig {
            role,
            mux: self.mux(),
            window: self.limits.window.0,
            ack_delay: self.ack_delay().0,
            keep_alive: self.timeouts.keep_alive.0,
            silence: self.timeouts.silence.0,
            resume_window: self.timeouts.resume.0,
            max_streams,
            // No honest peer comes near: all streams may end at once while a carrier is blocked.
            max_owed: max_streams.saturating_mul(2).max(1 << 16),
            max_buffered: self.limits.memory.0,
        }
    }

    fn mux(&self) -> MuxConfig {
        MuxConfig {
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
        }
    }

    fn ack_delay(&self) -> Span {
        self.timeouts.acknowledge.unwrap_or(match self.repeat {
            Some(_) => Span::millis(25),
            None => Span::millis(200),
        })
    }
}

fn read<T: for<'de> Deserialize<'de>>(file: &Path) -> Result<T, Refused> {
    let error = |message: String| Refusal { file: file.display().to_string(), message, ..Refusal::default() };
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
        let (mut allowed, mut hint) = (said("allowed:"), said("hint:"));
        if let Some(field) = &unknown {
            hint = nearest(field, &message).or(hint);
        }
        if message.starts_with("invalid socket address") {
            allowed = Some("an IP address and a port, such as 203.0.113.5:7700 or [2001:db8::5]:7700".into());
            hint = Some("a name is not looked up; `getent ahosts NAME` prints its addresses".into());
        }
        let given = inner.span().and_then(|span| text.get(span)).map(|given| given.trim().to_string());
        let first = message.lines().next().unwrap_or_default().to_string();
        let value = given.filter(|given| given.len() < 80);
        Refusal { key, value, allowed, hint, ..error(first) }.into()
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
