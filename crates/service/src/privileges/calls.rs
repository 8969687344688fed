//! Lists of system calls. Each list is what gamelane's programs were seen to make for one purpose, and what the C library may
//! make in their place on another machine. Starting a program, tracing, mounting, loading modules, and making memory
//! executable are in no list.

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, CLONE_THREAD, FIONBIO, O_ACCMODE, O_CREAT, O_RDONLY, O_TMPFILE,
    O_TRUNC, PR_SET_NAME, PR_SET_TIMERSLACK, PROT_EXEC, SIOCGIFFLAGS, SIOCGIFMTU, SIOCGIFNAME, TCGETS,
    TCGETS2, TCSETS, TCSETS2, TIOCGWINSZ, c_long,
};

/// A system call that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub(super) number: c_long,
    pub(super) only: Option<Only>,
}

/// A condition: the lower half of an argument, masked, is one of these values. No argument checked here uses its upper half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Only {
    pub(super) argument: u8,
    pub(super) mask: u32,
    pub(super) values: Vec<u32>,
}

const fn any(number: c_long) -> Call {
    Call { number, only: None }
}

fn only(number: c_long, argument: u8, mask: u32, values: &[u32]) -> Call {
    Call { number, only: Some(Only { argument, mask, values: values.to_vec() }) }
}

macro_rules! calls {
    ($($name:ident)*) => { vec![$(any(libc::$name)),*] };
}

/// Memory, threads, signals to itself, time, randomness; reading files and folders that its user may read; writing to what is open.
pub fn common() -> Vec<Call> {
    let mut list = calls![
        SYS_read SYS_write SYS_writev SYS_close SYS_fcntl SYS_fstat SYS_newfstatat SYS_statx SYS_lseek
        SYS_getdents64 SYS_getcwd SYS_readlinkat
        SYS_brk SYS_munmap SYS_mremap SYS_madvise
        SYS_futex SYS_set_robust_list SYS_rseq SYS_exit SYS_exit_group SYS_sched_yield SYS_sched_getaffinity
        SYS_gettid SYS_getpid SYS_getuid SYS_geteuid
        SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sigaltstack SYS_restart_syscall
        SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday SYS_getrandom
    ];
    // A panic's backtrace looks where the program is.
    #[cfg(target_arch = "x86_64")]
    list.extend(calls![SYS_readlink]);
    // musl takes the old calls where there are such.
    #[cfg(all(target_arch = "x86_64", target_env = "musl"))]
    list.extend([
        any(libc::SYS_stat),
        any(libc::SYS_lstat),
        only(libc::SYS_open, 1, WRITES, &[O_RDONLY as u32]),
    ]);
    let namespaces = 0x7e02_0000;
    list.extend([
        only(libc::SYS_mmap, 2, PROT_EXEC as u32, &[0]),
        only(libc::SYS_mprotect, 2, PROT_EXEC as u32, &[0]),
        // Threads may be started, processes may not. A filter cannot read the flags of `clone3`, so the C library gets ENOSYS for that
        // call and takes this one.
        only(libc::SYS_clone, 0, CLONE_THREAD as u32 | namespaces, &[CLONE_THREAD as u32]),
        only(libc::SYS_openat, 2, WRITES, &[O_RDONLY as u32]),
        only(libc::SYS_prctl, 0, !0, &[PR_SET_NAME as u32, PR_SET_TIMERSLACK as u32]),
        // The C library reads the limits of its own process.
        only(libc::SYS_prlimit64, 0, !0, &[0]),
        // `abort` signals the thread itself.
        only(libc::SYS_tgkill, 0, !0, &[std::process::id()]),
    ]);
    list
}

/// Waiting with `epoll` or `poll`, and waking such a wait.
pub fn waiting() -> Vec<Call> {
    let mut list = calls![
        SYS_ppoll SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2
    ];
    #[cfg(target_arch = "x86_64")]
    list.extend(calls![SYS_poll SYS_epoll_wait]);
    list.push(only(libc::SYS_ioctl, 1, !0, &[FIONBIO as u32]));
    list.push(only(libc::SYS_socketpair, 0, !0, &[AF_UNIX as u32]));
    list
}

