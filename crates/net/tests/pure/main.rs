//! Tests that need neither a socket nor a clock: the simulated side of what `real_time` runs over sockets.

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../call/mod.rs"]
mod call;
mod hour;
#[allow(dead_code, reason = "calls over loopback run in real time")]
#[path = "../long/mod.rs"]
mod long;
mod twcc;
mod wraps;
