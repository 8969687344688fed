//! Puts the filter into force, and says which call was refused.
#![expect(unsafe_code, reason = "seccomp and a signal handler that sets a result have no safe binding")]

use std::io::{Error, Result};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use libc::{c_int, c_void, siginfo_t, sock_filter, sock_fprog, ucontext_t};

use super::names;

/// Most lines about refused calls, so that a program that repeats one does not fill a disk.
const MOST_LINES: u32 = 50;

static LINES: AtomicU32 = AtomicU32::new(0);
static JSON: AtomicBool = AtomicBool::new(false);

/// Applies `program` to this thread and to threads it starts later. Needs `no_new_privs`. `prctl` and not `seccomp`: a service
/// manager's own list of calls may have only the former.
pub(super) fn install(program: &[sock_filter], json: bool) -> Result<()> {
    JSON.store(json, Ordering::Relaxed);
    handle()?;
    let len = u16::try_from(program.len()).map_err(Error::other)?;
    // The kernel only reads the instructions, so the lost `const` does no harm.
    let program = sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program and its instructions live through the call, which copies them.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

fn handle() -> Result<()> {
    // SAFETY: a `sigaction` of zeros is valid; its mask is empty.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = on_refused as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the action lives through the call, and its handler makes only calls that are safe in one.
    let result = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, null_mut()) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Runs instead of a refused call: the call returns EPERM. It allocates nothing and takes no lock.
extern "C" fn on_refused(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel calls this with valid pointers to these types (`SA_SIGINFO`), and the fields read are those of SIGSYS.
    let (code, number) = unsafe { ((*info).si_code, (*info).si_syscall()) };
    if code != SYS_SECCOMP {
        return;
    }
    // SAFETY: as above.
    set_result(unsafe { &mut (*context.cast::<ucontext_t>()).uc_mcontext }, -libc::EPERM);
    if LINES.fetch_add(1, Ordering::Relaxed) < MOST_LINES {
        let mut line = Line { bytes: [0; 200], len: 0 };
        line.describe(number, JSON.load(Ordering::Relaxed));
        // SAFETY: the bytes live through the call, and the length is theirs.
        unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.len) };
    }
}

/// Sets the result of the system call in a saved context.
#[cfg(target_arch = "x86_64")]
fn set_result(context: &mut libc::mcontext_t, result: c_int) {
    context.gregs[libc::REG_RAX as usize] = result.into();
}

#[cfg(target_arch = "aarch64")]
fn set_result(context: &mut libc::mcontext_t, result: c_int) {
    context.regs[0] = i64::from(result).cast_unsigned();
}

/// Without a filter there is no result to set.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_result(_: &mut libc::mcontext_t, _: c_int) {}

/// A line of text of limited length.
struct Line {
    bytes: [u8; 200],
    len: usize,
}

impl Line {
    fn describe(&mut self, number: c_int, json: bool) {
        self.add(if json { "{\"level\":\"ERROR\",\"fields\":{\"message\":\"" } else { "error: " });
        self.add("system call refused: ");
        self.add(names::name(number.into()).unwrap_or("unknown"));
        self.add(" (");
        self.add_number(number.unsigned_abs());
        self.add("), which is not on this program's list; it failed with EPERM");
        self.add(if json { "\"}}\n" } else { "\n" });
    }

    fn add(&mut self, text: &str) {
        for (place, byte) in self.bytes[self.len..].iter_mut().zip(text.bytes()) {
            *place = byte;
            self.len += 1;
        }
    }

    fn add_number(&mut self, number: u32) {
        if number >= 10 {
            self.add_number(number / 10);
        }
        let digit = [b'0' + (number % 10) as u8];
        self.add(std::str::from_utf8(&digit).unwrap_or("?"));
    }
}

const SYS_SECCOMP: c_int = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(number: c_int, json: bool) -> String {
        let mut line = Line { bytes: [0; 200], len: 0 };
        line.describe(number, json);
        String::from_utf8(line.bytes[..line.len].to_vec()).unwrap()
    }

    #[test]
    fn a_line_names_the_call() {
        assert_eq!(
            said(libc::SYS_ptrace as c_int, false),
            format!(
                "error: system call refused: ptrace ({}), which is not on this program's list; it failed with EPERM\n",
                libc::SYS_ptrace
            )
        );
        assert!(said(9999, false).contains("unknown (9999)"));
        let longest = said(libc::SYS_set_mempolicy_home_node as c_int, true);
        let line: serde_json::Value = serde_json::from_str(&longest).unwrap();
        assert!(line["fields"]["message"].as_str().unwrap().contains("set_mempolicy_home_node (450)"));
    }
}
