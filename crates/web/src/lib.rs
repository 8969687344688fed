//! The simulator and the analysis of captures for a web page: requests and replies are JSON, tables of a run are typed arrays.
//!
//! ```text
//! page --input, call--> Session::answer --output, output_len--> page
//! ```
//!
//! [`Session`] does the work and runs anywhere. `exports` is what a browser calls: plain functions and memory, no
//! generated glue. The page is in `web/`.

mod columns;
mod description;
mod exports;
mod request;
mod session;

pub use request::{Request, Written};
pub use session::Session;