/// Using sockets that are open, and accepting connections on them.
pub fn sockets() -> Vec<Call> {
    calls![
        SYS_accept4 SYS_recvfrom SYS_recvmsg SYS_recvmmsg SYS_sendto SYS_sendmsg SYS_sendmmsg SYS_shutdown
        SYS_getsockopt SYS_setsockopt SYS_getsockname SYS_getpeername
    ]
}

/// Opening sockets for TCP and UDP, and connecting them. The kernel's release tells which kinds of datagrams it can batch.
pub fn connections() -> Vec<Call> {
    let mut list = calls![SYS_connect SYS_bind SYS_uname];
    list.push(only(libc::SYS_socket, 0, !0, &[AF_INET as u32, AF_INET6 as u32]));
    list
}

/// Writing files into folders that its user may change, and removing them.
pub fn files() -> Vec<Call> {
    #[cfg_attr(
        not(all(target_arch = "x86_64", target_env = "musl")),
        expect(unused_mut, reason = "only musl's is longer")
    )]
    let mut list = calls![SYS_openat SYS_unlinkat];
    #[cfg(all(target_arch = "x86_64", target_env = "musl"))]
    list.extend(calls![SYS_open SYS_unlink]);
    list
}

/// Making folders, and replacing a file by a new one.
pub fn folders() -> Vec<Call> {
    let mut list = calls![SYS_mkdirat SYS_renameat2 SYS_fsync SYS_ftruncate];
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    list.extend(calls![SYS_renameat]);
    #[cfg(target_arch = "x86_64")]
    list.extend(calls![SYS_mkdir SYS_rename SYS_unlink]);
    list
}

/// Waiting for packets that the kernel writes into memory, and reading the counters of their socket.
pub fn listening() -> Vec<Call> {
    #[cfg(target_arch = "x86_64")]
    let older = calls![SYS_poll];
    #[cfg(not(target_arch = "x86_64"))]
    let older = Vec::new();
    [calls![SYS_ppoll SYS_getsockopt], older].concat()
}

/// Drawing on a terminal, and taking keys from it.
pub fn screen() -> Vec<Call> {
    let requests = [TCGETS as u32, TCSETS as u32, TCGETS2 as u32, TCSETS2 as u32, TIOCGWINSZ as u32];
    vec![only(libc::SYS_ioctl, 1, !0, &requests)]
}

/// Asking whether an interface or a terminal is still there, and in what condition.
pub fn presence() -> Vec<Call> {
    let requests = [SIOCGIFNAME as u32, SIOCGIFFLAGS as u32, SIOCGIFMTU as u32, IS_TERMINAL];
    vec![only(libc::SYS_ioctl, 1, !0, &requests)]
}

/// Waiting for the end of another process.
pub fn children() -> Vec<Call> {
    calls![SYS_wait4 SYS_waitid]
}

/// Asking and telling the kernel about interfaces, queue disciplines and nftables.
pub fn netlink() -> Vec<Call> {
    let mut list = sockets();
    list.extend(calls![SYS_bind SYS_connect]);
    list.push(only(libc::SYS_socket, 0, !0, &[AF_NETLINK as u32]));
    list
}

/// Reading and switching an interface's offloads.
pub fn offloads() -> Vec<Call> {
    vec![only(libc::SYS_socket, 0, !0, &[AF_INET as u32]), only(libc::SYS_ioctl, 1, !0, &[SIOCETHTOOL])]
}

/// Flags of `openat` that write.
const WRITES: u32 = (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & !libc::O_DIRECTORY)) as u32;
const SIOCETHTOOL: u32 = 0x8946;
/// How the C library's `isatty` asks.
pub(super) const IS_TERMINAL: u32 = if cfg!(target_env = "musl") { TIOCGWINSZ as u32 } else { TCGETS as u32 };
