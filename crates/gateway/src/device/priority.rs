//! Scheduling: sched(7).

use std::io::{Error, Result};

/// Lets this thread run before all ordinary ones whenever it has something to do, as the kernel's own queues do. Threads and
/// processes it starts are ordinary again. Needs `CAP_SYS_NICE`; the kernel still keeps a twentieth of the time for others.
pub fn run_in_real_time() -> Result<()> {
    // The lowest of its kind.
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the pointer is to a `sched_param` that lives through the call; 0 means this thread.
    let result = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters)
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
