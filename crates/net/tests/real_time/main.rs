//! Ends, relays and exchanges on real sockets and the machine's clock: as long as their calls are, and beside whatever else the
//! machine does. `make test` has one such call, `loopback.rs`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ends run side by side in threads, and the tests play peers, known and unknown"
)]

mod alone;
mod browser;
#[allow(dead_code, reason = "calls are also simulated")]
#[path = "../call/mod.rs"]
mod call;
#[path = "../checks/mod.rs"]
mod checks;
mod coupled;
mod dccp;
mod dccp_capture;
mod dccp_ends;
mod dccp_unknown_peers;
mod end_to_end;
mod ends;
mod exchange;
mod exchange_peers;
mod folder;
#[path = "../lateness/mod.rs"]
mod lateness;
mod live;
#[allow(dead_code, reason = "calls are also simulated")]
#[path = "../long/mod.rs"]
mod long;
mod long_calls;
mod moving;
mod one_end;
mod opaque;
mod pairs;
mod pause;
mod probe;
mod regular_reports;
mod relay_dccp;
mod relay_unknown_peers;
mod remote;
mod second_senders;
mod silences;
mod soak;
mod soak_calls;
mod streams;
mod tfrc;
mod twcc;
mod wraps;
