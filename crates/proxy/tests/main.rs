//! Every test of the proxy: its command, its sockets, and real services behind it. One program links faster than one per file. A new file needs its line here.

mod certificates;
mod check;
mod command;
mod common;
mod corpus;
mod doors;
mod ends;
mod floods;
mod privileges;
mod refusals;
mod reload;
mod services;
mod streams;

// Where the fuzzer's targets look for it.
use gamelane_proxy::proxy_header;
