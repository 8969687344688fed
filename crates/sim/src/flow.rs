//! One connection of an application in the simulator: a host at each end, and the path between them beyond the link. Most
//! flows of a scenario have one connection; a game over TCP has one for each player, and a transfer may have several.

use alloc::boxed::Box;

use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Ecn, FlowId, FlowKey, Instant, IpLen, Protocol, Seed};
use gamelane_link::{Path, PathConfig};
use gamelane_record::Side;
use gamelane_record::messages::{Order, ThinLane};
use gamelane_scenario::{Carriage, FlowModel};
use gamelane_tcp::{Segment, TcpConfig, TcpCounters, TcpEndpoint, TcpEvent};
use gamelane_traffic::config::AppConfig;
use gamelane_traffic::{AppAction, AppEvent, AppReport, Source, TrafficSource, Transport};

use crate::frames::FrameId;
use crate::payload::{Content, Echo, connection_key, lane_key};
use crate::repeats::Repeats;

pub(crate) struct Flow {
    pub(crate) id: FlowId,
    /// Number of the connection within its flow.
    pub(crate) number: u32,
    pub(crate) hosts: [Host; 2],
    /// Indexed by direction.
    pub(crate) paths: [Path<FrameId>; 2],
    pub(crate) dscp: u8,
    pub(crate) protocol: Protocol,
    /// Number of the newest client packet in a packet pair.
    pub(crate) last_pair: Option<u32>,
    /// The bundle whose frames this connection carries.
    pub(crate) bundle: Option<usize>,
    /// Message accounts of a game over TCP.
    pub(crate) thin: Option<Box<ThinLane>>,
}

impl Flow {
    /// Connection `number` of the flow.
    pub(crate) fn new(id: FlowId, model: &FlowModel, number: u32, seed: Seed) -> Self {
        let is_game = matches!(model.app, AppConfig::Mmo(_));
        let name = if is_game || number > 0 {
            alloc::format!("{}/{number}", model.name)
        } else {
            model.name.clone()
        };
        let app_path = alloc::format!("flow/{name}/app");
        let (client, server) = match model.carriage {
            Carriage::Direct | Carriage::Datagrams => {
                gamelane_traffic::build_connection(&model.app, number, model.schedule, seed, &app_path)
            }
            Carriage::Mux { .. } | Carriage::Streams { .. } => {
                gamelane_traffic::source::carrier(model.schedule)
            }
        };
        let key = lane_key(model, number);
        let paths = player_paths(model, &name, seed);
        let order = match model.carriage {
            Carriage::Direct | Carriage::Mux { .. } | Carriage::Datagrams => Order::Stream,
            Carriage::Streams { .. } => Order::PerPlayer,
        };
        let datagrams = model.carriage == Carriage::Datagrams;
        let transport = if datagrams { Transport::Udp } else { model.app.transport() };
        let path = |direction: &str, index: usize| {
            Path::new(paths[index].clone(), seed, &alloc::format!("flow/{name}/path/{direction}"))
        };
        Self {
            id,
            number,
            hosts: [(client, key), (server, key.reverse())].map(|(source, key)| {
                let host = Host::new(source, transport, model.tcp.clone(), key);
                if datagrams { host.with_repeats() } else { host }
            }),
            bundle: None,
            paths: [path("up", 0), path("down", 1)],
            dscp: model.dscp,
            protocol: match transport {
                Transport::Udp => Protocol::Udp,
                Transport::Tcp => Protocol::Tcp,
            },
            last_pair: None,
            thin: is_game.then(|| Box::new(ThinLane::new(order))),
        }
    }

    pub(crate) fn host(&mut self, side: Side) -> &mut Host {
        &mut self.hosts[side as usize]
    }
}

/// Returns the paths of a player: one of the weighted `player_paths`, or those of the flow.
fn player_paths<'a>(model: &'a FlowModel, name: &str, seed: Seed) -> &'a [PathConfig; 2] {
    let total: f64 = model.player_paths.iter().map(|(weight, _)| weight).sum();
    let mut left = total * seed.stream(&alloc::format!("flow/{name}/path")).unit();
    for (weight, paths) in &model.player_paths {
        if left < *weight {
            return paths;
        }
        left -= weight;
    }
    model.player_paths.last().map_or(&model.paths, |(_, paths)| paths)
}

