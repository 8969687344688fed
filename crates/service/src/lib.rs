//! What every program of gamelane shares: [`exit`] codes, [`output`] to stdout, delay [`histogram`]s, metrics in [`prometheus`]
//! text, [`signals`] that end it, [`systemd`]'s watchdog, with feature `log` the [`log`] on stderr, with feature `privileges` the end of
//! root and capabilities in [`privileges`], with feature `terminal` a page in a [`terminal`], and with feature `http` the answers over
//! HTTP: [`http`] for any program, [`mailbox`] for one whose loop waits in `epoll`.
//!
//! An async program spawns [`http::serve`]. A synchronous one calls [`http::spawn`], which serves on a thread of its own; its
//! [`http::Site`] asks the loop through a mailbox:
//!
//! ```
//! # #[cfg(feature = "http")] {
//! use gamelane_service::http::{self, Address, Answer, Bytes, Listener, Method, Request, Route, Site};
//! use gamelane_service::mailbox::{self, Asker};
//! use gamelane_service::prometheus::Exposition;
//!
//! struct Pages(Asker<(), u64>);
//!
//! impl Site for Pages {
//!     fn routes(&self) -> &'static [Route] {
//!         const { &[(Method::GET, "/metrics"), (Method::GET, "/status")] }
//!     }
//!
//!     async fn answer(&self, request: Request<Bytes>) -> Answer {
//!         let Some(packets) = self.0.ask(()).await else {
//!             return http::unavailable("the loop does not answer");
//!         };
//!         if request.uri().path() == "/status" {
//!             return http::json(&packets);
//!         }
//!         let mut metrics = Exposition::default();
//!         metrics.counter("packets_total", "Packets forwarded.").add(&[], packets);
//!         http::metrics(metrics)
//!     }
//! }
//!
//! let (mut mailbox, asker) = mailbox::new().unwrap();
//! let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
//! let address = listener.address().unwrap();
//! http::spawn(listener, Pages(asker)).unwrap();
//! # let client = std::thread::spawn(move || http::get(&address, "/status").unwrap());
//! // The loop: `mailbox.wake()` goes into its epoll set; when that is readable, it answers all requests.
//! let mut answered = false;
//! while !answered {
//!     # std::thread::yield_now();
//!     while let Some(asked) = mailbox.take() {
//!         asked.answer(7);
//!         answered = true;
//!     }
//! }
//! # assert_eq!(&client.join().unwrap()[..], b"7");
//! # }
//! ```

pub mod exit;
pub mod histogram;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "log")]
pub mod log;
#[cfg(feature = "http")]
pub mod mailbox;
#[cfg(feature = "manual")]
pub mod manual;
pub mod output;
#[cfg(feature = "privileges")]
pub mod privileges;
pub mod prometheus;
pub mod signals;
pub mod systemd;
#[cfg(feature = "terminal")]
pub mod terminal;
