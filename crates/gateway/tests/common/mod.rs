//! Three network namespaces (home, gateway, internet), and the gateway's program between them.
#![allow(unreachable_pub, reason = "modules of a test program have no other reader")]

pub mod calm;
pub mod slow_link;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gamelane_gateway::status::Status;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;

/// Hosts with IPv4 and IPv6 addresses, without offloads, so that checksums are visible.
pub struct Net {
    id: String,
    pub folder: TempDir,
}

pub const HOME: &str = "10.77.0.1";
pub const SERVER: &str = "10.77.0.2";
pub const SERVER_V6: &str = "fd77::2";

/// Values of `--io` that work here. A kernel without AF_XDP is reported, and fails in CI.
pub fn ways() -> &'static [&'static str] {
    match rustix::net::socket(rustix::net::AddressFamily::XDP, rustix::net::SocketType::RAW, None) {
        Ok(_) => &["packet", "xdp"],
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no AF_XDP: {error}");
            eprintln!("skipped: AF_XDP: {error}");
            &["packet"]
        }
    }
}

/// The namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Home,
    Gateway,
    Internet,
}

/// Makes a network of `mtu`. Returns `None` where that is impossible; the reason is reported, and fails in CI.
pub fn net(mtu: u32, programs: &[&str]) -> Option<Net> {
    net_of(mtu, [1, 1], programs)
}

/// Makes a network with this many receive queues at the gateway's home side, and send queues at home.
pub fn net_of(mtu: u32, [receive, send]: [u32; 2], programs: &[&str]) -> Option<Net> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let lacks =
        |program: &&&str| Command::new("which").arg(program).output().is_ok_and(|out| !out.status.success());
    let missing = programs.iter().chain(&["ip", "ethtool", "ping"]).find(lacks);
    let reason = match missing {
        Some(program) => Some(format!("{program} is missing")),
        None if !rustix::process::geteuid().is_root() => Some("this is not root".into()),
        None => None,
    };
    if let Some(reason) = reason {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
        eprintln!("skipped: {reason}");
        return None;
    }
    let id = format!("gl{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    // The gateway becomes `nobody`, who must be able to read the policy again.
    let open = std::fs::Permissions::from_mode(0o755);
    let net = Net { id, folder: tempfile::Builder::new().permissions(open).tempdir().unwrap() };
    for place in [Place::Home, Place::Gateway, Place::Internet] {
        let name = net.namespace(place);
        sh(&format!("ip netns add {name} && ip -n {name} link set lo up"));
        // Router solicitations and the like would disturb the counting of frames.
        sh(&format!(
            "ip netns exec {name} sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0"
        ));
    }
    let (home, gateway, internet) =
        (net.namespace(Place::Home), net.namespace(Place::Gateway), net.namespace(Place::Internet));
    sh(&format!(
        "ip link add lan netns {gateway} mtu {mtu} numrxqueues {receive} numtxqueues 1 type veth \
         peer name eth0 netns {home} numtxqueues {send} numrxqueues 1
         ip link add wan netns {gateway} mtu {mtu} type veth peer name eth0 netns {internet}
         ip -n {home} link set eth0 mtu {mtu} up; ip -n {internet} link set eth0 mtu {mtu} up
         ip -n {gateway} link set lan up; ip -n {gateway} link set wan up
         ip -n {home} addr add {HOME}/24 dev eth0; ip -n {internet} addr add {SERVER}/24 dev eth0
         ip -n {home} addr add fd77::1/64 dev eth0 nodad; ip -n {internet} addr add {SERVER_V6}/64 dev eth0 nodad
         ip netns exec {home} ethtool -K eth0 tx off tso off gso off gro off
         ip netns exec {internet} ethtool -K eth0 tx off tso off gso off gro off"
    ));
    Some(net)
}

impl Net {
    fn namespace(&self, place: Place) -> String {
        match place {
            Place::Home => format!("{}h", self.id),
            Place::Gateway => format!("{}g", self.id),
            Place::Internet => format!("{}i", self.id),
        }
    }