/// One end of a connection: an application and its transport.
pub(crate) struct Host {
    source: Source,
    transport: Transport,
    config: TcpConfig,
    key: FlowKey,
    endpoint: Option<TcpEndpoint>,
    /// Counters of the connections before this one.
    past: Option<Box<TcpCounters>>,
    pub(crate) connection: u16,
    /// The connection before this one, if it was not finished. Its segments are answered with resets.
    aborted: Option<u16>,
    /// The next such answer.
    reset: Option<(u16, Segment)>,
    pub(crate) flow_hash: u32,
    pub(crate) hosts: [u32; 2],
    pub(crate) next_number: u32,
    /// The last packet from the peer, for packet pairs.
    pub(crate) last_seen: Option<Echo>,
    /// The transport of messages in datagrams, instead of a TCP connection.
    pub(crate) repeats: Option<Box<Repeats>>,
}

/// An action or report of a host.
pub(crate) enum Output {
    Send {
        content: Content,
        len: IpLen,
        ecn: Ecn,
    },
    /// Answer a segment of an older connection.
    Reset {
        connection: u16,
        segment: Segment,
    },
    /// The application wrote this many bytes.
    Wrote(u32),
    Goodput(u64),
    /// A connection opened.
    Connected,
    Report(AppReport),
}

impl Host {
    fn new(source: Source, transport: Transport, config: TcpConfig, key: FlowKey) -> Self {
        Self {
            source,
            transport,
            config,
            key,
            endpoint: None,
            past: None,
            connection: 0,
            aborted: None,
            reset: None,
            flow_hash: key.hash(),
            hosts: key.host_hashes(),
            next_number: 0,
            last_seen: None,
            repeats: None,
        }
    }

    /// Sends messages in datagrams instead of over a connection.
    fn with_repeats(mut self) -> Self {
        self.source.handle_event(&AppEvent::Connected, Instant::ZERO);
        self.repeats = Some(Box::new(Repeats::new()));
        self
    }

    /// Writes a frame of a bundle to the connection.
    pub(crate) fn write_frame(&mut self, bytes: u32) {
        self.with_endpoint(|endpoint| endpoint.write(ByteCount(u64::from(bytes))));
    }

    pub(crate) const fn endpoint(&self) -> Option<&TcpEndpoint> {
        self.endpoint.as_ref()
    }

    /// Counters of all its connections.
    pub(crate) fn counters(&self) -> Option<TcpCounters> {
        let now = self.endpoint.as_ref().map(|endpoint| *endpoint.counters());
        match (now, &self.past) {
            (Some(mut sum), Some(past)) => {
                sum.add(past);
                Some(sum)
            }
            (now, past) => now.or(past.as_deref().copied()),
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let transport = match &self.repeats {
            Some(repeats) => repeats.poll_timeout(),
            None => self.endpoint.as_ref().and_then(TcpEndpoint::poll_timeout),
        };
        earliest(self.source.poll_timeout(), transport)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.source.handle_timeout(now);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.handle_timeout(now);
        }
    }

    /// Report of what is in progress at `now`, the end of the run.
    pub(crate) fn unfinished(&self, now: Instant) -> Option<AppReport> {
        self.source.unfinished(now)
    }

    /// Takes a datagram that arrived.
    pub(crate) fn handle_datagram(&mut self, payload: u32, now: Instant) {
        self.source.handle_event(&AppEvent::Datagram { payload }, now);
    }

    /// Takes a segment of `connection` that arrived at `side`. A SYN opens a new endpoint at a server. A reset ends an
    /// endpoint. A client answers segments of the connection that it left with resets (RFC 9293 section 3.10.7.1).
    pub(crate) fn handle_segment(
        &mut self,
        side: Side,
        connection: u16,
        segment: &Segment,
        ce: bool,
        now: Instant,
    ) {
        if side == Side::Client && self.aborted == Some(connection) {
            self.reset = Segment::reset_for(segment).map(|reset| (connection, reset));
            return;
        }
        if segment.flags.rst() {
            if connection == self.connection {
                self.past = self.counters().map(Box::new);
                self.endpoint = None;
            }
            return;
        }
        let is_new = connection > self.connection || self.endpoint.is_none();
        if side == Side::Server && is_new && segment.flags.syn() {
            self.open(TcpEndpoint::listen(self.config.clone()), connection);
        }
        if connection == self.connection
            && let Some(endpoint) = &mut self.endpoint
        {
            endpoint.handle_segment(segment, ce, now);
        }
    }

