//! The queues of collom2016.

pub(crate) const QUEUES: [&str; 5] = ["fifo", "pie", "codel", "fq_pie", "fq_codel"];
