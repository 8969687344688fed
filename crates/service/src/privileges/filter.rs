//! The filter of system calls as a program of classic BPF: seccomp(2), `struct seccomp_data`.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, EPERM,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_TRAP, sock_filter,
};

use super::calls::{Call, Only};
use super::names::NEWEST;

/// `AUDIT_ARCH_…` of this processor. Calls by the convention of another one, such as 32-bit calls, have other numbers.
const ARCHITECTURE: Option<u32> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// Makes the program that allows `calls`; `None` on a processor that is not known here.
///
/// Calls are allowed by number first: for those the kernel remembers the answer and does not run the program again. A refused
/// call raises SIGSYS, whose handler is in [`super::refused`]. Two kinds of calls fail with ENOSYS instead, so that the C library
/// takes an older call: `clone3`, and all calls that are newer than this program.
pub(super) fn program(calls: &[Call]) -> Option<Vec<sock_filter>> {
    let mut program = vec![
        load(ARCHITECTURE_AT),
        jump(BPF_JEQ, ARCHITECTURE?, 1, 0),
        end(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_AT),
        jump(BPF_JGT, NEWEST as u32, 1, 0),
        jump(BPF_JEQ, libc::SYS_clone3 as u32, 0, 1),
        end(SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ];
    for call in calls.iter().filter(|call| call.only.is_none()) {
        program.extend([jump(BPF_JEQ, call.number as u32, 0, 1), end(SECCOMP_RET_ALLOW)]);
    }
    for (number, Only { argument, mask, values }) in
        calls.iter().filter_map(|call| Some((call.number, call.only.as_ref()?)))
    {
        let rest = 2 + 2 * values.len() as u8;
        program.extend([load(NUMBER_AT), jump(BPF_JEQ, number as u32, 0, rest)]);
        program.extend([
            load(ARGUMENTS_AT + 8 * u32::from(*argument)),
            statement(BPF_ALU | BPF_AND | BPF_K, *mask),
        ]);
        for value in values {
            program.extend([jump(BPF_JEQ, *value, 0, 1), end(SECCOMP_RET_ALLOW)]);
        }
    }
    program.push(end(SECCOMP_RET_TRAP | EPERM as u32));
    Some(program)
}

const fn statement(code: u32, operand: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: operand }
}

const fn load(at: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, at)
}

const fn end(answer: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, answer)
}

const fn jump(comparison: u32, operand: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | comparison | BPF_K) as u16, jt: if_true, jf: if_false, k: operand }
}

/// Offsets in `struct seccomp_data`. Both processors are little-endian, so the lower half of an argument comes first.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

#[cfg(test)]
mod tests {
    use super::super::calls;
    use super::*;
    use libc::c_long;

    const REFUSED: u32 = SECCOMP_RET_TRAP | EPERM as u32;
    const UNKNOWN: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

    /// Runs a program as the kernel does.
    fn run(program: &[sock_filter], architecture: u32, number: c_long, arguments: [u64; 6]) -> u32 {
        let mut data = [number as u32, architecture, 0, 0].map(u32::to_le_bytes).concat();
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let skip = |holds: bool| usize::from(if holds { jt } else { jf });
            match u32::from(code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => {
                    accumulator = u32::from_le_bytes(*data[k as usize..].first_chunk().unwrap());
                }
                code if code == BPF_ALU | BPF_AND | BPF_K => accumulator &= k,
                code if code == BPF_JMP | BPF_JEQ | BPF_K => at += skip(accumulator == k),
                code if code == BPF_JMP | BPF_JGT | BPF_K => at += skip(accumulator > k),
                code if code == BPF_RET | BPF_K => return k,
                code => panic!("instruction {code}"),
            }
        }
    }

    fn asked(lists: &[Vec<Call>], number: c_long, arguments: [u64; 6]) -> u32 {
        run(&program(&lists.concat()).unwrap(), ARCHITECTURE.unwrap(), number, arguments)
    }

    #[test]
    fn listed_calls_pass_and_others_are_refused() {
        let lists = [calls::common(), calls::waiting(), calls::sockets()];
        for number in [libc::SYS_read, libc::SYS_getrandom, libc::SYS_sendmmsg, libc::SYS_epoll_ctl] {
            assert_eq!(asked(&lists, number, [u64::MAX; 6]), SECCOMP_RET_ALLOW);
        }
        for number in
            [libc::SYS_execve, libc::SYS_ptrace, libc::SYS_setresuid, libc::SYS_socket, libc::SYS_bpf]
        {
            assert_eq!(asked(&lists, number, [0; 6]), REFUSED);
        }
    }

    #[test]
    fn arguments_are_looked_at() {
        let common = [calls::common()];
        let of = |number, argument: usize, value: i32| {
            let mut arguments = [0x7777_0000_0000_0000; 6];
            arguments[argument] = value as u32 as u64;
            asked(&common, number, arguments)
        };
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        for number in [libc::SYS_mmap, libc::SYS_mprotect] {
            assert_eq!(of(number, 2, read_write), SECCOMP_RET_ALLOW);
            assert_eq!(of(number, 2, read_write | libc::PROT_EXEC), REFUSED);
        }
        let thread = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND;
        assert_eq!(of(libc::SYS_clone, 0, thread), SECCOMP_RET_ALLOW);
        assert_eq!(of(libc::SYS_clone, 0, thread | libc::CLONE_NEWUSER), REFUSED);
        assert_eq!(of(libc::SYS_clone, 0, libc::SIGCHLD), REFUSED, "fork");
        assert_eq!(of(libc::SYS_openat, 2, libc::O_CLOEXEC), SECCOMP_RET_ALLOW);
        assert_eq!(of(libc::SYS_openat, 2, libc::O_DIRECTORY), SECCOMP_RET_ALLOW);
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC, libc::O_TMPFILE] {
            assert_eq!(of(libc::SYS_openat, 2, flags), REFUSED, "{flags:#x}");
        }
        assert_eq!(of(libc::SYS_tgkill, 0, std::process::id() as i32), SECCOMP_RET_ALLOW);
        assert_eq!(of(libc::SYS_tgkill, 0, 1), REFUSED);
        let writes = [calls::common(), calls::files()];
        assert_eq!(
            asked(&writes, libc::SYS_openat, [0, 0, libc::O_CREAT as u64, 0, 0, 0]),
            SECCOMP_RET_ALLOW
        );
    }

    #[test]
    fn two_lists_for_one_call_add_up() {
        let lists = [calls::waiting(), calls::presence()];
        for request in [libc::FIONBIO as u32, libc::SIOCGIFNAME as u32, calls::IS_TERMINAL] {
            assert_eq!(asked(&lists, libc::SYS_ioctl, [3, request.into(), 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
        }
        assert_eq!(asked(&lists, libc::SYS_ioctl, [3, (libc::TIOCSTI as u32).into(), 0, 0, 0, 0]), REFUSED);
    }

    #[test]
    fn newer_calls_are_said_to_be_missing_and_another_convention_ends_the_process() {
        let common = [calls::common()];
        for number in [libc::SYS_clone3, NEWEST + 1, 0x4000_0000 | libc::SYS_read] {
            assert_eq!(asked(&common, number, [0; 6]), UNKNOWN);
        }
        let i386 = 0x4000_0003;
        assert_eq!(
            run(&program(&common[0]).unwrap(), i386, libc::SYS_read, [0; 6]),
            SECCOMP_RET_KILL_PROCESS
        );
    }
}