    /// A command in a namespace.
    pub fn command(&self, place: Place, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(place)]).args(words).stdin(Stdio::null());
        command
    }

    /// Output of a command, which must succeed within a minute: some wait forever for an answer.
    pub fn run(&self, place: Place, words: &[&str]) -> String {
        let bounded: Vec<&str> = ["timeout", "60"].iter().chain(words).copied().collect();
        let out = self.command(place, &bounded).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{words:?}: {text}{}", String::from_utf8_lossy(&out.stderr));
        text
    }

    /// Moves this thread into a namespace.
    pub fn enter(&self, place: Place) {
        let file = std::fs::File::open(format!("/run/netns/{}", self.namespace(place))).unwrap();
        move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network)).unwrap();
    }

    /// Writes a policy with this `[gateway]`.
    pub fn policy(&self, gateway: &str) -> PathBuf {
        let path = self.folder.path().join("policy.toml");
        write_policy(&path, gateway);
        path
    }

    /// Starts a gateway with this `[gateway]`.
    pub fn gateway(&self, gateway: &str) -> Running<'_> {
        let path = self.policy(gateway);
        self.gateway_with(&path, &[])
    }

    /// Starts a gateway with this `--io`.
    pub fn gateway_by(&self, way: &str, gateway: &str) -> Running<'_> {
        let path = self.policy(gateway);
        let running = self.gateway_with(&path, &["--io", way]);
        assert_eq!(running.status().io.kind, format!("AF_{}", way.to_uppercase()));
        running
    }

    /// Starts a gateway with these options.
    pub fn gateway_with(&self, policy: &Path, options: &[&str]) -> Running<'_> {
        let mut words = vec![PROGRAM, "run", "--lan", "lan", "--wan", "wan", policy.to_str().unwrap()];
        words.extend(options);
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        // `ip netns exec` becomes the program, so its process id is the program's.
        let child = self.command(Place::Gateway, &words).stderr(log).stdout(Stdio::null()).spawn().unwrap();
        let mut running = Running { net: self, child };
        let is_ready = |log: &str| log.contains("forwarding") || log.contains("queueing");
        let ready = wait(PATIENCE, || is_ready(&running.log()) || running.is_over());
        assert!(ready && !running.is_over(), "{}", running.log());
        running
    }

    /// Runs the program to its end. Returns exit code, output, errors.
    pub fn program(&self, words: &[&str]) -> (i32, String, String) {
        let words: Vec<&str> = std::iter::once(PROGRAM).chain(words.iter().copied()).collect();
        let Output { status, stdout, stderr } = self.command(Place::Gateway, &words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code().expect("not killed"), text(stdout), text(stderr))
    }

    /// Output of ping from home, which must be answered.
    pub fn ping(&self, words: &[&str]) -> String {
        let words: Vec<&str> =
            ["ping", "-n", "-q", "-i", "0.05", "-W", "2"].iter().chain(words).copied().collect();
        self.run(Place::Home, &words)
    }

    /// Puts a provider between gateway and internet: a bridge whose queue of 150 kB towards the gateway drains at `rate`. It has a
    /// namespace of its own, because TCP would keep the queue of its own interface empty. A second call changes the rate.
    pub fn provide(&self, rate: &str) {
        let (provider, internet) = (format!("{}p", self.id), self.namespace(Place::Internet));
        if !Path::new(&format!("/run/netns/{provider}")).exists() {
            sh(&format!(
                "ip netns add {provider}
                 ip -n {internet} link set eth0 netns {provider}; ip -n {provider} link set eth0 name home
                 ip link add far netns {provider} type veth peer name eth0 netns {internet}
                 ip -n {provider} link add bridge type bridge
                 for name in home far bridge; do ip -n {provider} link set $name up; done
                 for name in home far; do ip -n {provider} link set $name master bridge; done
                 ip -n {internet} link set eth0 up; ip -n {internet} addr add {SERVER}/24 dev eth0
                 ip netns exec {internet} ethtool -K eth0 tx off tso off gso off gro off"
            ));
        }
        sh(&format!("tc -n {provider} qdisc replace dev home root tbf rate {rate} burst 3000 limit 150000"));
    }

    /// Starts a server in the internet, and waits until `ss` with these flags shows that it listens.
    pub fn serve(&self, words: &[&str], flags: &str, port: &str) -> Process {
        let mut command = self.command(Place::Internet, words);
        let server = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let listens = || self.run(Place::Internet, &["ss", flags]).contains(port);
        assert!(wait(PATIENCE, listens), "{words:?} does not listen");
        server
    }

    /// Result of `iperf3` from home to the internet.
    pub fn iperf(&self, words: &[&str]) -> serde_json::Value {
        let _server = self.serve(&["iperf3", "-s", "-1", "--forceflush"], "-ltnH", ":5201");
        let words: Vec<&str> = ["iperf3", "-J", "-c", SERVER].iter().chain(words).copied().collect();
        serde_json::from_str(&self.run(Place::Home, &words)).unwrap()
    }

    /// Sends 8 Mbit/s of datagrams of 1228 B from home to the internet until this is dropped.
    pub fn flood(&self) -> [Process; 2] {
        let server = self.serve(&["iperf3", "-s", "-1"], "-ltnH", ":5201");
        let words = ["iperf3", "-c", SERVER, "-u", "-b", "8M", "-l", "1200", "-t", "60"];
        let client = self.command(Place::Home, &words).stdout(Stdio::null()).spawn().unwrap();
        [Process(client), server]
    }

    /// A kernel counter of a namespace, by nstat's name.
    pub fn counter(&self, place: Place, name: &str) -> u64 {
        let said = self.run(place, &["nstat", "-asz", name]);
        let line = said.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Features, promiscuity, queues, master and processes of the gateway's interfaces.
    pub fn state(&self) -> String {
        let mut text = String::new();
        for name in ["lan", "wan"] {
            text += &self.run(Place::Gateway, &["ethtool", "-k", name]);
            let link = self.run(Place::Gateway, &["ip", "-d", "link", "show", name]);
            // The rest of the output has counters, which change.
            text += link.lines().next().unwrap_or_default();
            text +=
                link.split_whitespace().skip_while(|word| *word != "promiscuity").nth(1).unwrap_or_default();
        }
        text
    }

    /// Processes in the gateway's namespace.
    pub fn processes(&self) -> String {
        let out =
            Command::new("ip").args(["netns", "pids", &self.namespace(Place::Gateway)]).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "del", &format!("{}p", self.id)])
            .stderr(Stdio::null())
            .status();
        for place in [Place::Home, Place::Gateway, Place::Internet] {
            // A process that still runs would keep the namespace.
            let name = self.namespace(place);
            let _ = Command::new("sh")
                .args(["-c", &format!("ip netns pids {name} | xargs -r kill -9; ip netns del {name}")])
                .status();
        }
    }
}

