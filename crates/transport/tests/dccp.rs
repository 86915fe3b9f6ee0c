//! DCCP end to end over a network that does what a test says, and each rule of RFC 4340 on its own.

#[path = "dccp/ccids.rs"]
mod ccids;
#[path = "dccp/features.rs"]
mod features;
#[path = "dccp/handshake.rs"]
mod handshake;
#[path = "dccp/hostile.rs"]
mod hostile;
#[path = "dccp/hosts.rs"]
mod hosts;
#[path = "dccp/media.rs"]
mod media;
#[path = "dccp/net.rs"]
mod net;
#[path = "dccp/numbers.rs"]
mod numbers;
#[path = "dccp/options.rs"]
mod options;
#[path = "dccp/quiet.rs"]
mod quiet;
#[path = "dccp/script.rs"]
mod script;
#[path = "dccp/standin.rs"]
mod standin;
#[path = "dccp/teardown.rs"]
mod teardown;
#[path = "dccp/transfer.rs"]
mod transfer;
