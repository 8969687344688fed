//! Real-time scheduling: sched(7).
#![expect(unsafe_code, reason = "sched_setscheduler has no safe binding")]

use std::io::{Error, Result};

/// Gives this thread real-time priority (`SCHED_FIFO`): it runs before all ordinary threads, as the kernel's own queues do.
/// Threads and processes it starts have ordinary priority. Needs `CAP_SYS_NICE`. The kernel keeps 5 % of the time for others.
pub fn run_in_real_time() -> Result<()> {
    // The kernel's `struct sched_param` holds only the priority, here the lowest. musl's is larger, and its own function for
    // this call always fails.
    let priority: libc::c_int = 1;
    // SAFETY: the pointer is to a `sched_param` of the kernel that lives through the call; 0 means this thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const priority,
        )
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