/// A process that ends when this is dropped.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running gateway.
pub struct Running<'a> {
    net: &'a Net,
    child: Child,
}

impl Running<'_> {
    /// Its status.
    pub fn status(&self) -> Status {
        let (code, out, error) = self.net.program(&["status", "--json"]);
        assert_eq!(code, 0, "{error}{}", self.log());
        serde_json::from_str(&out).unwrap()
    }

    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.net.folder.path().join("log")).unwrap()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of resident memory.
    pub fn memory(&self) -> u64 {
        let line = of_process(self.id(), "VmRSS");
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, signal: &str) {
        sh(&format!("kill -{signal} {}", self.child.id()));
    }

    /// Ends it with a signal. Returns its exit code, if it was not killed.
    pub fn end(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }

    /// Asserts that every frame that arrived has left, was dropped with a reason, or waits.
    pub fn assert_conserves(&self) {
        let status = self.status();
        for (name, queue) in &status.queues {
            assert_eq!(
                queue.arrived,
                queue.packets + queue.drops + u64::from(queue.qlen),
                "{name}: {queue:?}"
            );
        }
        let waiting: usize = status.queues.values().map(|queue| queue.qlen as usize).sum();
        assert!((waiting..=waiting + 32).contains(&status.pool.unwrap().taken), "{:?}", status.pool);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            assert!(!self.log().contains("system call refused"), "{}", self.log());
        }
    }
}

/// A line of `/proc/PID/status`, with single blanks.
pub fn of_process(process: u32, key: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A policy with this `[gateway]`.
pub fn policy_text(gateway: &str) -> String {
    format!(
        "name = \"test\"\n[link]\ndown = \"1gbit\"\nup = \"1gbit\"\n[gateway]\n{gateway}\n\n\
         [[flow]]\nname = \"quake3\"\napp = \"game\"\nmodel = \"quake3\"\n\n\
         [[flow]]\nname = \"upload\"\napp = \"bulk\"\ndirection = \"up\"\n"
    )
}

pub fn write_policy(path: &Path, gateway: &str) {
    write_text(path, &policy_text(gateway));
}

/// Writes a file atomically, so that no half-written one is read.
pub fn write_text(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, path).unwrap();
}

pub fn sh(script: &str) {
    let out = Command::new("sh").args(["-ec", script]).output().unwrap();
    assert!(out.status.success(), "{script}: {}", String::from_utf8_lossy(&out.stderr));
}

/// How long to wait for what must happen: a busy machine may take this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Repeats a measurement in real time up to three times, and says so: other work on the machine can spoil one. What no load may change is
/// asserted within. Failures on a disturbed machine do not count until [`calm::LEFT`] is used up. Panics with the third reason that counts.
pub fn up_to_three_times(mut measure: impl FnMut() -> Result<(), String>) {
    let mut failures = 0;
    loop {
        let watch = calm::Watch::begin();
        let Err(why) = measure() else { return };
        let (counts, naps) = watch.end();
        failures += u32::from(counts);
        assert!(failures < 3, "three times, at last: {why} ({naps})");
        // Unlike `eprintln`, this is shown although the test passes.
        std::io::stderr().write_all(format!("measured again: {why} ({naps})\n").as_bytes()).unwrap();
    }
}

/// A bound that a busy machine may break.
pub fn in_time(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// Waits until something is true. Returns whether that happened in time.
#[expect(clippy::disallowed_methods, reason = "a test of real time")]
pub fn wait(patience: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < patience {
        if is_true() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is_true()
}

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_gamelane-gateway");

pub const FQ: &str = "up = { queue = \"fq_codel\" }\ndown = { queue = \"fq_codel\" }";