    /// Returns the next output at `now`; call until `None`.
    pub(crate) fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if let Some((connection, segment)) = self.reset.take() {
            return Some(Output::Reset { connection, segment });
        }
        loop {
            if let Some(event) = self.endpoint.as_mut().and_then(TcpEndpoint::poll_event) {
                let event = match event {
                    TcpEvent::Connected => {
                        self.source.handle_event(&AppEvent::Connected, now);
                        return Some(Output::Connected);
                    }
                    TcpEvent::Delivered { bytes } => {
                        self.source.handle_event(&AppEvent::Delivered { bytes }, now);
                        return Some(Output::Goodput(bytes.bytes()));
                    }
                    TcpEvent::PeerClosed => AppEvent::PeerClosed,
                    TcpEvent::Closed => continue,
                };
                self.source.handle_event(&event, now);
                continue;
            }
            if let Some(action) = self.source.poll_action(now) {
                if let Some(output) = self.act(action, now) {
                    return Some(output);
                }
                continue;
            }
            if let Some(repeats) = &mut self.repeats {
                let (number, bytes) = repeats.poll_datagram(now)?;
                return Some(Output::Send {
                    content: Content::Repeated(number),
                    len: IpLen(bytes + IPV4_HEADER + UDP_HEADER),
                    ecn: Ecn::NotEct,
                });
            }
            let endpoint = self.endpoint.as_mut()?;
            let segment = endpoint.poll_transmit(now)?;
            let ecn = endpoint.ecn_codepoint(&segment);
            return Some(Output::Send { content: Content::Segment(segment), len: segment.ip_len(), ecn });
        }
    }

    fn act(&mut self, action: AppAction, now: Instant) -> Option<Output> {
        match action {
            AppAction::SendDatagram { payload } => {
                return Some(Output::Send {
                    content: Content::Datagram(payload),
                    len: IpLen(payload + IPV4_HEADER + UDP_HEADER),
                    ecn: Ecn::NotEct,
                });
            }
            AppAction::Report(report) => return Some(Output::Report(report)),
            AppAction::Connect if self.repeats.is_some() => {}
            AppAction::Connect => {
                let connection = self.connection + u16::from(self.endpoint.is_some());
                self.open(TcpEndpoint::connect(self.config.clone(), now), connection);
            }
            AppAction::Write { bytes } if self.repeats.is_some() => {
                if let Some(repeats) = &mut self.repeats {
                    repeats.write(bytes.bytes() as u32, now);
                }
            }
            AppAction::Write { bytes } => {
                self.with_endpoint(|endpoint| endpoint.write(bytes));
                return Some(Output::Wrote(bytes.bytes() as u32));
            }
            AppAction::WriteForever => self.with_endpoint(TcpEndpoint::write_forever),
            AppAction::Close => self.with_endpoint(TcpEndpoint::close),
        }
        None
    }

    /// Calls `act` on the endpoint. Without a connection nothing happens: writes before `connect` are lost.
    fn with_endpoint(&mut self, act: impl FnOnce(&mut TcpEndpoint)) {
        debug_assert!(self.transport == Transport::Tcp, "a datagram application used a stream");
        if let Some(endpoint) = &mut self.endpoint {
            act(endpoint);
        }
    }

    /// Starts a new connection. Its client port differs, so queues see a new flow.
    fn open(&mut self, endpoint: TcpEndpoint, connection: u16) {
        self.aborted =
            self.endpoint.as_ref().is_some_and(|before| !before.is_closed()).then_some(self.connection);
        if let Some(sum) = self.counters() {
            self.past = Some(Box::new(sum));
        }
        self.endpoint = Some(endpoint);
        self.name(connection);
    }

    /// Gives the next packets the addresses of `connection`. Returns the connection before.
    pub(crate) fn name(&mut self, connection: u16) -> u16 {
        self.flow_hash = connection_key(self.key, connection).hash();
        core::mem::replace(&mut self.connection, connection)
    }
}
