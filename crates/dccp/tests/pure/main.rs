//! DCCP end to end over a network that does what a test says, and each rule of RFC 4340 on its own.

mod ccids;
mod features;
mod handshake;
mod hostile;
mod hosts;
mod media;
mod net;
mod numbers;
mod options;
mod quiet;
mod script;
mod standin;
mod teardown;
mod transfer;
