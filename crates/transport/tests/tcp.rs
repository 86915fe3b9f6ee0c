//! TCP end to end over a network that does what a test says.

#[path = "tcp/accurate_ecn.rs"]
mod accurate_ecn;
#[path = "tcp/conversations.rs"]
mod conversations;
#[path = "tcp/hostile.rs"]
mod hostile;
#[path = "tcp/net.rs"]
mod net;
#[path = "tcp/rack.rs"]
mod rack;
#[path = "tcp/recovery.rs"]
mod recovery;
#[path = "tcp/segments.rs"]
mod segments;
#[path = "tcp/timestamps.rs"]
mod timestamps;
#[path = "tcp/transfers.rs"]
mod transfers;
